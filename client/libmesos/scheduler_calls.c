/* Calls of the scheduler driver: made on any thread, sent on the loop's; see scheduler_internal.h.
 */
#include <stdlib.h>

#include "base/time/clock.h"
#include "client/libmesos/scheduler_internal.h"
#include "proto/wire/wire_write.h"

/* Field numbers of scheduler.proto and mesos.proto, for parts that are passed on packed. */
enum {
	STATUS_TASK_ID = 1,
	STATUS_AGENT_ID = 5,
	STATUS_UUID = 11,
	CALL_TYPE = 2,
	CALL_ACKNOWLEDGE = 8,
	ACKNOWLEDGE_AGENT_ID = 1,
	ACKNOWLEDGE_TASK_ID = 2,
	ACKNOWLEDGE_UUID = 3,
};

struct call_task {
	struct loop_task task;
	struct libmesos_scheduler *scheduler;
	Mesos__Scheduler__Call__Type type;
	struct buf bytes;
};

static bool is_partition_aware(const Mesos__FrameworkInfo *info)
{
	for (size_t i = 0; i < info->n_capabilities; i++)
		if (info->capabilities[i]->type ==
		    MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE)
			return true;
	return false;
}

static void scheduler_calls_lose_task(struct libmesos_scheduler *s, const Mesos__TaskInfo *task)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	struct buf bytes = BUF_INIT;

	status.task_id = task->task_id;
	status.agent_id = task->agent_id;
	status.executor_id = task->executor ? task->executor->executor_id : NULL;
	status.state = is_partition_aware(s->info) ? MESOS__TASK_STATE__TASK_DROPPED
						   : MESOS__TASK_STATE__TASK_LOST;
	status.has_source = 1;
	status.source = MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER;
	status.has_reason = 1;
	status.reason = MESOS__TASK_STATUS__REASON__REASON_MASTER_DISCONNECTED;
	status.message = (char *)"Master disconnected";
	status.has_timestamp = 1;
	status.timestamp = clock_seconds(clock_wall());
	proto_pack(&status, &bytes);
	scheduler_push(s, KIND_LOCAL_UPDATE, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
}

/* The tasks of an ACCEPT that reaches no master. */
static void lose_tasks(struct libmesos_scheduler *s, const struct buf *bytes)
{
	struct arena arena;
	struct err err;
	const Mesos__Scheduler__Call *call;

	arena_init(&arena);
	call = proto_unpack(&mesos__scheduler__call__descriptor, &arena, bytes->data, bytes->len,
			    &err);
	for (size_t i = 0; call && call->accept && i < call->accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = call->accept->operations[i];

		if (operation->type != MESOS__OFFER__OPERATION__TYPE__LAUNCH || !operation->launch)
			continue;
		for (size_t j = 0; j < operation->launch->n_task_infos; j++)
			scheduler_calls_lose_task(s, operation->launch->task_infos[j]);
	}
	arena_free(&arena);
}

static void run_call(struct loop_task *task)
{
	struct call_task *t = container_of(task, struct call_task, task);
	struct libmesos_scheduler *s = t->scheduler;

	if (s->session && scheduler_driver_subscribed(s->session))
		scheduler_driver_send(s->session, t->type, t->bytes.data, t->bytes.len);
	else if (t->type == MESOS__SCHEDULER__CALL__TYPE__ACCEPT)
		lose_tasks(s, &t->bytes);
	buf_free(&t->bytes);
	free(t);
}

enum libmesos_status libmesos_scheduler_call(struct libmesos_scheduler *s,
					     Mesos__Scheduler__Call__Type type, struct buf *call)
{
	struct call_task *t = xcalloc(1, sizeof(*t));

	wire_put_number(call, CALL_TYPE, type);
	t->task.run = run_call;
	t->scheduler = s;
	t->type = type;
	t->bytes = *call;
	*call = BUF_INIT;
	if (!driver_post(&s->driver, &t->task)) {
		buf_free(&t->bytes);
		free(t);
	}
	return driver_status(&s->driver);
}

bool libmesos_scheduler_acknowledges(const struct libmesos_scheduler *s)
{
	return s->implicit;
}

/* ---- acknowledgements --------------------------------------------------------- */

enum libmesos_status libmesos_scheduler_acknowledge(struct libmesos_scheduler *s,
						    struct slice status)
{
	struct slice uuid = wire_part_of(status, STATUS_UUID), agent_id;
	struct buf body = BUF_INIT, call = BUF_INIT;

	/* What the master says by itself has none. */
	if (uuid.len == 0 || !wire_part(status, STATUS_AGENT_ID, &agent_id))
		return driver_status(&s->driver);
	wire_put_bytes(&body, ACKNOWLEDGE_AGENT_ID, agent_id);
	wire_put_bytes(&body, ACKNOWLEDGE_TASK_ID, wire_part_of(status, STATUS_TASK_ID));
	wire_put_bytes(&body, ACKNOWLEDGE_UUID, uuid);
	wire_put_bytes(&call, CALL_ACKNOWLEDGE, (struct slice){body.data, body.len});
	buf_free(&body);
	return libmesos_scheduler_call(s, MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE, &call);
}

/* ---- a framework that changes ------------------------------------------------ */

struct update_task {
	struct loop_task task;
	struct libmesos_scheduler *scheduler;
	Mesos__Scheduler__Call__UpdateFramework *update; /* heap */
};

static void run_update(struct loop_task *task)
{
	struct update_task *t = container_of(task, struct update_task, task);
	struct libmesos_scheduler *s = t->scheduler;
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	if (s->session) {
		id.value = (char *)scheduler_driver_id(s->session);
		if (*id.value && !t->update->framework_info->id)
			t->update->framework_info->id = proto_copy(&id);
		scheduler_driver_change(s->session, t->update->framework_info,
					t->update->suppressed_roles, t->update->n_suppressed_roles,
					t->update->offer_constraints);
		call.type = MESOS__SCHEDULER__CALL__TYPE__UPDATE_FRAMEWORK;
		call.update_framework = t->update;
		scheduler_driver_call(s->session, &call);
	}
	proto_free(t->update);
	free(t);
}

enum libmesos_status
libmesos_scheduler_update_framework(struct libmesos_scheduler *s,
				    const Mesos__Scheduler__Call__UpdateFramework *update)
{
	struct update_task *t = xcalloc(1, sizeof(*t));
	Mesos__Scheduler__Call__UpdateFramework completed = *update;

	completed.framework_info = scheduler_complete_info(update->framework_info);
	t->task.run = run_update;
	t->scheduler = s;
	t->update = proto_copy(&completed);
	proto_free(completed.framework_info);
	if (!driver_post(&s->driver, &t->task)) {
		proto_free(t->update);
		free(t);
	}
	return driver_status(&s->driver);
}
