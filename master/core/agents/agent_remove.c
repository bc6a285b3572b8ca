/* Losing agents: broken links, unreachable, gone,
 * unregistered; and what becomes of their tasks.
 *
 * All but the broken link are durable first. Then: the allocator forgets the agent,
 * its tasks are told and moved, executors and offers dropped, and every framework
 * hears FAILURE.
 */
#include "master/core/agents/agent_remove.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/drain.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/journal.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_feedback.h"
#include "master/core/store/registry.h"
#include "master/core/tasks/tasks.h"

#define STATE(name) MESOS__TASK_STATE__TASK_##name
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- broken links ------------------------------------------------------------------ */

void master_rescind_of_agent(struct master *m, struct agent *a)
{
	struct inverse_offer *inverse, *next_inverse;
	struct offer *o, *next;

	list_for_each (o, next, &a->offers, by_agent)
		master_rescind_offer(m, o);
	list_for_each (inverse, next_inverse, &a->inverse_offers, by_agent)
		master_rescind_inverse(m, inverse);
}

static bool checkpoints(const struct framework *f)
{
	return f->info->has_checkpoint && f->info->checkpoint;
}

/* Without checkpointing a task does not survive its agent's link. */
static void lose_fragile_tasks(struct master *m, struct agent *a)
{
	struct executor *e, *next_executor;
	struct task *t, *next;
	const struct task_end end = {
		.state = STATE(LOST),
		.reason = REASON(AGENT_DISCONNECTED),
		.message = arena_printf(&m->out->arena, "Agent %s disconnected", a->info->hostname),
		.give_back = true,
	};

	list_for_each (t, next, &a->tasks, by_agent) {
		if (!checkpoints(t->framework))
			master_end_task(m, t, &end);
	}
	HASH_ITER (hh, a->executors, e, next_executor) {
		if (!checkpoints(e->framework))
			master_remove_executor(m, e, true);
	}
}

void master_disconnect_agent(struct master *m, struct agent *a)
{
	log_info("agent %s at %s (%s) disconnected", a->id, a->pid, a->info->hostname);
	agent_life_move(m, a, AGENT_DISCONNECTED);
	allocator_activate_agent(m->allocator, a->alloc, false);
	master_rescind_of_agent(m, a);
	lose_fragile_tasks(m, a);
	timers_start(&m->timers, &a->reregister,
		     master_later(m, m->options.agent_reregister_timeout));
}

void master_agent_exited(struct master *m, const char *pid)
{
	struct agent *a;

	HASH_FIND(hh_pid, m->agents_by_pid, pid, strlen(pid), a);
	if (a && agent_connected(a))
		master_disconnect_agent(m, a);
}

void master_reconnect_agent(struct master *m, struct agent *a)
{
	timers_stop(&m->timers, &a->reregister);
	a->missed_pings = 0;
	a->pinged = false;
	if (agent_connected(a))
		return;
	agent_life_move(m, a, AGENT_CONNECTED);
	master_cancel_removal(m, a);
	if (agent_active(a))
		allocator_activate_agent(m->allocator, a->alloc, true);
}

/* ---- losing it for good ---------------------------------------------------------------- */

/* How an agent leaves, and what its tasks are told. */
struct leaving {
	enum agent_state to;
	const char *cause;	       /* message of the updates */
	Mesos__TaskState aware, plain; /* of PARTITION_AWARE frameworks, and of others */
	Mesos__TaskStatus__Reason aware_reason;
	bool park_aware, park_plain; /* to the unreachable tasks, else completed */
	int64_t unreachable_time;
	Mesos__OperationState operations; /* UNKNOWN: frameworks hear nothing of these */
	const char *operations_say;
};

static void agent_remove_lose_task(struct master *m, struct task *t, const struct leaving *how)
{
	struct framework *f = t->framework;
	bool park = f->partition_aware ? how->park_aware : how->park_plain;
	const struct task_end end = {
		.state = f->partition_aware ? how->aware : how->plain,
		.reason = f->partition_aware ? how->aware_reason : REASON(AGENT_REMOVED),
		.message = how->cause,
		.unreachable_time = how->unreachable_time,
		.goes = park ? TASK_TO_UNREACHABLE : TASK_TO_COMPLETED,
	};

	master_end_task(m, t, &end);
}

