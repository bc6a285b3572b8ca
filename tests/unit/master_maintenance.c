/* Maintenance windows, machines that are down, inverse offers, the whitelist. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_maintenance, .init = set_up, .fini = tear_down);

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define MACHINE "{\"hostname\":\"host\",\"ip\":\"127.0.0.1\"}"
#define WINDOW_OF(machines, start)                                                                 \
	"{\"machine_ids\":[" machines "],\"unavailability\":{\"start\":{\"nanoseconds\":" start    \
	"},\"duration\":{\"nanoseconds\":3600}}}"
#define WINDOW(machines) WINDOW_OF(machines, "5000")
#define UNAVAILABILITY                                                                             \
	"\"unavailability\":{\"start\":{\"nanoseconds\":5000},\"duration\":{\"nanoseconds\":3600}" \
	"}"

/* The status of a call that is answered at once or when it is durable, and its text. */
static int change(const char *text, const char **body)
{
	static char *answer;
	char *start;
	int status = driver_operate(d, "%s", text);

	free(answer);
	answer = xstrdup(d->out.reply.text ? d->out.reply.text : "");
	if (!status) {
		char *mark = xprintf("answer %llu ", (unsigned long long)d->next_request);

		start = d->trace.data ? strstr(d->trace.data, mark) : NULL;
		cr_assert(start, "no answer yet");
		start += strlen(mark);
		status = atoi(start);
		start = strchr(start, ' ') + 1;
		free(answer);
		answer = xstrndup(start, strcspn(start, "\n"));
		free(mark);
	}
	if (body)
		*body = answer;
	return status;
}

static int post(const char *windows, const char **body)
{
	char *text = xprintf("{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\","
			     "\"update_maintenance_schedule\":{\"schedule\":{\"windows\":[%s]}}}",
			     windows);
	int status = change(text, body);

	free(text);
	return status;
}

static int start(const char *machines, const char **body)
{
	char *text = xprintf("{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":"
			     "{\"machines\":[%s]}}",
			     machines);
	int status = change(text, body);

	free(text);
	return status;
}

static int stop(const char *machines, const char **body)
{
	char *text = xprintf("{\"type\":\"STOP_MAINTENANCE\",\"stop_maintenance\":"
			     "{\"machines\":[%s]}}",
			     machines);
	int status = change(text, body);

	free(text);
	return status;
}

static void expect_json(const void *message, const char *expected)
{
	struct buf json = BUF_INIT;

	proto_to_json(message, SPELL_V1, &json);
	cr_expect_str_eq(json.data, expected);
	buf_free(&json);
}

static void expect_schedule(const char *expected)
{
	struct arena arena;

	arena_init(&arena);
	expect_json(master_maintenance_schedule(d->m, &arena), expected);
	arena_free(&arena);
}

static void expect_status(const char *expected)
{
	struct arena arena;

	arena_init(&arena);
	expect_json(master_maintenance_status(d->m, &arena), expected);
	arena_free(&arena);
}

/* An agent with task "t" of a framework with these members. */
static void run(const char *members)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, members);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	driver_pass(d, SECOND);
	driver_forget(d);
}

static int answer_inverse(const char *call, const char *id, const char *filters)
{
	char lower[32];

	for (size_t i = 0; i <= strlen(call); i++)
		lower[i] = call[i] >= 'A' && call[i] <= 'Z' ? (char)(call[i] + 32) : call[i];
	return driver_call(d, 1,
			   "{\"type\":\"%s\"," FID ",\"%s\":{\"inverse_offer_ids\":"
			   "[{\"value\":\"%s\"}]%s}}",
			   call, lower, id, filters);
}

/* ---- validation -------------------------------------------------------------------- */

