/* Operations on resources: their rules, and what they change at once. */
#ifndef MASTER_CORE_OPERATIONS_OPERATIONS_H
#define MASTER_CORE_OPERATIONS_OPERATIONS_H

#include "master/core/objects.h"

struct operator_request;

/* Of a normalised operation; `f` NULL: an operator's. */
int master_validate_operation(struct master *m, const struct framework *f, const struct agent *a,
			      const char *principal, const Mesos__Offer__Operation *operation,
			      struct err *err);
/* The agent's total has `converted` instead of `consumed`, and an agent with RESOURCE_PROVIDER is
 * told. Allocation roles do not matter. Fails and changes nothing when the total does not have
 * them. */
int master_change_agent(struct master *m, struct agent *a, struct framework *f,
			const Mesos__Offer__Operation *operation, const struct resources *consumed,
			const struct resources *converted, struct err *err);
/* After one or more of them: what the agent checkpoints is listed, and any other agent told. */
void master_end_changes(struct master *m, struct agent *a);
/* Whether the collection has the volume (a single piece without allocation role), whoever it is
 * allocated to. */
bool master_holds_volume(struct master *m, const struct resources *r,
			 const struct resources *volume);
/* What is neither used nor offered. Shared volumes always are there. */
void agent_free_resources(struct master *m, const struct agent *a, struct resources *out);
/* Takes what an offer has out of what is needed; false if it has nothing of it. Both
 * without allocation roles. */
bool operation_helps(const struct resources *offered, struct resources *needed);
/* The agent did not carry it out: as far as nobody uses what came of it, all is as before. */
void master_undo_operation(struct master *m, struct operation *o);
/* Offers of the agent with one of the volumes. */
void master_rescind_volumes(struct master *m, struct agent *a,
			    const Mesos__Offer__Operation__Destroy *destroy);
/* CheckpointResourcesMessage. */
void master_send_checkpointed(struct master *m, const struct agent *a);

/* RESERVE_RESOURCES .. SHRINK_VOLUME. */
void master_change_resources(struct master *m, const struct operator_request *request);

#endif
