/* The agent and its master: detection, (Re)RegisterSlaveMessage and the answers, pings,
 * leaving.
 *
 * Happy path: DETECTED, a random wait, the proof of who we are if there is a credential
 * (authentication.c), Register (no id yet) or Reregister, the master's
 * answer, RUNNING; pings keep it there.
 * What we have is told once, with a version: what a master ordered before that, for an older
 * version, is dropped when it comes. So a master that takes our word needs to know nothing of
 * what was on its way.
 * Failures: no answer: again after a random wait whose bound doubles. No ping in time, a
 * ping that says we are disconnected, a broken link: REDETECT, then as from the start.
 * An answer that names another id than ours: the process ends, its work stays on disk. */
#include "agent/core/registration.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/authentication.h"
#include "agent/core/objects.h"
#include "agent/core/orders.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/total.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

bool agent_from_master(struct agent *agent, const char *from, const char *what)
{
	if (agent->master && strcmp(agent->master, from) == 0)
		return true;
	log_warning("Dropped %s from %s: our master is %s", what, from,
		    agent->master ? agent->master : "none");
	return false;
}

/* ---- detection ----------------------------------------------------------- */

static int64_t random_part(struct agent *agent, int64_t bound)
{
	return (int64_t)((double)bound * rng_unit(agent->options.rng));
}

/* The wait spreads agents that a new master finds all at once. One that has just been started comes
 * with few others, so it waits no longer than this, where Mesos waits up to the factor. Ten
 * thousand of them within this time are what a master takes in a quarter of a second. */
#define FIRST_WAIT_MAX (50 * MILLISECOND)

void agent_begin_registration(struct agent *agent)
{
	int64_t factor = agent->options.registration_backoff_factor;

	if (agent->state != STATE_DISCONNECTED || !agent->master)
		return;
	agent->backoff = 2 * factor;
	if (!agent->sought_master && factor > FIRST_WAIT_MAX)
		factor = FIRST_WAIT_MAX;
	agent->sought_master = true;
	timers_start(&agent->timers, &agent->register_timer,
		     agent->now + random_part(agent, factor));
}

void agent_handle_detected(struct agent *agent, const char *master)
{
	if (agent->state == STATE_TERMINATING)
		return;
	if (agent->master && (!master || strcmp(agent->master, master) != 0))
		agent_link(agent, AGENT_UNLINK, agent->master);
	if (!agent->master || !master || strcmp(agent->master, master) != 0) {
		free(agent->master);
		agent->master = master ? xstrdup(master) : NULL;
	}
	agent->link_broken = false;
	timers_stop(&agent->timers, &agent->register_timer);
	timers_stop(&agent->timers, &agent->ping_timer);
	timers_stop(&agent->timers, &agent->redetect_timer);
	agent_authentication_stop(agent);
	agent_streams_pause(agent);
	agent_operations_pause(agent);
	agent_orders_drop_answers(agent);
	if (agent->state == STATE_RUNNING)
		agent_set_state(agent, STATE_DISCONNECTED);
	agent_new_version(agent);
	if (master)
		log_info("New master detected at %s", master);
	else
		log_info("No master; waiting for one to be elected");
	agent_begin_registration(agent);
}

void agent_redetect(struct agent *agent, const char *why)
{
	if (agent->state == STATE_TERMINATING)
		return;
	log_info("Looking for the master again: %s", why);
	timers_stop(&agent->timers, &agent->ping_timer);
	timers_stop(&agent->timers, &agent->redetect_timer);
	agent_emit(agent, AGENT_REDETECT);
}

/* Mesos waits for the ping timeout here; a restarted master gets us back sooner. */
void agent_handle_exited(struct agent *agent, const char *pid)
{
	if (!agent->master || strcmp(agent->master, pid) != 0)
		return;
	agent->link_broken = true;
	agent_orders_drop_answers(agent);
	agent_authentication_hurry(agent);
	if (agent->state != STATE_RUNNING || timer_running(&agent->redetect_timer))
		return;
	log_warning("The link to the master %s broke", pid);
	timers_start(&agent->timers, &agent->redetect_timer,
		     agent->now + random_part(agent, agent->options.registration_backoff_factor));
}

/* ---- registration -------------------------------------------------------- */

