/* The life of containers over a backend that does what the test says, when it says so. */
#include <criterion/criterion.h>
#include <string.h>

#include "agent/containers/core/containers.h"
#include "base/log/log.h"
#include "base/memory/buf.h"

static struct containers *c;
static struct buf trace; /* what the backend was asked and the agent heard, since the last look */

static void backend_prepare(void *context, const struct agent_launch *launch)
{
	buf_printf(&trace, "prepare %s;", launch->container);
}

static void backend_fetch(void *context, const char *id)
{
	buf_printf(&trace, "fetch %s;", id);
}

static void backend_start(void *context, const char *id)
{
	buf_printf(&trace, "start %s;", id);
}

static void backend_find(void *context, const char *id, int64_t pid, uint64_t start_ticks)
{
	buf_printf(&trace, "find %s %d %d;", id, (int)pid, (int)start_ticks);
}

static void backend_give_up(void *context, const char *id)
{
	buf_printf(&trace, "give_up %s;", id);
}

static void backend_kill(void *context, const char *id)
{
	buf_printf(&trace, "kill %s;", id);
}

static void backend_signal(void *context, const char *id, int signal)
{
	buf_printf(&trace, "signal %s %d;", id, signal);
}

static void backend_limit(void *context, const char *id, const struct agent_limits *limits)
{
	buf_printf(&trace, "limit %s %g %g;", id, limits->cpus, limits->mem);
}

static void backend_clear(void *context, const char *id)
{
	buf_printf(&trace, "clear %s;", id);
}

static void backend_clean(void *context, const char *id)
{
	buf_printf(&trace, "clean %s;", id);
}

static void backend_forget(void *context, const char *id, bool over)
{
	buf_printf(&trace, "forget %s%s;", id, over ? "" : " alive");
}

static const struct container_backend backend = {
	.prepare = backend_prepare,
	.give_up = backend_give_up,
	.fetch = backend_fetch,
	.start = backend_start,
	.find = backend_find,
	.kill = backend_kill,
	.signal = backend_signal,
	.clean = backend_clean,
	.forget = backend_forget,
	.limit = backend_limit,
	.clear = backend_clear,
};

static void report(void *context, const struct agent_event *event)
{
	switch (event->type) {
	case AGENT_CONTAINER_STARTED:
		buf_printf(&trace, "STARTED %s %d %d;", event->container_started.container,
			   (int)event->container_started.pid,
			   (int)event->container_started.start_ticks);
		break;
	case AGENT_CONTAINER_FAILED:
		buf_printf(&trace, "FAILED %s %d %s;", event->container_failed.container,
			   event->container_failed.stage, event->container_failed.text);
		break;
	case AGENT_CONTAINER_EXITED:
		buf_printf(&trace, "EXITED %s %d;", event->container_exited.container,
			   event->container_exited.known ? event->container_exited.status : -1);
		break;
	default:
		buf_printf(&trace, "? %d;", event->type);
	}
}

static void expect(const char *text)
{
	buf_putc(&trace, '\0');
	cr_expect_str_eq(trace.data, text);
	buf_clear(&trace);
}

static void set_up(void)
{
	log_setup(LOG_LEVEL_ERROR, 2);
	trace = BUF_INIT;
	c = containers_create(&backend, NULL, report, NULL);
}

static void tear_down(void)
{
	containers_destroy_all(c);
	buf_free(&trace);
}

TestSuite(agent_containers, .init = set_up, .fini = tear_down);

static void launch(const char *id)
{
	containers_launch(c, &(struct agent_launch){.container = id, .executor_id = ""});
}

static void run(const char *id)
{
	launch(id);
	containers_prepared(c, id, false);
	containers_started(c, id, 7, 70);
	buf_clear(&trace);
}

Test(agent_containers, a_life_with_uris)
{
	launch("a");
	expect("prepare a;");
	containers_prepared(c, "a", true);
	expect("fetch a;");
	cr_expect_eq(containers_pid(c, "a"), 0);
	containers_fetched(c, "a");
	expect("start a;");
	containers_started(c, "a", 7, 70);
	expect("STARTED a 7 70;");
	cr_expect_eq(containers_pid(c, "a"), 7);
	containers_ended(c, "a", true, 256);
	expect("clean a;");
	cr_expect_eq(containers_pid(c, "a"), 0);
	containers_cleaned(c, "a", true);
	expect("forget a;EXITED a 256;");
	cr_expect_eq(containers_counters(c)->fetches_succeeded, 1);
	cr_expect_eq(containers_counters(c)->fetches_failed, 0);
	cr_expect_eq(containers_counters(c)->destroy_errors, 0);
}

