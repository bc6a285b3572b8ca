/* What schedulers hear, on a stream of the v1 API or as messages to a driver. */
#ifndef MASTER_CORE_FRAMEWORKS_EVENTS_H
#define MASTER_CORE_FRAMEWORKS_EVENTS_H

#include "master/core/objects.h"

/* Each drops the event when the framework is not connected. */
void master_tell_subscribed(struct master *m, struct framework *f);
void master_tell_heartbeat(struct master *m, struct framework *f);
void master_tell_rescind(struct master *m, struct framework *f, const char *offer_id);
void master_tell_rescind_inverse(struct master *m, struct framework *f, const char *id);
/* `status` is the step's own. */
void master_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status);
/* The same for an agent's; `latest` is the newest state that the agent knows. */
void master_tell_forwarded(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			   Mesos__TaskState latest);
void master_tell_message(struct master *m, struct framework *f,
			 const Mesos__Internal__ExecutorToFrameworkMessage *message);
void master_tell_executor_failure(struct master *m, struct framework *f, const char *agent_id,
				  const char *executor_id, int status);
/* To all connected frameworks. */
void master_tell_agent_failure(struct master *m, const char *agent_id);
void master_tell_operation(struct master *m, struct framework *f, Mesos__OperationStatus *status);
void master_tell_operation_error(struct master *m, struct framework *f,
				 const Mesos__OperationID *id, const char *message);
/* Adds the offer to the framework's OFFERS event, begun if there is none. */
void master_offers_event_add(struct master *m, struct offer *offer);
void master_offers_event_send(struct master *m, struct framework *f);
/* Likewise for INVERSE_OFFERS. */
void master_inverse_event_add(struct master *m, struct inverse_offer *offer);
void master_inverse_event_send(struct master *m, struct framework *f);
/* ERROR to a stream, then its end. */
void master_refuse_stream(struct master *m, uint64_t stream, const char *text);

#endif