/* Only what is kept: the master refuses at once what it sees nobody handles. */
static const Mesos__AgentInfo__Capability__Type capabilities[] = {
	MESOS__AGENT_INFO__CAPABILITY__TYPE__MULTI_ROLE,
	MESOS__AGENT_INFO__CAPABILITY__TYPE__HIERARCHICAL_ROLE,
	MESOS__AGENT_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT,
	/* There are none here; it stands for operations in messages of their own. */
	MESOS__AGENT_INFO__CAPABILITY__TYPE__RESOURCE_PROVIDER,
	MESOS__AGENT_INFO__CAPABILITY__TYPE__RESIZE_VOLUME,
	MESOS__AGENT_INFO__CAPABILITY__TYPE__AGENT_OPERATION_FEEDBACK,
	MESOS__AGENT_INFO__CAPABILITY__TYPE__AGENT_DRAINING,
	/* Limits are looked at, and refused: nothing here enforces them (run_task.c). */
	MESOS__AGENT_INFO__CAPABILITY__TYPE__TASK_RESOURCE_LIMITS,
};
#define CAPABILITIES (sizeof(capabilities) / sizeof(capabilities[0]))

static void add_capabilities(struct agent *agent, size_t *count,
			     Mesos__AgentInfo__Capability ***list)
{
	for (size_t i = 0; i < CAPABILITIES; i++) {
		Mesos__AgentInfo__Capability *capability =
			agent_new(agent, Mesos__AgentInfo__Capability,
				  mesos__agent_info__capability__descriptor);

		capability->has_type = 1;
		capability->type = capabilities[i];
		proto_push(&agent->out->arena, *count, *list, capability);
	}
}

void agent_write_capabilities(struct json_writer *w)
{
	for (size_t i = 0; i < CAPABILITIES; i++)
		jw_string(w, proto_enum_name(&mesos__agent_info__capability__type__descriptor,
					     capabilities[i], SPELL_V0));
}

static Mesos__AgentInfo *info_to_send(struct agent *agent)
{
	Mesos__AgentInfo *info = proto_copy_to(&agent->out->arena, agent->info);

	agent_resources_downgrade(agent, info->n_resources, info->resources);
	return info;
}

static void add_checkpointed(struct agent *agent, size_t *count, Mesos__Resource ***list)
{
	resources_to_messages(&agent->out->arena, &agent->checkpointed, count, list);
	agent_resources_downgrade(agent, *count, *list);
}

static Mesos__UUID *version_to_send(struct agent *agent)
{
	Mesos__UUID *version = agent_new(agent, Mesos__UUID, mesos__uuid__descriptor);

	version->value = (ProtobufCBinaryData){
		UUID_BYTES, arena_memdup(&agent->out->arena, agent->version, UUID_BYTES)};
	return version;
}

static void send_register(struct agent *agent)
{
	Mesos__Internal__RegisterSlaveMessage *message =
		agent_new(agent, Mesos__Internal__RegisterSlaveMessage,
			  mesos__internal__register_slave_message__descriptor);

	message->agent = info_to_send(agent);
	message->version = arena_strdup(&agent->out->arena, agent->options.version);
	add_capabilities(agent, &message->n_agent_capabilities, &message->agent_capabilities);
	add_checkpointed(agent, &message->n_checkpointed_resources,
			 &message->checkpointed_resources);
	message->resource_version_uuid = version_to_send(agent);
	agent_send(agent, agent->master, message);
}

static Mesos__Task *task_to_send(struct agent *agent, const struct task *task)
{
	Mesos__Task *record = proto_copy_to(&agent->out->arena, task->record);

	agent_resources_downgrade(agent, record->n_resources, record->resources);
	return record;
}

static void add_executor(struct agent *agent, Mesos__Internal__ReregisterSlaveMessage *message,
			 struct executor *executor)
{
	struct arena *arena = &agent->out->arena;
	Mesos__ExecutorInfo *info;
	struct task *task, *next;

	for (int place = 0; place < TASK_PLACES; place++) {
		list_for_each (task, next, &executor->tasks[place], link)
			proto_push(arena, message->n_tasks, message->tasks,
				   task_to_send(agent, task));
	}
	if (executor->generated || executor->state == EXECUTOR_TERMINATED)
		return;
	info = proto_copy_to(arena, executor->info);
	agent_resources_downgrade(agent, info->n_resources, info->resources);
	proto_push(arena, message->n_executor_infos, message->executor_infos, info);
}

static void add_completed(struct agent *agent, Mesos__Internal__ReregisterSlaveMessage *message,
			  struct framework *framework)
{
	struct arena *arena = &agent->out->arena;
	Mesos__Internal__Archive__Framework *archive =
		agent_new(agent, Mesos__Internal__Archive__Framework,
			  mesos__internal__archive__framework__descriptor);
	struct executor *executor, *next_executor;
	struct task *task, *next;

	archive->framework_info = proto_copy_to(arena, framework->info);
	if (framework->pid)
		archive->pid = arena_strdup(arena, framework->pid);
	list_for_each (executor, next_executor, &framework->completed, link) {
		list_for_each (task, next, &executor->completed, link)
			proto_push(arena, archive->n_tasks, archive->tasks,
				   task_to_send(agent, task));
	}
	proto_push(arena, message->n_completed_frameworks, message->completed_frameworks, archive);
}

