/* Registration: backoff, answers, pings, the broken link, leaving. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_registration, .init = start, .fini = stop);

#define LINKED "link " RIG_MASTER "\n"

Test(agent_registration, waits_then_registers_then_runs)
{
	rig_detect(&rig, RIG_MASTER);
	rig_expect(&rig, "");
	cr_assert_leq(agent_next_timeout(rig.agent), rig.now + 50 * MILLISECOND);
	rig_next(&rig);
	rig_expect(&rig, LINKED "send master RegisterSlaveMessage\n");
	cr_assert_not(agent_registered(rig.agent));
	rig_register(&rig);
	cr_assert(agent_registered(rig.agent));
	cr_assert_str_eq(agent_id(rig.agent), RIG_AGENT);
	rig_tick(&rig, 74 * SECOND);
	rig_expect(&rig, "");
}

/* Many agents find the next master at the same moment. */
Test(agent_registration, the_next_master_is_waited_for_longer)
{
	bool longer = false;

	rig_detect(&rig, RIG_MASTER);
	for (int i = 0; i < 100 && !longer; i++) {
		rig_detect(&rig, NULL);
		rig_detect(&rig, RIG_MASTER);
		cr_assert_leq(agent_next_timeout(rig.agent), rig.now + SECOND);
		longer = agent_next_timeout(rig.agent) > rig.now + 500 * MILLISECOND;
	}
	cr_assert(longer);
}

static size_t lines(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text++)
		count++;
	return count;
}

Test(agent_registration, attempts_back_off_to_a_minute)
{
	size_t early, late;

	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 30 * SECOND);
	early = lines(rig_take(&rig), "RegisterSlave");
	cr_assert(early >= 3 && early <= 20, "%zu", early);
	rig_tick(&rig, 10 * MINUTE);
	rig_take(&rig);
	rig_tick(&rig, 10 * MINUTE);
	late = lines(rig_take(&rig), "RegisterSlave");
	cr_assert(late >= 10 && late <= 45, "%zu", late);
}

Test(agent_registration, announces_what_it_handles)
{
	struct buf json = BUF_INIT;
	struct json_writer w;

	rig_register(&rig);
	jw_init(&w, &json);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	cr_assert(strstr(json.data,
			 "\"capabilities\":[\"MULTI_ROLE\",\"HIERARCHICAL_ROLE\","
			 "\"RESERVATION_REFINEMENT\",\"RESOURCE_PROVIDER\",\"RESIZE_VOLUME\","
			 "\"AGENT_OPERATION_FEEDBACK\",\"AGENT_DRAINING\","
			 "\"TASK_RESOURCE_LIMITS\"]"),
		  "%s", json.data);
	buf_free(&json);
}

static void ping(const char *from, bool connected)
{
	Mesos__Internal__PingSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__PingSlaveMessage,
			mesos__internal__ping_slave_message__descriptor);

	message->connected = connected;
	rig_message(&rig, from, message);
}

Test(agent_registration, answers_pings_and_misses_them)
{
	rig_register(&rig);
	rig_tick(&rig, 70 * SECOND);
	ping("slave-observer(1)@10.0.0.1:5050", true);
	rig_expect(&rig, "send slave-observer(1)@10.0.0.1:5050 PongSlaveMessage\n");
	rig_tick(&rig, 74 * SECOND);
	rig_expect(&rig, "");
	rig_tick(&rig, 2 * SECOND);
	rig_expect(&rig, "redetect\n");
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, LINKED "send master ReregisterSlaveMessage\n");
}

Test(agent_registration, reregisters_when_told_to_be_disconnected)
{
	rig_register(&rig);
	ping("o@10.0.0.1:5050", false);
	rig_expect(&rig, "send o@10.0.0.1:5050 PongSlaveMessage\nredetect\n");
}

Test(agent_registration, looks_again_soon_after_the_link_broke)
{
	struct agent_event event = {.type = AGENT_EXITED, .exited = {RIG_MASTER}};

	rig_register(&rig);
	rig_step(&rig, &event);
	rig_expect(&rig, "");
	rig_tick(&rig, SECOND);
	rig_expect(&rig, "redetect\n");
}

Test(agent_registration, ends_on_another_id)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(&rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);

	rig_register(&rig);
	message->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	message->agent_id->value = (char *)"other";
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "exit 1 Registered but got wrong id: other (expected: " RIG_AGENT ")\n");
}