static const struct {
	const char *windows, *error; /* NULL = accepted */
} schedules[] = {
	{"", NULL},
	{WINDOW(MACHINE), NULL},
	{WINDOW("{\"hostname\":\"h\"}"), NULL},
	{WINDOW("{\"ip\":\"10.0.0.1\"}"), NULL},
	{WINDOW("{\"hostname\":\"h\"},{\"hostname\":\"h\",\"ip\":\"10.0.0.1\"}"), NULL},
	{WINDOW(""), "List of machines in the maintenance window is empty"},
	{"{\"machine_ids\":[" MACHINE "],\"unavailability\":{\"start\":{\"nanoseconds\":1},"
	 "\"duration\":{\"nanoseconds\":-1}}}",
	 "Unavailability 'duration' is negative"},
	{"{\"machine_ids\":[" MACHINE "],\"unavailability\":{\"start\":{\"nanoseconds\":-5}}}",
	 NULL},
	{WINDOW("{}"), "Both 'hostname' and 'ip' for a machine are empty"},
	{WINDOW("{\"hostname\":\"\",\"ip\":\"\"}"),
	 "Both 'hostname' and 'ip' for a machine are empty"},
	{WINDOW("{\"ip\":\"::1\"}"), "Failed to parse IPv4: ::1"},
	{WINDOW("{\"hostname\":\"h\",\"ip\":\"1.2.3\"}"), "Failed to parse IPv4: 1.2.3"},
	{WINDOW("{\"hostname\":\"h\"},{\"hostname\":\"H\"}"),
	 "Machine '{\"hostname\":\"H\"}' appears more than once in the schedule"},
	{WINDOW(MACHINE) "," WINDOW(MACHINE),
	 "Machine '" MACHINE "' appears more than once in the schedule"},
};

Test(master_maintenance, schedules_are_checked)
{
	for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
		const char *text;
		int status;

		driver_forget(d);
		status = post(schedules[i].windows, &text);
		cr_expect_eq(status, schedules[i].error ? 400 : 200, "%s: %d", schedules[i].windows,
			     status);
		cr_expect_str_eq(text, schedules[i].error ? schedules[i].error : "");
	}
}

static const struct {
	bool up; /* STOP_MAINTENANCE */
	const char *machines, *error;
} modes[] = {
	{false, "", "List of machines is empty"},
	{true, "", "List of machines is empty"},
	{false, "{}", "Both 'hostname' and 'ip' for a machine are empty"},
	{false, "{\"ip\":\"x\"}", "Failed to parse IPv4: x"},
	{false, "{\"hostname\":\"d\"},{\"hostname\":\"D\"}",
	 "Machine '{\"hostname\":\"D\"}' appears more than once in the schedule"},
	{false, "{\"hostname\":\"other\"}",
	 "Machine '{\"hostname\":\"other\"}' is not part of a maintenance schedule"},
	{true, "{\"hostname\":\"other\"}",
	 "Machine '{\"hostname\":\"other\"}' is not part of a maintenance schedule"},
	/* UP, and known for its agent. */
	{false, MACHINE,
	 "Machine '" MACHINE "' is not in DRAINING mode and cannot be brought down"},
	{true, MACHINE, "Machine '" MACHINE "' is not in DOWN mode and cannot be brought up"},
	{true, "{\"hostname\":\"d\"}",
	 "Machine '{\"hostname\":\"d\"}' is not in DOWN mode and cannot be brought up"},
	{false, "{\"hostname\":\"down\"}",
	 "Machine '{\"hostname\":\"down\"}' is not in DRAINING mode and cannot be brought down"},
	/* All or nothing. */
	{false, "{\"hostname\":\"d\"},{\"hostname\":\"other\"}",
	 "Machine '{\"hostname\":\"other\"}' is not part of a maintenance schedule"},
};

Test(master_maintenance, modes_are_checked)
{
	const char *text;

	driver_agent(d, AGENT1);
	cr_assert_eq(post(WINDOW("{\"hostname\":\"d\"},{\"hostname\":\"down\"}"), NULL), 200);
	cr_assert_eq(start("{\"hostname\":\"down\"}", NULL), 200);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		int status;

		driver_forget(d);
		status = modes[i].up ? stop(modes[i].machines, &text)
				     : start(modes[i].machines, &text);
		cr_expect_eq(status, 400, "%s: %d", modes[i].machines, status);
		cr_expect_str_eq(text, modes[i].error);
	}
	driver_forget(d);
	cr_expect_eq(post(WINDOW("{\"hostname\":\"d\"}"), &text), 400);
	cr_expect_str_eq(text, "Machine '{\"hostname\":\"down\"}' is deactivated and cannot be "
			       "removed from the schedule");
	expect_status("{\"draining_machines\":[{\"id\":{\"hostname\":\"d\"}}],"
		      "\"down_machines\":[{\"hostname\":\"down\"}]}");
}

