/* See states.h. */
#include "proto/states.h"

#include "proto/proto.h"

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
