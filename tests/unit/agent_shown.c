/* All that an agent shows of itself, text by text: /state and the messages of the operator API; and
 * who sees how much of it. */
#include "agent_harness.h"

#include <string.h>

#include "agent/core/agent_view.h"

static struct rig rig;
static struct acls *acls;
static Mesos__Attribute attributes[4];
static Mesos__Attribute *attribute_list[4];

/* Values of all four kinds. */
static void give_attributes(void)
{
	static const char *const texts[] = {
		"{\"name\":\"rack\",\"type\":\"TEXT\",\"text\":{\"value\":\"r1\"}}",
		"{\"name\":\"weight\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1.5}}",
		"{\"name\":\"slots\",\"type\":\"RANGES\",\"ranges\":{\"range\":["
		"{\"begin\":1,\"end\":2},{\"begin\":5,\"end\":6}]}}",
		"{\"name\":\"disks\",\"type\":\"SET\",\"set\":{\"item\":[\"ssd\",\"hdd\"]}}",
	};

	for (int i = 0; i < 4; i++) {
		attributes[i] = *(Mesos__Attribute *)rig_parse(&rig, &mesos__attribute__descriptor,
							       texts[i]);
		attribute_list[i] = &attributes[i];
	}
	rig.options.attributes = attribute_list;
	rig.options.attribute_count = 4;
}

static void start(void)
{
	struct err err = {""};

	rig_init(&rig);
	give_attributes();
	resources_free(&rig.total);
	cr_assert_eq(resources_parse(rig.options.shapes, "cpus:4;mem:4096;cpus(a):1;disk:100", "*",
				     &rig.total, &err),
		     0, "%s", err.text);
	rig_start(&rig);
	rig_register(&rig);
	acls = NULL;
}

static void stop(void)
{
	acls_free(acls);
	rig_free(&rig);
}

TestSuite(agent_shown, .init = start, .fini = stop);

/* A queued, a running, an ended task of one executor; one executor that is over; and a framework
 * that is. */
static void live(void)
{
	Mesos__TaskInfo *task;

	rig.framework = "G";
	rig_running(&rig, "old", "e", 9);
	rig_update(&rig, "e", "old", STATE(FINISHED), 90);
	rig_ack(&rig, "old", 90);
	rig_container_exited(&rig, "e", 0);
	rig.framework = NULL;
	rig_running(&rig, "runs", "now", 7);
	rig_update(&rig, "now", "runs", STATE(RUNNING), 70);
	rig_running(&rig, "gone", "past", 8);
	rig_update(&rig, "past", "gone", STATE(FAILED), 80);
	rig_ack(&rig, "gone", 80);
	rig_container_exited(&rig, "past", 0);
	rig_run(&rig, "ends", "now", 0);
	rig_update(&rig, "now", "ends", STATE(FINISHED), 71);
	task = rig_task(&rig, "waits", "later");
	task->executor->name = (char *)"an executor";
	task->executor->source = (char *)"a source";
	rig_run_task(&rig, task, 1);
}

static struct agent_view view_of(const char *lists)
{
	struct err err = {""};

	if (lists)
		cr_assert_eq(acls_parse(lists, strlen(lists), &acls, &err), 0, "%s", err.text);
	return (struct agent_view){.agent = rig.agent, .acls = acls, .principal = "p"};
}

/* ---- the operator API ------------------------------------------------------------------- */

static void names_of(struct buf *text, const char *what, size_t count, Mesos__Task **tasks)
{
	buf_printf(text, "%s", what);
	for (size_t i = 0; i < count; i++)
		buf_printf(text, " %s", tasks[i]->task_id->value);
	buf_puts(text, "\n");
}

static void expect_tasks(const struct agent_view *view, const char *expected)
{
	Mesos__Agent__Response__GetTasks get = MESOS__AGENT__RESPONSE__GET_TASKS__INIT;
	struct buf text = BUF_INIT;

	agent_show_tasks(view, &rig.arena, &get);
	names_of(&text, "queued", get.n_queued_tasks, get.queued_tasks);
	names_of(&text, "launched", get.n_launched_tasks, get.launched_tasks);
	names_of(&text, "terminated", get.n_terminated_tasks, get.terminated_tasks);
	names_of(&text, "completed", get.n_completed_tasks, get.completed_tasks);
	cr_expect_str_eq(text.data, expected);
	buf_free(&text);
}

