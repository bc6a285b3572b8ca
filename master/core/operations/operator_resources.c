/* Operators reserve and unreserve resources of an agent, make, destroy and resize volumes.
 *
 * The operation is judged, then offers of the agent are rescinded one by one, those alone
 * that have some of what it needs, until they would do; and then it is carried out on what is
 * free. If that does not suffice the answer is 409, else 202: the agent hears of it later.
 */
#include "master/core/emit.h"

#include <string.h>

#include "master/core/authorize.h"
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
	allocator_update_agent(m->allocator, a->alloc, &a->total);
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
	if (authorize_operation(m, request->principal, operation, &err))
		master_forbid(m, operation_name(operation), request->principal);
	else
		operator_resources_apply(m, a, operation, &consumed, &converted);
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- the calls ------------------------------------------------------------------------------- */

#define TYPE(name) MESOS__OFFER__OPERATION__TYPE__##name

/* The operation that a call is about; the body is filled in by the functions below. */
static Mesos__Offer__Operation *new_operation(struct master *m, Mesos__Offer__Operation__Type type)
{
	Mesos__Offer__Operation *operation =
		STEP_NEW(m, Mesos__Offer__Operation, mesos__offer__operation__descriptor);

	operation->has_type = true;
	operation->type = type;
	return operation;
}

static Mesos__Offer__Operation *reserve_operation(struct master *m,
						  const Mesos__Master__Call__ReserveResources *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(RESERVE));
	Mesos__Offer__Operation__Reserve *body = operation->reserve = STEP_NEW(
		m, Mesos__Offer__Operation__Reserve, mesos__offer__operation__reserve__descriptor);

	body->n_resources = call->n_resources;
	body->resources = call->resources;
	body->n_source = call->n_source;
	body->source = call->source;
	return operation;
}

static Mesos__Offer__Operation *
unreserve_operation(struct master *m, const Mesos__Master__Call__UnreserveResources *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(UNRESERVE));

	operation->unreserve = STEP_NEW(m, Mesos__Offer__Operation__Unreserve,
					mesos__offer__operation__unreserve__descriptor);
	operation->unreserve->n_resources = call->n_resources;
	operation->unreserve->resources = call->resources;
	return operation;
}

static Mesos__Offer__Operation *create_operation(struct master *m,
						 const Mesos__Master__Call__CreateVolumes *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(CREATE));

	operation->create = STEP_NEW(m, Mesos__Offer__Operation__Create,
				     mesos__offer__operation__create__descriptor);
	operation->create->n_volumes = call->n_volumes;
	operation->create->volumes = call->volumes;
	return operation;
}

static Mesos__Offer__Operation *destroy_operation(struct master *m,
						  const Mesos__Master__Call__DestroyVolumes *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(DESTROY));

	operation->destroy = STEP_NEW(m, Mesos__Offer__Operation__Destroy,
				      mesos__offer__operation__destroy__descriptor);
	operation->destroy->n_volumes = call->n_volumes;
	operation->destroy->volumes = call->volumes;
	return operation;
}

static Mesos__Offer__Operation *grow_operation(struct master *m,
					       const Mesos__Master__Call__GrowVolume *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(GROW_VOLUME));

	operation->grow_volume = STEP_NEW(m, Mesos__Offer__Operation__GrowVolume,
					  mesos__offer__operation__grow_volume__descriptor);
	operation->grow_volume->volume = call->volume;
	operation->grow_volume->addition = call->addition;
	return operation;
}

static Mesos__Offer__Operation *shrink_operation(struct master *m,
						 const Mesos__Master__Call__ShrinkVolume *call)
{
	Mesos__Offer__Operation *operation = new_operation(m, TYPE(SHRINK_VOLUME));

	operation->shrink_volume = STEP_NEW(m, Mesos__Offer__Operation__ShrinkVolume,
					    mesos__offer__operation__shrink_volume__descriptor);
	operation->shrink_volume->volume = call->volume;
	operation->shrink_volume->subtract = call->subtract;
	return operation;
}

void master_change_resources(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call *call = request->call;

	switch (call->type) {
	case MESOS__MASTER__CALL__TYPE__RESERVE_RESOURCES:
		operate(m, request, call->reserve_resources->agent_id,
			reserve_operation(m, call->reserve_resources));
		break;
	case MESOS__MASTER__CALL__TYPE__UNRESERVE_RESOURCES:
		operate(m, request, call->unreserve_resources->agent_id,
			unreserve_operation(m, call->unreserve_resources));
		break;
	case MESOS__MASTER__CALL__TYPE__CREATE_VOLUMES:
		operate(m, request, call->create_volumes->agent_id,
			create_operation(m, call->create_volumes));
		break;
	case MESOS__MASTER__CALL__TYPE__DESTROY_VOLUMES:
		operate(m, request, call->destroy_volumes->agent_id,
			destroy_operation(m, call->destroy_volumes));
		break;
	case MESOS__MASTER__CALL__TYPE__GROW_VOLUME:
		operate(m, request, call->grow_volume->agent_id,
			grow_operation(m, call->grow_volume));
		break;
	case MESOS__MASTER__CALL__TYPE__SHRINK_VOLUME:
		operate(m, request, call->shrink_volume->agent_id,
			shrink_operation(m, call->shrink_volume));
		break;
	default:
		break;
	}
}
