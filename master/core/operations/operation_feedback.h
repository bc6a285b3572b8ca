/* Statuses of operations on their way to schedulers, and acknowledgements back. */
#ifndef MASTER_CORE_OPERATIONS_OPERATION_FEEDBACK_H
#define MASTER_CORE_OPERATIONS_OPERATION_FEEDBACK_H

#include "master/core/objects.h"

void master_operation_status(struct master *m, const char *from,
			     const Mesos__Internal__UpdateOperationStatusMessage *message);
void master_acknowledge_operation(struct master *m, struct framework *f,
				  const Mesos__Scheduler__Call__AcknowledgeOperationStatus *call);
/* What the agent reports to have; NULL: nothing. It is asked about what it should have. */
void master_compare_operations(struct master *m, struct agent *a,
			       const Mesos__Internal__UpdateSlaveMessage__Operations *reported);
/* The agent is lost: frameworks hear of the state (UNREACHABLE or GONE_BY_OPERATOR), or, if it
 * is UNKNOWN, of nothing; the records are removed. */
void master_lose_operations(struct master *m, struct agent *a, Mesos__OperationState state,
			    const char *message);

#endif
