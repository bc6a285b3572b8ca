/* Containers that are in no executor's: launched by the operator API, kept until they are removed.
 */
#include "agent_harness.h"

#include <string.h>

#include "agent/core/agent_view.h"
#include "agent/core/show.h"

static struct rig rig;
static uint64_t last; /* number of the last call */

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
	last = 0;
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_standalone, .init = start, .fini = stop);

/* `path` is "a", or "a.b" of b inside of a; `name` like "wait_container". */
static void call(const char *name, const char *path, const char *more)
{
	struct agent_event event = {.type = AGENT_CONTAINER_CALL};
	char *copy = xstrdup(path), *id = NULL, *type = xstrdup(name), *text;

	for (char *part = strtok(copy, "."); part; part = strtok(NULL, ".")) {
		char *inner = id ? xprintf("{'value':'%s','parent':%s}", part, id)
				 : xprintf("{'value':'%s'}", part);

		free(id);
		id = inner;
	}
	for (char *c = type; *c; c++)
		*c = (char)(*c == '_' ? '_' : *c - 'a' + 'A');
	text = xprintf("{'type':'%s','%s':{'container_id':%s%s}}", type, name, id, more);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	event.container_call.number = ++last;
	event.container_call.call = rig_parse(&rig, &mesos__agent__call__descriptor, text);
	rig_step(&rig, &event);
	free(text);
	free(type);
	free(id);
	free(copy);
}

#define TRUE ",'command':{'value':'true'}"

static void started(const char *id, int64_t pid)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {id, pid, (uint64_t)pid * 10}};

	rig_step(&rig, &event);
}

static void ended(const char *id, int status)
{
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED,
				    .container_exited = {id, status >= 0, status}};

	rig_step(&rig, &event);
}

static void run(const char *path)
{
	call("launch_container", path, TRUE);
	started(path, 7);
	rig_take(&rig);
}

static void collected(const char *path)
{
	struct agent_event event = {.type = AGENT_COLLECTED, .collected = {path}};

	rig_step(&rig, &event);
}

static void expect_nothing_stored(void)
{
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect_not(str_has_prefix(rig.pairs[i].key, "nested/"), "%s", rig.pairs[i].key);
}

/* ---- a life ------------------------------------------------------------------ */

Test(agent_standalone, from_launch_to_removal)
{
	call("launch_container", "a", TRUE);
	rig_expect(&rig, "launch a\n");
	started("a", 7);
	rig_expect(&rig, "answer 1 200\n");
	call("launch_container", "a", TRUE);
	rig_expect(&rig, "answer 2 202\n");
	call("wait_container", "a", "");
	call("remove_container", "a", "");
	rig_expect(&rig, "answer 4 500 Nested container has not terminated yet\n");
	ended("a", 256);
	rig_expect(&rig, "answer 3 200 1:256\n");
	call("remove_container", "a", "");
	collected("/w/containers/a");
	rig_expect(&rig, "answer 5 200\nclear a\n");
	call("wait_container", "a", "");
	rig_expect(&rig, "answer 6 404 Container a cannot be found\n");
	call("remove_container", "a", "");
	rig_expect(&rig, "answer 7 500 Unknown root container\n");
	expect_nothing_stored();
}

Test(agent_standalone, what_is_inside_goes_with_it)
{
	run("a");
	run("a.b");
	run("a.b.c");
	run("other");
	call("kill_container", "a", "");
	rig_expect(&rig, "answer 5 200\ndestroy a\n");
	ended("a.b.c", 9);
	ended("a.b", 9);
	ended("a", 9);
	call("wait_container", "a.b", "");
	rig_expect(&rig, "answer 6 200 1:9\n");
	call("launch_container", "a.d", TRUE);
	rig_expect(&rig, "answer 7 400 Parent container a does not run\n");
	call("remove_container", "a.b.c", "");
	call("remove_container", "a", "");
	collected("/w/containers/a");
	rig_expect(&rig, "answer 9 200\nclear a.b\nanswer 8 200\nclear a.b.c\nclear a\n");
	call("wait_container", "other", "");
	rig_expect(&rig, "");
	ended("other", 0);
	rig_expect(&rig, "answer 10 200 1:0\n");
}

