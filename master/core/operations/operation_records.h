/* Records of operations that agents carry out. */
#ifndef MASTER_CORE_OPERATIONS_OPERATION_RECORDS_H
#define MASTER_CORE_OPERATIONS_OPERATION_RECORDS_H

#include "master/core/objects.h"

const char *operation_id(const struct operation *o); /* NULL if it has none */
/* The last that was heard of it, or made of it. */
const Mesos__OperationStatus *operation_last_status(const struct operation *o);
/* Adds a copy of the record; its uuid has 16 bytes. */
struct operation *master_add_operation(struct master *m, struct agent *a,
				       const Mesos__Operation *record);
/* A new one, PENDING. */
struct operation *master_order_operation(struct master *m, struct agent *a, struct framework *f,
					 const Mesos__Offer__Operation *operation);
void master_remove_operation(struct master *m, struct operation *o);
/* The agent told what it has: no operation of before is to be undone. */
void master_confirm_operations(struct agent *a);
void master_remove_operations(struct master *m, struct agent *a); /* all of the agent */
/* `latest` NULL: the same. Terminal states stay. */
void master_update_operation(struct master *m, struct operation *o,
			     const Mesos__OperationStatus *status,
			     const Mesos__OperationStatus *latest);
/* The framework came; it goes. */
void master_adopt_operations(struct master *m, struct framework *f);
void master_leave_operations(struct master *m, struct framework *f);

#endif
