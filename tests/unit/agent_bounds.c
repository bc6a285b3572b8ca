/* What an agent keeps of what is over is bounded; what containers inside of others are given, join
 * and break; and what executors say wrongly. */
#include "agent_harness.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/agent_view.h"

static struct rig rig;
static uint64_t last;	 /* number of the last call */
static struct buf noted; /* by watches */

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
	last = 0;
}

static void stop(void)
{
	buf_free(&noted);
	rig_free(&rig);
}

TestSuite(agent_bounds, .init = start, .fini = stop);

/* ---- what is over ------------------------------------------------------------------- */

static struct agent_view all(void)
{
	return (struct agent_view){.agent = rig.agent};
}

Test(agent_bounds, the_last_fifty_frameworks_are_remembered)
{
	Mesos__Agent__Response__GetFrameworks get = MESOS__AGENT__RESPONSE__GET_FRAMEWORKS__INIT;
	struct agent_view view = all();
	char names[60][8];

	for (int i = 0; i < 60; i++) {
		snprintf(names[i], sizeof(names[i]), "F%d", i);
		rig.framework = names[i];
		rig_running(&rig, "t", "e", (uint64_t)i + 1);
		rig_update(&rig, "e", "t", STATE(FINISHED), i + 1);
		rig_ack(&rig, "t", i + 1);
		rig_container_exited(&rig, "e", 0);
	}
	agent_show_frameworks(&view, &rig.arena, &get);
	cr_expect_eq(get.n_frameworks, 0);
	cr_assert_eq(get.n_completed_frameworks, 50);
	cr_expect_str_eq(get.completed_frameworks[0]->framework_info->id->value, "F10");
	cr_expect_str_eq(get.completed_frameworks[49]->framework_info->id->value, "F59");
}

Test(agent_bounds, the_last_two_hundred_tasks_of_an_executor_are_remembered)
{
	Mesos__Agent__Response__GetTasks get = MESOS__AGENT__RESPONSE__GET_TASKS__INIT;
	struct agent_view view = all();
	char names[210][8];

	rig_running(&rig, "first", "e", 1);
	for (int i = 0; i < 210; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		rig_run(&rig, names[i], "e", 0);
		rig_update(&rig, "e", names[i], STATE(FINISHED), i + 1);
		rig_ack(&rig, names[i], i + 1);
	}
	agent_show_tasks(&view, &rig.arena, &get);
	cr_assert_eq(get.n_completed_tasks, 200);
	cr_expect_str_eq(get.completed_tasks[0]->task_id->value, "t10");
	cr_expect_str_eq(get.completed_tasks[199]->task_id->value, "t209");
	cr_expect_eq(get.n_launched_tasks, 1);
}

Test(agent_bounds, as_many_executors_as_the_flag_says)
{
	Mesos__Agent__Response__GetExecutors get = MESOS__AGENT__RESPONSE__GET_EXECUTORS__INIT;
	struct agent_view view = all();
	char names[6][8];

	rig_kill_agent(&rig);
	rig.options.max_completed_executors_per_framework = 3;
	rig_start(&rig);
	rig_register(&rig);
	view = all();
	rig_running(&rig, "stays", "stays", 100);
	for (int i = 0; i < 6; i++) {
		snprintf(names[i], sizeof(names[i]), "e%d", i);
		rig_running(&rig, names[i], names[i], (uint64_t)i + 1);
		rig_update(&rig, names[i], names[i], STATE(FINISHED), i + 1);
		rig_ack(&rig, names[i], i + 1);
		rig_container_exited(&rig, names[i], 0);
	}
	agent_show_executors(&view, &rig.arena, &get);
	cr_assert_eq(get.n_completed_executors, 3);
	cr_expect_str_eq(get.completed_executors[0]->executor_info->executor_id->value, "e3");
	cr_expect_str_eq(get.completed_executors[2]->executor_info->executor_id->value, "e5");
}

/* ---- networks ------------------------------------------------------------------------- */

static void note_networks(struct rig *r, const struct agent_action *action)
{
	const Mesos__Internal__StatusUpdateMessage *message;
	const Mesos__ContainerStatus *status;

	if (action->type != AGENT_SEND_MESSAGE ||
	    action->send_message.message->descriptor !=
		    &mesos__internal__status_update_message__descriptor)
		return;
	message = (void *)action->send_message.message;
	status = message->update->status->container_status;
	for (size_t i = 0; status && i < status->n_network_infos; i++)
		buf_printf(r->context, "%s;",
			   status->network_infos[i]->ip_addresses[0]->ip_address);
}