static void agent_remove_lose_agent(struct master *m, struct agent *a, const struct leaving *how)
{
	struct executor *e, *next_executor;
	struct task *t, *next;
	const char *id = master_text(m, a->id);
	bool registered = agent_registered(a);

	list_for_each (t, next, &a->tasks, by_agent)
		agent_remove_lose_task(m, t, how);
	HASH_ITER (hh, a->executors, e, next_executor)
		master_remove_executor(m, e, false);
	master_lose_operations(m, a, how->operations, how->operations_say);
	master_rescind_of_agent(m, a);
	/* Everything was given back. Of a RECOVERED one it may remember something. */
	allocator_remove_agent(m->allocator, a->alloc);
	if (registered) {
		master_unlink_agent(m, a);
		journal_agent(m, JOURNAL_AGENT_LOST, a);
	}
	master_remember_removed(m, a->id);
	agent_life_move(m, a, how->to);
	journal_agent(m, JOURNAL_AGENT_REMOVED, a);
	master_free_agent(m, a);
	m->counters.slave_removals++;
	master_tell_agent_failure(m, id);
}

/* ---- unreachable --------------------------------------------------------------------------- */

static void unreachable_stored(struct master *m, struct pending *p)
{
	struct leaving how = {
		.to = AGENT_UNREACHABLE,
		.cause = p->text,
		.aware = STATE(UNREACHABLE),
		.plain = STATE(LOST),
		.aware_reason = REASON(AGENT_REMOVED),
		.park_aware = true,
		.park_plain = true,
		.unreachable_time = p->time,
		.operations = MESOS__OPERATION_STATE__OPERATION_UNREACHABLE,
		.operations_say = "Agent was marked unreachable",
	};
	struct agent *a = master_find_agent(m, p->key);

	if (!a || !p->latest)
		return;
	master_add_departed(&m->unreachable, a->id, p->time);
	master_keep_orders(master_find_departed(m->unreachable, a->id), a);
	m->counters.slave_removals_unhealthy++;
	agent_remove_lose_agent(m, a, &how);
}

void master_mark_unreachable(struct master *m, struct agent *a, const char *cause)
{
	struct registry_batch batch = {0};
	struct pending *p;

	log_warning("marking agent %s (%s) unreachable: %s", a->id, a->info->hostname, cause);
	registry_delete(m, &batch, registry_key(m, "agent", a->id));
	registry_put_unreachable(m, &batch, a->id, m->now, a->deactivated, a->drain_info);
	p = registry_write_change(m, &batch, CHANGE_UNREACHABLE, a->id, unreachable_stored);
	p->text = xstrdup(cause);
}

/* ---- removed ----------------------------------------------------------------------- */

void master_remove_agent_now(struct master *m, struct agent *a, const char *cause)
{
	struct leaving how = {
		.to = AGENT_REMOVED,
		.cause = arena_printf(&m->out->arena, "Agent %s removed: %s", a->info->hostname,
				      cause),
		.aware = STATE(LOST),
		.plain = STATE(LOST),
		.aware_reason = REASON(AGENT_REMOVED),
		.operations = MESOS__OPERATION_STATE__OPERATION_UNKNOWN,
	};

	log_info("removing agent %s (%s): %s", a->id, a->info->hostname, cause);
	agent_remove_lose_agent(m, a, &how);
}

static void removal_stored(struct master *m, struct pending *p)
{
	struct agent *a = master_find_agent(m, p->key);

	if (!a || !p->latest)
		return;
	if (p->change == CHANGE_UNREGISTER)
		m->counters.slave_removals_unregistered++;
	master_remove_agent_now(m, a, p->text);
}

void master_begin_remove_agent(struct master *m, struct agent *a, const char *cause,
			       enum agent_change change)
{
	struct registry_batch batch = {0};
	struct pending *p;

	registry_delete(m, &batch, registry_key(m, "agent", a->id));
	p = registry_write_change(m, &batch, change, a->id, removal_stored);
	p->text = xstrdup(cause);
}