/* ---- windows ------------------------------------------------------------------------- */

Test(master_maintenance, a_window_changes_offers)
{
	run(NULL);
	cr_expect_eq(post(WINDOW(MACHINE), NULL), 200);
	expect(d, "event 1 RESCIND", "M-O1");
	expect(d, "event 1 OFFERS", "M-O2", UNAVAILABILITY);
	expect(d, "event 1 INVERSE_OFFERS",
	       "{\"id\":{\"value\":\"M-O3\"},\"url\":{\"scheme\":\"http\",\"address\":"
	       "{\"hostname\":\"host\",\"ip\":\"127.0.0.1\",\"port\":5001},\"path\":"
	       "\"/slave(1)\"},\"framework_id\":{\"value\":\"M-0000\"},\"agent_id\":{\"value\":"
	       "\"M-S0\"}," UNAVAILABILITY "}");
	expect_schedule("{\"windows\":[" WINDOW(MACHINE) "]}");
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE "}]}");
	driver_forget(d);
	cr_expect_eq(post("", NULL), 200);
	expect(d, "event 1 RESCIND {", "M-O2");
	expect(d, "event 1 RESCIND_INVERSE_OFFER", "M-O3");
	expect(d, "event 1 OFFERS", "M-O4");
	refute(d, "INVERSE_OFFERS");
	refute(d, "unavailability");
	expect_schedule("{}");
	expect_status("{}");
}

/* Agents that are away do not hide those after them. */
Test(master_maintenance, every_machine_that_is_there_hears_of_it)
{
	run("\"checkpoint\":true");
	driver_agent(d, AGENT2);
	driver_pass(d, SECOND);
	driver_restart(d, "M2");
	driver_reregister(d, AGENT2, "M-S1", NULL);
	driver_subscribe(d, "M-0000", "\"checkpoint\":true");
	driver_pass(d, SECOND);
	driver_forget(d);
	cr_expect_eq(post(WINDOW(MACHINE), NULL), 200);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S1", UNAVAILABILITY);
}

Test(master_maintenance, a_window_is_durable_first)
{
	run(NULL);
	d->hold_store = true;
	cr_expect_eq(driver_operate(d, "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\","
				       "\"update_maintenance_schedule\":{\"schedule\":{\"windows\":"
				       "[" WINDOW(MACHINE) "]}}}"),
		     0);
	refute(d, "answer");
	refute(d, "RESCIND");
	expect_schedule("{}");
	/* Another change is checked against what this one makes. */
	cr_expect_eq(driver_operate(d, "{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":"
				       "{\"machines\":[" MACHINE "]}}"),
		     0);
	cr_expect_eq(driver_operate(d, "{\"type\":\"STOP_MAINTENANCE\",\"stop_maintenance\":"
				       "{\"machines\":[{\"ip\":\"1.1.1.1\"}]}}"),
		     0);
	d->hold_store = false;
	driver_store(d);
	expect(d, "answer 1 200");
	expect(d, "RESCIND");
	refute(d, "answer 2");
	driver_store(d);
	expect(d, "answer 2 200");
	expect(d, "answer 3 400 Machine '{\"ip\":\"1.1.1.1\"}' is not part of a maintenance "
		  "schedule");
	expect_status("{\"down_machines\":[" MACHINE "]}");
}

Test(master_maintenance, host_names_are_compared_without_case)
{
	run(NULL);
	cr_expect_eq(post(WINDOW("{\"hostname\":\"HoST\",\"ip\":\"127.0.0.1\"}"), NULL), 200);
	expect(d, "OFFERS", UNAVAILABILITY);
	driver_forget(d);
	/* Both must be there, and alike. */
	cr_expect_eq(post(WINDOW("{\"hostname\":\"host\"},{\"ip\":\"127.0.0.1\"},"
				 "{\"hostname\":\"host\",\"ip\":\"127.0.0.2\"}"),
			  NULL),
		     200);
	refute(d, "unavailability");
}

