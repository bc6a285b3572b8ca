/* kill -9 of the master and a restart: the store gives everything back. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_driver.h"

static struct driver *d;

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define EXECUTOR                                                                                   \
	"!\"executor\":{\"executor_id\":{\"value\":\"e\"},\"command\":{\"value\":\"x\"},"          \
	"\"resources\":" RESOURCES(0.5, 32) "}"

/* Two frameworks: one with a command task, a task with an executor, a completed one
 * and a finished, unacknowledged one on M-S0, an unreachable one of M-S1; another
 * completed. */
static void set_up(void)
{
	d = driver_create();
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_subscribe(d, NULL,
			 "\"failover_timeout\":60,\"checkpoint\":true,"
			 "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	driver_launch(d, 1, "M-0000", "M-O1", "M-S1", "far", NULL);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "run", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "run", "TASK_RUNNING", 1);
	for (const char *const *id = (const char *const[]){"old", "done", "exec", NULL}; *id;
	     id++) {
		struct offer *o;

		driver_pass(d, SECOND);
		for (o = d->m->offers; strcmp(o->agent->id, "M-S0"); o = o->hh.next)
			;
		driver_launch(d, 1, "M-0000", o->id, "M-S0", *id,
			      strcmp(*id, "exec") ? NULL : EXECUTOR);
		if (strcmp(*id, "exec"))
			driver_update(d, AGENT1, "M-S0", "M-0000", *id, "TASK_FINISHED", **id);
	}
	driver_acknowledge(d, 1, "M-0000", "M-S0", "old", 'o');
	d->agent_silent = true;
	for (int i = 0; i < 6; i++) {
		driver_pass(d, 15 * SECOND);
		driver_message(d, AGENT1, &mesos__internal__pong_slave_message__descriptor, "{}");
	}
	d->agent_silent = false;
	cr_assert(master_find_departed(d->m->unreachable, "M-S1"));
	driver_close(d, driver_subscribe(d, NULL, NULL));
	driver_forget(d);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_recovery, .init = set_up, .fini = tear_down);

static Mesos__Task *whole(const struct task_record *record)
{
	return task_record_unpack(record, &d->out.arena);
}

/* Everything worth remembering, as text. */
static void describe(struct buf *out)
{
	struct framework *f, *next_framework;
	struct completed_task *c, *next_completed;
	struct task *t, *next;
	struct agent *a, *next_agent;

	HASH_ITER (hh, d->m->agents, a, next_agent) {
		buf_printf(out, "agent %s %s %s used ", a->id, a->pid, a->version);
		resources_print(&a->used, out);
		buf_puts(out, " of ");
		resources_print(&a->total, out);
		buf_printf(out, " executors %u\n", HASH_COUNT(a->executors));
		proto_to_json(a->info, SPELL_V1, out);
	}
	HASH_ITER (hh, d->m->frameworks, f, next_framework) {
		buf_printf(out, "\nframework %s registered %lld used ", f->id,
			   (long long)f->registered_time);
		resources_print(&f->used, out);
		proto_to_json(f->info, SPELL_V1, out);
		HASH_ITER (hh, f->tasks, t, next) {
			buf_printf(out, "\ntask %d ", t->holds);
			proto_to_json(whole(&t->record), SPELL_V1, out);
		}
		HASH_ITER (hh, f->unreachable, t, next) {
			buf_puts(out, "\nunreachable ");
			proto_to_json(whole(&t->record), SPELL_V1, out);
		}
		list_for_each (c, next_completed, &f->completed_tasks, link) {
			buf_puts(out, "\ncompleted ");
			proto_to_json(whole(&c->record), SPELL_V1, out);
		}
	}
	HASH_ITER (hh, d->m->completed, f, next_framework)
		buf_printf(out, "\nover %s %lld", f->id, (long long)f->unregistered_time);
}

static int by_id(struct task *a, struct task *b)
{
	return strcmp(a->id, b->id);
}

Test(master_recovery, everything_is_known_at_once)
{
	struct framework *f = master_find_framework(d->m, "M-0000");
	struct buf before = BUF_INIT, after = BUF_INIT;
	size_t states[MASTER_TASK_STATES];

	HASH_SRT(hh, f->tasks, by_id);
	memcpy(states, d->m->sums.task_states, sizeof(states));
	describe(&before);
	driver_restart(d, "M2");
	f = master_find_framework(d->m, "M-0000");
	cr_assert(f);
	HASH_SRT(hh, f->tasks, by_id);
	describe(&after);
	cr_expect_str_eq(before.data, after.data);
	cr_expect(!memcmp(states, d->m->sums.task_states, sizeof(states)));
	cr_expect_eq(HASH_COUNT(f->tasks), 3);
	cr_expect_eq(f->unreachable_count, 1);
	cr_expect_eq(f->completed_task_count, 1);
	cr_expect_eq(f->state, FRAMEWORK_RECOVERED);
	cr_expect_not(f->active);
	cr_expect_eq(d->m->agents_in[AGENT_RECOVERED], 1);
	cr_expect(master_find_completed(d->m, "M-0001"));
	cr_expect(master_find_departed(d->m->unreachable, "M-S1"));
	buf_free(&before);
	buf_free(&after);
}

Test(master_recovery, nothing_is_written_again_for_nothing)
{
	driver_restart(d, "M2");
	/* The identity alone. */
	cr_expect_eq(d->tickets[LINE_REGISTRY], 1);
}

#define REPORT                                                                                     \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"            \
	"\"checkpoint\":"                                                                          \
	"true,\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]}],\"executor_infos\":[{"           \
	"\"executor_id\":{\"value\":\"e\"}," FID ",\"command\":{\"value\":\"x\"},"                 \
	"\"resources\":" RESOURCES(                                                                \
		0.5, 32) "}],\"tasks\":[{\"name\":\"t\",\"task_id\":"                              \
			 "{\"value\":\"run\"}," FID                                                \
			 ",\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_KILLING\","          \
			 "\"resources\":" RESOURCES(                                               \
				 1, 32) "},{\"name\":\"t\",\"task_id\":{\"value\":\"new\"}," FID   \
					","                                                        \
					"\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_"      \
					"RUNNING\",\"resources\":" RESOURCES(1, 32) "}]"

Test(master_recovery, the_agent_corrects_what_is_remembered)
{
	struct framework *f;
	struct agent *a;

	driver_restart(d, "M2");
	driver_reregister(d, AGENT1, "M-S0", REPORT);
	f = master_find_framework(d->m, "M-0000");
	a = master_find_agent(d->m, "M-S0");
	cr_expect(agent_connected(a));
	cr_expect_eq(framework_find_task(f, "run")->record.state, MESOS__TASK_STATE__TASK_KILLING);
	cr_expect(framework_find_task(f, "new"));
	cr_expect_eq(d->m->agents_in[AGENT_RECOVERED], 0);
	expect(d, "SlaveReregisteredMessage", "reconciliations", "\"exec\"", "\"done\"");
	refute(d, "SlaveReregisteredMessage", "\"run\"");
	/* 1 each for run, new, exec and half of it for the executor. */
	cr_expect_eq(resources_quantity(&a->used, "cpus"), 3500);
	/* The scheduler is told of nothing that it did not ask for, and offered the rest. */
	driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"value\":0.5");
	refute(d, " UPDATE {");
}