static void send_reregister(struct agent *agent)
{
	Mesos__Internal__ReregisterSlaveMessage *message =
		agent_new(agent, Mesos__Internal__ReregisterSlaveMessage,
			  mesos__internal__reregister_slave_message__descriptor);
	struct arena *arena = &agent->out->arena;
	struct framework *framework, *next;
	struct executor *executor, *next_executor;

	message->agent = info_to_send(agent);
	message->version = arena_strdup(arena, agent->options.version);
	add_capabilities(agent, &message->n_agent_capabilities, &message->agent_capabilities);
	add_checkpointed(agent, &message->n_checkpointed_resources,
			 &message->checkpointed_resources);
	message->resource_version_uuid = version_to_send(agent);
	HASH_ITER (hh, agent->frameworks, framework, next) {
		proto_push(arena, message->n_frameworks, message->frameworks,
			   proto_copy_to(arena, framework->info));
		HASH_ITER (hh, framework->executors, executor, next_executor)
			add_executor(agent, message, executor);
	}
	list_for_each (framework, next, &agent->completed, link)
		add_completed(agent, message, framework);
	agent_send(agent, agent->master, message);
}

void agent_register_timeout(struct agent *agent)
{
	if (agent->state != STATE_DISCONNECTED || !agent->master)
		return;
	if (!agent_authenticate(agent))
		agent_register_proved(agent);
}

void agent_register_proved(struct agent *agent)
{
	/* We tell what we have, and that is about to change: agent_registration_resume(). */
	if (agent->state != STATE_DISCONNECTED || !agent->master || !list_empty(&agent->changes))
		return;
	/* A master that hears of a change which a crash then undoes would offer what is not there.
	 */
	if (agent->total_ticket > agent->stored) {
		agent_wait(agent, agent->total_ticket, WAIT_REGISTER, "", NULL, NULL);
		return;
	}
	/* It may be another life of the master by now. */
	if (agent->link_broken)
		agent_new_version(agent);
	agent_link(agent, AGENT_LINK, agent->master);
	if (agent->info->id)
		send_reregister(agent);
	else
		send_register(agent);
	/* Knocking at a dead address costs little; be back soon after it revives. */
	if (agent->link_broken && agent->backoff > AGENT_LINK_BACKOFF_MAX)
		agent->backoff = AGENT_LINK_BACKOFF_MAX;
	agent->link_broken = false;
	timers_start(&agent->timers, &agent->register_timer,
		     agent->now + random_part(agent, agent->backoff));
	agent->backoff *= 2;
	if (agent->backoff > AGENT_BACKOFF_MAX)
		agent->backoff = AGENT_BACKOFF_MAX;
}

void agent_registration_resume(struct agent *agent)
{
	if (!timer_running(&agent->register_timer) && !agent_authenticating(agent))
		agent_register_timeout(agent);
}

/* ---- answers ------------------------------------------------------------- */

static void expect_pings(struct agent *agent)
{
	timers_start(&agent->timers, &agent->ping_timer, agent->now + agent->ping_timeout);
}

static void registration_run(struct agent *agent,
			     const Mesos__Internal__MasterSlaveConnection *connection)
{
	if (connection && connection->has_total_ping_timeout_seconds) {
		double seconds = connection->total_ping_timeout_seconds;

		if (seconds > 0 && seconds < clock_seconds(WEEK))
			agent->ping_timeout = (int64_t)(seconds * (double)SECOND);
	}
	timers_stop(&agent->timers, &agent->register_timer);
	agent_authentication_stop(agent);
	agent_set_state(agent, STATE_RUNNING);
	expect_pings(agent);
	agent_frameworks_reprieve(agent);
	agent_streams_resume(agent, NULL);
	agent_send_update_slave(agent);
	agent_operations_resume(agent);
}

static void set_id(struct agent *agent, Mesos__AgentID *id)
{
	agent->info->id = proto_copy(id);
	agent_store_identity(agent);
}

/* False: the answer is about somebody else, and the process ends. */
static bool id_is_ours(struct agent *agent, const char *id)
{
	if (!agent->info->id || strcmp(agent_id(agent), id) == 0)
		return true;
	agent_emit_exit(agent, 1,
			agent_key(agent, "Registered but got wrong id: %s (expected: %s)", id,
				  agent_id(agent)));
	return false;
}

void agent_handle_registered(struct agent *agent, const char *from,
			     Mesos__Internal__SlaveRegisteredMessage *message)
{
	const char *id = message->agent_id->value;

	if (!agent_from_master(agent, from, "SlaveRegisteredMessage") || !id_is_ours(agent, id))
		return;
	if (agent->state == STATE_RUNNING) {
		log_info("Already registered with the master");
		agent_send_update_slave(agent);
		return;
	}
	if (agent->state != STATE_DISCONNECTED)
		return;
	if (!agent_id_usable(id)) {
		log_warning("Dropped a registration: '%s' cannot be an agent's id", id);
		return;
	}
	log_info("Registered with master %s; given agent ID %s", from, id);
	if (!agent->info->id)
		set_id(agent, message->agent_id);
	registration_run(agent, message->connection);
}