static void networked(const char *address)
{
	char *text = arena_printf(
		&rig.arena, "{\"network_infos\":[{\"ip_addresses\":[{\"ip_address\":\"%s\"}]}]}",
		address);
	struct agent_event event = {.type = AGENT_CONTAINER_NETWORKED};

	event.container_networked.container = rig_container(&rig, "e");
	event.container_networked.status =
		rig_parse(&rig, &mesos__container_status__descriptor, text);
	rig_step(&rig, &event);
}

Test(agent_bounds, joined_networks_are_in_updates_also_after_a_restart)
{
	rig.checkpoint = true;
	rig_run(&rig, "t", "e", 1);
	networked("172.16.0.8");
	networked("172.16.0.9");
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig.watch = note_networks;
	rig.context = &noted;
	rig_update(&rig, "e", "t", STATE(STARTING), 1);
	cr_expect_str_eq(noted.data, "172.16.0.9;");
	rig_ack(&rig, "t", 1);
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 2);
	rig_reregister(&rig);
	buf_clear(&noted);
	rig_update(&rig, "e", "t", STATE(RUNNING), 2);
	cr_expect_str_eq(noted.data, "172.16.0.9;");
	/* It leaves no record behind. */
	rig_update(&rig, "e", "t", STATE(FINISHED), 3);
	rig_ack(&rig, "t", 2);
	rig_ack(&rig, "t", 3);
	rig_container_exited(&rig, "e", 0);
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect_null(strstr(rig.pairs[i].key, "networks"), "%s", rig.pairs[i].key);
}

Test(agent_bounds, else_the_agents_own_address_is_in_them)
{
	rig_running(&rig, "t", "e", 1);
	rig.watch = note_networks;
	rig.context = &noted;
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	cr_expect_str_eq(noted.data, "10.0.0.2;");
}

/* ---- inside of containers ------------------------------------------------------------- */

static void launch_inside(const char *name, const char *more)
{
	struct agent_event event = {.type = AGENT_CONTAINER_CALL};

	event.container_call.number = ++last;
	event.container_call.call = rig_parse(
		&rig, &mesos__agent__call__descriptor,
		arena_printf(
			&rig.arena,
			"{\"type\":\"LAUNCH_CONTAINER\",\"launch_container\":{\"container_id\":{"
			"\"value\":\"%s\",\"parent\":{\"value\":\"%s\"}}%s}}",
			name, rig_container(&rig, "e"), more));
	rig_step(&rig, &event);
}

static void wait_for_inside(const char *name)
{
	struct agent_event event = {.type = AGENT_CONTAINER_CALL};

	event.container_call.number = ++last;
	event.container_call.call = rig_parse(
		&rig, &mesos__agent__call__descriptor,
		arena_printf(&rig.arena,
			     "{\"type\":\"WAIT_CONTAINER\",\"wait_container\":{\"container_id\":{"
			     "\"value\":\"%s\",\"parent\":{\"value\":\"%s\"}}}}",
			     name, rig_container(&rig, "e")));
	rig_step(&rig, &event);
}

#define RUN ",\"command\":{\"value\":\"true\"}"

static void note_launch(struct rig *r, const struct agent_action *action)
{
	const struct agent_launch *launch = &action->launch;

	if (action->type != AGENT_LAUNCH)
		return;
	buf_printf(r->context, "%s %d", launch->user ? launch->user : "-", launch->limited);
	if (launch->limited)
		buf_printf(r->context, " %g %g %g %g", launch->limits.cpus,
			   launch->limits.mem / 1048576, launch->limits.cpus_limit,
			   launch->limits.mem_limit / 1048576);
	for (size_t i = 0; i < launch->volumes.count; i++)
		buf_printf(r->context, " %s=%s", launch->volumes.items[i].name,
			   strstr(launch->volumes.items[i].path, "/runs/") + 6 + 36);
	buf_printf(r->context, " %zu\n", launch->info ? launch->info->n_volumes : 0);
}

Test(agent_bounds, limits_of_its_own_if_it_does_not_share)
{
	rig_running(&rig, "t", "e", 1);
	rig.watch = note_launch;
	rig.context = &noted;
	launch_inside("a", RUN);
	launch_inside("b", RUN ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{"
			       "\"share_cgroups\":true}}");
	launch_inside("c", RUN ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{"
			       "\"share_cgroups\":false}},\"resources\":["
			       "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":0.5}},"
			       "{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":64}}],"
			       "\"limits\":{\"cpus\":{\"value\":2},\"mem\":{\"value\":96}}");
	launch_inside("d", RUN ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{"
			       "\"share_cgroups\":false}}");
	cr_expect_str_eq(noted.data, "- 0 0\n- 0 0\n- 1 0.5 64 2 96 0\n- 1 0 0 nan nan 0\n");
}