#define STARTED_AGAIN                                                                              \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"            \
	"\"checkpoint\":true}],\"executor_infos\":[{\"executor_id\":{\"value\":\"e\"}," FID        \
	",\"command\":{\"value\":\"x\"},\"resources\":" RESOURCES(1.5, 32) "}]"

/* A crash may leave the record of an executor that ended; another one of its id runs now. */
Test(master_recovery, the_agent_knows_what_its_executor_holds)
{
	struct executor *e;

	driver_restart(d, "M2");
	driver_reregister(d, AGENT1, "M-S0", STARTED_AGAIN);
	e = agent_find_executor(master_find_agent(d->m, "M-S0"), "M-0000", "e");
	cr_assert(e);
	cr_expect_eq(resources_quantity(&e->resources, "cpus"), 1500);
}

#define RAN                                                                                        \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"            \
	"\"checkpoint\":true}],\"executor_infos\":[{\"executor_id\":{\"value\":\"e\"}," FID        \
	",\"command\":{\"value\":\"x\"},\"resources\":" RESOURCES(                                 \
		0.5, 32) "}],"                                                                     \
			 "\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"exec\"}," FID        \
			 ",\"agent_id\":{\"value\":\"M-S0\"},\"executor_id\":{\"value\":\"e\"},"   \
			 "\"state\":\"TASK_RUNNING\",\"status_update_state\":\"TASK_RUNNING\","    \
			 "\"status_update_uuid\":\"AgICAgICAgICAgICAgICAg==\","                    \
			 "\"resources\":" RESOURCES(1, 32) "}]"

