/* What the core lets whom do: for each action that it asks about, a principal who may and one who
 * may not, at each place where it is asked. What may be seen: master_view.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "master/core/authorize.h"
#include "master/core/objects.h"
#include "tests/unit/master_driver.h"

static struct driver *d;
static struct acls *acls;

static void tear_down(void)
{
	acls_free(acls);
	acls = NULL;
	driver_destroy(d);
}

static void set_up(void)
{
	d = driver_create();
	driver_agent_like(d, AGENT1,
			  "[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":4}},"
			  "{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":4096}},"
			  "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1024}}]",
			  "MULTI_ROLE HIERARCHICAL_ROLE RESERVATION_REFINEMENT AGENT_DRAINING");
}

TestSuite(master_authorize, .init = set_up, .fini = tear_down);

/* "good" may do what the list is about to `object`, nobody else and to nothing else; NULL: to
 * anything. */
static void only_good(const char *list, const char *key, const char *object)
{
	struct buf text = BUF_INIT;
	struct err err = {""};

	buf_printf(&text, "{\"%s\":[{\"principals\":{\"values\":[\"good\"]},\"%s\":", list, key);
	if (object)
		buf_printf(&text, "{\"values\":[\"%s\"]}}", object);
	else
		buf_printf(&text, "{\"type\":\"ANY\"}}");
	buf_printf(&text, ",{\"principals\":{\"type\":\"ANY\"},\"%s\":{\"type\":\"NONE\"}}]}", key);
	acls_free(acls);
	cr_assert_eq(acls_parse(text.data, text.len, &acls, &err), 0, "%s", err.text);
	buf_free(&text);
	d->m->options.acls = acls;
}

#define MULTI ",\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]"

/* ---- frameworks ---------------------------------------------------------------------- */

/* Subscribes; false if that was refused. */
static bool admitted(const char *info)
{
	driver_forget(d);
	driver_subscribe(d, NULL, info);
	return !driver_saw(d, "\"type\":\"ERROR\"", NULL);
}

static void expect_refused(const char *info, const char *why)
{
	cr_expect_not(admitted(info));
	expect(d, why);
}

Test(master_authorize, roles_of_frameworks)
{
	only_good("register_frameworks", "roles", "a");
	cr_expect(admitted("\"principal\":\"good\",\"roles\":[\"a\"]" MULTI));
	expect_refused("\"principal\":\"bad\",\"roles\":[\"a\"]" MULTI,
		       "Not authorized to register framework  with roles { a }");
	expect_refused("\"principal\":\"good\",\"roles\":[\"a\",\"b\"]" MULTI,
		       "Not authorized to register framework  with roles { a, b }");
	expect_refused("\"principal\":\"good\",\"role\":\"b\"",
		       "Not authorized to register framework  with roles { b }");
	expect_refused("\"principal\":\"good\"",
		       "Not authorized to register framework  with roles { * }");
	cr_expect(admitted("\"principal\":\"good\",\"role\":\"a\""));
	cr_expect_not(admitted("\"roles\":[\"a\"]" MULTI), "nobody is not good");
}

Test(master_authorize, roles_that_a_framework_changes_to)
{
	static const char update[] =
		"{\"type\":\"UPDATE_FRAMEWORK\",\"framework_id\":{\"value\":\"M-0000\"},"
		"\"update_framework\":{\"framework_info\":{\"id\":{\"value\":\"M-0000\"},"
		"\"user\":\"u\",\"name\":\"n\",\"principal\":\"good\",\"roles\":[\"%s\"]" MULTI
		"}}}";

	only_good("register_frameworks", "roles", "a/%");
	cr_assert(admitted("\"principal\":\"good\",\"roles\":[\"a/b\"]" MULTI));
	cr_expect_eq(driver_call(d, 1, update, "c"), 403);
	cr_expect(strstr(d->out.reply.text, "Not authorized to register framework M-0000"));
	cr_expect_eq(driver_call(d, 1, update, "a/c"), 200);
}

