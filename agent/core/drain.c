/* Draining: DrainSlaveMessage ends every task here and lets no new one in, until neither a
 * framework nor an operation is left.
 *
 * The order is stored before anything follows from it, and carried out again after a
 * restart. Tasks that end meanwhile say so: REASON_AGENT_DRAINING, and with mark_gone
 * TASK_GONE_BY_OPERATOR to those who know it. */
#include "agent/core/drain.h"

#include "agent/core/actions.h"
#include "agent/core/objects.h"
#include "agent/core/registration.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"

static bool is_empty(const struct agent *agent)
{
	return !agent->frameworks && !agent->operations;
}

/* The order's grace period, where it is shorter than the task's own. */
static Mesos__KillPolicy *kill_policy(struct agent *agent, const struct task *task)
{
	const Mesos__DurationInfo *max = agent->drain->max_grace_period;
	const Mesos__KillPolicy *own = task->record->kill_policy;
	Mesos__KillPolicy *policy;

	if (!max ||
	    (own && own->grace_period && own->grace_period->nanoseconds <= max->nanoseconds))
		return NULL;
	policy = agent_new(agent, Mesos__KillPolicy, mesos__kill_policy__descriptor);
	policy->grace_period = proto_copy_to(&agent->out->arena, max);
	return policy;
}

/* A launched task stays in its list until it is over. A queued one leaves it at once, with all of
 * its group. */
static void kill_tasks(struct agent *agent, struct executor *executor)
{
	struct task *task, *next;

	list_for_each (task, next, &executor->tasks[TASK_LAUNCHED], link)
		agent_kill(agent, task, kill_policy(agent, task));
	while ((task = list_first(&executor->tasks[TASK_QUEUED], struct task, link))) {
		agent_kill(agent, task, kill_policy(agent, task));
		if (task == list_first(&executor->tasks[TASK_QUEUED], struct task, link))
			break;
	}
}

static void kill_all(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;

	HASH_ITER (hh, agent->frameworks, framework, next) {
		if (framework->terminating)
			continue;
		HASH_ITER (hh, framework->executors, executor, next_executor)
			kill_tasks(agent, executor);
	}
}

void agent_handle_drain(struct agent *agent, const char *from,
			Mesos__Internal__DrainSlaveMessage *message)
{
	if (!agent_from_master(agent, from, "DrainSlaveMessage"))
		return;
	if (agent->state == STATE_RECOVERING || agent->state == STATE_TERMINATING)
		return;
	if (is_empty(agent)) {
		log_info("Draining: there is nothing here");
		return;
	}
	log_info("Draining");
	proto_free(agent->drain);
	agent->drain = proto_copy(message->config);
	agent->drain_time = agent->now;
	agent->batch_class = STORE_SYNCED;
	agent_store_drain(agent);
	agent_wait(agent, agent_ticket(agent), WAIT_DRAIN, "", NULL, NULL);
}

void agent_drain_begin(struct agent *agent)
{
	if (agent->drain)
		kill_all(agent);
}

void agent_drain_resume(struct agent *agent)
{
	if (!agent->drain)
		return;
	log_info("Still draining");
	agent->drain_time = agent->now;
	kill_all(agent);
	agent_drain_settle(agent);
}

void agent_drain_settle(struct agent *agent)
{
	if (!agent->drain || !is_empty(agent))
		return;
	log_info("Finished draining");
	proto_free(agent->drain);
	agent->drain = NULL;
	agent_store_drain(agent);
}

void agent_drain_adjust(const struct agent *agent, const struct framework *framework,
			Mesos__TaskStatus *status)
{
	if (!agent->drain || (status->state != MESOS__TASK_STATE__TASK_KILLING &&
			      status->state != MESOS__TASK_STATE__TASK_KILLED))
		return;
	status->has_reason = 1;
	status->reason = MESOS__TASK_STATUS__REASON__REASON_AGENT_DRAINING;
	if (agent->drain->has_mark_gone && agent->drain->mark_gone &&
	    agent_framework_capable(framework,
				    MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE))
		status->state = MESOS__TASK_STATE__TASK_GONE_BY_OPERATOR;
}