/* The record of the last update was not written yet. Its state was known already: each
 * update tells of the latest one. */
Test(master_recovery, the_agent_knows_what_was_sent_last)
{
	struct task *t;

	driver_update_latest(d, AGENT1, "M-S0", "M-0000", "exec", "TASK_STARTING", "TASK_RUNNING",
			     1);
	d->lose_store = true;
	driver_update(d, AGENT1, "M-S0", "M-0000", "exec", "TASK_RUNNING", 2);
	driver_restart(d, "M2");
	t = framework_find_task(master_find_framework(d->m, "M-0000"), "exec");
	cr_assert_eq(task_record_sent(&t->record).state, MESOS__TASK_STATE__TASK_STARTING);
	driver_reregister(d, AGENT1, "M-S0", RAN);
	t = framework_find_task(master_find_framework(d->m, "M-0000"), "exec");
	cr_expect_eq(task_record_sent(&t->record).state, MESOS__TASK_STATE__TASK_RUNNING);
}

/* Killed between an acknowledgement and its record: the agent must still have the task,
 * or its end would be lost, or told as TASK_LOST. */
Test(master_recovery, the_end_of_a_task_is_stored_before_the_agent_forgets_it)
{
	d->lose_store = true;
	driver_acknowledge(d, 1, "M-0000", "M-S0", "done", 'd');
	refute(d, "StatusUpdateAcknowledgementMessage");
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0000",
			 "\"failover_timeout\":60,\"checkpoint\":true,"
			 "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	cr_assert(framework_find_task(master_find_framework(d->m, "M-0000"), "done"));
}

Test(master_recovery, acknowledgements_follow_the_store)
{
	d->hold_store = true;
	driver_acknowledge(d, 1, "M-0000", "M-S0", "done", 'd');
	refute(d, "StatusUpdateAcknowledgementMessage");
	/* Once more, since the update came twice: still not. */
	driver_acknowledge(d, 1, "M-0000", "M-S0", "done", 'd');
	refute(d, "StatusUpdateAcknowledgementMessage");
	driver_store(d);
	cr_expect_eq(driver_count(d, "StatusUpdateAcknowledgementMessage"), 1, "%s", d->trace.data);
}

Test(master_recovery, an_id_used_again_overtakes_no_acknowledgement)
{
	const char *trace;
	struct offer *o;

	d->hold_store = true;
	driver_acknowledge(d, 1, "M-0000", "M-S0", "done", 'd');
	driver_pass(d, SECOND);
	for (o = d->m->offers; strcmp(o->agent->id, "M-S0"); o = o->hh.next)
		;
	driver_forget(d);
	driver_launch(d, 1, "M-0000", o->id, "M-S0", "done", NULL);
	trace = strstr(d->trace.data, "StatusUpdateAcknowledgementMessage");
	cr_assert(trace && strstr(trace, "RunTaskMessage"), "%s", d->trace.data);
	driver_store(d);
	cr_expect_eq(driver_count(d, "StatusUpdateAcknowledgementMessage"), 1);
}

