/* What the states of tasks and operations mean, and what a task's record keeps of them. */
#ifndef PROTO_STATES_H
#define PROTO_STATES_H

#include <stdbool.h>

#include "proto/proto.h"

/* Whether a task in this Mesos.TaskState is over: FINISHED, FAILED, KILLED, ERROR,
 * LOST, DROPPED, GONE, GONE_BY_OPERATOR. UNREACHABLE is not: the agent may be back. */
bool task_state_terminal(int state);

/* Appends to the record's statuses, or replaces the last if the state is the same. The data stays
 * out: it is the framework's and may be large. The record is of the heap. */
#define TASK_STATUSES_MAX 100 /* then the oldest go */
void task_record_status(Mesos__Task *task, const Mesos__TaskStatus *status);

/* Whether an operation in this Mesos.OperationState is over: FINISHED, FAILED, ERROR, DROPPED,
 * GONE_BY_OPERATOR. */
bool operation_state_terminal(int state);

#endif