/* ---- tasks ------------------------------------------------------------------------------ */

static void launch(const char *task, const char *more)
{
	driver_pass(d, 2 * SECOND);
	driver_forget(d);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", task, more);
}

static void expect_unauthorized(const char *text)
{
	expect(d, "\"state\":\"TASK_ERROR\"", "\"reason\":\"REASON_TASK_UNAUTHORIZED\"");
	expect(d, text);
}

#define AS(user) "!\"command\":{\"value\":\"x\",\"user\":\"" user "\"}"

Test(master_authorize, users_of_tasks)
{
	only_good("run_tasks", "users", "nobody");
	cr_assert(admitted("\"principal\":\"good\",\"user\":\"own\""));
	launch("t1", AS("nobody"));
	refute(d, "TASK_ERROR");
	launch("t2", AS("root"));
	expect_unauthorized("Not authorized to launch as user 'root'");
	launch("t3",
	       "!\"executor\":{\"executor_id\":{\"value\":\"e\"},\"command\":{\"value\":\"x\","
	       "\"user\":\"wheel\"}}");
	expect_unauthorized("Not authorized to launch as user 'wheel'");
	launch("t4", NULL);
	expect_unauthorized("Not authorized to launch as user 'own'");
	launch("t5", AS("nobody"));
	refute(d, "TASK_ERROR");
}

Test(master_authorize, users_of_groups)
{
	only_good("run_tasks", "users", "nobody");
	cr_assert(admitted("\"principal\":\"good\",\"user\":\"nobody\""));
	driver_pass(d, 2 * SECOND);
	driver_call(
		d, 1,
		"{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},\"accept\":{"
		"\"offer_ids\":[{\"value\":\"%s\"}],\"operations\":[{\"type\":\"LAUNCH_GROUP\","
		"\"launch_group\":{\"executor\":{\"executor_id\":{\"value\":\"e\"},"
		"\"type\":\"DEFAULT\"},\"task_group\":{\"tasks\":["
		"{\"name\":\"a\",\"task_id\":{\"value\":\"a\"},\"agent_id\":{\"value\":\"M-S0\"},"
		"\"command\":{\"value\":\"x\"}},"
		"{\"name\":\"b\",\"task_id\":{\"value\":\"b\"},\"agent_id\":{\"value\":\"M-S0\"},"
		"\"command\":{\"value\":\"x\",\"user\":\"root\"}}]}}}]}}",
		driver_offer(d));
	/* All of them are refused. */
	expect(d, "\"task_id\":{\"value\":\"a\"}", "REASON_TASK_GROUP_UNAUTHORIZED");
	expect(d, "\"task_id\":{\"value\":\"b\"}", "REASON_TASK_GROUP_UNAUTHORIZED");
}

/* ---- what operators change ------------------------------------------------------------- */

/* The status of the call by the principal, waited for. */
static int asked_by(const char *principal, const char *call)
{
	char mark[64];
	int status;

	d->principal = principal;
	driver_forget(d);
	status = driver_operate(d, "%s", call);
	if (status)
		return status;
	for (status = 200; status < 600; status++) {
		snprintf(mark, sizeof(mark), "answer %llu %d ", (unsigned long long)d->next_request,
			 status);
		if (driver_saw(d, mark, NULL))
			return status;
	}
	return 0;
}

#define AGENT_CALL(type, member, more)                                                             \
	"{\"type\":\"" type "\",\"" member "\":{\"agent_id\":{\"value\":\"M-S0\"}" more "}}"
#define MACHINES "\"machines\":[{\"hostname\":\"m1\"}]"
#define RESERVED(principal, more)                                                                  \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":64},\"reservations\":["      \
	"{\"type\":\"DYNAMIC\",\"role\":\"a\",\"principal\":\"" principal "\"}]" more "}"
#define RESERVE(principal)                                                                         \
	AGENT_CALL("RESERVE_RESOURCES", "reserve_resources",                                       \
		   ",\"resources\":[" RESERVED(principal, "") "]")