Test(master_recovery, a_framework_resubscribes_before_its_agents)
{
	uint64_t s;

	driver_restart(d, "M2");
	driver_pass(d, SECOND);
	s = driver_subscribe(d, "M-0000", "\"failover_timeout\":60,\"checkpoint\":true");
	expect(d, "SUBSCRIBED", "M-0000", "\"id\":\"M2\"");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->registered_time, d->now,
		     "this master knows it from now on");
	driver_call(d, s,
		    "{\"type\":\"RECONCILE\"," FID ",\"reconcile\":{\"tasks\":[{\"task_id\":"
		    "{\"value\":\"run\"}},{\"task_id\":{\"value\":\"lost\"}},{\"task_id\":"
		    "{\"value\":\"lost\"},\"agent_id\":{\"value\":\"M-S0\"}}]}}");
	expect(d, "UPDATE", "\"run\"", "TASK_RUNNING");
	/* Row 2: not answered while agents are to come back. */
	refute(d, "\"lost\"");
	driver_reregister(d, AGENT1, "M-S0", REPORT);
	driver_call(d, s,
		    "{\"type\":\"RECONCILE\"," FID ",\"reconcile\":{\"tasks\":[{\"task_id\":"
		    "{\"value\":\"lost\"}}]}}");
	expect(d, "UPDATE", "\"lost\"", "TASK_LOST");
	/* The terminal state that was not acknowledged is still known. */
	driver_forget(d);
	driver_update(d, AGENT1, "M-S0", "M-0000", "done", "TASK_FINISHED", 'd');
	expect(d, "UPDATE", "\"done\"", "TASK_FINISHED");
	driver_acknowledge(d, s, "M-0000", "M-S0", "done", 'd');
	cr_expect_not(framework_find_task(master_find_framework(d->m, "M-0000"), "done"));
}

Test(master_recovery, agents_that_do_not_come_back_are_unreachable)
{
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0000",
			 "\"checkpoint\":true,\"capabilities\":[{\"type\":"
			 "\"PARTITION_AWARE\"}]");
	driver_pass(d, 9 * MINUTE);
	refute(d, " UPDATE {");
	driver_pass(d, 2 * MINUTE);
	expect(d, "UPDATE", "\"run\"", "TASK_UNREACHABLE", "REASON_AGENT_REMOVED",
	       "did not reregister within 10mins after master failover");
	expect(d, "FAILURE", "M-S0");
	cr_expect_eq(d->m->counters.recovery_slave_removals, 1);
	cr_expect_eq(d->m->agents_in[AGENT_RECOVERED], 0);
}

Test(master_recovery, an_unreachable_agent_comes_back_to_the_new_master)
{
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0000",
			 "\"checkpoint\":true,\"capabilities\":[{\"type\":"
			 "\"PARTITION_AWARE\"}]");
	driver_forget(d);
	driver_reregister(
		d, AGENT2, "M-S1",
		"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"
		"\"checkpoint\":true}],\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":"
		"\"far\"}," FID ",\"agent_id\":{\"value\":\"M-S1\"},\"state\":"
		"\"TASK_RUNNING\",\"resources\":" RESOURCES(1, 32) "}]");
	expect(d, "UPDATE", "\"far\"", "TASK_RUNNING", "REASON_AGENT_REREGISTERED");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
}

/* Another agent may have registered there. */
Test(master_recovery, nobody_is_shut_down_at_the_address_of_one_that_is_away)
{
	driver_restart(d, "M2");
	driver_operate(d, "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":{\"agent_id\":{"
			  "\"value\":\"M-S0\"}}}");
	cr_expect(master_find_departed(d->m->gone, "M-S0"));
	refute(d, "ShutdownMessage");
}

Test(master_recovery, completed_frameworks_stay_refused)
{
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0001", NULL);
	expect(d, "ERROR", "Framework has been removed");
}

/* --max_unreachable_tasks_per_framework=0: there is room for none. */
Test(master_recovery, unreachable_tasks_without_room)
{
	d->options.max_unreachable_tasks_per_framework = 0;
	cr_assert_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 1);
	driver_restart(d, "M2");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
	driver_pass(d, SECOND);
	driver_restart(d, "M3");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
}