Test(agent_standalone, a_session_in_it)
{
	run("a");
	call("launch_nested_container_session", "a.s", TRUE);
	started("a.s", 9);
	rig_expect(&rig, "launch a.s\nanswer 2 200 session a.s\n");
	call("kill_nested_container", "a.s", ",'signal':15");
	rig_expect(&rig, "answer 3 200\nsignal a.s 15\n");
}

static struct agent_limits limits_seen;

static void look_at_launch(struct rig *r, const struct agent_action *action)
{
	if (action->type != AGENT_LAUNCH)
		return;
	cr_expect(action->launch.limited);
	cr_expect_str_eq(action->launch.sandbox, "/w/containers/a");
	cr_expect_null(action->launch.above);
	for (char *const *at = action->launch.environment; *at; at++)
		buf_printf(r->context, "%s\n", *at);
	limits_seen = action->launch.limits;
}

Test(agent_standalone, it_has_limits_and_an_environment_of_its_own)
{
	struct buf environment = BUF_INIT;

	rig.watch = look_at_launch;
	rig.context = &environment;
	call("launch_container", "a",
	     ",'command':{'value':'true','environment':{'variables':["
	     "{'name':'X','value':'y'}]}},'resources':[{'name':'cpus','type':'SCALAR',"
	     "'scalar':{'value':0.5}},{'name':'mem','type':'SCALAR','scalar':{'value':64}}],"
	     "'limits':{'mem':{'value':128}}");
	cr_expect_eq(limits_seen.cpus, 0.5);
	cr_expect_eq(limits_seen.mem, 64.0 * 1024 * 1024);
	cr_expect_eq(limits_seen.mem_limit, 128.0 * 1024 * 1024);
	cr_expect(strstr(environment.data, "MESOS_SANDBOX=/w/containers/a\n"));
	cr_expect(strstr(environment.data, "X=y\n"));
	cr_expect_not(strstr(environment.data, "MESOS_EXECUTOR_ID"));
	buf_free(&environment);
}

/* ---- what is refused ------------------------------------------------------------ */

Test(agent_standalone, launches_that_are_refused)
{
	call("launch_container", "a", "");
	rig_expect(&rig, "answer 1 400 The command has no value\n");
	call("launch_container", "a.b", TRUE);
	rig_expect(&rig, "answer 2 400 Unable to locate executor for parent container a\n");
	call("launch_nested_container", "a", TRUE);
	rig_expect(&rig, "answer 3 400 Failed to validate agent::Call: "
			 "Expecting 'container_id.parent' to be present\n");
	call("launch_nested_container_session", "a", TRUE);
	call("wait_nested_container", "a", "");
	call("kill_nested_container", "a", "");
	call("remove_nested_container", "a", "");
	rig_take(&rig);
	call("launch_container", "a b", TRUE);
	rig_expect(&rig, "answer 8 400 Failed to validate agent::Call: 'container_id' is invalid: "
			 "neither '.', ' ' nor '/' may be in it\n");
	call("kill_container", "a", "");
	rig_expect(&rig, "answer 9 404 Container 'a' cannot be found (or is already killed)\n");
	expect_nothing_stored();
}

Test(agent_standalone, the_id_of_an_executors_container_is_taken)
{
	rig.checkpoint = true;
	rig_running(&rig, "t", "e", 1);
	call("launch_container", rig_container(&rig, "e"), TRUE);
	rig_expect(&rig, "answer 1 202\n");
}

/* ---- restarts ---------------------------------------------------------------------- */

