#include "net/daemon/prometheus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARS_MAX 4

const double prometheus_bounds[PROMETHEUS_BUCKETS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
						      0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
						      1,      2.5,     5,      10};

struct prometheus_sample {
	size_t row;    /* the first of the family */
	size_t number; /* in the order of coming */
	const char *labels;
	double value;
};

/* ---- names to rows ----------------------------------------------------------------- */

static bool matches(const char *pattern, const char *name, struct slice *stars)
{
	for (; *pattern && *pattern != '*' && *pattern != '#'; pattern++, name++) {
		if (*pattern != *name)
			return false;
	}
	if (!*pattern)
		return !*name;
	for (size_t len = 1; name[len - 1] && (*pattern == '#' || name[len - 1] != '/'); len++) {
		if (matches(pattern + 1, name + len, stars + 1)) {
			*stars = (struct slice){name, len};
			return true;
		}
	}
	return false;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Names of frameworks are percent-encoded in metrics: here they need not be, if they are ASCII. */
static void put_value(struct buf *out, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		int high = c == '%' && i + 2 < text.len ? hex_value(text.data[i + 1]) : -1;
		int low = high >= 2 && high < 8 ? hex_value(text.data[i + 2]) : -1;

		if (low >= 0 && 16 * high + low != 0x7f) {
			c = (char)(16 * high + low);
			i += 2;
		}
		if (c == '\\' || c == '"')
			buf_putc(out, '\\');
		if (c == '\n')
			buf_puts(out, "\\n");
		else
			buf_putc(out, c);
	}
}

static const char *make_labels(struct arena *arena, const char *labels, const struct slice *stars)
{
	struct buf text = BUF_INIT;
	const char *made;

	if (!labels)
		return "";
	for (; *labels; labels++) {
		if (*labels == '$' && labels[1] >= '1' && labels[1] <= '0' + STARS_MAX)
			put_value(&text, stars[*++labels - '1']);
		else
			buf_putc(&text, *labels);
	}
	made = arena_strdup(arena, text.data);
	buf_free(&text);
	return made;
}

static const struct prometheus_row *row_of(const struct prometheus *p, const char *name,
					   struct slice *stars)
{
	for (size_t i = 0; i < p->row_count; i++) {
		if (matches(p->rows[i].pattern, name, stars))
			return &p->rows[i];
	}
	return NULL;
}

static size_t first_of_family(const struct prometheus *p, const struct prometheus_row *row)
{
	size_t index = (size_t)(row - p->rows);

	while (index && p->rows[index - 1].family &&
	       !strcmp(p->rows[index - 1].family, row->family))
		index--;
	return index;
}

void prometheus_add(void *context, const char *name, double value)
{
	struct prometheus *p = context;
	struct slice stars[STARS_MAX + 1];
	const struct prometheus_row *row = row_of(p, name, stars);

	p->unknown += !row;
	if (!row || !row->family || (row->group && !(p->groups & row->group)))
		return;
	if (p->count == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 256;
		p->samples = xrealloc(p->samples, p->cap * sizeof(*p->samples));
	}
	p->samples[p->count] = (struct prometheus_sample){
		first_of_family(p, row), p->count, make_labels(p->arena, row->labels, stars),
		row->scale != 0 ? value * row->scale : value};
	p->count++;
}

unsigned prometheus_groups(struct http_request *request)
{
	const char *framework = http_query(request, "per_framework");
	const char *role = http_query(request, "per_role");

	return (framework && !strcmp(framework, "true") ? PROMETHEUS_PER_FRAMEWORK : 0) |
	       (role && !strcmp(role, "true") ? PROMETHEUS_PER_ROLE : 0);
}

/* ---- text ------------------------------------------------------------------------------ */

static void put_number(struct buf *out, double value)
{
	if (isnan(value))
		buf_puts(out, "NaN");
	else if (isinf(value))
		buf_puts(out, value < 0 ? "-Inf" : "+Inf");
	else
		buf_printf(out, "%.15g", value);
}

static void put_head(struct buf *out, const char *family, const char *help, const char *type)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", family, help, family, type);
}

static int by_family(const void *a, const void *b)
{
	const struct prometheus_sample *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void prometheus_build(struct buf *out, const char *role, const char *version)
{
	put_head(out, "mesita_build_info", "Version of this daemon.", "gauge");
	buf_printf(out, "mesita_build_info{role=\"%s\",version=\"%s\"} 1\n", role, version);
}

void prometheus_write(struct prometheus *p, struct buf *out)
{
	const struct prometheus_row *last = NULL;

	if (p->count)
		qsort(p->samples, p->count, sizeof(*p->samples), by_family);
	for (size_t i = 0; i < p->count; i++) {
		const struct prometheus_sample *sample = &p->samples[i];
		const struct prometheus_row *row = &p->rows[sample->row];

		if (row != last)
			put_head(out, row->family, row->help,
				 row->kind == PROMETHEUS_COUNTER ? "counter" : "gauge");
		last = row;
		buf_puts(out, row->family);
		if (*sample->labels)
			buf_printf(out, "{%s}", sample->labels);
		buf_putc(out, ' ');
		put_number(out, sample->value);
		buf_putc(out, '\n');
	}
	if (p->unknown) {
		put_head(out, "mesita_metrics_unknown",
			 "Metrics of /metrics/snapshot that are missing here.", "gauge");
		buf_printf(out, "mesita_metrics_unknown %zu\n", p->unknown);
	}
	free(p->samples);
	p->samples = NULL;
	p->count = p->cap = p->unknown = 0;
}

/* ---- histograms -------------------------------------------------------------------------- */

void prometheus_observe(struct prometheus_durations *durations, double seconds)
{
	size_t bucket = 0;

	while (bucket < PROMETHEUS_BUCKETS && seconds > prometheus_bounds[bucket])
		bucket++;
	durations->counts[bucket]++;
	durations->sum += seconds;
}

void prometheus_histogram(struct buf *out, const char *family, const char *help,
			  const struct prometheus_durations *durations)
{
	uint64_t below = 0;

	put_head(out, family, help, "histogram");
	for (size_t i = 0; i <= PROMETHEUS_BUCKETS; i++) {
		below += durations->counts[i];
		buf_printf(out, "%s_bucket{le=\"", family);
		put_number(out, i < PROMETHEUS_BUCKETS ? prometheus_bounds[i] : INFINITY);
		buf_printf(out, "\"} %llu\n", (unsigned long long)below);
	}
	buf_printf(out, "%s_sum ", family);
	put_number(out, durations->sum);
	buf_printf(out, "\n%s_count %llu\n", family, (unsigned long long)below);
}
