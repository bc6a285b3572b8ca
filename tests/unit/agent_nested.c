/* Containers inside of executors', as the operator API makes them; kept over restarts. */
#include "agent_harness.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/agent_view.h"
#include "base/memory/buf.h"

static struct rig rig;
static uint64_t last; /* number of the last call */

static void start(void)
{
	rig_init(&rig);
	rig.checkpoint = true;
	rig_start(&rig);
	rig_register(&rig);
	rig_running(&rig, "t", "e", 1);
	last = 0;
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_nested, .init = start, .fini = stop);

/* The id in JSON; `path` is "b" or "b.c", inside of e's container. */
static char *id_json(const char *path)
{
	char *text = xprintf("{'value':'%s'}", rig_container(&rig, "e")), *copy = xstrdup(path);

	for (char *part = strtok(copy, "."); part; part = strtok(NULL, ".")) {
		char *inner = xprintf("{'value':'%s','parent':%s}", part, text);

		free(text);
		text = inner;
	}
	free(copy);
	return text;
}

static void call_json(char *text)
{
	struct agent_event event = {.type = AGENT_CONTAINER_CALL};

	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	event.container_call.number = ++last;
	event.container_call.call = rig_parse(&rig, &mesos__agent__call__descriptor, text);
	rig_step(&rig, &event);
	free(text);
}

/* `name` like "wait_container"; `more` fields of the call's. */
static void call(const char *name, const char *path, const char *more)
{
	char *id = id_json(path), *type = xstrdup(name);

	for (char *c = type; *c; c++)
		*c = (char)(*c == '_' ? '_' : *c - 'a' + 'A');
	call_json(xprintf("{'type':'%s','%s':{'container_id':%s%s}}", type, name, id, more));
	free(type);
	free(id);
}

#define TRUE ",'command':{'value':'true'}"

static void launch(const char *path)
{
	call("launch_container", path, TRUE);
}

static const char *full(const char *path)
{
	return arena_printf(&rig.arena, "%s.%s", rig_container(&rig, "e"), path);
}

static void started(const char *path, int64_t pid)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {full(path), pid, (uint64_t)pid * 10}};

	rig_step(&rig, &event);
}

static void ended(const char *path, int status)
{
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED,
				    .container_exited = {full(path), status >= 0, status}};

	rig_step(&rig, &event);
}

static void failed(const char *path, const char *text)
{
	struct agent_event event = {.type = AGENT_CONTAINER_FAILED,
				    .container_failed = {full(path), AGENT_STAGE_LAUNCH, text}};

	rig_step(&rig, &event);
}

static void run(const char *path)
{
	launch(path);
	started(path, 7);
	rig_take(&rig);
}

static void restart(void)
{
	rig_kill_agent(&rig);
	rig_start(&rig);
}

/* ---- a life ------------------------------------------------------------------ */

Test(agent_nested, from_launch_to_removal)
{
	launch("b");
	rig_expect(&rig, "launch e.b\n");
	call("wait_container", "b", "");
	call("wait_nested_container", "b", "");
	rig_expect(&rig, "");
	started("b", 7);
	rig_expect(&rig, "answer 1 200\n");
	call("remove_container", "b", "");
	rig_expect(&rig, "answer 4 500 Nested container has not terminated yet\n");
	ended("b", 256);
	rig_expect(&rig, "answer 2 200 1:256\nanswer 3 200 older 1:256\n");
	call("wait_container", "b", "");
	rig_expect(&rig, "answer 5 200 1:256\n");
	rig.show_store = true;
	call("remove_container", "b", "");
	cr_assert(strstr(rig_take(&rig), "/containers/b\n"));
	call("wait_container", "b", "");
	rig_expect(&rig, "answer 7 200 1:256\n");
}

static void note_id(void *context, const char *id)
{
	buf_printf(context, "%s ", strrchr(id, '.') + 1);
}

Test(agent_nested, those_that_run_are_told_one_by_one)
{
	struct buf ids = BUF_INIT;

	run("b");
	launch("c");
	run("d");
	run("f");
	ended("f", 0);
	agent_show_each_inside(rig.agent, rig_container(&rig, "e"), note_id, &ids);
	cr_assert_str_eq(ids.data, "b d ");
	buf_clear(&ids);
	agent_show_each_inside(rig.agent, "nobody", note_id, &ids);
	cr_assert_eq(ids.len, 0);
	buf_free(&ids);
}

