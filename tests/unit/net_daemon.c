/* What daemons look at in a request: whether its endpoint is disabled, which metrics it wants; and
 * what they say of the machine. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "net/daemon/firewall.h"
#include "net/daemon/prometheus.h"
#include "net/daemon/system_stats.h"
#include "net/daemon/verbosity.h"
#include "net_harness.h"

static struct fixture fixture;
static struct raw raw;
static struct arena arena;
static const char *const *paths;
static struct verbosity verbosity;

static void handle(void *context, struct http_request *request)
{
	if (!strcmp(request->path, "/stats"))
		system_stats_reply(request);
	else if (!strcmp(request->path, "/toggle"))
		verbosity_toggle(&verbosity, request);
	else if (!firewall_stops(paths, request, request->path))
		http_reply_text(
			request, 200,
			arena_printf(&request->arena, "groups %u", prometheus_groups(request)));
}

static void set_up(void)
{
	paths = NULL;
	arena_init(&arena);
	fixture_init(&fixture);
	fixture.handler = handle;
	fixture_start(&fixture);
	verbosity_init(&verbosity, &fixture.loop);
	verbosity.start = LOG_LEVEL_INFO;
	raw_open(&raw, &fixture);
}

static void tear_down(void)
{
	raw_close(&raw);
	verbosity_close(&verbosity);
	fixture_finish(&fixture);
	arena_free(&arena);
}

TestSuite(daemon, .init = set_up, .fini = tear_down, .timeout = 60);

static void ask(const char *target, const char *status, const char *body)
{
	char text[256];

	buf_clear(&raw.in);
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
	raw_send(&raw, text);
	until(&fixture, raw_has(&raw, body));
	cr_expect(raw_has(&raw, status), "%s: %s", target, raw.in.data);
}

static int parse(const char *text, struct err *err)
{
	struct json *rules;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &rules, err), 0, "%s", err->text);
	return firewall_parse(&arena, rules, &paths, err);
}

Test(daemon, endpoints_can_be_disabled)
{
	struct err err;

	ask("/a", " 200 ", "groups 0");
	cr_assert_eq(parse("{\"disabled_endpoints\":{\"paths\":[\"/a\",\"/b/c\"]}}", &err), 0);
	ask("/a", " 403 ", "Endpoint '/a' is disabled");
	ask("/b/c", " 403 ", "Endpoint '/b/c' is disabled");
	ask("/b", " 200 ", "groups 0");
	ask("/a/", " 200 ", "groups 0");
	for (size_t i = 0; i < 3; i++) {
		static const char *const none[] = {"{}", "{\"disabled_endpoints\":{}}",
						   "{\"disabled_endpoints\":{\"paths\":[]}}"};

		cr_assert_eq(parse(none[i], &err), 0);
		ask("/a", " 200 ", "groups 0");
	}
}

Test(daemon, rules_that_are_none)
{
	static const struct {
		const char *rules, *text;
	} bad[] = {
		{"[]", "expected {"},
		{"{\"disabled_endpoints\":[]}", "expected {"},
		{"{\"disabled_endpoints\":{\"paths\":{}}}", "expected {"},
		{"{\"disabled_endpoints\":{\"paths\":[1]}}", "'' is no path"},
		{"{\"disabled_endpoints\":{\"paths\":[\"/a\",\"b\"]}}", "'b' is no path"},
		{"{\"disabled_endpoints\":{\"paths\":[\"\"]}}", "'' is no path"},
	};
	struct err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_expect_eq(parse(bad[i].rules, &err), ERR_INVALID, "%s", bad[i].rules);
		cr_expect(strstr(err.text, bad[i].text), "%s: %s", bad[i].rules, err.text);
	}
}

Test(daemon, metrics_of_many_are_asked_for)
{
	ask("/m?per_framework=true", " 200 ", "groups 1");
	ask("/m?per_role=true", " 200 ", "groups 2");
	ask("/m?per_role=true&per_framework=true", " 200 ", "groups 3");
	ask("/m?per_role=false&per_framework=yes", " 200 ", "groups 0");
	ask("/m?per_role=true&per_framework=", " 200 ", "groups 2");
}

static double member(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);

	cr_assert(value, "%s", name);
	return json_number(value);
}

/* The load may change while it is asked for. */
Test(daemon, tells_what_the_machine_is)
{
	static const char *const names[] = {"avg_load_1min", "avg_load_5min", "avg_load_15min"};
	double before[3], after[3];
	struct sysinfo info;
	struct json *told;
	struct err err;
	const char *body;

	do {
		cr_assert_eq(getloadavg(before, 3), 3);
		ask("/stats", " 200 ", "}");
		cr_assert_eq(getloadavg(after, 3), 3);
	} while (memcmp(before, after, sizeof(after)));
	body = strstr(raw.in.data, "\r\n\r\n") + 4;
	cr_assert_eq(json_parse(&arena, body, strlen(body), &told, &err), 0, "%s", err.text);
	for (int i = 0; i < 3; i++)
		cr_expect_float_eq(member(told, names[i]), before[i], 1e-9, "%s", names[i]);
	cr_expect_float_eq(member(told, "cpus_total"), sysconf(_SC_NPROCESSORS_ONLN), 0);
	sysinfo(&info);
	cr_expect_float_eq(member(told, "mem_total_bytes"), (double)info.totalram * info.mem_unit,
			   0);
	cr_expect_leq(member(told, "mem_free_bytes"), member(told, "mem_total_bytes"));
}

Test(daemon, how_much_is_logged_can_be_changed)
{
	static const struct {
		const char *query, *status, *text;
		unsigned level; /* then */
	} asked[] = {
		{"", " 200 ", "\r\n\r\n0\n", 0},
		{"?level=1", " 400 ", "Expecting 'duration=value' in query.\n", 0},
		{"?duration=1mins", " 400 ", "Expecting 'level=value' in query.\n", 0},
		{"?level=x&duration=1mins", " 400 ", "Failed to convert 'x' to number.\n", 0},
		{"?level=&duration=1mins", " 400 ", "Failed to convert '' to number.\n", 0},
		{"?level=2x&duration=1mins", " 400 ", "Failed to convert '2x' to number.\n", 0},
		{"?level=2147483648&duration=1mins", " 400 ",
		 "Failed to convert '2147483648' to number.\n", 0},
		{"?level=-1&duration=1mins", " 400 ", "'-1' < original level.\n", 0},
		{"?level=2&duration=x", " 400 ", "x", 0},
		{"?level=2&duration=1mins", " 200 ", "\r\n\r\n", 2},
		{"", " 200 ", "\r\n\r\n2\n", 2},
		{"?level=0&duration=1mins", " 200 ", "\r\n\r\n", 0},
		{"?level=2147483647&duration=1mins", " 200 ", "\r\n\r\n", 2147483647},
	};

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		char target[128];

		snprintf(target, sizeof(target), "/toggle%s", asked[i].query);
		ask(target, asked[i].status, asked[i].text);
		cr_expect_eq(verbosity.level, asked[i].level, "%s", target);
	}
	/* It falls back by itself. */
	ask("/toggle?level=3&duration=20ms", " 200 ", "\r\n\r\n");
	cr_expect_eq(verbosity.level, 3);
	until(&fixture, verbosity.level == 0);
}