static void expect_executors(const struct agent_view *view, const char *expected)
{
	Mesos__Agent__Response__GetExecutors get = MESOS__AGENT__RESPONSE__GET_EXECUTORS__INIT;
	struct buf text = BUF_INIT;

	agent_show_executors(view, &rig.arena, &get);
	for (size_t i = 0; i < get.n_executors; i++)
		buf_printf(&text, "%s ", get.executors[i]->executor_info->executor_id->value);
	buf_puts(&text, "|");
	for (size_t i = 0; i < get.n_completed_executors; i++)
		buf_printf(&text, " %s",
			   get.completed_executors[i]->executor_info->executor_id->value);
	cr_expect_str_eq(text.data, expected);
	buf_free(&text);
}

static void expect_frameworks(const struct agent_view *view, const char *expected)
{
	Mesos__Agent__Response__GetFrameworks get = MESOS__AGENT__RESPONSE__GET_FRAMEWORKS__INIT;
	struct buf text = BUF_INIT;

	agent_show_frameworks(view, &rig.arena, &get);
	for (size_t i = 0; i < get.n_frameworks; i++)
		buf_printf(&text, "%s ", get.frameworks[i]->framework_info->id->value);
	buf_puts(&text, "|");
	for (size_t i = 0; i < get.n_completed_frameworks; i++)
		buf_printf(&text, " %s", get.completed_frameworks[i]->framework_info->id->value);
	cr_expect_str_eq(text.data, expected);
	buf_free(&text);
}

Test(agent_shown, tasks_executors_and_frameworks_by_what_became_of_them)
{
	struct agent_view view = view_of(NULL);

	live();
	expect_tasks(&view, "queued waits\nlaunched runs\nterminated ends\ncompleted gone old\n");
	expect_executors(&view, "now later | past e");
	expect_frameworks(&view, "F | G");
}

Test(agent_shown, tasks_that_may_not_be_seen)
{
	struct agent_view view = view_of("{\"view_tasks\":[{\"principals\":{\"values\":[\"p\"]},"
					 "\"users\":{\"type\":\"NONE\"}}]}");

	live();
	expect_tasks(&view, "queued\nlaunched\nterminated\ncompleted\n");
	expect_executors(&view, "now later | past e");
	expect_frameworks(&view, "F | G");
}

Test(agent_shown, executors_that_may_not_be_seen)
{
	struct agent_view view =
		view_of("{\"view_executors\":[{\"principals\":{\"values\":[\"p\"]},"
			"\"users\":{\"values\":[\"nobody\"]}},{\"principals\":{\"values\":[\"p\"]},"
			"\"users\":{\"type\":\"NONE\"}}]}");
	Mesos__TaskInfo *task = rig_task(&rig, "t", "of-root");

	live();
	task->executor->command->user = (char *)"root";
	rig_run_task(&rig, task, 1);
	expect_executors(&view, "now later | past e");
}

Test(agent_shown, frameworks_that_may_not_be_seen)
{
	struct agent_view view =
		view_of("{\"view_frameworks\":[{\"principals\":{\"values\":[\"p\"]},"
			"\"users\":{\"type\":\"NONE\"}}]}");

	live();
	expect_tasks(&view, "queued\nlaunched\nterminated\ncompleted\n");
	expect_executors(&view, "|");
	expect_frameworks(&view, "|");
}

static void list_container(void *context, const struct shown_container *c)
{
	buf_printf(context, "%s %s %s %s %g %g\n", c->framework_id, c->executor_id,
		   c->name ? c->name : "-", c->source ? c->source : "-", c->limits.cpus, c->disk);
}

