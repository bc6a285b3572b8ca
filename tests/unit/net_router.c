/* Router: which handler serves a path, and JSON answers with and without jsonp. */
#include <string.h>

#include "net/daemon/help.h"
#include "net/daemon/router.h"
#include "net_harness.h"

static struct fixture fixture;
static struct raw raw;

static void reply_name(struct http_request *request, const char *name)
{
	http_reply_text(request, 200,
			arena_printf(&request->arena, "<%s %s>", name, request->path));
}

static void on_state(void *context, struct http_request *request)
{
	reply_name(request, context);
}

static void on_api(void *context, struct http_request *request)
{
	reply_name(request, "api");
}

static void on_scheduler(void *context, struct http_request *request)
{
	reply_name(request, "scheduler");
}

static void on_metrics(void *context, struct http_request *request)
{
	reply_name(request, "metrics");
}

static void on_stats(void *context, struct http_request *request)
{
	reply_name(request, "stats");
}

static void on_stats_json(void *context, struct http_request *request)
{
	reply_name(request, "stats.json");
}

static void on_json(void *context, struct http_request *request)
{
	struct buf body = BUF_INIT;

	buf_puts(&body, "{\"a\":1}");
	router_reply_json(request, &body);
	buf_free(&body);
}

static void on_help(void *context, struct http_request *request);

static const struct route routes[] = {
	{"/master/state", on_state, REALM_NONE, "for tests"},
	{"/master/api/v1", on_api, REALM_NONE, "for tests"},
	{"/master/api/v1/scheduler", on_scheduler, REALM_NONE, "for tests"},
	{"/master/json", on_json, REALM_NONE, "for tests"},
	{"/metrics/snapshot", on_metrics, REALM_NONE, "for tests"},
	{"/system/stats", on_stats, REALM_NONE, "for tests"},
	{"/system/stats.json", on_stats_json, REALM_NONE, "for tests"},
	{"/help", on_help, REALM_NONE, "this"},
	{NULL, NULL, REALM_NONE, NULL},
};
static const char *const processes[] = {"help", "metrics", "system", NULL};
static struct router router = {
	.delegate = "master", .processes = processes, .routes = routes, .context = "state"};

static void on_help(void *context, struct http_request *request)
{
	help_reply(&router, request);
}

static void dispatch(void *context, struct http_request *request)
{
	router_dispatch(&router, request);
}

static void set_up(void)
{
	fixture_init(&fixture);
	fixture.handler = dispatch;
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
}

static void tear_down(void)
{
	raw_close(&raw);
	fixture_finish(&fixture);
}

TestSuite(router, .init = set_up, .fini = tear_down, .timeout = 60);

/* The path is answered with the words; "404" is one of them, too. */
static void goes_to(const char *path, const char *words)
{
	struct buf text = BUF_INIT;

	buf_clear(&raw.in);
	buf_printf(&text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	raw_expect(&raw, text.data, words);
	buf_free(&text);
}

Test(router, finds_a_path_as_it_is_and_below_the_delegate)
{
	goes_to("/master/state", "<state /master/state>");
	goes_to("/state", "<state /state>");
	goes_to("/metrics/snapshot", "<metrics ");
	goes_to("/master/metrics/snapshot", "404 Not Found.");
	goes_to("/snapshot", "404 Not Found.");
}

Test(router, ignores_a_slash_at_the_end_and_the_query)
{
	goes_to("/state/", "<state ");
	goes_to("/master/state///", "<state ");
	goes_to("/state?x=/nothing", "<state ");
	goes_to("/m%61ster/state", "<state ");
}

Test(router, lets_the_longest_prefix_win)
{
	goes_to("/api/v1", "<api ");
	goes_to("/api/v1/other", "<api ");
	goes_to("/api/v1/scheduler", "<scheduler ");
	goes_to("/api/v1/scheduler/x/y", "<scheduler ");
	goes_to("/api/v1/schedulers", "<api ");
	goes_to("/master/state/foo", "<state ");
}

Test(router, tells_of_its_routes)
{
	goes_to("/help",
		"<a href=\"/master/api/v1/scheduler\">/master/api/v1/scheduler</a></dt><dd>for "
		"tests");
	goes_to("/help/system/", "<h1>Endpoints</h1>\n<dl>\n<dt><a href=\"/system/stats\">");
	goes_to("/help/system/stats.json",
		"<dl>\n<dt><a href=\"/system/stats.json\">/system/stats.json</a>"
		"</dt><dd>for tests</dd>\n</dl>");
	goes_to("/help/sys", "404 Not Found.");
	goes_to("/help/x", "404 Not Found.");
	goes_to("/help?format=json",
		"{\"processes\":[{\"id\":\"master\",\"endpoints\":[{\"name\":\"/state\",\"text\":"
		"\"for tests\"},{\"name\":\"/api/v1\",");
	goes_to("/help?format=json",
		"{\"id\":\"help\",\"endpoints\":[{\"name\":\"/\",\"text\":\"this\"}]}]}");
}

Test(router, does_not_cut_words)
{
	goes_to("/stat", "404 Not Found.");
	goes_to("/states", "404 Not Found.");
	goes_to("/masters/state", "404 Not Found.");
	goes_to("/api", "404 Not Found.");
	goes_to("/", "404 Not Found.");
	goes_to("/master", "404 Not Found.");
	goes_to("/master/", "404 Not Found.");
	goes_to("//", "404 Not Found.");
}

Test(router, has_json_aliases_of_whole_names)
{
	goes_to("/state.json", "<state ");
	goes_to("/master/state.json/", "<state ");
	goes_to("/metrics/snapshot.json", "<metrics ");
	goes_to("/nothing.json", "404 Not Found.");
	goes_to("/state/foo.json", "<state ");
	goes_to("/.json", "404 Not Found.");
	goes_to("/system/stats.json", "<stats.json ");
	goes_to("/system/stats", "<stats /");
}

Test(router, wraps_json_for_jsonp)
{
	goes_to("/json", "application/json\r\n");
	goes_to("/json", "\r\n\r\n{\"a\":1}");
	goes_to("/json?jsonp=call%2Eback", "text/javascript\r\n");
	goes_to("/json?jsonp=call%2Eback", "\r\n\r\ncall.back({\"a\":1})");
	goes_to("/json?jsonp=", "\r\n\r\n({\"a\":1})");
}