#define VOLUME(principal)                                                                          \
	",\"volumes\":[" RESERVED("good",                                                          \
				  ",\"disk\":{\"persistence\":{\"id\":\"v\",\"principal\":"        \
				  "\"" principal "\"},\"volume\":{\"container_path\":\"p\","       \
				  "\"mode\":\"RW\"}}") "]"

/* In an order in which each has what it needs. */
static const struct {
	const char *list, *key, *object, *call;
	int status;
	const char *bad; /* the call of another; NULL: the same */
} changes[] = {
	{"update_weights", "roles", "a",
	 "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":["
	 "{\"role\":\"a\",\"weight\":2}]}}",
	 200, NULL},
	{"update_quotas", "roles", "a",
	 "{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"quota_configs\":[{\"role\":\"a\","
	 "\"limits\":{\"cpus\":{\"value\":9}}}]}}",
	 200, NULL},
	{"update_quotas", "roles", "a",
	 "{\"type\":\"REMOVE_QUOTA\",\"remove_quota\":{\"role\":\"a\"}}", 200, NULL},
	{"update_quotas", "roles", "a",
	 "{\"type\":\"SET_QUOTA\",\"set_quota\":{\"quota_request\":{\"role\":\"a\",\"guarantee\":["
	 "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}]}}}",
	 200, NULL},
	{"reserve_resources", "roles", "a", RESERVE("good"), 202, RESERVE("bad")},
	{"create_volumes", "roles", "a",
	 AGENT_CALL("CREATE_VOLUMES", "create_volumes", VOLUME("good")), 202,
	 AGENT_CALL("CREATE_VOLUMES", "create_volumes", VOLUME("bad"))},
	{"destroy_volumes", "creator_principals", "good",
	 AGENT_CALL("DESTROY_VOLUMES", "destroy_volumes", VOLUME("good")), 202, NULL},
	{"unreserve_resources", "reserver_principals", "good",
	 AGENT_CALL("UNRESERVE_RESOURCES", "unreserve_resources",
		    ",\"resources\":[" RESERVED("good", "") "]"),
	 202, NULL},
	{"update_maintenance_schedules", "machines", NULL,
	 "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\",\"update_maintenance_schedule\":{\"schedule\":{"
	 "\"windows\":[{\"machine_ids\":[{\"hostname\":\"m1\"}],\"unavailability\":{\"start\":{"
	 "\"nanoseconds\":1}}}]}}}",
	 200, NULL},
	{"start_maintenances", "machines", NULL,
	 "{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":{" MACHINES "}}", 200, NULL},
	{"stop_maintenances", "machines", NULL,
	 "{\"type\":\"STOP_MAINTENANCE\",\"stop_maintenance\":{" MACHINES "}}", 200, NULL},
	{"deactivate_agents", "agents", NULL,
	 AGENT_CALL("DEACTIVATE_AGENT", "deactivate_agent", ""), 200, NULL},
	{"reactivate_agents", "agents", NULL,
	 AGENT_CALL("REACTIVATE_AGENT", "reactivate_agent", ""), 200, NULL},
	{"drain_agents", "agents", NULL, AGENT_CALL("DRAIN_AGENT", "drain_agent", ""), 200, NULL},
	{"teardown_frameworks", "framework_principals", "owner",
	 "{\"type\":\"TEARDOWN\",\"teardown\":{\"framework_id\":{\"value\":\"M-0000\"}}}", 200,
	 NULL},
	{"mark_agents_gone", "agents", NULL, AGENT_CALL("MARK_AGENT_GONE", "mark_agent_gone", ""),
	 200, NULL},
};

Test(master_authorize, changes_of_operators)
{
	cr_assert(admitted(
		"\"principal\":\"owner\",\"failover_timeout\":1000,\"roles\":[\"q\"]" MULTI));
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		const char *call = changes[i].call;

		only_good(changes[i].list, changes[i].key, changes[i].object);
		cr_expect_eq(asked_by("bad", changes[i].bad ? changes[i].bad : call), 403, "%s",
			     call);
		cr_expect_eq(asked_by(NULL, call), 403, "%s", call);
		cr_expect_eq(asked_by("good", call), changes[i].status, "%s: %s", call,
			     d->out.reply.text);
	}
}

