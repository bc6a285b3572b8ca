/* Metrics to families: patterns, labels, order, and the text. */
#include <criterion/criterion.h>

#include "net/daemon/prometheus_rows.h"

static const struct prometheus_row rows[] = {
	GAUGE("a/uptime", "uptime_seconds", NULL, "Time."),
	GAUGE("a/left_*", "things", "state=\"$1\"", "Things."),
	GAUGE("a/*/x/#", "things", "state=\"$1\",of=\"$2\"", ""),
	LEFT_OUT("a/none#"),
	SCALED("a/mem", "memory_bytes", MEBIBYTE, NULL, "Memory."),
	COUNTER("c/#", "things_total", "what=\"$1\"", "Things that came."),
	{"f/*", "mesita_f", PROMETHEUS_GAUGE, PROMETHEUS_PER_FRAMEWORK, 1, NULL, "F."},
	{"r/*", "mesita_r", PROMETHEUS_GAUGE, PROMETHEUS_PER_ROLE, 1, "r=\"$1\"", "R."},
};

static struct arena arena;
static struct prometheus prometheus;
static struct buf out;

static void set_up(void)
{
	arena_init(&arena);
	prometheus = (struct prometheus){
		.arena = &arena, .rows = rows, .row_count = sizeof(rows) / sizeof(rows[0])};
}

static void tear_down(void)
{
	arena_free(&arena);
	buf_free(&out);
}

TestSuite(prometheus, .init = set_up, .fini = tear_down);

static void add(const char *name, double value)
{
	prometheus_add(&prometheus, name, value);
}

static void expect(const char *text)
{
	buf_clear(&out);
	prometheus_write(&prometheus, &out);
	cr_assert_str_eq(out.data ? out.data : "", text);
}

Test(prometheus, families_stand_together)
{
	add("a/left_over", 1);
	add("c/y", 2);
	add("a/uptime", 1.5);
	add("a/one/x/two/three", 3);
	add("a/mem", 2);
	add("a/left_", 4);
	add("a/none", 5);
	add("a/none_at_all", 6);
	add("a/none/at_all", 6);
	add("a/left_a/b", 7);		     /* unknown: a star ends at a slash */
	cr_assert_eq(prometheus.unknown, 3); /* a star is one character at least */
	prometheus.unknown = 0;
	expect("# HELP mesita_uptime_seconds Time.\n# TYPE mesita_uptime_seconds gauge\n"
	       "mesita_uptime_seconds 1.5\n"
	       "# HELP mesita_things Things.\n# TYPE mesita_things gauge\n"
	       "mesita_things{state=\"over\"} 1\n"
	       "mesita_things{state=\"one\",of=\"two/three\"} 3\n"
	       "# HELP mesita_memory_bytes Memory.\n# TYPE mesita_memory_bytes gauge\n"
	       "mesita_memory_bytes 2097152\n"
	       "# HELP mesita_things_total Things that came.\n# TYPE mesita_things_total counter\n"
	       "mesita_things_total{what=\"y\"} 2\n");
	expect("");
	add("nobody/knows", 1);
	expect("# HELP mesita_metrics_unknown Metrics of /metrics/snapshot that are missing here.\n"
	       "# TYPE mesita_metrics_unknown gauge\nmesita_metrics_unknown 1\n");
}

Test(prometheus, values_of_labels_are_escaped)
{
	add("c/a\"b\\c\nd", 1);
	add("c/My%20job%2F1", 1);
	add("c/%22%0A%7F%e9%E9%", 1);
	add("c/%2G%2g%2@%G2%3", 1);
	add("c/%41%4A%4F%2A%5a%30%39", 1);
	expect("# HELP mesita_things_total Things that came.\n# TYPE mesita_things_total counter\n"
	       "mesita_things_total{what=\"a\\\"b\\\\c\\nd\"} 1\n"
	       "mesita_things_total{what=\"My job/1\"} 1\n"
	       "mesita_things_total{what=\"\\\"%0A%7F%e9%E9%\"} 1\n"
	       "mesita_things_total{what=\"%2G%2g%2@%G2%3\"} 1\n"
	       "mesita_things_total{what=\"AJO*%5a09\"} 1\n");
}

Test(prometheus, what_is_many_is_there_when_asked)
{
	for (unsigned groups = 0; groups < 4; groups++) {
		prometheus.groups = groups;
		add("f/x", 1);
		add("r/y", 2);
		buf_clear(&out);
		prometheus_write(&prometheus, &out);
		cr_expect_eq(out.data && strstr(out.data, "mesita_f 1\n"),
			     groups & PROMETHEUS_PER_FRAMEWORK);
		cr_expect_eq(out.data && strstr(out.data, "mesita_r{r=\"y\"} 2\n"),
			     (groups & PROMETHEUS_PER_ROLE) != 0);
	}
}

Test(prometheus, numbers)
{
	add("a/uptime", 1.0 / 0.0);
	expect("# HELP mesita_uptime_seconds Time.\n# TYPE mesita_uptime_seconds gauge\n"
	       "mesita_uptime_seconds +Inf\n");
	add("a/uptime", 12345678901234.0);
	expect("# HELP mesita_uptime_seconds Time.\n# TYPE mesita_uptime_seconds gauge\n"
	       "mesita_uptime_seconds 12345678901234\n");
}

Test(prometheus, histograms_add_up)
{
	struct prometheus_durations durations = {{0}, 0};
	uint64_t before = 0, value;
	const char *line;

	prometheus_observe(&durations, 0);
	prometheus_observe(&durations, 0.0001); /* a bound is below itself */
	prometheus_observe(&durations, 0.0002);
	prometheus_observe(&durations, 100);
	prometheus_histogram(&out, "h_seconds", "H.", &durations);
	cr_assert(str_has_prefix(out.data, "# HELP h_seconds H.\n# TYPE h_seconds histogram\n"
					   "h_seconds_bucket{le=\"0.0001\"} 2\n"
					   "h_seconds_bucket{le=\"0.00025\"} 3\n"));
	cr_assert(str_has_suffix(out.data, "h_seconds_bucket{le=\"10\"} 3\n"
					   "h_seconds_bucket{le=\"+Inf\"} 4\n"
					   "h_seconds_sum 100.0003\nh_seconds_count 4\n"),
		  "%s", out.data);
	for (line = out.data; (line = strstr(line, "\"} ")); before = value) {
		value = strtoull(line += 3, NULL, 10);
		cr_assert_geq(value, before);
	}
}
