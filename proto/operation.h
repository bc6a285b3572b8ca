/* Operations on resources (Offer.Operation): what each takes and what it makes of it.
 *
 *	RESERVE		the resources less their last reservation (or `source`)	-> the resources
 *	UNRESERVE	the resources		-> the same less their last reservation
 *	CREATE		the disk below		-> the volumes
 *	DESTROY		the volumes		-> the disk below
 *	GROW_VOLUME	volume and addition	-> the volume, larger
 *	SHRINK_VOLUME	volume			-> the volume, smaller, and the disk freed
 *
 * Pure; used by the master to change offers and agents, and by the agent to change what it
 * checkpoints. Rules about who may do what are not here (master/).
 */
#ifndef PROTO_OPERATION_H
#define PROTO_OPERATION_H

#include "proto/resources.h"

/* Whether the operation is one of the six above. They are speculative: whoever orders one
 * takes it for done at once. */
bool operation_converts(Mesos__Offer__Operation__Type type);

/* The resource lists of any operation, launches included: for each message in it `visit` is
 * called once. In-place changes (upgrade, allocation role) are made so. */
void operation_each_resource(Mesos__Offer__Operation *operation,
			     void (*visit)(void *context, Mesos__Resource *resource),
			     void *context);

/* Of an operation with valid resources in post-refinement format. Allocation roles are kept
 * as they are. Both collections are uninitialised or empty, and owned by the caller after
 * success. ERR_INVALID for what cannot be converted, in Mesos' words. */
int operation_conversion(struct resource_shapes *shapes, const Mesos__Offer__Operation *operation,
			 struct resources *consumed, struct resources *converted, struct err *err);

/* Takes `consumed` out of `in` and puts `converted` into it. ERR_INVALID, and nothing is
 * changed, when `in` does not contain it; "<in> does not contain <consumed>". */
int resources_apply_conversion(struct resources *in, const struct resources *consumed,
			       const struct resources *converted, struct err *err);
/* Whether it would do so; the error is the same. */
int resources_check_conversion(const struct resources *in, const struct resources *consumed,
			       const struct resources *converted, struct err *err);

#endif
