/* Draining, deactivation and reactivation of agents by operators.
 *
 * What is said of an agent is in its registry record, and in that of an unreachable one;
 * nothing follows before it is durable. A draining agent ends its tasks by itself. The
 * master watches: when no task is left whose end is unacknowledged and no operation, the
 * agent is DRAINED, or gone if that was asked for.
 */
#include "master/core/agents/drain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/emit.h"
#include "master/core/journal.h"
#include "master/core/objects.h"
#include "master/core/operator.h"
#include "master/core/store/registry.h"
#include "master/core/store/warm.h"

#define STATE(name) MESOS__DRAIN_STATE__##name

/* ---- unreachable and back -------------------------------------------------------------- */

void master_keep_orders(struct departed *d, struct agent *a)
{
	d->deactivated = a->deactivated;
	d->drain_info = a->drain_info;
	a->drain_info = NULL;
}

void master_take_orders(struct agent *a, struct departed *d)
{
	a->deactivated = d->deactivated;
	proto_free(a->drain_info);
	a->drain_info = d->drain_info;
	d->drain_info = NULL;
}

/* ---- being drained ----------------------------------------------------------------------- */

static bool draining(const struct agent *a)
{
	return a->drain_info && a->drain_info->state == STATE(DRAINING);
}

void master_repeat_drain(struct master *m, struct agent *a)
{
	Mesos__Internal__DrainSlaveMessage *message;

	if (!a->drain_info || !a->agent_draining)
		return;
	message = STEP_NEW(m, Mesos__Internal__DrainSlaveMessage,
			   mesos__internal__drain_slave_message__descriptor);
	message->config = STEP_COPY(m, a->drain_info->config);
	master_send_agent(m, a, message);
}

void master_touch_drain(struct master *m, struct agent *a)
{
	if (draining(a) && list_empty(&a->drain_check))
		list_append(&m->drain_checks, &a->drain_check);
}

static void drained_stored(struct master *m, struct pending *p)
{
	struct agent *a = master_find_agent(m, p->key);

	if (!a || !p->latest || !a->drain_info)
		return;
	a->drain_info->state = STATE(DRAINED);
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	log_info("agent %s (%s) is drained", a->id, a->info->hostname);
}

static void finish_drain(struct master *m, struct agent *a)
{
	struct registry_batch batch = {0};
	Mesos__DrainInfo info;

	if (a->drain_info->config->mark_gone) {
		master_begin_gone(m, a->id);
		return;
	}
	info = *a->drain_info;
	info.state = STATE(DRAINED);
	registry_put_agent(m, &batch, a->info, true, &info);
	registry_write_change(m, &batch, CHANGE_DRAINED, a->id, drained_stored);
}

static void check_drained(struct master *m, struct agent *a)
{
	/* What is being written ends in another check, or in the end of the agent. */
	if (!draining(a) || !agent_registered(a) || a->drain_blind ||
	    !agent_may_change(m, a->id, CHANGE_DRAINED))
		return;
	if (list_empty(&a->tasks) && !a->operations)
		finish_drain(m, a);
}

