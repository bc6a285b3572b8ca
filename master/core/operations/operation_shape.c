/* Operations as messages: what each type of them must carry, the resources in it, and their
 * normal form.
 */
#include "master/core/emit.h"

#include <stddef.h>

#include "master/core/offers/accept.h"
#include "proto/operation.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name

bool operation_launches(const Mesos__Offer__Operation *operation)
{
	return operation->type == OPERATION(LAUNCH) || operation->type == OPERATION(LAUNCH_GROUP);
}

size_t operation_tasks(const Mesos__Offer__Operation *operation, Mesos__TaskInfo ***tasks)
{
	if (operation->type == OPERATION(LAUNCH) && operation->launch) {
		*tasks = operation->launch->task_infos;
		return operation->launch->n_task_infos;
	}
	if (operation->type == OPERATION(LAUNCH_GROUP) && operation->launch_group) {
		*tasks = operation->launch_group->task_group->tasks;
		return operation->launch_group->task_group->n_tasks;
	}
	*tasks = NULL;
	return 0;
}

/* ---- structure ------------------------------------------------------------------------- */

/* Nobody names that many; comparing them all would hold up everyone else. */
#define LIST_RESOURCES_MAX 1000

static int check_list(Mesos__Resource *const *list, size_t count, struct err *err)
{
	if (count > LIST_RESOURCES_MAX)
		return err_set(err, ERR_INVALID, "More than %d resources in one list",
			       LIST_RESOURCES_MAX);
	return resources_validate(list, count, err);
}

static int operation_shape_check_tasks(Mesos__TaskInfo *const *tasks, size_t count, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < count && !rv; i++) {
		rv = check_list(tasks[i]->resources, tasks[i]->n_resources, err);
		if (!rv && tasks[i]->executor)
			rv = check_list(tasks[i]->executor->resources,
					tasks[i]->executor->n_resources, err);
	}
	return rv;
}

static const struct shape {
	Mesos__Offer__Operation__Type type;
	const char *name, *field;
	size_t offset;	     /* of the sub-message in the operation */
	ptrdiff_t lists[2];  /* of its (count, list) of resources; -1 = none */
	ptrdiff_t single[2]; /* of single resources; -1 = none */
} shapes[] = {
#define FIELD(member) offsetof(Mesos__Offer__Operation, member)
	{OPERATION(LAUNCH), "LAUNCH", "launch", FIELD(launch), {-1, -1}, {-1, -1}},
	{OPERATION(LAUNCH_GROUP),
	 "LAUNCH_GROUP",
	 "launch_group",
	 FIELD(launch_group),
	 {-1, -1},
	 {-1, -1}},
	{OPERATION(RESERVE),
	 "RESERVE",
	 "reserve",
	 FIELD(reserve),
	 {offsetof(Mesos__Offer__Operation__Reserve, n_resources),
	  offsetof(Mesos__Offer__Operation__Reserve, n_source)},
	 {-1, -1}},
	{OPERATION(UNRESERVE),
	 "UNRESERVE",
	 "unreserve",
	 FIELD(unreserve),
	 {offsetof(Mesos__Offer__Operation__Unreserve, n_resources), -1},
	 {-1, -1}},
	{OPERATION(CREATE),
	 "CREATE",
	 "create",
	 FIELD(create),
	 {offsetof(Mesos__Offer__Operation__Create, n_volumes), -1},
	 {-1, -1}},
	{OPERATION(DESTROY),
	 "DESTROY",
	 "destroy",
	 FIELD(destroy),
	 {offsetof(Mesos__Offer__Operation__Destroy, n_volumes), -1},
	 {-1, -1}},
	{OPERATION(GROW_VOLUME),
	 "GROW_VOLUME",
	 "grow_volume",
	 FIELD(grow_volume),
	 {-1, -1},
	 {offsetof(Mesos__Offer__Operation__GrowVolume, volume),
	  offsetof(Mesos__Offer__Operation__GrowVolume, addition)}},
	{OPERATION(SHRINK_VOLUME),
	 "SHRINK_VOLUME",
	 "shrink_volume",
	 FIELD(shrink_volume),
	 {-1, -1},
	 {offsetof(Mesos__Offer__Operation__ShrinkVolume, volume), -1}},
	{OPERATION(CREATE_DISK),
	 "CREATE_DISK",
	 "create_disk",
	 FIELD(create_disk),
	 {-1, -1},
	 {offsetof(Mesos__Offer__Operation__CreateDisk, source), -1}},
	{OPERATION(DESTROY_DISK),
	 "DESTROY_DISK",
	 "destroy_disk",
	 FIELD(destroy_disk),
	 {-1, -1},
	 {offsetof(Mesos__Offer__Operation__DestroyDisk, source), -1}},
#undef FIELD
};

