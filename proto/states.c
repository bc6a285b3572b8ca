/* See states.h. */
#include "proto/states.h"

#include <string.h>

#include "base/memory/arena.h"

bool task_state_terminal(int state)
{
	switch (state) {
	case MESOS__TASK_STATE__TASK_FINISHED:
	case MESOS__TASK_STATE__TASK_FAILED:
	case MESOS__TASK_STATE__TASK_KILLED:
	case MESOS__TASK_STATE__TASK_ERROR:
	case MESOS__TASK_STATE__TASK_LOST:
	case MESOS__TASK_STATE__TASK_DROPPED:
	case MESOS__TASK_STATE__TASK_GONE:
	case MESOS__TASK_STATE__TASK_GONE_BY_OPERATOR:
		return true;
	default:
		return false;
	}
}

/* An executor may go to and fro between states for as long as it likes; each status is in
 * memory and is stored again with each update: hence the bound. */
void task_record_status(Mesos__Task *task, const Mesos__TaskStatus *status)
{
	Mesos__TaskStatus slim = *status, *copy;
	size_t last = task->n_statuses - 1;

	slim.has_data = 0;
	slim.data = (ProtobufCBinaryData){0};
	copy = proto_copy(&slim);
	if (task->n_statuses && task->statuses[last]->state == status->state) {
		proto_free(task->statuses[last]);
	} else if (task->n_statuses >= TASK_STATUSES_MAX) {
		proto_free(task->statuses[0]);
		memmove(task->statuses, task->statuses + 1, last * sizeof(*task->statuses));
	} else {
		task->statuses =
			xrealloc(task->statuses, (task->n_statuses + 1) * sizeof(*task->statuses));
		task->n_statuses++;
	}
	task->statuses[task->n_statuses - 1] = copy;
}

bool operation_state_terminal(int state)
{
	switch (state) {
	case MESOS__OPERATION_STATE__OPERATION_FINISHED:
	case MESOS__OPERATION_STATE__OPERATION_FAILED:
	case MESOS__OPERATION_STATE__OPERATION_ERROR:
	case MESOS__OPERATION_STATE__OPERATION_DROPPED:
	case MESOS__OPERATION_STATE__OPERATION_GONE_BY_OPERATOR:
		return true;
	default:
		return false;
	}
}
