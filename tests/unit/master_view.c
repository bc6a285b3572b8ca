/* What a view hides: for each kind of object, lists that refuse one of two, and every way to look
 * at it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/objects.h"
#include "master/core/view.h"
#include "tests/unit/master_driver.h"

static struct driver *d;
static struct arena arena;
static struct view all, some;

static struct acls *acls;

/* `some` does not see what this says of the objects of the list; NULL hides them all. */
static void hide(const char *list, const char *key, const char *object)
{
	struct buf text = BUF_INIT;
	struct err err = {""};

	buf_printf(&text, "{\"%s\":[{\"principals\":{\"type\":\"NONE\"},\"%s\":", list, key);
	if (object)
		buf_printf(&text, "{\"values\":[\"%s\"]}}]}", object);
	else
		buf_printf(&text, "{\"type\":\"ANY\"}}]}");
	acls_free(acls);
	cr_assert_eq(acls_parse(text.data, text.len, &acls, &err), 0, "%s", err.text);
	buf_free(&text);
	some.acls = acls;
}

#define INFO(name, role)                                                                           \
	"\"user\":\"" name "\",\"name\":\"" name "\",\"failover_timeout\":60,\"roles\":[\"" role   \
	"\"],"                                                                                     \
	"\"capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":\"PARTITION_AWARE\"}]"

/* Tasks run as users of their own names. */
#define RUN_AS(user) "!\"command\":{\"value\":\"true\",\"user\":\"" user "\"}"

static void set_up(void)
{
	d = driver_create();
	arena_init(&arena);
	all = (struct view){.m = d->m};
	some = (struct view){.m = d->m, .principal = "p"};
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, INFO("first", "a"));
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", RUN_AS("t1"));
}

static void tear_down(void)
{
	acls_free(acls);
	acls = NULL;
	arena_free(&arena);
	driver_destroy(d);
}

TestSuite(master_view, .init = set_up, .fini = tear_down);

static void expect_frameworks(const struct view *v, const char *expected)
{
	const struct framework *f = NULL;
	struct buf text = BUF_INIT;

	while ((f = view_next_framework(v, f)))
		buf_printf(&text, "%s ", f->info->name);
	while ((f = view_next_completed(v, f)))
		buf_printf(&text, "(%s) ", f->info->name);
	buf_putc(&text, '\0');
	cr_expect_str_eq(text.data, expected);
	buf_free(&text);
}

Test(master_view, frameworks)
{
	uint64_t second = driver_subscribe(d, NULL, INFO("second", "b"));

	driver_subscribe(d, NULL, INFO("third", "b"));
	expect_frameworks(&all, "first second third ");
	hide("view_frameworks", "users", "first");
	expect_frameworks(&some, "second third ");
	hide("view_frameworks", "users", "second");
	expect_frameworks(&some, "first third ");
	cr_expect_not_null(view_find_framework(&some, "M-0000"));
	cr_expect_null(view_find_framework(&some, "M-0001"));
	cr_expect_not_null(view_find_framework(&all, "M-0001"));
	cr_expect_null(view_find_framework(&all, "M-0003"));
	driver_call(d, second, "{\"framework_id\":{\"value\":\"M-0001\"},\"type\":\"TEARDOWN\"}");
	expect_frameworks(&all, "first third (second) ");
	expect_frameworks(&some, "first third ");
	cr_expect_null(view_find_framework(&some, "M-0001"));
	hide("view_frameworks", "users", "third");
	expect_frameworks(&some, "first (second) ");
}

static void add_task(void *context, const struct task_record *record)
{
	struct slice id = task_record_id(record);

	buf_printf(context, "%.*s ", (int)id.len, id.data);
}

static void expect_tasks(const struct view *v, unsigned lists, const char *id, const char *expected)
{
	struct buf text = BUF_INIT;

	view_each_task(v, view_find_framework(&all, "M-0000"), lists, id, add_task, &text);
	buf_putc(&text, '\0');
	cr_expect_str_eq(text.data, expected);
	buf_free(&text);
}

static void launch_three(void)
{
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2", RUN_AS("t2"));
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t3", RUN_AS("t3"));
}