/* As long as agents may take, or their failover_timeout if that is longer: then nobody will. */
Test(master_recovery, recovered_frameworks_do_not_stay_for_ever)
{
	driver_restart(d, "M2");
	driver_pass(d, 10 * MINUTE - SECOND);
	cr_expect(master_find_framework(d->m, "M-0000"));
	driver_pass(d, 2 * SECOND);
	cr_expect_null(master_find_framework(d->m, "M-0000"));
	cr_expect(master_find_completed(d->m, "M-0000"));
}

Test(master_recovery, recovered_frameworks_stay_for_their_failover_timeout)
{
	driver_subscribe(d, NULL, "\"failover_timeout\":1000");
	driver_pass(d, SECOND);
	cr_assert(master_find_framework(d->m, "M-0002"));
	driver_restart(d, "M2");
	driver_pass(d, 999 * SECOND);
	cr_expect(master_find_framework(d->m, "M-0002"));
	driver_pass(d, 2 * SECOND);
	cr_expect_null(master_find_framework(d->m, "M-0002"));
}

Test(master_recovery, new_ids_have_the_new_masters_prefix)
{
	driver_restart(d, "M2");
	driver_subscribe(d, NULL, NULL);
	expect(d, "SUBSCRIBED", "M2-0000");
	driver_agent(d, AGENT2);
	expect(d, "SlaveRegisteredMessage", "M2-S0");
}

Test(master_recovery, a_task_whose_agent_went_with_the_crash_is_completed)
{
	struct stored_pair *pair;

	HASH_FIND(hh, d->store, "agent/M-S0", strlen("agent/M-S0"), pair);
	cr_assert(pair);
	HASH_DEL(d->store, pair);
	free(pair->key);
	free(pair->value);
	free(pair);
	driver_restart(d, "M2");
	cr_expect_eq(HASH_COUNT(master_find_framework(d->m, "M-0000")->tasks), 0);
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 4);
	/* What is stored says the same. */
	driver_pass(d, SECOND);
	HASH_FIND_STR(d->store, "task/M-0000/run", pair);
	cr_expect_null(pair);
	driver_restart(d, "M3");
	cr_expect_eq(HASH_COUNT(master_find_framework(d->m, "M-0000")->tasks), 0);
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 4);
}

/* Killed after an agent was durably unreachable, before anything followed from it. */
Test(master_recovery, tasks_of_an_agent_lost_in_the_crash_are_unreachable)
{
	struct framework *f;
	struct task *t;

	d->agent_silent = true;
	d->lose_store = false;
	d->hold_store = true;
	driver_pass(d, 90 * SECOND);
	driver_store_line(d, LINE_WARM);
	cr_assert(framework_find_task(master_find_framework(d->m, "M-0000"), "run"));
	d->hold_store = d->agent_silent = false;
	driver_restart(d, "M2");
	f = master_find_framework(d->m, "M-0000");
	t = framework_find_unreachable(f, "run");
	cr_assert(t);
	cr_expect_eq(t->record.state, MESOS__TASK_STATE__TASK_UNREACHABLE);
	cr_expect_eq(task_record_last_status(&t->record, &d->out.arena)->state,
		     MESOS__TASK_STATE__TASK_UNREACHABLE);
	/* A state that is terminal stays. */
	t = framework_find_unreachable(f, "done");
	cr_expect(t && t->record.state == MESOS__TASK_STATE__TASK_FINISHED);
	driver_restart(d, "M3");
	t = framework_find_unreachable(master_find_framework(d->m, "M-0000"), "run");
	cr_expect(t && t->record.state == MESOS__TASK_STATE__TASK_UNREACHABLE);
}

/* A crash takes what was written behind after the agent was durably back. */
Test(master_recovery, tasks_of_an_agent_that_came_back_before_a_crash_are_not_unreachable)
{
	struct stored_pair *pair;
	char *value;
	size_t len;

	HASH_FIND_STR(d->store, "task/M-0000/far", pair);
	len = pair->len;
	value = xmemdup(pair->value, len);
	driver_reregister(d, AGENT2, "M-S1", NULL);
	HASH_FIND_STR(d->store, "task/M-0000/far", pair);
	cr_assert_null(pair);
	pair = xcalloc(1, sizeof(*pair));
	*pair = (struct stored_pair){.key = xstrdup("task/M-0000/far"), .value = value, .len = len};
	HASH_ADD_KEYPTR(hh, d->store, pair->key, strlen(pair->key), pair);
	driver_restart(d, "M2");
	cr_expect_null(framework_find_unreachable(master_find_framework(d->m, "M-0000"), "far"));
	HASH_FIND_STR(d->store, "task/M-0000/far", pair);
	cr_expect_null(pair);
}

