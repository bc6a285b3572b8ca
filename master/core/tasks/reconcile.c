/* Reconciliation of tasks and operations: the master's
 * answer to "what became of ...?". Never carries a uuid.
 */
#include "master/core/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/operations/operation_records.h"
#include "master/core/tasks/tasks.h"
#include "master/core/tasks/updates.h"

#define STATE(name) MESOS__TASK_STATE__TASK_##name

/* ---- tasks -------------------------------------------------------------------------- */

void master_copy_last_known(struct master *m, const Mesos__TaskStatus *last,
			    Mesos__TaskStatus *status)
{
	if (!last)
		return;
	status->has_healthy = last->has_healthy;
	status->healthy = last->healthy;
	status->check_status = STEP_COPY(m, last->check_status);
	status->container_status = STEP_COPY(m, last->container_status);
}

static void tell_known(struct master *m, struct task *t)
{
	struct master_status say = {
		.task_id = t->id,
		.agent_id = t->agent_id,
		.executor_id = t->executor_id,
		.state = task_record_told_state(&t->record),
		.reason = MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION,
		.message = "Reconciliation: Latest task state",
	};
	Mesos__TaskStatus *status = master_make_status(m, &say);
	struct arena scratch = {0}; /* one call may name a task with a huge status many times */

	master_copy_last_known(m, task_record_last_status(&t->record, &scratch), status);
	arena_free(&scratch);
	master_tell_update(m, t->framework, status);
}

/* What becomes of a task that is not known. False: no answer. */
static bool judge_unknown(struct master *m, const char *agent_id, struct master_status *say)
{
	struct agent *a = agent_id ? master_find_agent(m, agent_id) : NULL;
	struct departed *gone = agent_id ? master_find_departed(m->gone, agent_id) : NULL;
	struct departed *away = agent_id ? master_find_departed(m->unreachable, agent_id) : NULL;

	if ((a && a->state == AGENT_RECOVERED) || (!agent_id && m->agents_in[AGENT_RECOVERED]))
		return false;
	if (a) {
		say->state = STATE(GONE);
		say->message = "Reconciliation: Task is unknown to the agent";
	} else if (away) {
		say->state = STATE(UNREACHABLE);
		say->message = "Reconciliation: Task is unreachable";
		say->unreachable_time = away->time;
	} else if (gone) {
		say->state = STATE(GONE_BY_OPERATOR);
		say->message = "Reconciliation: Task is gone";
	} else {
		say->state = STATE(UNKNOWN);
		say->message = "Reconciliation: Task is unknown";
	}
	return true;
}

void master_reconcile_task(struct master *m, struct framework *f, const char *task_id,
			   const char *agent_id)
{
	struct task *t = framework_find_task(f, task_id);
	struct master_status say = {
		.task_id = task_id,
		.agent_id = agent_id,
		.reason = MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION,
	};

	if (t) {
		tell_known(m, t);
		return;
	}
	if (!judge_unknown(m, agent_id, &say)) {
		log_info("no answer yet about task %s of framework %s: agents are still to "
			 "reregister",
			 task_id, f->id);
		return;
	}
	if (!f->partition_aware)
		say.state = STATE(LOST);
	master_tell_update(m, f, master_make_status(m, &say));
}

void master_reconcile(struct master *m, struct framework *f,
		      const Mesos__Scheduler__Call__Reconcile *call)
{
	struct task *t, *next;

	m->counters.messages_reconcile_tasks++;
	if (!call->n_tasks) {
		HASH_ITER (hh, f->tasks, t, next)
			tell_known(m, t);
	}
	for (size_t i = 0; i < call->n_tasks; i++)
		master_reconcile_task(m, f, call->tasks[i]->task_id->value,
				      call->tasks[i]->agent_id ? call->tasks[i]->agent_id->value
							       : NULL);
}

/* ---- operations ------------------------------------------------------------------------- */