Test(agent_nested, removal_is_answered_when_the_sandbox_is_gone)
{
	struct agent_event collected = {.type = AGENT_COLLECTED};

	run("b");
	ended("b", 0);
	call("remove_container", "b", "");
	rig_expect(&rig, "");
	collected.collected.path = "/elsewhere";
	rig_step(&rig, &collected);
	rig_expect(&rig, "");
	collected.collected.path = arena_printf(&rig.arena,
						"/w/slaves/" RIG_AGENT "/frameworks/" RIG_FRAMEWORK
						"/executors/e/runs/%s/containers/b",
						rig_container(&rig, "e"));
	rig_step(&rig, &collected);
	rig_expect(&rig, "answer 2 200\nclear e.b\n");
	call("wait_container", "b", "");
	cr_assert(strstr(rig_take(&rig), "answer 3 404 Container "));
	call("remove_container", "b", "");
	rig_expect(&rig, "answer 4 200\n");
}

Test(agent_nested, is_recorded_before_it_starts)
{
	rig.manual_store = rig.show_store = true;
	launch("b");
	cr_assert(strstr(rig_take(&rig), "/launch\n"));
	call("kill_container", "b", "");
	cr_assert(strstr(rig_take(&rig), "answer 1 400 Container was destroyed\n"));
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "");
	rig.show_store = false;
	launch("b");
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "launch e.b\n");
}

Test(agent_nested, its_end_is_stored_before_it_is_told)
{
	run("b");
	call("wait_container", "b", "");
	rig.manual_store = true;
	ended("b", 0);
	call("wait_container", "b", "");
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "answer 2 200 1:0\nanswer 3 200 1:0\n");
}

Test(agent_nested, one_that_cannot_start)
{
	launch("b");
	failed("b", "no program");
	rig_expect(&rig, "launch e.b\nanswer 1 400 no program\nclear e.b\n");
	launch("b");
	rig_expect(&rig, "launch e.b\n");
	ended("b", -1);
	rig_expect(&rig, "answer 2 400 Container was destroyed\n");
	call("wait_container", "b", "");
	rig_expect(&rig, "answer 3 200 0:0\n");
}

/* ---- kills -------------------------------------------------------------------- */

Test(agent_nested, kills)
{
	run("b");
	call("kill_container", "b", ",'signal':15");
	rig_expect(&rig, "answer 2 200\nsignal e.b 15\n");
	call("kill_nested_container", "b", ",'signal':2");
	rig_expect(&rig, "answer 3 200\nsignal e.b 2\n");
	call("kill_container", "b", ",'signal':65");
	rig_expect(&rig, "answer 4 400 65 is no signal\n");
	call("kill_container", "b", ",'signal':-1");
	rig_expect(&rig, "answer 5 400 -1 is no signal\n");
	call("kill_nested_container", "b", "");
	rig_expect(&rig, "answer 6 200\ndestroy e.b\n");
	ended("b", 9);
	call("kill_container", "b", "");
	cr_assert(strstr(rig_take(&rig), "(or is already killed)"));
	call("kill_container", "other", "");
	cr_assert(strstr(rig_take(&rig), "answer 8 404 Container '"));
}

Test(agent_nested, kills_before_it_runs)
{
	launch("b");
	rig_take(&rig);
	call("kill_container", "b", ",'signal':15");
	cr_assert(strstr(rig_take(&rig), "answer 2 404"));
	call("kill_container", "b", "");
	rig_expect(&rig, "answer 3 200\ndestroy e.b\n");
}

/* ---- what is refused ------------------------------------------------------------ */

