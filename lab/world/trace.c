#include "lab/world/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/time/clock.h"

/* A conversion. */
struct spec {
	char text[16]; /* "%+.3f"; of integers with "ll", whatever their length */
	char conversion;
	char length; /* 0, 'l' for ll as well, or 'z' */
};

/* The next one at or after *format, which moves behind it; what is before goes to `out`. Without
 * `out` its text is not made. False at the end. */
static bool next_spec(const char **format, struct spec *spec, struct buf *out)
{
	const char *at = strchrnul(*format, '%'), *end;
	size_t len;

	if (out)
		buf_append(out, *format, (size_t)(at - *format));
	*format = at;
	if (!*at)
		return false;
	end = at + 1 + strspn(at + 1, "+-0123456789.");
	len = (size_t)(end - at);
	spec->length = 0;
	for (; *end == 'l' || *end == 'z'; end++)
		spec->length = *end;
	spec->conversion = *end;
	if (len > sizeof(spec->text) - 4 || !*end)
		return false;
	*format = end + 1;
	if (out) {
		memcpy(spec->text, at, len);
		snprintf(spec->text + len, sizeof(spec->text) - len, "%s%c",
			 strchr("dux", *end) ? "ll" : "", *end);
	}
	return true;
}

/* ---- what is kept --------------------------------------------------------------- */

static void mix_word(struct trace *trace, uint64_t word)
{
	trace->hash = (trace->hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	trace->hash ^= trace->hash >> 29;
}

static void trace_mix(struct trace *trace, const void *data, size_t len)
{
	const char *at = data;
	uint64_t word = 0;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		mix_word(trace, word);
	}
	if (len) {
		word = 0;
		memcpy(&word, at, len);
		mix_word(trace, word);
	}
}

static void trace_keep(struct trace *trace, struct trace_line *line, const void *data, size_t len)
{
	buf_append(&line->arguments, data, len);
	trace_mix(trace, data, len);
}

static void keep_text(struct trace *trace, struct trace_line *line, const char *text)
{
	size_t len = strnlen(text ? text : "(null)", TRACE_TEXT);

	trace_keep(trace, line, &len, sizeof(len));
	trace_keep(trace, line, text ? text : "(null)", len);
}

/* What is too small to be seen in a line does not count. */
static void keep_real(struct trace *trace, struct trace_line *line, double value)
{
	int64_t rounded = (int64_t)(value * 1000);

	buf_append(&line->arguments, &value, sizeof(value));
	trace_mix(trace, &rounded, sizeof(rounded));
}

static void keep_arguments(struct trace *trace, struct trace_line *line, va_list args)
{
	const char *format = line->format;
	struct spec spec;

	while (next_spec(&format, &spec, NULL)) {
		long long number;

		switch (spec.conversion) {
		case 's':
			keep_text(trace, line, va_arg(args, const char *));
			continue;
		case 'f':
		case 'g':
			keep_real(trace, line, va_arg(args, double));
			continue;
		case 'd':
			number = spec.length ? va_arg(args, long long) : va_arg(args, int);
			break;
		default:
			number = spec.length ? va_arg(args, long long) : va_arg(args, unsigned);
		}
		trace_keep(trace, line, &number, sizeof(number));
	}
}

/* ---- text -------------------------------------------------------------------------- */

static const char *trace_take(const char **at, void *value, size_t size)
{
	memcpy(value, *at, size);
	return *at += size;
}

static void print_line(const struct trace_line *line, struct buf *out)
{
	const char *format = line->format, *at = line->arguments.data;
	long long micros = line->when / MICROSECOND;
	struct spec spec;

	buf_printf(out, "%5lld.%06lld ", micros / 1000000, micros % 1000000);
	while (next_spec(&format, &spec, out)) {
		long long number;
		double real;
		size_t len;

		if (spec.conversion == 's') {
			trace_take(&at, &len, sizeof(len));
			buf_append(out, at, len);
			at += len;
		} else if (spec.conversion == 'f' || spec.conversion == 'g') {
			trace_take(&at, &real, sizeof(real));
			buf_printf(out, spec.text, real);
		} else {
			trace_take(&at, &number, sizeof(number));
			buf_printf(out, spec.text, number);
		}
	}
	buf_puts(out, format);
	buf_putc(out, '\n');
}

void trace_print(const struct trace *trace, struct buf *out)
{
	uint64_t first = trace->count > TRACE_KEPT ? trace->count - TRACE_KEPT : 0;

	for (uint64_t i = first; i < trace->count; i++)
		print_line(&trace->lines[i % TRACE_KEPT], out);
}

/* ---- the trace ------------------------------------------------------------------------ */

void trace_add(struct trace *trace, int64_t when, const char *format, va_list args)
{
	struct trace_line *line = &trace->lines[trace->count++ % TRACE_KEPT];

	line->when = when;
	line->format = format;
	buf_clear(&line->arguments);
	trace_mix(trace, &when, sizeof(when));
	trace_mix(trace, format, strlen(format));
	keep_arguments(trace, line, args);
	if (trace->show) {
		struct buf text = BUF_INIT;

		print_line(line, &text);
		fputs(text.data, stdout);
		buf_free(&text);
	}
}

void trace_free(struct trace *trace)
{
	for (int i = 0; i < TRACE_KEPT; i++)
		buf_free(&trace->lines[i].arguments);
}