Test(master_maintenance, windows_survive_a_restart)
{
	run("\"checkpoint\":true,\"failover_timeout\":1000");
	cr_expect_eq(post(WINDOW(MACHINE ","
					 "{\"hostname\":\"down\"}"),
			  NULL),
		     200);
	cr_expect_eq(start("{\"hostname\":\"down\"}", NULL), 200);
	answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O3", "");
	driver_forget(d);
	driver_restart(d, "M2");
	expect_schedule("{\"windows\":[" WINDOW(MACHINE ","
							"{\"hostname\":\"down\"}") "]}");
	/* Answers are not kept. */
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE "}],"
		      "\"down_machines\":[{\"hostname\":\"down\"}]}");
	driver_subscribe(d, "M-0000", "\"checkpoint\":true,\"failover_timeout\":1000");
	driver_reregister(
		d, AGENT1, "M-S0",
		"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":"
		"\"M-0000\"}}],\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"}," FID
		",\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_RUNNING\","
		"\"resources\":" RESOURCES(1, 32) "}]");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", UNAVAILABILITY);
	expect(d, "INVERSE_OFFERS", "M-S0");
}

/* ---- inverse offers ------------------------------------------------------------------- */

Test(master_maintenance, answers_to_inverse_offers)
{
	run(NULL);
	post(WINDOW(MACHINE), NULL);
	driver_forget(d);
	/* Outstanding ones are not repeated. */
	driver_pass(d, 10 * SECOND);
	refute(d, "INVERSE_OFFERS");
	cr_expect_eq(answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O3", ""), 202);
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE
		      ",\"statuses\":[{\"status\":\"ACCEPT\",\"framework_id\":{\"value\":"
		      "\"M-0000\"},\"timestamp\":{\"nanoseconds\":1011000000000}}]}]}");
	/* Not within the five seconds that a filter is by default. */
	driver_pass(d, 4 * SECOND);
	refute(d, "INVERSE_OFFERS");
	driver_pass(d, 2 * SECOND);
	expect(d, "INVERSE_OFFERS", "M-O4");
	driver_forget(d);
	cr_expect_eq(answer_inverse("DECLINE_INVERSE_OFFERS", "M-O4",
				    ",\"filters\":{\"refuse_seconds\":3600}"),
		     202);
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE
		      ",\"statuses\":[{\"status\":\"DECLINE\",\"framework_id\":{\"value\":"
		      "\"M-0000\"},\"timestamp\":{\"nanoseconds\":1017000000000}}]}]}");
	driver_pass(d, 60 * SECOND);
	refute(d, "INVERSE_OFFERS");
	/* One that is not outstanding is nothing. */
	cr_expect_eq(answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O4", ""), 202);
	cr_expect_eq(answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O2", ""), 202);
	cr_expect(master_find_offer(d->m, "M-O2"));
	/* A new window asks anew, and forgets the answers. */
	post(WINDOW_OF(MACHINE, "7000"), NULL);
	expect(d, "INVERSE_OFFERS", "\"nanoseconds\":7000");
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE "}]}");
}

/* Of the agents of one machine not all were answered for. */
Test(master_maintenance, answers_for_some_of_a_machines_agents)
{
	run(NULL);
	driver_agent(d, AGENT2);
	driver_forget(d);
	post(WINDOW(MACHINE), NULL);
	expect(d, "INVERSE_OFFERS", "M-O5", "M-S1");
	cr_expect_eq(answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O5", ""), 202);
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE
		      ",\"statuses\":[{\"status\":\"ACCEPT\",\"framework_id\":{\"value\":"
		      "\"M-0000\"},\"timestamp\":{\"nanoseconds\":1001000000000}}]}]}");
}

Test(master_maintenance, revive_asks_again)
{
	run(NULL);
	post(WINDOW(MACHINE), NULL);
	answer_inverse("DECLINE_INVERSE_OFFERS", "M-O3", ",\"filters\":{\"refuse_seconds\":3600}");
	driver_forget(d);
	driver_call(d, 1, "{\"type\":\"REVIVE\"," FID "}");
	driver_pass(d, SECOND);
	expect(d, "INVERSE_OFFERS");
}