void master_check_drains(struct master *m)
{
	struct agent *a;

	while ((a = list_first(&m->drain_checks, struct agent, drain_check))) {
		list_remove(&a->drain_check);
		check_drained(m, a);
	}
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void drain_deactivate(struct master *m, struct agent *a)
{
	bool was_active = agent_active(a);

	a->deactivated = true;
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	if (!was_active)
		return;
	allocator_activate_agent(m->allocator, a->alloc, false);
	master_rescind_of_agent(m, a);
}

/* Whether the order can be carried out now; false: it was answered, or waits. */
static bool may_change(struct master *m, const struct operator_request *request, const char *id)
{
	enum agent_verdict verdict = agent_ask(m, id, CHANGE_ORDER);

	if (verdict == CHANGE_REFUSED)
		master_reply(m, 409, "Agent is currently being marked gone");
	else if (verdict == CHANGE_WAITS)
		master_defer(m, request, DEFER_AGENT, id);
	if (verdict != CHANGE_GOES)
		return false;
	if (!master_find_agent(m, id) && !master_find_departed(m->unreachable, id)) {
		master_reply(m, 400, "Unknown agent");
		return false;
	}
	return true;
}

/* Writes the agent's new orders, whether it is here or unreachable. */
static struct pending *write_orders(struct master *m, const struct operator_request *request,
				    const char *id, bool deactivated,
				    const Mesos__DrainInfo *drain_info,
				    void (*follow)(struct master *m, struct pending *p))
{
	struct departed *away = master_find_departed(m->unreachable, id);
	struct agent *a = master_find_agent(m, id);
	struct registry_batch batch = {0};
	struct pending *p;

	if (a)
		registry_put_agent(m, &batch, a->info, deactivated, drain_info);
	else
		registry_put_unreachable(m, &batch, id, away->time, deactivated, drain_info);
	p = registry_write_change(m, &batch, CHANGE_ORDER, id, follow);
	p->message = proto_copy(drain_info);
	p->request = request->number;
	master_reply(m, 0, "%s", "");
	return p;
}

/* ---- DRAIN_AGENT -------------------------------------------------------------------- */

static void set_drain_info(Mesos__DrainInfo **at, struct pending *p)
{
	proto_free(*at);
	*at = p->message;
	p->message = NULL;
}

static void drain_stored(struct master *m, struct pending *p)
{
	struct departed *away = master_find_departed(m->unreachable, p->key);
	struct agent *a = master_find_agent(m, p->key);

	if (a && p->latest) {
		log_info("agent %s (%s) drains", a->id, a->info->hostname);
		set_drain_info(&a->drain_info, p);
		drain_deactivate(m, a);
		if (agent_registered(a)) {
			master_repeat_drain(m, a);
			a->drain_start = m->now;
			master_touch_drain(m, a);
		}
	} else if (a) {
		/* It is about to be removed; no offers of it meanwhile. */
		drain_deactivate(m, a);
	} else if (away && p->latest) {
		away->deactivated = true;
		set_drain_info(&away->drain_info, p);
	}
	master_answer(m, p->request, 200, "%s", "");
}

static int64_t to_nanoseconds(const Mesos__Master__Duration *duration)
{
	int64_t seconds = duration->has_seconds ? duration->seconds : 0, result;

	if (__builtin_mul_overflow(seconds, SECOND, &result) ||
	    __builtin_add_overflow(result, (int64_t)(duration->has_nanos ? duration->nanos : 0),
				   &result))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

static Mesos__DrainInfo *make_drain_info(struct master *m,
					 const Mesos__Master__Call__DrainAgent *call)
{
	Mesos__DrainInfo *info = STEP_NEW(m, Mesos__DrainInfo, mesos__drain_info__descriptor);

	info->state = STATE(DRAINING);
	info->config = STEP_NEW(m, Mesos__DrainConfig, mesos__drain_config__descriptor);
	info->config->has_mark_gone = true;
	info->config->mark_gone = call->has_mark_gone && call->mark_gone;
	if (call->max_grace_period) {
		info->config->max_grace_period =
			STEP_NEW(m, Mesos__DurationInfo, mesos__duration_info__descriptor);
		info->config->max_grace_period->nanoseconds =
			to_nanoseconds(call->max_grace_period);
	}
	return info;
}

/* An agent that is here must be able to drain; of one that is not nobody knows. */
static bool can_drain(struct master *m, const struct agent *a)
{
	const struct machine *machine = master_agent_machine(m, a);

	if (machine)
		master_reply(m, 400,
			     "Agent %s is part of a maintenance schedule under Machine %s (%s)",
			     a->id, machine->info->id->hostname, machine->info->id->ip);
	else if (!a->agent_draining)
		master_reply(m, 400, "Agent %s is not capable of draining", a->id);
	return !machine && a->agent_draining;
}

void master_drain(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__DrainAgent *call = request->call->drain_agent;
	const char *id = call->agent_id->value;
	const struct agent *a = master_find_agent(m, id);

	if (!may_change(m, request, id))
		return;
	if (a && agent_registered(a) && !can_drain(m, a))
		return;
	write_orders(m, request, id, true, make_drain_info(m, call), drain_stored);
}

/* ---- DEACTIVATE_AGENT, REACTIVATE_AGENT ---------------------------------------------------- */

static void deactivate_stored(struct master *m, struct pending *p)
{
	struct departed *away = master_find_departed(m->unreachable, p->key);
	struct agent *a = master_find_agent(m, p->key);

	if (a) {
		log_info("agent %s (%s) is deactivated", a->id, a->info->hostname);
		drain_deactivate(m, a);
		master_touch_drain(m, a);
	} else if (away && p->latest) {
		away->deactivated = true;
	}
	master_answer(m, p->request, 200, "%s", "");
}

void master_deactivate(struct master *m, const struct operator_request *request)
{
	const char *id = request->call->deactivate_agent->agent_id->value;
	const struct departed *away = master_find_departed(m->unreachable, id);
	const struct agent *a = master_find_agent(m, id);

	if (may_change(m, request, id))
		write_orders(m, request, id, true, a ? a->drain_info : away->drain_info,
			     deactivate_stored);
}

static void reactivate(struct master *m, struct agent *a)
{
	log_info("agent %s (%s) is reactivated", a->id, a->info->hostname);
	proto_free(a->drain_info);
	a->drain_info = NULL;
	a->drain_start = 0;
	a->deactivated = false;
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	if (agent_active(a))
		allocator_activate_agent(m->allocator, a->alloc, true);
}

static void reactivate_stored(struct master *m, struct pending *p)
{
	struct departed *away = master_find_departed(m->unreachable, p->key);
	struct agent *a = master_find_agent(m, p->key);

	if (a && p->latest) {
		reactivate(m, a);
	} else if (away && p->latest) {
		away->deactivated = false;
		proto_free(away->drain_info);
		away->drain_info = NULL;
	}
	if (a && p->latest && agent_registered(a))
		master_answer(m, p->request, 200, "%s", "");
	else
		master_answer(m, p->request, 409, "Agent removed while processing the call");
}

void master_reactivate(struct master *m, const struct operator_request *request)
{
	const char *id = request->call->reactivate_agent->agent_id->value;
	const struct departed *away = master_find_departed(m->unreachable, id);
	const struct agent *a = master_find_agent(m, id);
	const Mesos__DrainInfo *info = a ? a->drain_info : away ? away->drain_info : NULL;

	if (agent_ask(m, id, CHANGE_ORDER) == CHANGE_WAITS)
		master_defer(m, request, DEFER_AGENT, id);
	else if (!(a && a->deactivated) && !(away && away->deactivated))
		master_reply(m, 400, "Agent is not deactivated");
	else if (info && info->state == STATE(DRAINING))
		master_reply(m, 400, "Agent is still in the DRAINING state");
	else if (may_change(m, request, id))
		write_orders(m, request, id, false, NULL, reactivate_stored);
}
