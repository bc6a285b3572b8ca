/* Operators reserve and unreserve resources of an agent, make, destroy and resize volumes.
 *
 * The operation is judged, then offers of the agent are rescinded one by one, those alone
 * that have some of what it needs, until they would do; and then it is carried out on what is
 * free. If that does not suffice the answer is 409, else 202: the agent hears of it later.
 */
#include "master/accept.h"

#include <string.h>

#include "proto/operation.h"

#define NEW_OPERATION(m, Type, type)                                                               \
	STEP_NEW(m, Mesos__Offer__Operation__##Type, mesos__offer__operation__##type##__descriptor)

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

static void apply(struct master *m, struct agent *a, Mesos__Offer__Operation *operation,
		  const struct resources *consumed, const struct resources *converted)
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
		    const Mesos__AgentID *id, Mesos__Offer__Operation__Type type,
		    Mesos__Offer__Operation *operation)
{
	struct agent *a = id ? master_find_agent(m, id->value) : NULL;
	struct resources consumed = RESOURCES_INIT, converted = RESOURCES_INIT;
	struct err err = {{0}};

	operation->has_type = true;
	operation->type = type;
	if (!a || a->state != AGENT_REGISTERED) {
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
	apply(m, a, operation, &consumed, &converted);
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static Mesos__Offer__Operation *make_operation(struct master *m)
{
	return STEP_NEW(m, Mesos__Offer__Operation, mesos__offer__operation__descriptor);
}

void master_reserve(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__ReserveResources *call = request->call->reserve_resources;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->reserve = NEW_OPERATION(m, Reserve, reserve);
	operation->reserve->n_resources = call->n_resources;
	operation->reserve->resources = call->resources;
	operation->reserve->n_source = call->n_source;
	operation->reserve->source = call->source;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__RESERVE, operation);
}

void master_unreserve(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__UnreserveResources *call = request->call->unreserve_resources;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->unreserve = NEW_OPERATION(m, Unreserve, unreserve);
	operation->unreserve->n_resources = call->n_resources;
	operation->unreserve->resources = call->resources;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__UNRESERVE, operation);
}

void master_create_volumes(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__CreateVolumes *call = request->call->create_volumes;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->create = NEW_OPERATION(m, Create, create);
	operation->create->n_volumes = call->n_volumes;
	operation->create->volumes = call->volumes;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__CREATE, operation);
}

void master_destroy_volumes(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__DestroyVolumes *call = request->call->destroy_volumes;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->destroy = NEW_OPERATION(m, Destroy, destroy);
	operation->destroy->n_volumes = call->n_volumes;
	operation->destroy->volumes = call->volumes;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__DESTROY, operation);
}

void master_grow_volume(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__GrowVolume *call = request->call->grow_volume;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->grow_volume = NEW_OPERATION(m, GrowVolume, grow_volume);
	operation->grow_volume->volume = call->volume;
	operation->grow_volume->addition = call->addition;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__GROW_VOLUME, operation);
}

void master_shrink_volume(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__ShrinkVolume *call = request->call->shrink_volume;
	Mesos__Offer__Operation *operation = make_operation(m);

	operation->shrink_volume = NEW_OPERATION(m, ShrinkVolume, shrink_volume);
	operation->shrink_volume->volume = call->volume;
	operation->shrink_volume->subtract = call->subtract;
	operate(m, request, call->agent_id, MESOS__OFFER__OPERATION__TYPE__SHRINK_VOLUME,
		operation);
}