Test(agent_nested, launches_that_are_refused)
{
	static const struct {
		const char *path;
		const char *more;
		const char *answer;
	} rows[] = {
		{"b", "", "400 The command has no value"},
		{"b", ",'command':{'user':'u'}", "400 The command has no value"},
		{"x.y", TRUE, "400 Parent container "},
		{"a b", TRUE, "400 Failed to validate agent::Call: 'container_id' is invalid"},
		{"a/b", TRUE, "400 Failed to validate agent::Call: 'container_id' is invalid"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *got;

		call("launch_container", rows[i].path, rows[i].more);
		got = rig_take(&rig);
		cr_expect(strstr(got, rows[i].answer), "%s: %s", rows[i].path, got);
	}
	call_json(xprintf("{'type':'LAUNCH_NESTED_CONTAINER','launch_nested_container':{"
			  "'container_id':{'value':'alone'}" TRUE "}}"));
	cr_expect(strstr(rig_take(&rig), "400 Failed to validate"));
	call_json(xprintf("{'type':'LAUNCH_CONTAINER','launch_container':{'container_id':"
			  "{'value':'b','parent':{'value':'nobody'}}" TRUE "}}"));
	cr_expect(strstr(rig_take(&rig),
			 "400 Unable to locate executor for parent container nobody\n"));
	call_json(xprintf("{'type':'REMOVE_CONTAINER','remove_container':{'container_id':"
			  "{'value':'b','parent':{'value':'nobody'}}}}"));
	cr_expect(strstr(rig_take(&rig), "500 Unknown root container\n"));
}

Test(agent_nested, a_second_launch_is_told_so)
{
	launch("b");
	launch("b");
	rig_expect(&rig, "launch e.b\nanswer 2 202\n");
	started("b", 7);
	ended("b", 0);
	rig_take(&rig);
	launch("b");
	rig_expect(&rig, "answer 3 202\n");
}

Test(agent_nested, inside_of_one_inside)
{
	launch("b");
	launch("b.c");
	cr_assert(strstr(rig_take(&rig), "answer 2 400 Parent container "));
	started("b", 7);
	call("launch_container", "b.c",
	     TRUE ",'resources':[{'name':'cpus','type':'SCALAR','scalar':{'value':1}}]");
	cr_assert(strstr(rig_take(&rig), "answer 3 400 Resources and limits"));
	launch("b.c");
	rig_expect(&rig, "launch e.b.c\n");
	started("b.c", 8);
	rig_take(&rig);
	ended("b", 0);
	launch("b.d");
	cr_assert(strstr(rig_take(&rig), "does not run"));
}

/* Nothing is copied once for each level of what no container can be. */
Test(agent_nested, ids_that_are_too_deep_or_too_long_are_none)
{
	static Mesos__ContainerID chain[35];
	char *longest = arena_alloc(&rig.arena, 257);

	for (size_t i = 0; i < 35; i++) {
		mesos__container_id__init(&chain[i]);
		chain[i].value = (char *)"c";
		chain[i].parent = i ? &chain[i - 1] : NULL;
	}
	cr_expect_str_eq(agent_container_key(&rig.arena, &chain[0]), "c");
	cr_expect_str_eq(agent_container_key(&rig.arena, &chain[2]), "c.c.c");
	cr_expect_eq(strlen(agent_container_key(&rig.arena, &chain[32])), 65);
	cr_expect_str_eq(agent_container_key(&rig.arena, &chain[33]), "");
	memset(longest, 'a', 256);
	longest[256] = 0;
	chain[2].value = longest;
	cr_expect_str_eq(agent_container_key(&rig.arena, &chain[2]), "");
	cr_expect_str_eq(agent_container_key(&rig.arena, &chain[3]), "");
	longest[255] = 0;
	cr_expect_eq(strlen(agent_container_key(&rig.arena, &chain[2])), 259);
}

/* ---- sessions --------------------------------------------------------------------- */

Test(agent_nested, sessions_are_answered_by_their_output)
{
	struct agent_event closed = {.type = AGENT_SESSION_CLOSED};

	run("b");
	call("launch_nested_container_session", "b.s", TRUE);
	rig_expect(&rig, "launch e.b.s\n");
	started("b.s", 8);
	rig_expect(&rig, "answer 2 200 session e.b.s\n");
	call("launch_container", "b.s.x", TRUE);
	cr_assert(strstr(rig_take(&rig), "not supported under debug container"));
	closed.session_closed.container = full("b");
	rig_step(&rig, &closed);
	rig_expect(&rig, "");
	closed.session_closed.container = full("b.s");
	rig_step(&rig, &closed);
	rig_expect(&rig, "destroy e.b.s\n");
	ended("b.s", 9);
	rig_step(&rig, &closed);
	call("remove_container", "b.s", "");
	rig_expect(&rig, "answer 4 200\nclear e.b.s\n");
}

/* ---- who may ---------------------------------------------------------------------- */

static const struct json *claims(const char *container)
{
	char *text = arena_printf(&rig.arena, "{\"fid\":\"%s\",\"eid\":\"e\",\"cid\":\"%s\"}",
				  RIG_FRAMEWORK, container);
	struct json *json;
	struct err err = {""};

	cr_assert_eq(json_parse(&rig.arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	return json;
}

Test(agent_nested, an_executor_may_use_its_own_container)
{
	static const char lists[] =
		"{\"launch_nested_containers_as_user\":[{\"principals\":{\"type\":\"ANY\"},"
		"\"users\":{\"values\":[\"good\"]}},{\"principals\":{\"type\":\"ANY\"},\"users\":"
		"{\"type\":\"NONE\"}}],\"kill_nested_containers\":[{\"principals\":{\"type\":"
		"\"ANY\"},\"users\":{\"type\":\"NONE\"}}]}";
	static const struct container_rule launches = {ACL_LAUNCH_NESTED_CONTAINER_UNDER,
						       ACL_LAUNCH_NESTED_CONTAINER_AS, ACL_ACTIONS};
	static const struct container_rule kills = {ACL_KILL_NESTED_CONTAINER, ACL_ACTIONS,
						    ACL_ACTIONS};
	const char *root = rig_container(&rig, "e");
	struct agent_view view = {.agent = rig.agent};
	struct acls *acls;
	struct err err = {""};

	cr_assert(agent_view_handles(&view, NULL, root, &launches, "root"));
	cr_assert_eq(acls_parse(lists, strlen(lists), &acls, &err), 0, "%s", err.text);
	view.acls = acls;
	cr_expect(agent_view_handles(&view, claims(root), root, &kills, NULL));
	cr_expect(agent_view_handles(&view, claims(root), root, &launches, NULL));
	cr_expect(agent_view_handles(&view, claims(root), root, &launches, "nobody"));
	cr_expect(agent_view_handles(&view, claims(root), root, &launches, "good"));
	cr_expect_not(agent_view_handles(&view, claims(root), root, &launches, "root"));
	cr_expect_not(agent_view_handles(&view, claims("another"), root, &kills, NULL));
	cr_expect_not(agent_view_handles(&view, claims("another"), root, &launches, "good"));
	cr_expect_not(agent_view_handles(&view, NULL, root, &kills, NULL));
	cr_expect(agent_view_handles(&view, NULL, root, &launches, "good"));
	cr_expect_not(agent_view_handles(&view, NULL, root, &launches, NULL));
	cr_expect_not(agent_view_handles(&view, NULL, "nobody", &launches, NULL));
	acls_free(acls);
}

/* ---- ends ------------------------------------------------------------------------- */

Test(agent_nested, ends_with_its_executor)
{
	run("b");
	run("c");
	call("wait_container", "b", "");
	ended("b", 9);
	rig_take(&rig);
	call("wait_container", "c", "");
	rig_container_exited(&rig, "e", 0);
	cr_assert(strstr(rig_take(&rig), "\nclear e.b\nanswer 4 200 0:0\nclear e.c\n"));
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect_not(str_has_prefix(rig.pairs[i].key, "nested/"), "%s", rig.pairs[i].key);
}

/* ---- restarts ---------------------------------------------------------------------- */

Test(agent_nested, found_again_after_a_restart)
{
	run("b");
	run("b.c");
	run("d");
	ended("d", 512);
	launch("unstarted");
	call("launch_nested_container_session", "s", TRUE);
	started("s", 9);
	rig_take(&rig);
	restart();
	rig_expect(&rig, "reattach e 42\nreattach e.b 7\nreattach e.b.c 7\nreattach e.s 9\n"
			 "destroy e.s\nreattach e.unstarted 0\n");
	call("wait_container", "d", "");
	rig_expect(&rig, "answer 6 200 1:512\n");
	call("wait_container", "b", "");
	rig_expect(&rig, "");
	ended("b.c", 0);
	ended("b", 256);
	rig_expect(&rig, "answer 7 200 1:256\n");
	started("unstarted", 5);
	ended("unstarted", 1);
	call("wait_container", "unstarted", "");
	rig_expect(&rig, "answer 8 200 1:1\n");
}

Test(agent_nested, destroyed_if_its_executor_is_not_found)
{
	run("b");
	for (size_t i = 0; i < rig.pair_count; i++) {
		if (str_has_prefix(rig.pairs[i].key, "executor/") ||
		    str_has_prefix(rig.pairs[i].key, "task/"))
			memcpy(rig.pairs[i].key, "gone", 4);
	}
	restart();
	rig_expect(&rig, "reattach e.b 7\ndestroy e.b\n");
	ended("b", 9);
	rig_expect(&rig, "clear e.b\n");
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect_not(str_has_prefix(rig.pairs[i].key, "nested/"), "%s", rig.pairs[i].key);
}

Test(agent_nested, none_lives_after_a_reboot)
{
	struct err err = {""};

	run("b");
	rig_kill_agent(&rig);
	cr_assert_eq(rig_try_start(&rig, true, &err), 0, "%s", err.text);
	cr_assert(str_has_prefix(rig_take(&rig), "clear e.b\n"));
}