Test(master_maintenance, inverse_offers_end_with_their_framework_and_agent)
{
	run("\"checkpoint\":true,\"failover_timeout\":1000");
	post(WINDOW(MACHINE), NULL);
	driver_forget(d);
	driver_exited(d, AGENT1);
	expect(d, "RESCIND_INVERSE_OFFER", "M-O3");
	driver_reregister(d, AGENT1, "M-S0", NULL);
	driver_pass(d, SECOND);
	expect(d, "INVERSE_OFFERS", "M-O5");
	answer_inverse("ACCEPT_INVERSE_OFFERS", "M-O5", ",\"filters\":{\"refuse_seconds\":1}");
	driver_pass(d, 2 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->inverse_offers), 1);
	driver_close(d, 1);
	cr_expect_eq(HASH_COUNT(d->m->inverse_offers), 0);
	driver_pass(d, 2 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->inverse_offers), 0);
	driver_forget(d);
	driver_subscribe(d, "M-0000", "\"checkpoint\":true,\"failover_timeout\":1000");
	driver_pass(d, SECOND);
	expect(d, "INVERSE_OFFERS");
	/* What it answered goes with it. */
	driver_close(d, d->next_stream);
	driver_pass(d, 1001 * SECOND);
	cr_expect(master_find_completed(d->m, "M-0000"));
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE "}]}");
}

Test(master_maintenance, inverse_offers_expire)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.offer_timeout = 20 * SECOND;
	driver_start(d);
	run(NULL);
	post(WINDOW(MACHINE), NULL);
	driver_forget(d);
	driver_pass(d, 19 * SECOND);
	refute(d, "RESCIND_INVERSE_OFFER");
	driver_pass(d, SECOND);
	expect(d, "RESCIND_INVERSE_OFFER", "M-O3");
	driver_pass(d, SECOND);
	expect(d, " INVERSE_OFFERS");
	expect_status("{\"draining_machines\":[{\"id\":" MACHINE "}]}");
}

/* Case 77: only an agent that the framework holds something of. */
Test(master_maintenance, case_77_maintenance_inverse_offers)
{
	run(NULL);
	driver_message(d, "slave(1)@127.0.0.2:5001",
		       &mesos__internal__register_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"other\",\"resources\":%s},"
		       "\"version\":\"1.12.0\",\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},"
		       "{\"type\":\"HIERARCHICAL_ROLE\"}]}",
		       RESOURCES(4, 4096));
	driver_call(d, 1,
		    "{\"type\":\"DECLINE\"," FID
		    ",\"decline\":{\"offer_ids\":[{\"value\":\"M-O2\"}],"
		    "\"filters\":{\"refuse_seconds\":86400}}}");
	driver_forget(d);
	post(WINDOW(MACHINE ","
			    "{\"hostname\":\"other\",\"ip\":\"127.0.0.2\"}"),
	     NULL);
	driver_pass(d, 2 * SECOND);
	cr_expect_eq(driver_count(d, " INVERSE_OFFERS"), 1);
	expect(d, "INVERSE_OFFERS", "M-S0");
	refute(d, "INVERSE_OFFERS", "M-S1");
	refute(d, "INVERSE_OFFERS", "resources");
}

/* Case 78: an agent that a framework uses of which only the agent knows. */
Test(master_maintenance, case_78_agent_with_unknown_framework_and_maintenance)
{
	post(WINDOW(MACHINE), NULL);
	driver_reregister(
		d, AGENT1, "X-S7",
		"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":"
		"\"X-0000\"}}],\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},"
		"\"framework_id\":{\"value\":\"X-0000\"},\"agent_id\":{\"value\":"
		"\"X-S7\"},\"state\":\"TASK_RUNNING\",\"resources\":" RESOURCES(1, 32) "}]");
	driver_subscribe(d, NULL, NULL);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "X-S7", UNAVAILABILITY);
	refute(d, "INVERSE_OFFERS", "X-0000");
}

/* ---- down and up ------------------------------------------------------------------------- */