Test(agent_containers, failures_by_their_stage)
{
	launch("a");
	containers_failed(c, "a", AGENT_STAGE_SANDBOX, "no place");
	expect("prepare a;forget a;FAILED a 0 no place;");
	cr_expect_eq(AGENT_STAGE_SANDBOX, 0);
	launch("b");
	containers_prepared(c, "b", true);
	containers_failed(c, "b", AGENT_STAGE_LAUNCH, "no file");
	buf_clear(&trace);
	cr_expect_eq(containers_counters(c)->fetches_failed, 1);
	launch("c");
	containers_prepared(c, "c", false);
	containers_failed(c, "c", AGENT_STAGE_LAUNCH, "no program");
	cr_expect_eq(containers_counters(c)->fetches_failed, 1);
	buf_clear(&trace);
	/* All is as if they had never been. */
	launch("a");
	expect("prepare a;");
}

Test(agent_containers, what_cannot_be_killed_is_counted_and_over)
{
	run("a");
	containers_ended(c, "a", true, 9);
	containers_cleaned(c, "a", false);
	expect("clean a;forget a;EXITED a 9;");
	cr_expect_eq(containers_counters(c)->destroy_errors, 1);
}

/* In each stage the agent hears that it is over, once, and nothing starts any more. */
Test(agent_containers, destroyed_while_it_is_prepared)
{
	launch("a");
	buf_clear(&trace);
	containers_destroy(c, "a");
	containers_destroy(c, "a");
	expect("give_up a;");
	containers_prepared(c, "a", true);
	expect("forget a;EXITED a -1;");
}

Test(agent_containers, destroyed_while_it_cannot_be_prepared)
{
	launch("a");
	buf_clear(&trace);
	containers_destroy(c, "a");
	containers_failed(c, "a", AGENT_STAGE_SANDBOX, "no place");
	expect("give_up a;forget a;EXITED a -1;");
}

Test(agent_containers, destroyed_while_it_is_fetched)
{
	launch("a");
	containers_prepared(c, "a", true);
	buf_clear(&trace);
	containers_destroy(c, "a");
	expect("kill a;");
	containers_failed(c, "a", AGENT_STAGE_LAUNCH, "terminated with signal 9");
	expect("forget a;EXITED a -1;");
	launch("b");
	containers_prepared(c, "b", true);
	containers_destroy(c, "b");
	buf_clear(&trace);
	containers_fetched(c, "b");
	expect("forget b;EXITED b -1;");
}

Test(agent_containers, destroyed_while_it_runs)
{
	run("a");
	containers_destroy(c, "a");
	expect("kill a;");
	containers_ended(c, "a", true, 9);
	containers_destroy(c, "a");
	expect("clean a;");
	containers_cleaned(c, "a", true);
	expect("forget a;EXITED a 9;");
}

Test(agent_containers, destroying_the_unknown_is_answered)
{
	containers_destroy(c, "a");
	expect("EXITED a -1;");
}

Test(agent_containers, reattached_with_its_pid)
{
	containers_reattach(c, "a", 7, 70);
	expect("find a 7 70;");
	containers_started(c, "a", 7, 70);
	expect("");
	cr_expect_eq(containers_pid(c, "a"), 7);
	containers_ended(c, "a", false, 0);
	containers_cleaned(c, "a", true);
	expect("clean a;forget a;EXITED a -1;");
}

Test(agent_containers, reattached_without_its_pid)
{
	containers_reattach(c, "a", 0, 0);
	containers_started(c, "a", 8, 80);
	expect("find a 0 0;STARTED a 8 80;");
}

Test(agent_containers, reattached_to_what_is_over)
{
	containers_reattach(c, "a", 7, 70);
	containers_ended(c, "a", true, 0);
	containers_cleaned(c, "a", true);
	expect("find a 7 70;clean a;forget a;EXITED a 0;");
}

Test(agent_containers, destroyed_while_it_is_looked_for)
{
	containers_reattach(c, "a", 0, 0);
	containers_destroy(c, "a");
	expect("find a 0 0;");
	containers_started(c, "a", 8, 80);
	expect("kill a;STARTED a 8 80;");
}

Test(agent_containers, nothing_is_begun_twice)
{
	run("a");
	launch("a");
	containers_reattach(c, "a", 9, 9);
	expect("");
	cr_expect_eq(containers_pid(c, "a"), 7);
}

