/* What a view hides: for each kind of object, an authorizer that refuses one of two, and every way
 * to look at it. */
#include <criterion/criterion.h>
#include <string.h>

#include "master/core/objects.h"
#include "master/core/view.h"
#include "tests/unit/master_driver.h"

static struct driver *d;
static struct arena arena;
static struct view all, some;

/* What is refused: the kind and a text that says which. */
static enum view_kind hidden_kind;
static const char *hidden, *asked_for;

static const char *text_of(const struct view_object *o)
{
	switch (o->kind) {
	case VIEW_FRAMEWORK:
		return o->framework->info->name;
	case VIEW_TASK:
		return arena_strndup(&arena, task_record_id(o->task).data,
				     task_record_id(o->task).len);
	case VIEW_EXECUTOR:
		return o->executor->info->executor_id->value;
	case VIEW_ROLE:
		return o->role;
	case VIEW_MAINTENANCE_SCHEDULE:
	case VIEW_MAINTENANCE_STATUS:
		return o->machine->hostname;
	}
	return "";
}

static bool may_see(void *context, const char *principal, const struct view_object *o)
{
	asked_for = principal;
	return o->kind != hidden_kind || strcmp(text_of(o), hidden) != 0;
}

static const struct authorizer authorizer = {.may_see = may_see};

static void hide(enum view_kind kind, const char *text)
{
	hidden_kind = kind;
	hidden = text;
}

#define INFO(name, role)                                                                           \
	"\"name\":\"" name "\",\"failover_timeout\":60,\"roles\":[\"" role "\"],"                  \
	"\"capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":\"PARTITION_AWARE\"}]"

static void set_up(void)
{
	d = driver_create();
	arena_init(&arena);
	all = (struct view){.m = d->m};
	some = (struct view){.m = d->m, .principal = "p", .authorizer = &authorizer};
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, INFO("first", "a"));
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
}

static void tear_down(void)
{
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
	hide(VIEW_FRAMEWORK, "first");
	expect_frameworks(&some, "second third ");
	cr_expect_str_eq(asked_for, "p");
	hide(VIEW_FRAMEWORK, "second");
	expect_frameworks(&some, "first third ");
	cr_expect_not_null(view_find_framework(&some, "M-0000"));
	cr_expect_null(view_find_framework(&some, "M-0001"));
	cr_expect_not_null(view_find_framework(&all, "M-0001"));
	cr_expect_null(view_find_framework(&all, "M-0003"));
	driver_call(d, second, "{\"framework_id\":{\"value\":\"M-0001\"},\"type\":\"TEARDOWN\"}");
	expect_frameworks(&all, "first third (second) ");
	expect_frameworks(&some, "first third ");
	cr_expect_null(view_find_framework(&some, "M-0001"));
	hide(VIEW_FRAMEWORK, "third");
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
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2", NULL);
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t3", NULL);
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
	hide(VIEW_TASK, "t2");
	expect_tasks(&some, VIEW_ALL_TASKS, NULL, "t1 t3 ");
	expect_tasks(&some, VIEW_ALL_TASKS, "t2", "");
	expect_tasks(&some, VIEW_ALL_TASKS, "t1", "t1 ");
	hide(VIEW_TASK, "t3");
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
	hide(VIEW_TASK, "t1");
	expect_tasks(&some, VIEW_ALL_TASKS, NULL, "t2 t3 ");
}

Test(master_view, executors_and_offers)
{
	const struct framework *f = view_find_framework(&all, "M-0000");
	const struct executor *e;
	const struct offer *o;

	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2",
		      ",\"executor\":{\"executor_id\":{\"value\":\"e1\"},"
		      "\"command\":{\"value\":\"x\"}}");
	driver_pass(d, 2 * SECOND);
	e = view_next_executor(&all, f, NULL);
	o = view_next_offer(&all, f, NULL);
	cr_assert(o);
	cr_expect_null(view_next_offer(&all, f, o));
	cr_expect_null(view_next_inverse(&all, f, NULL));
	if (!e)
		return;
	cr_expect_null(view_next_executor(&all, f, e));
	hide(VIEW_EXECUTOR, "e1");
	cr_expect_null(view_next_executor(&some, f, NULL));
	hide(VIEW_EXECUTOR, "e2");
	cr_expect_eq(view_next_executor(&some, f, NULL), e);
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
	hide(VIEW_FRAMEWORK, "first");
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
	hide(VIEW_ROLE, "a");
	cr_assert_eq(view_weight_infos(&some, &arena, &weights), 1);
	cr_expect_str_eq(weights[0]->role, "b");
	cr_assert_eq(view_quota_status(&some, &arena)->n_configs, 1);
	cr_expect_eq(view_quota_status(&some, &arena)->n_infos, 1);
	cr_expect_str_eq(view_quota_status(&some, &arena)->configs[0]->role, "b");
	cr_expect_str_eq(view_quota_status(&some, &arena)->infos[0]->role, "b");
	q = view_next_quota(&some, NULL);
	cr_assert(q);
	cr_expect_str_eq(q->config->role, "b");
	cr_expect_null(view_next_quota(&some, q));
	cr_expect_not(view_sees_role(&some, "a"));
	cr_expect(view_sees_role(&some, "b"));
	cr_expect(view_sees_role(&all, "a"));
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
	hide(VIEW_ROLE, "a");
	cr_expect_null(view_next_operation(&some, a, NULL));
	hide(VIEW_ROLE, "b");
	cr_expect_eq(view_next_operation(&some, a, NULL), o);
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
	hide(VIEW_MAINTENANCE_SCHEDULE, "m1");
	cr_assert_eq(view_maintenance_schedule(&some, &arena)->n_windows, 1);
	cr_expect_eq(view_maintenance_schedule(&some, &arena)->windows[0]->n_machine_ids, 2);
	cr_expect_eq(view_maintenance_schedule(&some, &arena)
			     ->windows[0]
			     ->unavailability->start->nanoseconds,
		     2);
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_draining_machines, 3);
	hide(VIEW_MAINTENANCE_SCHEDULE, "m2");
	cr_expect_eq(view_maintenance_schedule(&some, &arena)->n_windows, 2);
	hide(VIEW_MAINTENANCE_STATUS, "m2");
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_draining_machines, 2);
	driver_operate(d, "{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":{\"machines\":["
			  "{\"hostname\":\"m2\"}]}}");
	cr_expect_eq(view_maintenance_status(&all, &arena)->n_down_machines, 1);
	cr_expect_eq(view_maintenance_status(&some, &arena)->n_down_machines, 0);
}