Test(agent_shown, containers)
{
	struct agent_view view = view_of(NULL);
	struct buf text = BUF_INIT;

	live();
	agent_show_each_container(&view, list_container, &text);
	cr_expect_str_eq(text.data, "F now - - 1.5 0\nF later an executor a source 1.5 0\n");
	buf_clear(&text);
	view = view_of("{\"view_containers\":[{\"principals\":{\"values\":[\"p\"]},"
		       "\"users\":{\"type\":\"NONE\"}}]}");
	agent_show_each_container(&view, list_container, &text);
	cr_expect_eq(text.len, 0);
	buf_free(&text);
}

#define VOLUME                                                                                     \
	"\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":20},\"reservations\":[{"      \
	"\"role\":\"a\",\"type\":\"DYNAMIC\"}],\"disk\":{\"persistence\":{\"id\":\"x\"},"          \
	"\"volume\":{"                                                                             \
	"\"container_path\":\"p\",\"mode\":\"RW\"}}"

Test(agent_shown, disk_of_sandboxes_is_what_no_volume_is)
{
	struct agent_view view = view_of(NULL);
	struct buf text = BUF_INIT;
	Mesos__TaskInfo *task = rig_task(&rig, "t", "e");
	Mesos__ExecutorInfo *executor = task->executor;

	rig_message(&rig, RIG_MASTER,
		    rig_parse(&rig, &mesos__internal__checkpoint_resources_message__descriptor,
			      "{\"resources\":[{" VOLUME "}]}"));
	rig_volumes_made(&rig, 1);
	proto_push(&rig.arena, executor->n_resources, executor->resources,
		   rig_parse(&rig, &mesos__resource__descriptor,
			     "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":7.5},"
			     "\"allocation_info\":{\"role\":\"a\"}}"));
	proto_push(&rig.arena, executor->n_resources, executor->resources,
		   rig_parse(&rig, &mesos__resource__descriptor,
			     "{\"allocation_info\":{\"role\":\"a\"}," VOLUME "}"));
	rig_run_task(&rig, task, 1);
	agent_show_each_container(&view, list_container, &text);
	cr_expect_str_eq(text.data ? text.data : "", "F e - - 1.5 7.5\n");
	buf_free(&text);
}

Test(agent_shown, the_agent_and_its_drain)
{
	Mesos__Agent__Response__GetAgent get = MESOS__AGENT__RESPONSE__GET_AGENT__INIT;
	Mesos__Internal__DrainSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__DrainSlaveMessage,
			mesos__internal__drain_slave_message__descriptor);

	agent_show_agent(rig.agent, &rig.arena, &get);
	cr_expect_str_eq(get.agent_info->hostname, "host");
	cr_expect_null(get.drain_config);
	cr_expect_null(get.estimated_drain_start_time);
	rig_running(&rig, "t", "e", 1);
	rig.now += SECOND / 2;
	message->config = rig_new(&rig, Mesos__DrainConfig, mesos__drain_config__descriptor);
	message->config->has_mark_gone = message->config->mark_gone = 1;
	rig_message(&rig, RIG_MASTER, message);
	agent_show_agent(rig.agent, &rig.arena, &get);
	cr_assert(get.drain_config && get.estimated_drain_start_time);
	cr_expect(get.drain_config->mark_gone);
	cr_expect_eq(get.estimated_drain_start_time->nanoseconds, rig.now / SECOND * SECOND);
}

/* ---- /state ------------------------------------------------------------------------------- */

/* What it has between two texts. */
static const char *part_of_state(const struct agent_view *view, const char *from, const char *to)
{
	struct buf json = BUF_INIT;
	struct json_writer w;
	const char *begin, *end;
	char *part;

	jw_init(&w, &json);
	jw_begin_object(&w);
	agent_write_state(view, &w);
	jw_end_object(&w);
	begin = strstr(json.data, from);
	cr_assert(begin, "%s in %s", from, json.data);
	begin += strlen(from);
	end = strstr(begin, to);
	cr_assert(end, "%s in %s", to, begin);
	part = arena_strndup(&rig.arena, begin, (size_t)(end - begin));
	buf_free(&json);
	return part;
}