Test(master_authorize, objects_that_the_list_does_not_name)
{
	only_good("update_weights", "roles", "b");
	cr_expect_eq(asked_by("good", changes[0].call), 403);
	only_good("update_quotas", "roles", "b");
	for (int i = 1; i < 4; i++)
		cr_expect_eq(asked_by("good", changes[i].call), 403);
	only_good("reserve_resources", "roles", "b");
	cr_expect_eq(asked_by("good", changes[4].call), 403);
	cr_assert(admitted("\"principal\":\"owner\",\"failover_timeout\":1000"));
	only_good("teardown_frameworks", "framework_principals", "other");
	cr_expect_eq(asked_by("good", changes[14].call), 403);
	cr_expect_eq(asked_by("good", "{\"type\":\"TEARDOWN\",\"teardown\":{\"framework_id\":{"
				      "\"value\":\"x\"}}}"),
		     400, "there is none");
}

/* Whoever drains an agent so that it is marked gone does both. */
Test(master_authorize, draining_until_gone)
{
	static const char call[] = AGENT_CALL("DRAIN_AGENT", "drain_agent", ",\"mark_gone\":true");

	only_good("mark_agents_gone", "agents", NULL);
	cr_expect_eq(asked_by("bad", call), 403);
	cr_expect_eq(asked_by("bad", AGENT_CALL("DRAIN_AGENT", "drain_agent", "")), 200);
	only_good("drain_agents", "agents", NULL);
	cr_expect_eq(asked_by("bad", call), 403);
	cr_expect_eq(asked_by("good", call), 200);
}

/* ---- operations of frameworks -------------------------------------------------------------- */

static bool reserved_in_total(void)
{
	const struct agent *a = d->m->agents;

	for (uint32_t i = 0; i < a->total.count; i++) {
		if (!strcmp(resource_shape_role(a->total.pieces[i].shape), "a"))
			return true;
	}
	return false;
}

static void accept_reserve(void)
{
	driver_pass(d, 2 * SECOND);
	driver_call(d, 1,
		    "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},\"accept\":{"
		    "\"offer_ids\":[{\"value\":\"%s\"}],\"filters\":{\"refuse_seconds\":0},"
		    "\"operations\":[{\"type\":\"RESERVE\",\"reserve\":{\"resources\":[" RESERVED(
			    "good", "") "]}}]}}",
		    driver_offer(d));
}

Test(master_authorize, operations_of_frameworks)
{
	cr_assert(admitted("\"principal\":\"good\",\"roles\":[\"a\"]" MULTI));
	only_good("reserve_resources", "roles", "b");
	accept_reserve();
	cr_expect_not(reserved_in_total());
	only_good("reserve_resources", "roles", "a");
	accept_reserve();
	cr_expect(reserved_in_total());
}

