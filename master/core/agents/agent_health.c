/* Health checks of agents: an observer per agent, slave-observer(N),
 * pings it at fixed intervals; silence long enough makes it unreachable.
 *
 * Removals for silence, for not coming back after a broken link and for not coming
 * back after a restart of the master all go through one rate limiter
 * (--agent_removal_rate_limit), in which a pong cancels those for silence.
 */
#include "master/core/agents/agent_health.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/duration.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/store/registry.h"

static void ping(struct master *m, struct agent *a)
{
	Mesos__Internal__PingSlaveMessage *message =
		STEP_NEW(m, Mesos__Internal__PingSlaveMessage,
			 mesos__internal__ping_slave_message__descriptor);

	/* Who hears that it is not registers again. */
	message->connected = agent_connected(a) && !a->outdated;
	master_emit_message(m, a->observer_name, a->pid, message);
	a->pinged = true;
	timers_start(&m->timers, &a->ping, m->now + m->options.agent_ping_timeout);
}

void master_observe_agent(struct master *m, struct agent *a)
{
	a->observer = ++m->next_observer;
	free(a->observer_name);
	a->observer_name = xprintf("slave-observer(%llu)", (unsigned long long)a->observer);
	a->missed_pings = 0;
	ping(m, a);
}

void master_unobserve_agent(struct master *m, struct agent *a)
{
	timers_stop(&m->timers, &a->ping);
	timers_stop(&m->timers, &a->reregister);
	list_remove(&a->removal);
	free(a->removal_cause);
	free(a->observer_name);
	a->removal_cause = a->observer_name = NULL;
}

void master_ask_again(struct master *m, struct agent *a)
{
	if (a->outdated)
		return; /* the next ping says so again */
	a->outdated = true;
	ping(m, a);
}

void master_ping_due(struct master *m, struct agent *a)
{
	if (a->pinged && ++a->missed_pings >= m->options.max_agent_ping_timeouts)
		master_schedule_removal(m, a, "health check timed out");
	ping(m, a);
}

void master_pong(struct master *m, const char *from)
{
	struct agent *a;

	HASH_FIND(hh_pid, m->agents_by_pid, from, strlen(from), a);
	if (!a)
		return;
	a->pinged = false;
	a->missed_pings = 0;
	if (agent_connected(a))
		master_cancel_removal(m, a);
}

/* ---- the rate limiter ------------------------------------------------------------------ */

static void arm_removals(struct master *m)
{
	int64_t when = m->next_removal > m->now ? m->next_removal : m->now;

	if (!list_empty(&m->removals) && !timer_running(&m->removal))
		timers_start(&m->timers, &m->removal, when);
}

/* Its turn has come. */
static void complete_removal(struct master *m, struct agent *a)
{
	char *cause = a->removal_cause;

	a->removal_cause = NULL;
	m->counters.slave_unreachable_completed++;
	m->counters.slave_shutdowns_completed++;
	master_mark_unreachable(m, a, cause);
	free(cause);
}

static void queue_removal(struct master *m, struct agent *a)
{
	if (m->options.agent_removals_per_second <= 0) {
		complete_removal(m, a);
		return;
	}
	list_append(&m->removals, &a->removal);
	arm_removals(m);
}

void master_schedule_removal(struct master *m, struct agent *a, const char *cause)
{
	enum agent_verdict verdict = agent_ask(m, a->id, CHANGE_UNREACHABLE);

	if (a->removal_cause || verdict == CHANGE_DROPPED)
		return;
	m->counters.slave_unreachable_scheduled++;
	m->counters.slave_shutdowns_scheduled++;
	a->removal_cause = xstrdup(cause);
	if (verdict == CHANGE_WAITS)
		agent_await(a, CHANGE_UNREACHABLE);
	else
		queue_removal(m, a);
}

void master_cancel_removal(struct master *m, struct agent *a)
{
	if (!a->removal_cause)
		return;
	log_info("agent %s answers again: not marking it unreachable", a->id);
	list_remove(&a->removal);
	agent_cancel(a, CHANGE_UNREACHABLE);
	free(a->removal_cause);
	a->removal_cause = NULL;
	m->counters.slave_unreachable_canceled++;
	m->counters.slave_shutdowns_canceled++;
}

static int64_t removal_interval(const struct master *m)
{
	double interval = SECOND / m->options.agent_removals_per_second;

	return interval < (double)INT64_MAX ? (int64_t)interval : INT64_MAX;
}

void master_removal_due(struct master *m)
{
	struct agent *a = list_first(&m->removals, struct agent, removal);

	if (!a)
		return;
	list_remove(&a->removal);
	switch (agent_ask(m, a->id, CHANGE_UNREACHABLE)) {
	case CHANGE_GOES:
		m->next_removal = master_later(m, removal_interval(m));
		complete_removal(m, a);
		break;
	case CHANGE_WAITS:
		agent_await(a, CHANGE_UNREACHABLE);
		break;
	default:
		master_cancel_removal(m, a);
		break;
	}
	arm_removals(m);
}

void master_resume_leaving(struct master *m, const char *id)
{
	struct agent *a = master_find_agent(m, id);

	if (!a)
		return;
	switch (agent_take_waiting(m, a)) {
	case CHANGE_UNREGISTER:
		master_begin_remove_agent(m, a, "the agent unregistered", CHANGE_UNREGISTER);
		break;
	case CHANGE_UNREACHABLE:
		queue_removal(m, a);
		break;
	default:
		break;
	}
}

/* ---- agents that do not come back --------------------------------------------------------- */

void master_reregister_expired(struct master *m, struct agent *a)
{
	char timeout[DURATION_TEXT];

	duration_format(m->options.agent_reregister_timeout, timeout);
	master_schedule_removal(
		m, a,
		arena_printf(&m->out->arena,
			     "agent did not reregister within %s after disconnecting", timeout));
}

/* So many are missing that it is rather the master's network that is broken. */
static bool too_many_missing(struct master *m, const char *timeout)
{
	size_t missing = m->agents_in[AGENT_RECOVERED];
	double share = m->loaded_agents ? 100.0 * (double)missing / (double)m->loaded_agents : 0;

	if (share <= m->options.recovery_removal_limit)
		return false;
	master_emit(m, MASTER_EXIT)->exit.text = arena_printf(
		&m->out->arena,
		"Post-recovery agent removal limit exceeded! After %s there were %zu (%g%%) agents "
		"recovered from the registry that did not reregister. The configured removal limit "
		"is %g%% (--recovery_agent_removal_limit). Please investigate or increase this "
		"limit to proceed further",
		timeout, missing, share, m->options.recovery_removal_limit);
	return true;
}

void master_recovery_expired(struct master *m)
{
	char timeout[DURATION_TEXT];
	struct agent *a, *next;
	const char *cause;

	duration_format(m->options.agent_reregister_timeout, timeout);
	if (too_many_missing(m, timeout))
		return;
	cause = arena_printf(&m->out->arena, "did not reregister within %s after master failover",
			     timeout);
	HASH_ITER (hh, m->agents, a, next) {
		if (a->state != AGENT_RECOVERED ||
		    agent_ask(m, a->id, CHANGE_UNREACHABLE) == CHANGE_DROPPED)
			continue;
		m->counters.recovery_slave_removals++;
		master_schedule_removal(m, a, cause);
	}
}