/* The members that Mesos' agent has, in the order in which this one writes them. */
Test(agent_shown, members_of_state)
{
	struct agent_view view = view_of(NULL);
	struct buf text = BUF_INIT, names = BUF_INIT;
	struct json_writer w;
	struct json *json;
	struct err err = {""};

	jw_init(&w, &text);
	jw_begin_object(&w);
	agent_write_state(&view, &w);
	jw_end_object(&w);
	cr_assert_eq(json_parse(&rig.arena, text.data, text.len, &json, &err), 0, "%s in %s",
		     err.text, text.data);
	for (size_t i = 0; i < json->count; i++)
		buf_printf(&names, "%s ", json->keys[i].data);
	cr_expect_str_eq(names.data,
			 "id pid hostname capabilities resources reserved_resources "
			 "unreserved_resources reserved_resources_full unreserved_resources_full "
			 "reserved_resources_allocated unreserved_resources_allocated "
			 "resource_providers attributes frameworks completed_frameworks ");
	buf_free(&text);
	buf_free(&names);
}

/* Of those that are over nothing. */
Test(agent_shown, what_executors_have_is_in_state)
{
	struct agent_view view = view_of(NULL);

	cr_expect_str_eq(part_of_state(&view, "\"unreserved_resources_allocated\":", ",\"gpus"),
			 "{\"cpus\":0.0");
	live();
	cr_expect_str_neq(part_of_state(&view, "\"unreserved_resources_allocated\":", ",\"gpus"),
			  "{\"cpus\":0.0");
}

Test(agent_shown, frameworks_that_are_over_are_in_state)
{
	struct agent_view view = view_of(NULL);

	live();
	cr_expect(
		str_has_prefix(part_of_state(&view, "\"completed_frameworks\":[", "\"executors\""),
			       "{\"id\":\"G\",\"name\":\"test\","));
	cr_expect(str_has_prefix(part_of_state(&view, "\"frameworks\":[", "\"executors\""),
				 "{\"id\":\"F\",\"name\":\"test\","));
}

Test(agent_shown, attributes_of_all_kinds)
{
	struct agent_view view = view_of(NULL);

	cr_expect_str_eq(part_of_state(&view, "\"attributes\":", ",\"frameworks\""),
			 "{\"rack\":\"r1\",\"weight\":1.5,\"slots\":\"[1-2, 5-6]\","
			 "\"disks\":\"{ssd, hdd}\"}");
}

Test(agent_shown, a_queued_task_and_its_executor)
{
	struct agent_view view = view_of(NULL);
	Mesos__TaskInfo *task = rig_task(&rig, "t", "e");
	const char *text;

	task->executor->labels = rig_parse(&rig, &mesos__labels__descriptor,
					   "{\"labels\":[{\"key\":\"k\",\"value\":\"v\"}]}");
	task->executor->has_type = 1;
	task->executor->type = MESOS__EXECUTOR_INFO__TYPE__CUSTOM;
	task->executor->name = (char *)"n";
	task->executor->source = (char *)"s";
	rig_run_task(&rig, task, 1);
	text = part_of_state(&view, "\"executors\":[", ",\"completed_executors\"");
	cr_expect(strstr(text, "\"id\":\"e\",\"name\":\"n\",\"source\":\"s\""), "%s", text);
	cr_expect(strstr(text, "\"role\":\"*\",\"labels\":[{\"key\":\"k\",\"value\":\"v\"}],"
			       "\"type\":\"CUSTOM\",\"tasks\":[],\"queued_tasks\":[{\"id\":\"t\","
			       "\"name\":\"t\",\"slave_id\":\"" RIG_AGENT "\","),
		  "%s", text);
	cr_expect(strstr(text, "\"executor_id\":\"e\"}],\"completed_tasks\":[]"), "%s", text);
}