Test(agent_standalone, found_again_after_a_restart)
{
	run("a");
	run("a.b");
	run("gone");
	ended("gone", 512);
	call("launch_container", "unstarted", TRUE);
	call("launch_nested_container_session", "a.s", TRUE);
	started("a.s", 9);
	rig_take(&rig);
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "reattach a 7\nreattach a.b 7\nreattach a.s 9\ndestroy a.s\n"
			 "reattach unstarted 0\n");
	call("wait_container", "gone", "");
	rig_expect(&rig, "answer 6 200 1:512\n");
	call("wait_container", "a.b", "");
	ended("a.s", 9);
	ended("a.b", 1);
	rig_expect(&rig, "answer 7 200 1:1\n");
	ended("a", 0);
	call("remove_container", "a", "");
	collected("/w/containers/a");
	rig_expect(&rig, "answer 8 200\nclear a.b\nclear a.s\nclear a\n");
}

Test(agent_standalone, kept_as_ended_after_a_reboot)
{
	struct err err = {""};

	run("a");
	run("a.b");
	rig_kill_agent(&rig);
	cr_assert_eq(rig_try_start(&rig, true, &err), 0, "%s", err.text);
	rig_expect(&rig, "");
	call("wait_container", "a", "");
	rig_expect(&rig, "answer 3 200 0:0\n");
	call("wait_container", "a.b", "");
	rig_expect(&rig, "answer 4 200 0:0\n");
	call("remove_container", "a", "");
	collected("/w/containers/a");
	rig_expect(&rig, "answer 5 200\nclear a.b\nclear a\n");
	expect_nothing_stored();
}

Test(agent_standalone, destroyed_with_what_it_was_inside_of)
{
	run("a");
	run("a.b");
	for (size_t i = 0; i < rig.pair_count; i++) {
		if (str_has_prefix(rig.pairs[i].key, "nested/a/"))
			memcpy(rig.pairs[i].key, "gone", 4);
	}
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "reattach a.b 7\ndestroy a.b\n");
	ended("a.b", 9);
	rig_expect(&rig, "clear a.b\n");
}

/* ---- who may, and sees ----------------------------------------------------------------- */

static void count_shown(void *context, const struct shown_container *c)
{
	struct buf *text = context;

	cr_expect_null(c->executor_id);
	buf_printf(text, "%s %s\n", c->container, c->directory);
}

static const char *shown(const struct agent_view *view)
{
	struct buf text = BUF_INIT;
	const char *copy;

	agent_show_each_standalone(view, count_shown, &text);
	copy = arena_strdup(&rig.arena, text.data ? text.data : "");
	buf_free(&text);
	return copy;
}

Test(agent_standalone, by_the_rules_for_what_stands_alone)
{
	static const char text[] =
		"{\"launch_standalone_containers\":[{\"principals\":{\"values\":[\"bad\"]},"
		"\"users\":{\"type\":\"NONE\"}}],"
		"\"view_standalone_containers\":[{\"principals\":{\"values\":[\"bad\"]},"
		"\"users\":{\"type\":\"NONE\"}}]}";
	static const struct container_rule rule = {ACL_LAUNCH_NESTED_CONTAINER_UNDER,
						   ACL_LAUNCH_NESTED_CONTAINER_AS,
						   ACL_LAUNCH_STANDALONE_CONTAINER};
	struct err err = {""};
	struct agent_view view = {.agent = rig.agent, .principal = "bad"};
	struct json claims = {.type = JSON_OBJECT};
	struct acls *acls;

	cr_assert_eq(acls_parse(text, sizeof(text) - 1, &acls, &err), 0, "%s", err.text);
	view.acls = acls;
	run("a");
	run("b");
	run("b.c");
	ended("a", 0);
	cr_expect_not(agent_view_handles(&view, NULL, "a", &rule, NULL));
	cr_expect_str_eq(shown(&view), "");
	view.principal = "good";
	cr_expect(agent_view_handles(&view, NULL, "a", &rule, "joe"));
	/* An executor's token is for its own container. */
	cr_expect_not(agent_view_handles(&view, &claims, "a", &rule, NULL));
	cr_expect_str_eq(shown(&view), "b /w/containers/b\n");
	acls_free(acls);
}