Test(agent_bounds, the_user_of_its_command_or_of_what_it_is_inside_of)
{
	Mesos__TaskInfo *task = rig_task(&rig, "t", "e");

	rig_kill_agent(&rig);
	rig.options.switch_user = true;
	rig_start(&rig);
	rig_register(&rig);
	task->executor->command->user = (char *)"joe";
	rig_run_task(&rig, task, 1);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig.watch = note_launch;
	rig.context = &noted;
	launch_inside("a", RUN);
	launch_inside("b", ",\"command\":{\"value\":\"true\",\"user\":\"ann\"}");
	cr_expect_str_eq(noted.data, "joe 0 0\nann 0 0\n");
}

#define VOLUME(path, kind, at)                                                                     \
	"{\"mode\":\"RW\",\"container_path\":\"" at "\",\"source\":{\"type\":\"SANDBOX_PATH\","    \
	"\"sandbox_path\":{\"type\":\"" kind "\",\"path\":\"" path "\"}}}"

Test(agent_bounds, volumes_of_the_parent_are_links_where_they_can_be)
{
	static const struct {
		const char *volume;
		const char *noted;
	} rows[] = {
		{VOLUME("data", "PARENT", "here"), "- 0 here=/data 0\n"},
		{VOLUME("./a//b/", "PARENT", "c/d"), "- 0 c/d=/./a//b/ 0\n"},
		{VOLUME("data", "SELF", "here"), "- 0 1\n"},
		{VOLUME("../data", "PARENT", "here"), "- 0 1\n"},
		{VOLUME("a/../../data", "PARENT", "here"), "- 0 1\n"},
		{VOLUME("/data", "PARENT", "here"), "- 0 1\n"},
		{VOLUME("data", "PARENT", "/here"), "- 0 1\n"},
		{VOLUME("data", "PARENT", "../here"), "- 0 1\n"},
		{VOLUME(".", "PARENT", "here"), "- 0 1\n"},
		{VOLUME("data", "PARENT", "./"), "- 0 1\n"},
		{VOLUME("", "PARENT", "here"), "- 0 1\n"},
		{"{\"mode\":\"RW\",\"container_path\":\"x\",\"host_path\":\"/tmp\"}", "- 0 1\n"},
		{VOLUME("data", "PARENT", "here") "," VOLUME("/no", "PARENT", "there") "," VOLUME(
			 "more", "PARENT", "too"),
		 "- 0 here=/data too=/more 1\n"},
	};

	rig_running(&rig, "t", "e", 1);
	rig.watch = note_launch;
	rig.context = &noted;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		buf_clear(&noted);
		launch_inside(arena_printf(&rig.arena, "c%zu", i),
			      arena_printf(&rig.arena,
					   RUN
					   ",\"container\":{\"type\":\"MESOS\",\"volumes\":[%s]}",
					   rows[i].volume));
		cr_expect_str_eq(noted.data, rows[i].noted, "%s: %s", rows[i].volume, noted.data);
	}
	/* What an image is the root of sees no links out of it. */
	buf_clear(&noted);
	launch_inside("image",
		      RUN ",\"container\":{\"type\":\"MESOS\",\"mesos\":{\"image\":{"
			  "\"type\":\"DOCKER\",\"docker\":{\"name\":\"x\"}}},\"volumes\":[" VOLUME(
				  "data", "PARENT", "here") "]}");
	cr_expect_str_eq(noted.data, "- 0 1\n");
}

static void note_end(struct rig *r, const struct agent_action *action)
{
	const Mesos__Agent__Response__WaitContainer *end;

	if (action->type != AGENT_ANSWER || !action->answer.response)
		return;
	end = ((const Mesos__Agent__Response *)action->answer.response)->wait_container;
	buf_printf(r->context, "%d %d %d %s", end->exit_status,
		   end->has_state ? (int)end->state : -1, end->has_reason ? (int)end->reason : -1,
		   end->message ? end->message : "-");
	for (size_t i = 0; end->limitation && i < end->limitation->n_resources; i++)
		buf_printf(r->context, " %s %g", end->limitation->resources[i]->name,
			   end->limitation->resources[i]->scalar->value);
}