static Mesos__OperationState judge_operation(struct master *m, const char *agent_id,
					     const char **message)
{
	struct agent *a = agent_id ? master_find_agent(m, agent_id) : NULL;

	*message = "Reconciliation: Operation is unknown and no 'agent_id' was provided";
	if (!agent_id)
		return MESOS__OPERATION_STATE__OPERATION_UNKNOWN;
	if (a && a->state == AGENT_RECOVERED) {
		*message = "Reconciliation: Agent is recovered but has not re-registered";
		return MESOS__OPERATION_STATE__OPERATION_RECOVERING;
	}
	if (a) {
		*message = "Reconciliation: Operation is unknown";
		return MESOS__OPERATION_STATE__OPERATION_UNKNOWN;
	}
	if (master_find_departed(m->unreachable, agent_id)) {
		*message = "Reconciliation: Agent is unreachable";
		return MESOS__OPERATION_STATE__OPERATION_UNREACHABLE;
	}
	if (master_find_departed(m->gone, agent_id)) {
		*message = "Reconciliation: Agent marked gone by operator";
		return MESOS__OPERATION_STATE__OPERATION_GONE_BY_OPERATOR;
	}
	*message = "Reconciliation: Both operation and agent are unknown";
	return MESOS__OPERATION_STATE__OPERATION_UNKNOWN;
}

static Mesos__OperationStatus *known_status(struct master *m, const struct operation *o)
{
	Mesos__OperationStatus *status =
		STEP_COPY(m, (Mesos__OperationStatus *)operation_last_status(o));

	status->uuid = NULL;
	if (!status->operation_id)
		status->operation_id = STEP_COPY(m, o->info->info->id);
	return status;
}

static Mesos__OperationStatus *
unknown_status(struct master *m,
	       const Mesos__Scheduler__Call__ReconcileOperations__Operation *asked)
{
	Mesos__OperationStatus *status =
		STEP_NEW(m, Mesos__OperationStatus, mesos__operation_status__descriptor);
	const char *agent_id = asked->agent_id ? asked->agent_id->value : NULL, *message;

	status->operation_id = STEP_COPY(m, asked->operation_id);
	status->state = judge_operation(m, agent_id, &message);
	status->message = master_text(m, message);
	if (agent_id)
		status->agent_id = master_agent_id(m, agent_id);
	status->resource_provider_id = STEP_COPY(m, asked->resource_provider_id);
	return status;
}

/* The agent answers for resource providers that the master does not know: all of them. */
static struct agent *
answering_agent(struct master *m,
		const Mesos__Scheduler__Call__ReconcileOperations__Operation *asked)
{
	struct agent *a = asked->agent_id ? master_find_agent(m, asked->agent_id->value) : NULL;

	return a && agent_registered(a) && asked->resource_provider_id && a->operation_feedback
		       ? a
		       : NULL;
}

static void ask_agent(struct master *m, struct agent *a, struct framework *f,
		      const Mesos__Scheduler__Call__ReconcileOperations__Operation *asked)
{
	Mesos__Internal__ReconcileOperationsMessage *message =
		STEP_NEW(m, Mesos__Internal__ReconcileOperationsMessage,
			 mesos__internal__reconcile_operations_message__descriptor);
	Mesos__Internal__ReconcileOperationsMessage__Operation *item =
		STEP_NEW(m, Mesos__Internal__ReconcileOperationsMessage__Operation,
			 mesos__internal__reconcile_operations_message__operation__descriptor);

	item->operation_id = STEP_COPY(m, asked->operation_id);
	item->resource_provider_id = STEP_COPY(m, asked->resource_provider_id);
	message->framework_id = master_framework_id(m, f->id);
	proto_push(&m->out->arena, message->n_operations, message->operations, item);
	master_send_agent(m, a, message);
}

void master_reconcile_operations(struct master *m, struct framework *f,
				 const Mesos__Scheduler__Call__ReconcileOperations *call)
{
	struct operation *o, *next;

	m->counters.messages_reconcile_operations++;
	if (!call->n_operations) {
		list_for_each (o, next, &f->operations, by_framework)
			master_tell_operation(m, f, known_status(m, o));
	}
	for (size_t i = 0; i < call->n_operations; i++) {
		const Mesos__Scheduler__Call__ReconcileOperations__Operation *asked =
			call->operations[i];
		struct agent *a = answering_agent(m, asked);

		o = framework_find_operation(f, asked->operation_id->value);
		if (o)
			master_tell_operation(m, f, known_status(m, o));
		else if (a)
			ask_agent(m, a, f, asked);
		else
			master_tell_operation(m, f, unknown_status(m, asked));
	}
}