static int authorized(const char *principal, const char *text)
{
	struct err err = {""};
	struct arena arena;
	struct json *json;
	const Mesos__Offer__Operation *operation;
	int rv;

	arena_init(&arena);
	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	operation =
		json_to_proto(&mesos__offer__operation__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(operation, "%s: %s", text, err.text);
	rv = authorize_operation(d->m, principal, operation, &err);
	if (rv)
		cr_expect(str_has_prefix(err.text, "Not authorized to perform the operation "),
			  "%s", err.text);
	arena_free(&arena);
	return rv;
}

#define BY(principal)                                                                              \
	RESERVED(principal, ",\"disk\":{\"persistence\":{\"id\":\"v\",\"principal\":\"" principal  \
			    "\"},\"volume\":{\"container_path\":\"p\",\"mode\":\"RW\"}}")
#define FREE "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}"

#define UNOWNED                                                                                    \
	",\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"p\","          \
	"\"mode\":\"RW\"}}"
#define DESTROYED(volume) "{\"type\":\"DESTROY\",\"destroy\":{\"volumes\":[" volume "]}}"

/* Each asks about one list, and about one thing in what it changes. */
static const struct {
	const char *list, *key, *object, *other, *operation;
} asked[] = {
	{"reserve_resources", "roles", "a", "b",
	 "{\"type\":\"RESERVE\",\"reserve\":{\"resources\":[" BY("good") "]}}"},
	{"unreserve_resources", "reserver_principals", "x", "y",
	 "{\"type\":\"RESERVE\",\"reserve\":{\"source\":[" BY("x") "],\"resources\":[" BY(
		 "y") "]}}"},
	{"unreserve_resources", "reserver_principals", "x", "y",
	 "{\"type\":\"UNRESERVE\",\"unreserve\":{\"resources\":[" BY("x") "]}}"},
	{"create_volumes", "roles", "a", "b",
	 "{\"type\":\"CREATE\",\"create\":{\"volumes\":[" BY("x") "]}}"},
	{"destroy_volumes", "creator_principals", "x", "y",
	 "{\"type\":\"DESTROY\",\"destroy\":{\"volumes\":[" BY("x") "]}}"},
	{"resize_volumes", "roles", "a", "b",
	 "{\"type\":\"GROW_VOLUME\",\"grow_volume\":{\"volume\":" BY("x") ",\"addition\":" FREE
									  "}}"},
	{"resize_volumes", "roles", "a", "b",
	 "{\"type\":\"SHRINK_VOLUME\",\"shrink_volume\":{\"volume\":" BY(
		 "x") ",\"subtract\":{\"value\":1}}}"},
};

Test(master_authorize, each_operation_asks_for_what_it_changes)
{
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		const char *operation = asked[i].operation;

		only_good(asked[i].list, asked[i].key, asked[i].object);
		cr_expect_eq(authorized("good", operation), 0, "%s", operation);
		cr_expect_neq(authorized("bad", operation), 0, "%s", operation);
		only_good(asked[i].list, asked[i].key, asked[i].other);
		cr_expect_neq(authorized("good", operation), 0, "%s", operation);
		d->m->options.acls = NULL;
		cr_expect_eq(authorized("bad", operation), 0, "without lists all is allowed");
	}
}

/* What has no maker is nobody's that a list could name. */
Test(master_authorize, volumes_that_are_none)
{
	only_good("destroy_volumes", "creator_principals", "x");
	cr_expect_neq(authorized("good", DESTROYED(FREE)), 0);
	cr_expect_neq(authorized("good", DESTROYED(RESERVED("x", ",\"disk\":{}"))), 0);
	cr_expect_neq(authorized("good", DESTROYED(RESERVED("x", UNOWNED))), 0);
	only_good("destroy_volumes", "creator_principals", NULL);
	cr_expect_eq(authorized("good", DESTROYED(FREE)), 0);
}

Test(master_authorize, tasks_that_an_operator_kills)
{
	struct master_event event = {.type = MASTER_KILL_TASK,
				     .kill_task = {.framework_id = "M-0000", .task_id = "t"}};

	cr_assert(admitted("\"principal\":\"owner\""));
	launch("t", NULL);
	only_good("teardown_frameworks", "framework_principals", "owner");
	driver_forget(d);
	event.kill_task.principal = "bad";
	driver_step(d, &event);
	cr_expect_eq(d->out.reply.status, 403);
	cr_expect_not(driver_saw(d, "KillTaskMessage", NULL));
	event.kill_task.principal = "good";
	driver_step(d, &event);
	cr_expect_eq(d->out.reply.status, 202);
	cr_expect(driver_saw(d, "KillTaskMessage", NULL));
	only_good("teardown_frameworks", "framework_principals", "another");
	driver_step(d, &event);
	cr_expect_eq(d->out.reply.status, 403);
}
