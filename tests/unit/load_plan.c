/* Plans of the load generator: what cannot work is refused with a reason. */
#include <criterion/criterion.h>

#include "bench/load/plan.h"

#define FLAGS_MAX 16

static struct plan_flags flags;

/* 0 or the error's text. */
static const char *parse(const char *const *list)
{
	static struct err err;
	char *argv[FLAGS_MAX + 2] = {"bench_load", "--master=127.0.0.1:5050"};
	int argc = 2;

	while (argc < FLAGS_MAX && list[argc - 2]) {
		argv[argc] = (char *)list[argc - 2];
		argc++;
	}
	memset(&flags, 0, sizeof(flags));
	memset(&err, 0, sizeof(err));
	return plan_parse(&flags, argc, argv, &err) < 0 ? err.text : NULL;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})
#define ACCEPT(...)                                                                                \
	do {                                                                                       \
		const char *why = PARSE(__VA_ARGS__);                                              \
		cr_assert_null(why, "%s", why);                                                    \
	} while (0)
#define REFUSE(words, ...)                                                                         \
	do {                                                                                       \
		const char *why = PARSE(__VA_ARGS__);                                              \
		cr_assert(why &&strstr(why, words), "%s", why ? why : "accepted");                 \
		plan_free(&flags);                                                                 \
	} while (0)

Test(plan, shares)
{
	ACCEPT("--tasks=10", "--kill=0.5", "--reconcile=0.5", "--decline=0.9");
	cr_assert_eq(flags.plan.kill, 0.5);
	plan_free(&flags);
	REFUSE("--kill=1.5", "--tasks=10", "--kill=1.5");
	REFUSE("--reconcile=-1", "--tasks=10", "--reconcile=-1");
	REFUSE("more than all", "--tasks=10", "--kill=0.6", "--reconcile=0.6");
	REFUSE("no offer", "--tasks=10", "--decline=1");
}

Test(plan, holds)
{
	ACCEPT("--failover", "--tasks=100", "--agents=10", "--task_length=2hrs");
	cr_assert(flags.plan.hold);
	plan_free(&flags);
	REFUSE("need --tasks", "--failover", "--duration=10secs");
	REFUSE("need --tasks", "--hold", "--tasks=10", "--duration=10secs");
	REFUSE("there is room for", "--hold", "--tasks=41", "--agents=1");
	REFUSE("no room for --probes", "--hold", "--tasks=40", "--agents=1", "--probes=1");
	REFUSE("not killed", "--hold", "--tasks=4", "--kill=0.1");
}

Test(plan, standbys)
{
	ACCEPT("--failover", "--tasks=10", "--standbys=127.0.0.1:5051,127.0.0.2:5052");
	cr_assert_eq(flags.plan.standby_count, 2);
	cr_assert_str_eq(flags.plan.standby[0].host, "127.0.0.1");
	cr_assert_eq(flags.plan.standby[0].port, 5051);
	cr_assert_str_eq(flags.plan.standby[1].host, "127.0.0.2");
	cr_assert_eq(flags.plan.standby[1].port, 5052);
	plan_free(&flags);
	ACCEPT("--tasks=10", "--standbys=");
	cr_assert_eq(flags.plan.standby_count, 0);
	plan_free(&flags);
	REFUSE("needs --failover", "--tasks=10", "--standbys=127.0.0.1:5051");
	REFUSE("needs --failover, and no --drivers", "--failover", "--tasks=10", "--drivers=1",
	       "--standbys=127.0.0.1:5051");
	REFUSE("--standbys", "--failover", "--tasks=10", "--standbys=127.0.0.1:x");
	REFUSE("more than 8", "--failover", "--tasks=10",
	       "--standbys=a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9");
}

Test(plan, bounds)
{
	ACCEPT("--tasks=10", "--agents=2500");
	cr_assert_eq(flags.plan.connections, 3);
	plan_free(&flags);
	REFUSE("must be from", "--tasks=10", "--probes=-1");
	REFUSE("must be from", "--tasks=10", "--probes=100000");
	REFUSE("must be from", "--tasks=10", "--memory_max=1");
	REFUSE("--memory_max=64", "--tasks=20000000", "--memory_max=64");
}