Test(master_view, tasks)
{
	launch_three();
	driver_update(d, AGENT1, "M-S0", "M-0000", "t3", "TASK_FINISHED", 'f');
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t3", 'f');
	expect_tasks(&all, VIEW_ALL_TASKS, NULL, "t1 t2 t3 ");
	expect_tasks(&all, VIEW_TASKS, NULL, "t1 t2 ");
	expect_tasks(&all, VIEW_COMPLETED_TASKS, NULL, "t3 ");
	expect_tasks(&all, VIEW_ALL_TASKS, "t3", "t3 ");
	expect_tasks(&all, VIEW_UNREACHABLE_TASKS, NULL, "");
	hide("view_tasks", "users", "t2");
	expect_tasks(&some, VIEW_ALL_TASKS, NULL, "t1 t3 ");
	expect_tasks(&some, VIEW_ALL_TASKS, "t2", "");
	expect_tasks(&some, VIEW_ALL_TASKS, "t1", "t1 ");
	hide("view_tasks", "users", "t3");
	expect_tasks(&some, VIEW_COMPLETED_TASKS, NULL, "");
	expect_tasks(&some, VIEW_ALL_TASKS, "t3", "");
	cr_expect_eq(view_count_tasks(&all), 3);
	cr_expect_eq(view_count_tasks(&some), 3, "how much there is to look at");
}

Test(master_view, unreachable_tasks)
{
	launch_three();
	d->agent_silent = true;
	driver_pass(d, 2 * MINUTE);
	expect_tasks(&all, VIEW_UNREACHABLE_TASKS, NULL, "t1 t2 t3 ");
	expect_tasks(&all, VIEW_TASKS, NULL, "");
	expect_tasks(&all, VIEW_ALL_TASKS, "t2", "t2 ");
	hide("view_tasks", "users", "t1");
	expect_tasks(&some, VIEW_ALL_TASKS, NULL, "t2 t3 ");
}

Test(master_view, executors_and_offers)
{
	const struct framework *f = view_find_framework(&all, "M-0000");
	const struct executor *e;
	const struct offer *o;

	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2",
		      "!\"executor\":{\"executor_id\":{\"value\":\"e1\"},"
		      "\"command\":{\"value\":\"x\",\"user\":\"e1\"}}");
	driver_pass(d, 2 * SECOND);
	e = view_next_executor(&all, f, NULL);
	o = view_next_offer(&all, f, NULL);
	cr_assert(o);
	cr_expect_null(view_next_offer(&all, f, o));
	cr_expect_null(view_next_inverse(&all, f, NULL));
	cr_assert(e);
	cr_expect_null(view_next_executor(&all, f, e));
	hide("view_executors", "users", "e1");
	cr_expect_null(view_next_executor(&some, f, NULL));
	hide("view_executors", "users", "e2");
	cr_expect_eq(view_next_executor(&some, f, NULL), e);
}

static bool opens(const char *framework, const char *executor)
{
	return view_opens_sandbox(&some, framework, executor);
}

/* By who runs it: the user of the executor, of the command task, else of the framework. */
Test(master_view, sandboxes)
{
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2",
		      "!\"executor\":{\"executor_id\":{\"value\":\"e1\"},"
		      "\"command\":{\"value\":\"x\",\"user\":\"e1\"}}");
	cr_expect(opens("M-0000", "t1"), "there are no lists");
	hide("access_sandboxes", "users", "t1");
	cr_expect_not(opens("M-0000", "t1"));
	cr_expect(opens("M-0000", "e1") && opens("M-0000", "else") && opens("none", "t1"));
	hide("access_sandboxes", "users", "e1");
	cr_expect_not(opens("M-0000", "e1"));
	cr_expect(opens("M-0000", "t1"));
	hide("access_sandboxes", "users", "first");
	cr_expect(opens("M-0000", "t1") && opens("M-0000", "e1"));
	cr_expect_not(opens("M-0000", "else"));
	/* What is over has the same users. */
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 'f');
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t1", 'f');
	hide("access_sandboxes", "users", "t1");
	cr_expect_not(opens("M-0000", "t1"));
	hide("access_sandboxes", "users", NULL);
	cr_expect_not(opens("M-0000", "t1") || opens("none", "none"));
	cr_expect(view_opens_sandbox(&all, "M-0000", "t1"));
}