Test(agent_containers, the_end_of_the_agent_forgets_all)
{
	launch("a");
	containers_prepared(c, "a", true);
	run("b");
	launch("d");
	buf_clear(&trace);
	containers_destroy_all(c);
	expect("forget a alive;forget b alive;forget d alive;");
	c = containers_create(&backend, NULL, report, NULL);
}

/* ---- containers inside of others ---------------------------------------------- */

static void end(const char *id, int status)
{
	containers_ended(c, id, true, status);
	containers_cleaned(c, id, true);
}

Test(agent_containers, those_inside_are_over_first)
{
	run("a");
	run("a.b");
	run("a.b.c");
	run("a.d");
	containers_ended(c, "a", true, 256);
	expect("kill a.b.c;kill a.b;kill a.d;");
	end("a.d", 9);
	expect("clean a.d;forget a.d;EXITED a.d 9;");
	containers_ended(c, "a.b", true, 9);
	expect("kill a.b.c;");
	end("a.b.c", 9);
	expect("clean a.b.c;forget a.b.c;EXITED a.b.c 9;clean a.b;");
	containers_cleaned(c, "a.b", true);
	expect("forget a.b;EXITED a.b 9;clean a;");
	containers_cleaned(c, "a", true);
	expect("forget a;EXITED a 256;");
}

Test(agent_containers, those_inside_are_destroyed_with_it)
{
	run("a");
	run("a.b");
	launch("a.c");
	buf_clear(&trace);
	containers_destroy(c, "a");
	expect("kill a.b;give_up a.c;kill a;");
	launch("a.d");
	expect("FAILED a.d 2 Parent container does not run;");
	containers_prepared(c, "a.c", false);
	expect("forget a.c;EXITED a.c -1;");
	containers_ended(c, "a", true, 9);
	containers_destroy(c, "a");
	expect("kill a.b;");
	end("a.b", 9);
	expect("clean a.b;forget a.b;EXITED a.b 9;clean a;");
}

Test(agent_containers, one_inside_that_fails_lets_its_parent_go)
{
	run("a");
	launch("a.b");
	buf_clear(&trace);
	containers_ended(c, "a", true, 0);
	expect("give_up a.b;");
	containers_failed(c, "a.b", AGENT_STAGE_LAUNCH, "no program");
	expect("forget a.b;EXITED a.b -1;clean a;");
}

Test(agent_containers, one_that_ends_inside_leaves_its_parent_alone)
{
	run("a");
	run("a.b");
	end("a.b", 0);
	expect("clean a.b;forget a.b;EXITED a.b 0;");
	containers_ended(c, "a", true, 0);
	expect("clean a;");
}

Test(agent_containers, nothing_starts_inside_of_what_does_not_run)
{
	launch("a.b");
	expect("FAILED a.b 2 Parent container does not run;");
	launch("a");
	launch("a.b");
	expect("prepare a;FAILED a.b 2 Parent container does not run;");
	/* Neither is "ab" inside of "a", nor "a.b" inside of "a.bc". */
	containers_prepared(c, "a", false);
	containers_started(c, "a", 7, 70);
	buf_clear(&trace);
	launch("ab.c");
	launch("a.bc");
	expect("FAILED ab.c 2 Parent container does not run;prepare a.bc;");
}

Test(agent_containers, reattached_inside_of_what_is_over)
{
	containers_reattach(c, "a.b", 7, 70);
	containers_started(c, "a.b", 7, 70);
	expect("find a.b 7 70;kill a.b;");
	containers_reattach(c, "x", 7, 70);
	containers_reattach(c, "x.y", 8, 80);
	buf_clear(&trace);
	containers_ended(c, "x", false, 0);
	expect("");
	containers_started(c, "x.y", 8, 80);
	expect("kill x.y;");
	containers_ended(c, "x.y", true, 9);
	containers_cleaned(c, "x.y", true);
	expect("clean x.y;forget x.y;EXITED x.y 9;clean x;");
}

Test(agent_containers, signals_reach_what_runs_alone)
{
	containers_signal(c, "a", 15);
	launch("a");
	containers_signal(c, "a", 15);
	expect("prepare a;");
	containers_prepared(c, "a", false);
	containers_started(c, "a", 7, 70);
	buf_clear(&trace);
	containers_signal(c, "a", 15);
	expect("signal a 15;");
	containers_clear(c, "a");
	expect("");
	containers_ended(c, "a", true, 0);
	containers_signal(c, "a", 15);
	containers_cleaned(c, "a", true);
	containers_clear(c, "a");
	expect("clean a;forget a;EXITED a 0;clear a;");
}
