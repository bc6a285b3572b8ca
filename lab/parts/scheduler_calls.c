#include "lab/parts/scheduler.h"

#define FAILOVER_TIMEOUT 100000.0 /* s: most frameworks are not to be given up */

bool scheduler_tell(struct scheduler_part *part, Mesos__Scheduler__Call *message)
{
	if (!part->wire->ready(part))
		return false;
	part->wire->call(part, message, part->framework_id, NULL);
	return true;
}

void scheduler_tell_as(struct scheduler_part *part, Mesos__Scheduler__Call *message,
		       const char *framework_id, const char *speaker)
{
	if (part->wire->ready(part))
		part->wire->call(part, message, framework_id ? framework_id : part->framework_id,
				 speaker);
}

void scheduler_subscribe(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Subscribe subscribe = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__FrameworkInfo__Capability capabilities[4], *list[4];
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;
	char *roles[3];

	for (int i = 0; i < 4; i++) {
		mesos__framework_info__capability__init(&capabilities[i]);
		capabilities[i].has_type = true;
		list[i] = &capabilities[i];
	}
	capabilities[0].type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE;
	capabilities[1].type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT;
	info.capabilities = list;
	info.n_capabilities = part->options.plain ? 0 : 2;
	if (part->options.partition_aware)
		capabilities[info.n_capabilities++].type =
			MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE;
	if (part->options.gentle)
		capabilities[info.n_capabilities++].type =
			MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__TASK_KILLING_STATE;
	info.user = "user";
	info.name = part->name;
	info.roles = roles;
	for (int i = 0; i < 3; i++) {
		const char *role = i ? part->options.more_roles[i - 1] : part->options.role;

		if (role && !part->options.plain)
			roles[info.n_roles++] = (char *)role;
	}
	if (part->options.plain)
		info.role = (char *)part->options.role;
	info.has_failover_timeout = true;
	info.failover_timeout =
		part->options.failover > 0 ? part->options.failover : FAILOVER_TIMEOUT;
	info.has_checkpoint = true;
	info.checkpoint = part->options.checkpoint;
	id.value = part->framework_id;
	info.id = part->framework_id ? &id : NULL;
	subscribe.framework_info = &info;
	message.type = CALL(SUBSCRIBE);
	message.subscribe = &subscribe;
	part->wire->subscribe(part, &message);
}

void scheduler_acknowledge(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge acknowledge = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	acknowledge.agent_id = status->agent_id;
	acknowledge.task_id = status->task_id;
	acknowledge.uuid = status->uuid;
	message.type = CALL(ACKNOWLEDGE);
	message.acknowledge = &acknowledge;
	scheduler_tell(part, &message);
}

void scheduler_send_kill(struct scheduler_part *part, const char *task_id)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill kill = MESOS__SCHEDULER__CALL__KILL__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;

	id.value = (char *)task_id;
	kill.task_id = &id;
	message.type = CALL(KILL);
	message.kill = &kill;
	scheduler_tell(part, &message);
}

void scheduler_send_shutdown(struct scheduler_part *part, const char *executor_id,
			     const char *agent_id)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Shutdown shutdown = MESOS__SCHEDULER__CALL__SHUTDOWN__INIT;
	Mesos__ExecutorID executor = MESOS__EXECUTOR_ID__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;

	executor.value = (char *)executor_id;
	agent.value = (char *)agent_id;
	shutdown.executor_id = &executor;
	shutdown.agent_id = &agent;
	message.type = CALL(SHUTDOWN);
	message.shutdown = &shutdown;
	scheduler_tell(part, &message);
}

void scheduler_send_reconcile(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Reconcile reconcile = MESOS__SCHEDULER__CALL__RECONCILE__INIT;
	struct arena arena;
	struct book *book, *next;

	arena_init(&arena);
	HASH_ITER (hh, part->books, book, next) {
		Mesos__Scheduler__Call__Reconcile__Task *task;

		/* What the master lost with its agent may be back, and nobody says so unasked. */
		if (book->over && (book->by_agent || !book->may_return))
			continue;
		task = PROTO_NEW(&arena, Mesos__Scheduler__Call__Reconcile__Task,
				 mesos__scheduler__call__reconcile__task__descriptor);
		task->task_id = PROTO_NEW(&arena, Mesos__TaskID, mesos__task_id__descriptor);
		task->task_id->value = book->task_id;
		task->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
		task->agent_id->value = book->agent_id;
		proto_push(&arena, reconcile.n_tasks, reconcile.tasks, task);
	}
	message.type = CALL(RECONCILE);
	message.reconcile = &reconcile;
	if (reconcile.n_tasks)
		scheduler_tell(part, &message);
	arena_free(&arena);
}

/* It is known to be heard when a subscription is refused. */
void scheduler_send_teardown(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;

	message.type = CALL(TEARDOWN);
	if (part->leaving && !part->gone)
		scheduler_tell(part, &message);
}

void scheduler_suppress(struct scheduler_part *part, bool suppressed)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;

	message.type = suppressed ? CALL(SUPPRESS) : CALL(REVIVE);
	if (scheduler_tell(part, &message))
		part->suppressed = suppressed;
}