/* What is wrong with a record is found when it is read, though tasks stay packed; what is not
 * wrong enough is a task as good as another. */
Test(master_recovery, broken_records_of_tasks_are_refused_or_restored)
{
	size_t read = 0, refused = 0;
	struct rng rng;

	rng_seed(&rng, 7);
	for (int round = 0; round < 40; round++) {
		struct stored_pair *pair, *next;
		struct err err = {{0}};

		master_destroy(d->m);
		cr_assert_eq(master_create(&d->options, &d->m, &err), 0);
		HASH_ITER (hh, d->store, pair, next) {
			bool task = str_has_prefix(pair->key, "task/"), good = true;
			const ProtobufCMessageDescriptor *type =
				task ? &mesita__stored_task__descriptor : &mesos__task__descriptor;
			struct slice key = slice_of(pair->key), value = {pair->value, pair->len};
			struct arena arena;
			char *copy;

			arena_init(&arena);
			copy = arena_memdup(&arena, value.data, value.len);
			if (task || str_has_prefix(pair->key, "completed/")) {
				copy[rng_next(&rng) % value.len] = (char)rng_next(&rng);
				good = proto_unpack(type, &arena, copy, value.len, NULL);
				*(good ? &read : &refused) += 1;
			}
			value.data = copy;
			cr_assert_eq(master_load(d->m, key, value, &err), good ? 0 : ERR_INVALID);
			arena_free(&arena);
		}
		master_actions_clear(&d->out);
		master_start(d->m, d->now, &d->out);
		cr_assert(master_check(d->m, &err), "%s", err.text);
	}
	cr_expect(read > 20 && refused > 20, "%zu and %zu", read, refused);
}

Test(master_recovery, unreadable_records_are_errors)
{
	struct err err = {{0}};

	cr_expect_eq(master_load(d->m, SLICE("task/a/b"), SLICE("\xff\xff"), &err), ERR_INVALID);
	cr_expect(strstr(err.text, "'task/a/b' cannot be read"), "%s", err.text);
	cr_expect_eq(master_load(d->m, SLICE("task/a"), SLICE(""), &err), ERR_INVALID);
	cr_expect_eq(master_load(d->m, SLICE("of/later"), SLICE("x"), &err), 0);
}

Test(master_recovery, restarts_repeat)
{
	struct buf first = BUF_INIT, second = BUF_INIT;

	driver_restart(d, "M2");
	describe(&first);
	driver_restart(d, "M3");
	describe(&second);
	cr_expect_str_eq(first.data, second.data);
	buf_free(&first);
	buf_free(&second);
}

/* Admitted durably; what it told of itself was lost with the power. */
Test(master_recovery, an_agent_of_which_the_registry_alone_knows)
{
	struct stored_pair *pair;
	struct agent *a;
	struct task *t;

	HASH_FIND_STR(d->store, "agent-facts/M-S0", pair);
	cr_assert_not_null(pair);
	HASH_DEL(d->store, pair);
	free(pair->key);
	free(pair->value);
	free(pair);
	driver_restart(d, "M2");
	a = master_find_agent(d->m, "M-S0");
	cr_assert_not_null(a);
	cr_expect_eq(a->state, AGENT_RECOVERED);
	cr_expect_str_eq(a->version, "");
	cr_expect_eq(resources_quantity(&a->total, "cpus"), 4000);
	t = framework_find_task(master_find_framework(d->m, "M-0000"), "run");
	cr_assert_not_null(t);
	cr_expect_eq(t->agent, a);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect_eq(a->state, AGENT_CONNECTED);
}