static size_t count_agents(const struct view *v)
{
	const struct agent *a = NULL;
	size_t count = 0;

	while ((a = view_next_agent(v, a)))
		count++;
	return count;
}

Test(master_view, agents)
{
	driver_agent(d, AGENT2);
	hide("view_frameworks", "users", "first");
	cr_expect_eq(count_agents(&all), 2);
	cr_expect_eq(count_agents(&some), 2);
}

static void set_roles(void)
{
	cr_assert_eq(driver_operate(d, "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":"
				       "{\"weight_infos\":[{\"role\":\"a\",\"weight\":2},"
				       "{\"role\":\"b\",\"weight\":3}]}}") /
			     100,
		     0);
	driver_operate(d, "{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"quota_configs\":["
			  "{\"role\":\"a\",\"limits\":{\"cpus\":{\"value\":9}}},"
			  "{\"role\":\"b\",\"limits\":{\"cpus\":{\"value\":8}}}]}}");
}

Test(master_view, roles)
{
	const struct quota *q = NULL;
	Mesos__WeightInfo **weights;

	set_roles();
	cr_expect_eq(view_weight_infos(&all, &arena, &weights), 2);
	cr_expect_eq(view_quota_status(&all, &arena)->n_configs, 2);
	cr_expect_eq(view_quota_status(&all, &arena)->n_infos, 2);
	hide("view_roles", "roles", "a");
	cr_assert_eq(view_weight_infos(&some, &arena, &weights), 1);
	cr_expect_str_eq(weights[0]->role, "b");
	cr_expect_not(view_sees_role(&some, "a"));
	cr_expect(view_sees_role(&some, "b"));
	cr_expect(view_sees_role(&all, "a"));
	cr_expect_eq(view_quota_status(&some, &arena)->n_configs, 2);
	hide("get_quotas", "roles", "a");
	cr_expect_eq(view_weight_infos(&some, &arena, &weights), 2);
	cr_assert_eq(view_quota_status(&some, &arena)->n_configs, 1);
	cr_expect_eq(view_quota_status(&some, &arena)->n_infos, 1);
	cr_expect_str_eq(view_quota_status(&some, &arena)->configs[0]->role, "b");
	cr_expect_str_eq(view_quota_status(&some, &arena)->infos[0]->role, "b");
	q = view_next_quota(&some, NULL);
	cr_assert(q);
	cr_expect_str_eq(q->config->role, "b");
	cr_expect_null(view_next_quota(&some, q));
}

static size_t count_pieces(const struct view *v, const char *what)
{
	const struct agent *a = view_next_agent(&all, NULL);
	struct resources scratch = RESOURCES_INIT;
	size_t count = view_resources(v, *what == 't' ? &a->total : &a->used, &scratch)->count;

	resources_free(&scratch);
	return count;
}

Test(master_view, resources_of_agents)
{
	const struct agent *a = view_next_agent(&all, NULL);

	driver_operate(d,
		       "{\"type\":\"RESERVE_RESOURCES\",\"reserve_resources\":{\"agent_id\":"
		       "{\"value\":\"%s\"},\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
		       "\"scalar\":{\"value\":1},\"reservations\":[{\"type\":\"DYNAMIC\","
		       "\"role\":\"b\"}]}]}}",
		       a->id);
	cr_expect_eq(count_pieces(&all, "total"), a->total.count);
	hide("view_roles", "roles", "b");
	cr_expect_eq(count_pieces(&some, "total"), a->total.count - 1, "what is reserved for b");
	cr_expect_eq(count_pieces(&some, "used"), a->used.count);
	hide("view_roles", "roles", "a");
	cr_expect_eq(count_pieces(&some, "total"), a->total.count);
	cr_expect_eq(count_pieces(&some, "used"), 0, "what is allocated to a");
	cr_expect_neq(a->used.count, 0);
}

Test(master_view, operations)
{
	const struct agent *a = view_next_agent(&all, NULL);
	const struct operation *o;

	driver_agent_like(d, AGENT2, RESOURCES(4, 4096), "RESOURCE_PROVIDER");
	a = view_next_agent(&all, a);
	driver_operate(d,
		       "{\"type\":\"RESERVE_RESOURCES\",\"reserve_resources\":{\"agent_id\":"
		       "{\"value\":\"%s\"},\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
		       "\"scalar\":{\"value\":1},\"reservations\":[{\"type\":\"DYNAMIC\","
		       "\"role\":\"a\"}]}]}}",
		       a->id);
	o = view_next_operation(&all, a, NULL);
	cr_assert(o);
	cr_expect_null(view_next_operation(&all, a, o));
	hide("view_roles", "roles", "a");
	cr_expect_null(view_next_operation(&some, a, NULL));
	hide("view_roles", "roles", "b");
	cr_expect_eq(view_next_operation(&some, a, NULL), o);
}