Test(agent_shown, a_framework_with_many_roles)
{
	struct agent_view view = view_of(NULL);
	Mesos__Internal__UpdateFrameworkMessage *message =
		rig_new(&rig, Mesos__Internal__UpdateFrameworkMessage,
			mesos__internal__update_framework_message__descriptor);
	static const char info[] =
		"{\"id\":{\"value\":\"F\"},\"user\":\"joe\",\"name\":\"other\",\"principal\":"
		"\"pr\","
		"\"hostname\":\"h\",\"failover_timeout\":2.5,\"roles\":[\"a\",\"b\"],"
		"\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]}";

	rig_running(&rig, "t", "e", 1);
	cr_expect_str_eq(part_of_state(&view, "\"frameworks\":[{", ",\"executors\""),
			 "\"id\":\"F\",\"name\":\"test\",\"user\":\"nobody\","
			 "\"failover_timeout\":0.0,\"checkpoint\":false,\"hostname\":\"\","
			 "\"role\":\"*\"");
	message->framework_info = rig_parse(&rig, &mesos__framework_info__descriptor, info);
	message->framework_id = message->framework_info->id;
	message->pid = (char *)"scheduler@10.0.0.9:1";
	rig_message(&rig, RIG_MASTER, message);
	cr_expect_str_eq(part_of_state(&view, "\"frameworks\":[{", ",\"executors\""),
			 "\"id\":\"F\",\"name\":\"other\",\"user\":\"joe\","
			 "\"failover_timeout\":2.5,\"checkpoint\":false,\"hostname\":\"h\","
			 "\"principal\":\"pr\",\"roles\":[\"a\",\"b\"]");
}

Test(agent_shown, state_of_who_may_not_see_all)
{
	struct agent_view view =
		view_of("{\"view_frameworks\":[{\"principals\":{\"values\":[\"p\"]},"
			"\"users\":{\"type\":\"NONE\"}}],\"view_roles\":[{\"principals\":{"
			"\"values\":[\"p\"]},\"roles\":{\"type\":\"NONE\"}}]}");

	live();
	cr_expect_str_eq(part_of_state(&view, "\"reserved_resources\":", ","), "{}");
	cr_expect_str_eq(part_of_state(&view, "\"frameworks\":", "}"),
			 "[],\"completed_frameworks\":[]");
	view.principal = "another";
	cr_expect_str_neq(part_of_state(&view, "\"reserved_resources\":", ","), "{}");
}

/* ---- sandboxes ------------------------------------------------------------------------------ */

#define IN_SANDBOX(framework, executor)                                                            \
	"/w/slaves/" RIG_AGENT "/frameworks/" framework "/executors/" executor "/runs/latest/"     \
	"stdout"

Test(agent_shown, sandboxes_by_the_user_whose_they_are)
{
	struct agent_view view =
		view_of("{\"access_sandboxes\":[{\"principals\":{\"values\":[\"p\"]},\"users\":{"
			"\"values\":[\"nobody\"]}},{\"principals\":{\"values\":[\"p\"]},"
			"\"users\":{\"type\":\"NONE\"}}]}");
	Mesos__TaskInfo *task = rig_task(&rig, "t", "of-root");

	live();
	task->executor->command->user = (char *)"root";
	rig_run_task(&rig, task, 1);
	/* Those that live, that are over, and whose framework is. */
	cr_expect(agent_view_opens(&view, IN_SANDBOX("F", "now")));
	cr_expect(agent_view_opens(&view, IN_SANDBOX("F", "past")));
	cr_expect(agent_view_opens(&view, IN_SANDBOX("G", "e")));
	cr_expect(agent_view_opens(&view, "/frameworks/F/executors/now/runs/latest/stdout"));
	cr_expect_not(agent_view_opens(&view, IN_SANDBOX("F", "of-root")));
	/* Of nobody known: who may read all. */
	cr_expect_not(agent_view_opens(&view, IN_SANDBOX("F", "unheard-of")));
	cr_expect_not(agent_view_opens(&view, IN_SANDBOX("H", "now")));
	/* What is no sandbox is not there. */
	cr_expect(agent_view_opens(&view, "/etc/passwd"));
	view.principal = "another";
	cr_expect(agent_view_opens(&view, IN_SANDBOX("F", "of-root")));
	cr_expect(agent_view_opens(&view, IN_SANDBOX("H", "now")));
}