void master_unregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__UnregisterSlaveMessage *message)
{
	struct agent *a = master_find_agent(m, message->agent_id->value);

	m->counters.messages_unregister_slave++;
	if (!a || !agent_registered(a) || strcmp(a->pid, from)) {
		log_warning("ignored the unregistration of agent %s from %s: it is not that agent",
			    message->agent_id->value, from);
		m->counters.dropped_messages++;
		return;
	}
	switch (agent_ask(m, a->id, CHANGE_UNREGISTER)) {
	case CHANGE_GOES:
		master_begin_remove_agent(m, a, "the agent unregistered", CHANGE_UNREGISTER);
		break;
	case CHANGE_WAITS:
		agent_await(a, CHANGE_UNREGISTER);
		break;
	default:
		break;
	}
}

/* ---- gone -------------------------------------------------------------------------- */

static void send_gone(struct master *m, struct agent *a)
{
	Mesos__Internal__ShutdownMessage *message = STEP_NEW(
		m, Mesos__Internal__ShutdownMessage, mesos__internal__shutdown_message__descriptor);

	message->message = master_text(m, "Agent has been marked gone");
	master_send_agent(m, a, message);
}

/* It was unreachable: its tasks are in the frameworks' unreachable ones. */
static void lose_parked_tasks(struct master *m, struct departed *away)
{
	while (!list_empty(&away->tasks)) {
		struct task *t = list_first(&away->tasks, struct task, by_agent);
		bool aware = t->framework->partition_aware;
		const struct task_end end = {
			.state = aware ? STATE(GONE_BY_OPERATOR) : STATE(LOST),
			.reason = aware ? REASON(AGENT_REMOVED_BY_OPERATOR) : REASON(AGENT_REMOVED),
			.message = "Agent has been marked gone",
			.goes = aware ? TASK_TO_COMPLETED : TASK_STAYS,
		};

		master_end_task(m, t, &end);
	}
}

static void gone_stored(struct master *m, struct pending *p)
{
	struct leaving how = {
		.to = AGENT_GONE,
		.cause = "Agent has been marked gone",
		.aware = STATE(GONE_BY_OPERATOR),
		.plain = STATE(LOST),
		.aware_reason = REASON(AGENT_REMOVED_BY_OPERATOR),
		.park_plain = true,
		.operations = MESOS__OPERATION_STATE__OPERATION_GONE_BY_OPERATOR,
		.operations_say = "Agent has been marked gone",
	};
	struct departed *away = master_find_departed(m->unreachable, p->key);
	struct agent *a = master_find_agent(m, p->key);

	if (away) {
		lose_parked_tasks(m, away);
		master_remove_departed(&m->unreachable, p->key);
	}
	master_add_departed(&m->gone, p->key, p->time);
	if (a) {
		/* At the address of one that did not come back may be another. */
		if (agent_registered(a))
			send_gone(m, a);
		agent_remove_lose_agent(m, a, &how);
	}
	if (p->request)
		master_answer(m, p->request, 200, "%s", "");
}

static struct pending *write_gone(struct master *m, const char *id)
{
	struct registry_batch batch = {0};

	log_info("marking agent %s gone", id);
	registry_delete(m, &batch, registry_key(m, "agent", id));
	registry_delete(m, &batch, registry_key(m, "unreachable", id));
	registry_put_departed(m, &batch, "gone", id, m->now);
	return registry_write_change(m, &batch, CHANGE_GONE, id, gone_stored);
}

void master_begin_gone(struct master *m, const char *id)
{
	write_gone(m, id);
}

static bool agent_exists(struct master *m, const char *id)
{
	return master_find_agent(m, id) || master_find_departed(m->unreachable, id);
}

void master_mark_gone(struct master *m, const char *id, uint64_t request)
{
	enum agent_change changing = agent_changing(m, id);

	if (master_find_departed(m->gone, id)) {
		master_reply(m, 200, "%s", "");
		return;
	}
	if (!agent_may_change(m, id, CHANGE_GONE)) {
		master_reply(m, 503, "Agent '%s' is already being transitioned to %s", id,
			     changing == CHANGE_GONE ? "gone" : "unreachable or removed");
		return;
	}
	if (changing == CHANGE_NONE && !agent_exists(m, id)) {
		master_reply(m, 404, "Agent '%s' not found", id);
		return;
	}
	write_gone(m, id)->request = request;
	master_reply(m, 0, "%s", "");
}