static const struct shape *shape_of(const Mesos__Offer__Operation *operation)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (operation->has_type && shapes[i].type == operation->type)
			return &shapes[i];
	}
	return NULL;
}

const char *operation_name(const Mesos__Offer__Operation *operation)
{
	const struct shape *shape = shape_of(operation);

	return shape ? shape->name : NULL;
}

/* A repeated field of protobuf-c: the count, right before the array. */
struct repeated_resources {
	size_t count;
	Mesos__Resource **list;
};

/* Mesos' texts are not quite alike; clients may match them. */
static int say_missing(const struct shape *shape, struct err *err)
{
	bool grow = shape->type == OPERATION(GROW_VOLUME);
	bool volume = grow || shape->type == OPERATION(SHRINK_VOLUME);

	return err_set(err, ERR_INVALID,
		       "%s %s%s operation must have the Offer.Operation.%s field set%s",
		       shape->type == OPERATION(UNRESERVE) ? "An" : "A", shape->name,
		       grow ? "" : " offer", shape->field, volume ? "" : ".");
}

static int check_resources(const struct shape *shape, const char *body, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < 2 && !rv && shape->lists[i] >= 0; i++) {
		const struct repeated_resources *r =
			(const struct repeated_resources *)(body + shape->lists[i]);

		rv = check_list(r->list, r->count, err);
	}
	for (size_t i = 0; i < 2 && !rv && shape->single[i] >= 0; i++)
		rv = resource_validate(*(const Mesos__Resource *const *)(body + shape->single[i]),
				       err);
	return rv;
}

int operation_check(const Mesos__Offer__Operation *operation, struct err *err)
{
	const struct shape *shape = shape_of(operation);
	Mesos__TaskInfo **tasks;
	const char *body;
	size_t count;
	int rv = 0;

	if (!shape)
		return err_set(err, ERR_INVALID, "Unknown offer operation");
	body = *(const char *const *)((const char *)operation + shape->offset);
	if (!body)
		return say_missing(shape, err);
	count = operation_tasks(operation, &tasks);
	if (shape->type == OPERATION(LAUNCH_GROUP))
		rv = check_list(operation->launch_group->executor->resources,
				operation->launch_group->executor->n_resources, err);
	if (!rv)
		rv = operation_shape_check_tasks(tasks, count, err);
	return rv ? rv : check_resources(shape, body, err);
}

/* ---- normal form --------------------------------------------------------------------------- */

struct normal {
	struct master *m;
	const char *role;
};

static void operation_shape_normalise(void *context, Mesos__Resource *resource)
{
	const struct normal *normal = context;
	struct master *m = normal->m;

	resource_upgrade(&m->out->arena, resource);
	if (!normal->role || (resource->allocation_info && resource->allocation_info->role))
		return;
	resource->allocation_info = STEP_NEW(m, Mesos__Resource__AllocationInfo,
					     mesos__resource__allocation_info__descriptor);
	resource->allocation_info->role = master_text(m, normal->role);
}

void operation_normalise(struct master *m, Mesos__Offer__Operation *operation, const char *role)
{
	struct normal normal = {m, role};

	/* Parts of other types were not looked at. */
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (shapes[i].type != operation->type)
			*(void **)((char *)operation + shapes[i].offset) = NULL;
	}
	operation_each_resource(operation, operation_shape_normalise, &normal);
}
