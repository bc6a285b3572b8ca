/* Operators reserve and unreserve resources of an agent, make, destroy and resize volumes.
 *
 * The operation is judged, then offers of the agent are rescinded one by one, those alone
 * that have some of what it needs, until they would do; and then it is carried out on what is
 * free. If that does not suffice the answer is 409, else 202: the agent hears of it later.
 */
#include "master/core/emit.h"

#include <stddef.h>
#include <string.h>

#include "master/core/offers/accept.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operations.h"
#include "master/core/operator.h"
#include "proto/operation.h"

/* ---- making room ---------------------------------------------------------------------- */

static bool suffices(const struct resources *r, const struct resources *consumed,
		     const struct resources *converted)
{
	struct resources copy;
	bool enough;

	resources_copy(&copy, r);
	enough = !resources_apply_conversion(&copy, consumed, converted, NULL);
	resources_free(&copy);
	return enough;
}

/* The filter gives others the time to use what is free now. */
static void make_room(struct master *m, struct agent *a, const struct resources *consumed,
		      const struct resources *converted)
{
	const struct allocator_filter filter = {ALLOCATOR_REFUSE_DEFAULT};
	struct resources recovered = RESOURCES_INIT, needed, offered;
	struct offer *o, *next;

	resources_copy(&needed, consumed);
	list_for_each (o, next, &a->offers, by_agent) {
		resources_allocate(m->shapes, &o->resources, NULL, &offered);
		if (operation_helps(&offered, &needed)) {
			resources_add(&recovered, &offered);
			master_rescind_filtered(m, o, &filter);
		}
		resources_free(&offered);
		if (suffices(&recovered, consumed, converted))
			break;
	}
	resources_free(&needed);
	resources_free(&recovered);
}

/* ---- carrying it out --------------------------------------------------------------------- */

static void operator_resources_apply(struct master *m, struct agent *a,
				     Mesos__Offer__Operation *operation,
				     const struct resources *consumed,
				     const struct resources *converted)
{
	struct resources available = RESOURCES_INIT;
	struct err err = {{0}};
	int rv;

	make_room(m, a, consumed, converted);
	agent_free_resources(m, a, &available);
	rv = resources_apply_conversion(&available, consumed, converted, &err);
	if (!rv)
		rv = master_change_agent(m, a, NULL, operation, consumed, converted, &err);
	if (!rv)
		master_end_changes(m, a);
	resources_free(&available);
	if (rv) {
		master_reply(m, 409, "%s", err.text);
		return;
	}
	allocator_update_agent(m->allocator, a->id, &a->total);
	master_reply(m, 202, "%s", "");
}

static void say_invalid(struct master *m, const struct agent *a,
			const Mesos__Offer__Operation *operation, const char *why)
{
	const char *name = operation_name(operation);

	if (operation->type == MESOS__OFFER__OPERATION__TYPE__UNRESERVE ||
	    operation->type == MESOS__OFFER__OPERATION__TYPE__DESTROY)
		master_reply(m, 400, "Invalid %s operation: %s", name, why);
	else
		master_reply(m, 400, "Invalid %s operation on agent %s at %s (%s): %s", name, a->id,
			     a->pid, a->info->hostname, why);
}