Test(agent_registration, obeys_its_master_only)
{
	Mesos__Internal__ShutdownMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownMessage,
			mesos__internal__shutdown_message__descriptor);

	rig_register(&rig);
	rig_message(&rig, "master@10.9.9.9:5050", message);
	rig_expect(&rig, "");
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "exit 0 The agent was shut down\n");
}

Test(agent_registration, a_new_master_unlinks_the_old)
{
	rig_register(&rig);
	rig_detect(&rig, "master@10.0.0.9:5050");
	rig_expect(&rig, "unlink " RIG_MASTER "\n");
	rig_detect(&rig, NULL);
	rig_expect(&rig, "unlink master@10.0.0.9:5050\n");
	rig_tick(&rig, HOUR);
	rig_expect(&rig, "");
}

Test(agent_registration, unregisters_and_forgets_its_id_on_a_signal)
{
	struct agent_event event = {.type = AGENT_SHUTDOWN};

	rig_register(&rig);
	rig_run(&rig, "t", NULL, 1);
	rig_take(&rig);
	rig_step(&rig, &event);
	rig_expect(&rig, "send master UnregisterSlaveMessage\n");
	rig_tick(&rig, 5 * SECOND);
	rig_expect(&rig, "destroy t\n");
	rig_container_exited(&rig, "t", 9);
	rig_expect(&rig, "exit 0 The agent was shut down\n");
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_assert_str_neq(rig.pairs[i].key, "agent/info");
}

Test(agent_registration, reports_tasks_and_answers_for_unknown_ones)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(&rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);
	Mesos__Internal__ReconcileTasksMessage *list =
		rig_new(&rig, Mesos__Internal__ReconcileTasksMessage,
			mesos__internal__reconcile_tasks_message__descriptor);

	rig_register(&rig);
	rig_running(&rig, "a", "e", 1);
	rig_run(&rig, "b", NULL, 1);
	rig_take(&rig);
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, LINKED "send master ReregisterSlaveMessage framework F executor e "
				"task a STAGING task b STAGING\n");
	message->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	message->agent_id->value = (char *)RIG_AGENT;
	list->framework_id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	list->framework_id->value = (char *)RIG_FRAMEWORK;
	proto_push(&rig.arena, list->n_statuses, list->statuses,
		   rig_status(&rig, "a", STATE(RUNNING), 1));
	proto_push(&rig.arena, list->n_statuses, list->statuses,
		   rig_status(&rig, "gone", STATE(RUNNING), 2));
	proto_push(&rig.arena, message->n_reconciliations, message->reconciliations, list);
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "send master UpdateSlaveMessage\n"
			 "send master StatusUpdateMessage gone LOST RECONCILIATION "
			 "\"Reconciliation: task unknown to the agent\"\n");
}

/* What the master says of its patience is taken if it can be meant. */
Test(agent_registration, ping_timeouts_that_make_no_sense_are_ignored)
{
	static const struct {
		double seconds;
		int64_t silent, redetects; /* s */
	} rows[] = {{0, 74, 76}, {-1, 74, 76}, {1e9, 74, 76}, {10, 9, 11}, {0.5, 0, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		Mesos__Internal__SlaveRegisteredMessage *message;

		rig_free(&rig);
		rig_init(&rig);
		rig_start(&rig);
		message = rig_new(&rig, Mesos__Internal__SlaveRegisteredMessage,
				  mesos__internal__slave_registered_message__descriptor);
		message->agent_id = rig_agent_id(&rig);
		message->connection = rig_new(&rig, Mesos__Internal__MasterSlaveConnection,
					      mesos__internal__master_slave_connection__descriptor);
		message->connection->has_total_ping_timeout_seconds = 1;
		message->connection->total_ping_timeout_seconds = rows[i].seconds;
		rig_detect(&rig, RIG_MASTER);
		rig_tick(&rig, SECOND);
		rig_message(&rig, RIG_MASTER, message);
		rig_take(&rig);
		rig_tick(&rig, rows[i].silent * SECOND);
		rig_expect(&rig, "");
		rig_tick(&rig, (rows[i].redetects - rows[i].silent) * SECOND);
		rig_expect(&rig, "redetect\n");
	}
}