static void inside_limited(const char *text)
{
	struct agent_event event = {.type = AGENT_CONTAINER_LIMITED};

	event.container_limited.container =
		arena_printf(&rig.arena, "%s.a", rig_container(&rig, "e"));
	event.container_limited.reason =
		MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_MEMORY;
	event.container_limited.text = text;
	event.container_limited.resource = "mem";
	event.container_limited.amount = 96;
	rig_step(&rig, &event);
}

static void inside_ended(int status)
{
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED};

	event.container_exited.container =
		arena_printf(&rig.arena, "%s.a", rig_container(&rig, "e"));
	event.container_exited.known = true;
	event.container_exited.status = status;
	rig_step(&rig, &event);
}

Test(agent_bounds, the_limit_that_it_broke_is_told_with_its_end_also_after_a_restart)
{
	struct agent_event started = {.type = AGENT_CONTAINER_STARTED};

	rig.checkpoint = true;
	rig_running(&rig, "t", "e", 1);
	launch_inside("a", RUN);
	started.container_started.container =
		arena_printf(&rig.arena, "%s.a", rig_container(&rig, "e"));
	started.container_started.pid = 7;
	started.container_started.start_ticks = 70;
	rig_step(&rig, &started);
	rig_take(&rig);
	inside_limited("Too much");
	rig_expect(&rig, "destroy e.a\n");
	inside_limited("Once more");
	rig_expect(&rig, "");
	rig_kill_agent(&rig);
	rig_start(&rig);
	inside_ended(9);
	inside_limited("After its end");
	rig.watch = note_end;
	rig.context = &noted;
	wait_for_inside("a");
	cr_expect_str_eq(
		noted.data,
		arena_printf(&rig.arena, "9 %d %d Too much mem 96", STATE(FAILED),
			     MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_MEMORY));
}

/* ---- what executors say ------------------------------------------------------------------ */

/* Why an update is refused; "" if it is taken. */
static const char *refusal(const char *status)
{
	char *text = arena_printf(
		&rig.arena,
		"{\"type\":\"UPDATE\",\"executor_id\":{\"value\":\"e\"},\"framework_id\":{"
		"\"value\":"
		"\"" RIG_FRAMEWORK "\"},\"update\":{\"status\":{\"task_id\":{\"value\":\"t\"},"
		"\"uuid\":\"AAAAAAAAQACAAAAAAAAAAA==\",\"source\":\"SOURCE_EXECUTOR\",%s}}}",
		status);
	const char *got;

	rig_take(&rig);
	rig_executor_call(&rig, rig_parse(&rig, &mesos__executor__call__descriptor, text), 1);
	got = strstr(rig_take(&rig), "400");
	return got ? arena_strdup(&rig.arena, got) : "";
}

Test(agent_bounds, statuses_that_say_too_little)
{
	static const struct {
		const char *status;
		const char *why;
	} rows[] = {
		{"\"state\":\"TASK_RUNNING\",\"check_status\":{}",
		 "CheckStatusInfo must specify 'type'"},
		{"\"state\":\"TASK_RUNNING\",\"check_status\":{\"type\":\"UNKNOWN\"}",
		 "'UNKNOWN' is not a valid check's status type"},
		{"\"state\":\"TASK_RUNNING\",\"check_status\":{\"type\":\"COMMAND\"}",
		 "Expecting 'command' to be set for COMMAND check's status"},
		{"\"state\":\"TASK_RUNNING\",\"check_status\":{\"type\":\"HTTP\"}",
		 "Expecting 'http' to be set for HTTP check's status"},
		{"\"state\":\"TASK_RUNNING\",\"check_status\":{\"type\":\"TCP\"}",
		 "Expecting 'tcp' to be set for TCP check's status"},
		{"\"state\":\"TASK_STAGING\"",
		 "Received TASK_STAGING from executor e of framework F"},
		{"\"state\":\"TASK_RUNNING\",\"executor_id\":{\"value\":\"another\"}", "another"},
	};

	rig_running(&rig, "t", "e", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *got = refusal(rows[i].status);

		cr_expect(strstr(got, rows[i].why), "%s: '%s'", rows[i].status, got);
	}
	cr_expect_str_eq(refusal("\"state\":\"TASK_RUNNING\",\"check_status\":{\"type\":\"TCP\","
				 "\"tcp\":{\"succeeded\":true}}"),
			 "");
}