static void operate(struct master *m, const struct operator_request *request,
		    const Mesos__AgentID *id, Mesos__Offer__Operation *operation)
{
	struct agent *a = id ? master_find_agent(m, id->value) : NULL;
	struct resources consumed = RESOURCES_INIT, converted = RESOURCES_INIT;
	struct err err = {{0}};

	if (!a || !agent_registered(a)) {
		master_reply(m, 400, "No agent found with specified ID");
		return;
	}
	if (operation_check(operation, &err)) {
		master_reply(m, 400, "%s", err.text);
		return;
	}
	operation_normalise(m, operation, NULL);
	if (master_validate_operation(m, NULL, a, request->principal, operation, &err) ||
	    operation_conversion(m->shapes, operation, &consumed, &converted, &err)) {
		say_invalid(m, a, operation, err.text);
		return;
	}
	resources_allocate(m->shapes, &consumed, NULL, &consumed);
	resources_allocate(m->shapes, &converted, NULL, &converted);
	operator_resources_apply(m, a, operation, &consumed, &converted);
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* What a call and its operation have in common. */
struct member {
	size_t from, to, size;
};

#define MEMBERS_MAX 2
static const struct conversion {
	Mesos__Master__Call__Type call;
	size_t part;	 /* of the call */
	size_t agent_id; /* in that */
	Mesos__Offer__Operation__Type operation;
	size_t body; /* of the operation */
	const ProtobufCMessageDescriptor *type;
	struct member members[MEMBERS_MAX];
} conversions[] = {
#define CONVERSION(CALL, Call, call, OPERATION, operation, ...)                                    \
	{                                                                                          \
		MESOS__MASTER__CALL__TYPE__##CALL, offsetof(Mesos__Master__Call, call),            \
			offsetof(Mesos__Master__Call__##Call, agent_id),                           \
			MESOS__OFFER__OPERATION__TYPE__##OPERATION,                                \
			offsetof(Mesos__Offer__Operation, operation),                              \
			&mesos__offer__operation__##operation##__descriptor,                       \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define ONE(Call, Operation, name)                                                                 \
	{                                                                                          \
		offsetof(Mesos__Master__Call__##Call, name),                                       \
			offsetof(Mesos__Offer__Operation__##Operation, name), sizeof(void *)       \
	}
/* The count of a repeated field is right before its array. */
#define LIST(Call, Operation, name)                                                                \
	{                                                                                          \
		offsetof(Mesos__Master__Call__##Call, n_##name),                                   \
			offsetof(Mesos__Offer__Operation__##Operation, n_##name),                  \
			sizeof(size_t) + sizeof(void *)                                            \
	}
	CONVERSION(RESERVE_RESOURCES, ReserveResources, reserve_resources, RESERVE, reserve,
		   LIST(ReserveResources, Reserve, resources),
		   LIST(ReserveResources, Reserve, source)),
	CONVERSION(UNRESERVE_RESOURCES, UnreserveResources, unreserve_resources, UNRESERVE,
		   unreserve, LIST(UnreserveResources, Unreserve, resources)),
	CONVERSION(CREATE_VOLUMES, CreateVolumes, create_volumes, CREATE, create,
		   LIST(CreateVolumes, Create, volumes)),
	CONVERSION(DESTROY_VOLUMES, DestroyVolumes, destroy_volumes, DESTROY, destroy,
		   LIST(DestroyVolumes, Destroy, volumes)),
	CONVERSION(GROW_VOLUME, GrowVolume, grow_volume, GROW_VOLUME, grow_volume,
		   ONE(GrowVolume, GrowVolume, volume), ONE(GrowVolume, GrowVolume, addition)),
	CONVERSION(SHRINK_VOLUME, ShrinkVolume, shrink_volume, SHRINK_VOLUME, shrink_volume,
		   ONE(ShrinkVolume, ShrinkVolume, volume),
		   ONE(ShrinkVolume, ShrinkVolume, subtract)),
#undef CONVERSION
#undef ONE
#undef LIST
};

static Mesos__Offer__Operation *make_operation(struct master *m, const struct conversion *row,
					       const char *part)
{
	Mesos__Offer__Operation *operation =
		STEP_NEW(m, Mesos__Offer__Operation, mesos__offer__operation__descriptor);
	char *body = proto_make(&m->out->arena, row->type);

	for (size_t i = 0; i < MEMBERS_MAX; i++)
		memcpy(body + row->members[i].to, part + row->members[i].from,
		       row->members[i].size);
	*(char **)((char *)operation + row->body) = body;
	operation->has_type = true;
	operation->type = row->operation;
	return operation;
}

void master_change_resources(struct master *m, const struct operator_request *request)
{
	for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
		const struct conversion *row = &conversions[i];
		const char *part;

		if (row->call != request->call->type)
			continue;
		part = *(const char *const *)((const char *)request->call + row->part);
		operate(m, request, *(const Mesos__AgentID *const *)(part + row->agent_id),
			make_operation(m, row, part));
	}
}
