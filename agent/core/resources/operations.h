/* Operations on resources, and reliable delivery of their status. */
#ifndef AGENT_CORE_RESOURCES_OPERATIONS_H
#define AGENT_CORE_RESOURCES_OPERATIONS_H

#include "agent/core/objects.h"

struct operation *agent_operation_find(struct agent *agent, const uint8_t *uuid);
/* Puts the result into `total`. */
int agent_operation_convert(struct agent *agent, const struct operation *operation,
			    struct resources *total, struct err *err);
/* Its status, stored with all that the step changed, then sent. */
void agent_operation_settle(struct agent *agent, struct operation *operation,
			    Mesos__OperationState state, const char *message);
void agent_operation_send(struct agent *agent, struct operation *operation);
void agent_operation_timeout(struct agent *agent, struct operation *operation);
void agent_operations_pause(struct agent *agent);
void agent_operations_resume(struct agent *agent);
void agent_operations_recover(struct agent *agent);
void agent_operations_free(struct agent *agent);
int agent_load_operation(struct agent *agent, const char *uuid, Mesos__Operation *record,
			 struct err *err); /* takes it */
void agent_send_update_slave(struct agent *agent);
void agent_handle_apply_operation(struct agent *agent, const char *from,
				  Mesos__Internal__ApplyOperationMessage *message);
void agent_handle_acknowledge_operation(
	struct agent *agent, const char *from,
	Mesos__Internal__AcknowledgeOperationStatusMessage *message);
void agent_handle_reconcile_operations(struct agent *agent, const char *from,
				       Mesos__Internal__ReconcileOperationsMessage *message);

#endif