static void registration_reconcile(struct agent *agent,
				   const Mesos__Internal__ReconcileTasksMessage *list)
{
	struct framework *framework = agent_framework_find(agent, list->framework_id->value);
	bool made = false;

	if (!framework && list->framework && list->n_statuses &&
	    agent_id_usable(list->framework_id->value)) {
		framework = agent_framework_create(agent, list->framework_id->value);
		agent_framework_set(agent, framework, list->framework, NULL);
		made = true;
	}
	if (!framework) {
		log_warning("Dropped a reconciliation of framework %s: it is unknown",
			    list->framework_id->value);
		return;
	}
	for (size_t i = 0; i < list->n_statuses; i++) {
		const char *task_id = list->statuses[i]->task_id->value;

		if (agent_task_find(framework, task_id) || !agent_id_usable(task_id))
			continue;
		agent_make_update(agent, framework, task_id, NULL, agent_dropped_state(framework),
				  MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION,
				  "Reconciliation: task unknown to the agent");
	}
	if (made)
		agent_framework_settle(agent, framework);
}

void agent_handle_reregistered(struct agent *agent, const char *from,
			       Mesos__Internal__SlaveReregisteredMessage *message)
{
	const char *id = message->agent_id->value;

	if (!agent_from_master(agent, from, "SlaveReregisteredMessage"))
		return;
	if (!agent->info->id) {
		log_warning("Dropped a reregistration: this agent has no id yet");
		return;
	}
	if (!id_is_ours(agent, id))
		return;
	if (agent->state == STATE_DISCONNECTED) {
		log_info("Reregistered with master %s", from);
		/* The new info was accepted: it is what the next start is compared with. */
		agent_store_identity(agent);
		registration_run(agent, message->connection);
	} else if (agent->state == STATE_RUNNING) {
		agent_send_update_slave(agent);
	} else {
		return;
	}
	for (size_t i = 0; i < message->n_reconciliations; i++)
		registration_reconcile(agent, message->reconciliations[i]);
}

void agent_handle_ping(struct agent *agent, const char *from,
		       Mesos__Internal__PingSlaveMessage *message)
{
	agent_send(agent, from,
		   agent_new(agent, Mesos__Internal__PongSlaveMessage,
			     mesos__internal__pong_slave_message__descriptor));
	if (agent->state != STATE_RUNNING)
		return;
	if (!message->connected)
		agent_redetect(agent, "the master takes us for disconnected");
	else
		expect_pings(agent);
}

/* ---- leaving ------------------------------------------------------------- */

void agent_exit_if_empty(struct agent *agent)
{
	if (agent->state != STATE_TERMINATING || agent->frameworks || agent->leaving)
		return;
	agent->leaving = true;
	agent_wait(agent, agent_ticket(agent), WAIT_EXIT, "", NULL, NULL);
}

static void send_unregister(struct agent *agent)
{
	Mesos__Internal__UnregisterSlaveMessage *message =
		agent_new(agent, Mesos__Internal__UnregisterSlaveMessage,
			  mesos__internal__unregister_slave_message__descriptor);

	message->agent_id = agent_own_id(agent);
	agent_send(agent, agent->master, message);
}

/* `from` NULL: asked to by a signal. */
void agent_handle_shutdown(struct agent *agent, const char *from, const char *text)
{
	struct framework *framework, *next;

	if (from && !agent_from_master(agent, from, "ShutdownMessage"))
		return;
	if (agent->state == STATE_TERMINATING)
		return;
	log_info("Shutting down: %s", text);
	if (!from && agent->master && agent->info->id)
		send_unregister(agent);
	agent_set_state(agent, STATE_TERMINATING);
	timers_stop(&agent->timers, &agent->register_timer);
	timers_stop(&agent->timers, &agent->ping_timer);
	timers_stop(&agent->timers, &agent->redetect_timer);
	timers_stop(&agent->timers, &agent->recovery_timer);
	agent_authentication_stop(agent);
	/* Whoever starts here next is a new agent. */
	agent->batch_class = STORE_SYNCED;
	agent_delete(agent, agent_key(agent, "agent/info"));
	HASH_ITER (hh, agent->frameworks, framework, next) {
		agent_framework_shutdown(agent, framework);
		if (!framework->executors && framework->hh.tbl)
			agent_framework_settle(agent, framework);
	}
	agent_exit_if_empty(agent);
}
