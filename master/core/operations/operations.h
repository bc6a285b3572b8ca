/* Operations on resources: their rules, and what they change at once. */
#ifndef MASTER_CORE_OPERATIONS_OPERATIONS_H
#define MASTER_CORE_OPERATIONS_OPERATIONS_H

#include "master/core/objects.h"

struct operator_request;

/* Checks a normalised operation. `f` is NULL if an operator asks for it. */
int master_validate_operation(struct master *m, const struct framework *f, const struct agent *a,
			      const char *principal, const Mesos__Offer__Operation *operation,
			      struct err *err);
/* Replaces `consumed` by `converted` in the agent's total, and tells an agent with
 * RESOURCE_PROVIDER. Ignores allocation roles. Fails and changes nothing if the total does not hold
 * `consumed`. */
int master_change_agent(struct master *m, struct agent *a, struct framework *f,
			const Mesos__Offer__Operation *operation, const struct resources *consumed,
			const struct resources *converted, struct err *err);
/* Ends one or more changes: lists anew what the agent checkpoints, and tells an agent without
 * RESOURCE_PROVIDER. */
void master_end_changes(struct master *m, struct agent *a);
/* Whether the collection has the volume (a single piece without allocation role), whoever it is
 * allocated to. */
bool master_holds_volume(struct master *m, const struct resources *r,
			 const struct resources *volume);
/* Computes what is neither used nor offered. Shared volumes are always part of it. */
void agent_free_resources(struct master *m, const struct agent *a, struct resources *out);
/* Subtracts what an offer has from what is needed. Returns false if it has nothing of it. Neither
 * carries allocation roles. */
bool operation_helps(const struct resources *offered, struct resources *needed);
/* Takes the operation back, which the agent did not carry out, as far as nobody uses its result. */
void master_undo_operation(struct master *m, struct operation *o);
/* Rescinds the agent's offers that hold one of the volumes. */
void master_rescind_volumes(struct master *m, struct agent *a,
			    const Mesos__Offer__Operation__Destroy *destroy);
/* Sends a CheckpointResourcesMessage. */
void master_send_checkpointed(struct master *m, const struct agent *a);

/* Handles the calls RESERVE_RESOURCES to SHRINK_VOLUME. */
void master_change_resources(struct master *m, const struct operator_request *request);

#endif