#define DISK(more)                                                                                 \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":64},\"reservations\":["      \
	"{\"type\":\"DYNAMIC\",\"role\":\"a\"}]" more "}"
#define VOLUME                                                                                     \
	DISK(",\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"p\","     \
	     "\"mode\":\"RW\"}}")

/* Each kind tells its role in a place of its own. */
Test(master_view, operations_of_each_kind)
{
	static const char *const calls[] = {
		"{\"type\":\"RESERVE_RESOURCES\",\"reserve_resources\":{%s,\"resources\":[" DISK(
			"") "]}}",
		"{\"type\":\"CREATE_VOLUMES\",\"create_volumes\":{%s,\"volumes\":[" VOLUME "]}}",
		"{\"type\":\"SHRINK_VOLUME\",\"shrink_volume\":{%s,\"volume\":" VOLUME
		",\"subtract\":{\"value\":8}}}",
		"{\"type\":\"UNRESERVE_RESOURCES\",\"unreserve_resources\":{%s,\"resources\":["
		"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":8},\"reservations\":["
		"{\"type\":\"DYNAMIC\",\"role\":\"a\"}]}]}}",
		"{\"type\":\"DESTROY_VOLUMES\",\"destroy_volumes\":{%s,\"volumes\":["
		"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":56},\"reservations\":"
		"["
		"{\"type\":\"DYNAMIC\",\"role\":\"a\"}],\"disk\":{\"persistence\":{\"id\":\"v\"},"
		"\"volume\":{\"container_path\":\"p\",\"mode\":\"RW\"}}}]}}",
	};
	const struct agent *a = view_next_agent(&all, NULL);
	const struct operation *o;
	size_t count = 0;
	char id[64];

	driver_agent_like(d, AGENT2,
			  "[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":640}}]",
			  "RESOURCE_PROVIDER RESIZE_VOLUME");
	a = view_next_agent(&all, a);
	snprintf(id, sizeof(id), "\"agent_id\":{\"value\":\"%s\"}", a->id);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char *call = xprintf(calls[i], id);

		cr_expect_eq(driver_operate(d, "%s", call), 202, "%s: %s", call, d->out.reply.text);
		free(call);
	}
	for (o = NULL; (o = view_next_operation(&all, a, o));)
		count++;
	cr_expect_eq(count, sizeof(calls) / sizeof(*calls));
	hide("view_roles", "roles", "a");
	cr_expect_null(view_next_operation(&some, a, NULL));
}

Test(master_view, machines)
{
	driver_operate(d, "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\","
			  "\"update_maintenance_schedule\":{\"schedule\":{\"windows\":["
			  "{\"machine_ids\":[{\"hostname\":\"m1\"}],\"unavailability\":{\"start\":"
			  "{\"nanoseconds\":1}}},"
			  "{\"machine_ids\":[{\"hostname\":\"m2\"},{\"hostname\":\"m3\"}],"
			  "\"unavailability\":{\"start\":{\"nanoseconds\":2}}}]}}}");
	cr_expect_eq(view_maintenance_schedule(&all, &arena)->n_windows, 2);
	cr_expect_eq(view_maintenance_status(&all, &arena)->n_draining_machines, 3);
	hide("get_maintenance_schedules", "machines", NULL);
	cr_expect_eq(view_maintenance_schedule(&some, &arena)->n_windows, 0);
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_draining_machines, 3);
	hide("get_maintenance_statuses", "machines", NULL);
	cr_expect_eq(view_maintenance_schedule(&some, &arena)->n_windows, 2);
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_draining_machines, 0);
	driver_operate(d, "{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":{\"machines\":["
			  "{\"hostname\":\"m2\"}]}}");
	cr_expect_eq(view_maintenance_status(&all, &arena)->n_down_machines, 1);
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_down_machines, 0);
}
