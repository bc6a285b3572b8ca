/* --rate_limits: who waits, in which order, and who is refused. */
#include <criterion/criterion.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "master/rate_limits.h"

static uv_loop_t loop;
static struct rate_limits *limits;
static struct arena arena;
static struct buf heard;

static void deliver(void *context, const struct libprocess_message *message, const char *local)
{
	buf_printf(&heard, "%s %s %s %.*s%s%s|", message->from, message->to, message->name,
		   (int)message->body.len, message->body.data, local ? " at " : "",
		   local ? local : "");
}

static void refuse(void *context, const struct libprocess_message *message, uint64_t capacity)
{
	buf_printf(&heard, "refused %.*s %llu|", (int)message->body.len, message->body.data,
		   (unsigned long long)capacity);
}

static const struct rate_limits_handlers handlers = {deliver, refuse};

static int create(const char *config, struct err *err)
{
	struct json *json = NULL;

	if (config)
		cr_assert_eq(json_parse(&arena, config, strlen(config), &json, err), 0);
	return rate_limits_create(&loop, json, &handlers, NULL, &limits, err);
}

static void set_up(void)
{
	uv_loop_init(&loop);
	arena_init(&arena);
}

static void tear_down(void)
{
	rate_limits_close(limits);
	limits = NULL;
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
	arena_free(&arena);
	buf_free(&heard);
}

TestSuite(rate_limits, .init = set_up, .fini = tear_down, .timeout = 60);

static void take(const char *principal, const char *body)
{
	struct libprocess_message message = {"d@1.2.3.4:5", "master", "name", slice_of(body)};

	rate_limits_take(limits, principal, &message, NULL);
}

#define SAID(body) "d@1.2.3.4:5 master name " body "|"

static void expect(const char *text)
{
	cr_assert_str_eq(heard.data ? heard.data : "", text);
	buf_clear(&heard);
}

static void until(size_t len)
{
	while (heard.len < len)
		uv_run(&loop, UV_RUN_ONCE);
}

Test(rate_limits, without_a_configuration_nobody_waits)
{
	uint64_t received, processed;
	struct err err;

	cr_assert_eq(create(NULL, &err), 0);
	for (int i = 0; i < 3; i++)
		take("p", "a");
	take(NULL, "b");
	expect(SAID("a") SAID("a") SAID("a") SAID("b"));
	rate_limits_counts(limits, "p", &received, &processed);
	cr_assert(received == 3 && processed == 3);
	rate_limits_counts(limits, "q", &received, &processed);
	cr_assert(received == 0 && processed == 0);
}

Test(rate_limits, each_principal_has_its_own)
{
	uint64_t received, processed;
	int64_t begin;
	struct err err;

	cr_assert_eq(create("{\"limits\":[{\"principal\":\"slow\",\"qps\":50,\"capacity\":2},"
			    "{\"principal\":\"free\"}],\"aggregate_default_qps\":40,"
			    "\"aggregate_default_capacity\":0}",
			    &err),
		     0);
	begin = (int64_t)uv_hrtime();
	take("slow", "1");
	take("slow", "2");
	take("slow", "3");
	take("slow", "4");
	take("free", "a");
	take("free", "b");
	take("other", "x");
	take(NULL, "y");
	expect(SAID("1") "refused 4 2|" SAID("a") SAID("b") SAID("x") "refused y 0|");
	rate_limits_counts(limits, "slow", &received, &processed);
	cr_assert(received == 4 && processed == 1);
	/* The others' turns come, in their order, and not before their time. */
	until(strlen(SAID("2") SAID("3")));
	expect(SAID("2") SAID("3"));
	cr_assert_geq((int64_t)uv_hrtime() - begin, 2 * SECOND / 50);
	rate_limits_counts(limits, "slow", &received, &processed);
	cr_assert_eq(processed, 3);
	/* There is room again, but no credit for a pause. */
	take("slow", "5");
	take("slow", "6");
	until(strlen(SAID("5") SAID("6")));
	cr_assert_null(strstr(heard.data, "refused"));
}

Test(rate_limits, what_waits_is_a_copy)
{
	char body[] = "first", from[] = "d@1.2.3.4:5", local[] = "5.6.7.8:9";
	struct libprocess_message message = {from, "master", "name", slice_of(body)};
	struct err err;

	cr_assert_eq(create("{\"limits\":[{\"principal\":\"p\",\"qps\":100}]}", &err), 0);
	rate_limits_take(limits, "p", &message, local);
	rate_limits_take(limits, "p", &message, local);
	memset(body, 'x', 5);
	memset(from, 'x', 5);
	memset(local, 'x', 5);
	until(1 + 2 * strlen(SAID("first at 5.6.7.8:9")) - 1);
	expect(SAID("first at 5.6.7.8:9") SAID("first at 5.6.7.8:9"));
}

Test(rate_limits, more_than_a_timer_can_tell_apart)
{
	struct err err;

	cr_assert_eq(create("{\"limits\":[{\"principal\":\"p\",\"qps\":20000}]}", &err), 0);
	for (int i = 0; i < 400; i++)
		take("p", "m");
	until(400 * strlen(SAID("m")));
}

Test(rate_limits, what_waits_at_the_end_is_forgotten)
{
	struct err err;

	cr_assert_eq(create("{\"limits\":[{\"principal\":\"p\",\"qps\":0.001}]}", &err), 0);
	take("p", "1");
	take("p", "2");
	expect(SAID("1"));
}

Test(rate_limits, what_is_no_configuration)
{
	static const struct {
		const char *config, *why;
	} cases[] = {
		{"[]", "expected {\"limits\": [..], ..}"},
		{"{\"limits\":{}}", "expected {\"limits\": [..], ..}"},
		{"{\"limits\":[{\"qps\":1}]}", "a limit has no principal"},
		{"{\"limits\":[{\"principal\":\"p\",\"qps\":0}]}",
		 "Invalid qps: it must be a positive number"},
		{"{\"limits\":[{\"principal\":\"p\",\"qps\":\"x\"}]}",
		 "Invalid qps: it must be a positive number"},
		{"{\"limits\":[{\"principal\":\"p\",\"qps\":1,\"capacity\":-1}]}",
		 "Invalid capacity: it must be a number of messages"},
		{"{\"limits\":[{\"principal\":\"p\"},{\"principal\":\"p\"}]}",
		 "Duplicate principal 'p' found in RateLimits configuration"},
		{"{\"aggregate_default_qps\":-1}",
		 "Invalid aggregate_default_qps: it must be a positive number"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {""};

		cr_expect_eq(create(cases[i].config, &err), ERR_INVALID, "%s", cases[i].config);
		cr_expect_str_eq(err.text, cases[i].why);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	limits = NULL;
}