Test(master_maintenance, down_takes_agents_away)
{
	run("\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}],\"checkpoint\":true");
	post(WINDOW(MACHINE), NULL);
	driver_forget(d);
	cr_expect_eq(start(MACHINE, NULL), 200);
	expect(d, "master -> " AGENT1, "ShutdownMessage", "Operator initiated 'Machine DOWN'");
	expect(d, "event 1 UPDATE", "TASK_LOST", "REASON_AGENT_REMOVED",
	       "Agent host removed: Operator initiated 'Machine DOWN'");
	cr_expect_eq(d->m->counters.slave_removals, 1);
	cr_expect_eq(d->m->counters.slave_removals_registered, 0);
	cr_expect_eq(d->m->counters.slave_removals_unregistered, 0);
	expect(d, "event 1 RESCIND {", "M-O2");
	expect(d, "event 1 RESCIND_INVERSE_OFFER", "M-O3");
	expect(d, "event 1 FAILURE", "M-S0");
	expect_status("{\"down_machines\":[" MACHINE "]}");
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
	driver_forget(d);
	/* Nobody comes back while it is down. */
	driver_agent(d, AGENT1);
	expect(d, "master -> " AGENT1, "ShutdownMessage", "Machine is `DOWN`");
	driver_reregister(d, AGENT2, "M-S0", NULL);
	expect(d, "master -> " AGENT2, "ShutdownMessage", "Machine is `DOWN`");
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
	driver_forget(d);
	cr_expect_eq(stop(MACHINE, NULL), 200);
	expect_schedule("{}");
	expect_status("{}");
	driver_agent(d, AGENT1);
	expect(d, "SlaveRegisteredMessage", "M-S1");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S1");
	refute(d, "unavailability");
}

Test(master_maintenance, up_leaves_other_windows)
{
	post(WINDOW("{\"hostname\":\"a\"},{\"hostname\":\"b\"}") "," WINDOW("{\"hostname\":\"c\"}"),
	     NULL);
	driver_forget(d);
	start("{\"hostname\":\"A\"},{\"hostname\":\"c\"}", NULL);
	driver_forget(d);
	/* A new schedule keeps what is down. */
	cr_expect_eq(post(WINDOW_OF("{\"hostname\":\"a\"},{\"hostname\":\"b\"}",
				    "9") "," WINDOW("{\"hostname\":\"c\"},{\"hostname\":\"e\"}"),
			  NULL),
		     200);
	expect_status("{\"draining_machines\":[{\"id\":{\"hostname\":\"b\"}},{\"id\":{\"hostname\":"
		      "\"e\"}}],\"down_machines\":[{\"hostname\":\"a\"},{\"hostname\":\"c\"}]}");
	driver_forget(d);
	cr_expect_eq(stop("{\"hostname\":\"c\"},{\"hostname\":\"a\"}", NULL), 200);
	expect_schedule("{\"windows\":[" WINDOW_OF("{\"hostname\":\"b\"}",
						   "9") "," WINDOW("{\"hostname\":\"e\"}") "]}");
	driver_restart(d, "M2");
	expect_status("{\"draining_machines\":[{\"id\":{\"hostname\":\"b\"}},"
		      "{\"id\":{\"hostname\":\"e\"}}]}");
}

Test(master_maintenance, an_agent_that_comes_while_its_machine_goes_down)
{
	post(WINDOW(MACHINE), NULL);
	d->hold_store = true;
	driver_operate(
		d, "{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":{\"machines\":[" MACHINE
		   "]}}");
	driver_agent(d, AGENT1);
	driver_forget(d);
	d->hold_store = false;
	driver_store(d);
	driver_store(d);
	expect(d, "ShutdownMessage", "Operator initiated 'Machine DOWN'");
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
}

/* ---- whitelist ------------------------------------------------------------------------- */

static void whitelist(const char *host)
{
	struct master_event event = {.type = MASTER_WHITELIST};

	event.whitelist.hostnames = &host;
	event.whitelist.count = host ? 1 : 0;
	driver_step(d, &event);
}

/* Case 45: nothing, and all at the next tick once the host is in it. */
Test(master_maintenance, case_45_whitelist)
{
	struct master_event all = {.type = MASTER_WHITELIST};

	whitelist(NULL);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	whitelist("other");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	whitelist("host");
	refute(d, "OFFERS");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S0");
	/* What is offered stays so. */
	driver_forget(d);
	whitelist(NULL);
	driver_pass(d, SECOND);
	refute(d, "RESCIND");
	driver_step(d, &all);
	driver_agent(d, AGENT2);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S1");
}
