/* What the states of tasks and operations mean. */
#ifndef PROTO_STATES_H
#define PROTO_STATES_H

#include <stdbool.h>

/* Whether a task in this Mesos.TaskState is over: FINISHED, FAILED, KILLED, ERROR,
 * LOST, DROPPED, GONE, GONE_BY_OPERATOR. UNREACHABLE is not: the agent may be back. */
bool task_state_terminal(int state);

/* Whether an operation in this Mesos.OperationState is over: FINISHED, FAILED, ERROR, DROPPED,
 * GONE_BY_OPERATOR. */
bool operation_state_terminal(int state);

#endif
