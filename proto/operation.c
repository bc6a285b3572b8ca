/* What operations on resources take from an offer or an agent, and what they make of it.
 *
 * An operation that lacks its part, whose resources have no reservation to take off, or whose
 * sizes do not fit is refused, and then nothing is left to free.
 */
#include "proto/operation.h"

#include <math.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

#define invalid(err, ...) err_set(err, ERR_INVALID, __VA_ARGS__)

bool operation_converts(Mesos__Offer__Operation__Type type)
{
	switch (type) {
	case MESOS__OFFER__OPERATION__TYPE__RESERVE:
	case MESOS__OFFER__OPERATION__TYPE__UNRESERVE:
	case MESOS__OFFER__OPERATION__TYPE__CREATE:
	case MESOS__OFFER__OPERATION__TYPE__DESTROY:
	case MESOS__OFFER__OPERATION__TYPE__GROW_VOLUME:
	case MESOS__OFFER__OPERATION__TYPE__SHRINK_VOLUME:
		return true;
	default:
		return false;
	}
}

/* ---- the resources in an operation ---------------------------------------------------- */

struct visitor {
	void (*visit)(void *context, Mesos__Resource *resource);
	void *context;
};

static void visit_one(const struct visitor *visitor, Mesos__Resource *resource)
{
	if (resource)
		visitor->visit(visitor->context, resource);
}

static void visit_list(const struct visitor *visitor, Mesos__Resource **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		visitor->visit(visitor->context, list[i]);
}

static void visit_executor(const struct visitor *visitor, Mesos__ExecutorInfo *executor)
{
	if (executor)
		visit_list(visitor, executor->resources, executor->n_resources);
}

static void visit_tasks(const struct visitor *visitor, Mesos__TaskInfo **tasks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		visit_list(visitor, tasks[i]->resources, tasks[i]->n_resources);
		visit_executor(visitor, tasks[i]->executor);
	}
}

static void visit_launches(const struct visitor *visitor, Mesos__Offer__Operation *operation)
{
	const Mesos__Offer__Operation__LaunchGroup *group = operation->launch_group;

	if (operation->launch)
		visit_tasks(visitor, operation->launch->task_infos,
			    operation->launch->n_task_infos);
	if (!group)
		return;
	visit_executor(visitor, group->executor);
	if (group->task_group)
		visit_tasks(visitor, group->task_group->tasks, group->task_group->n_tasks);
}

static void visit_reservations(const struct visitor *visitor, Mesos__Offer__Operation *operation)
{
	if (operation->reserve) {
		visit_list(visitor, operation->reserve->resources, operation->reserve->n_resources);
		visit_list(visitor, operation->reserve->source, operation->reserve->n_source);
	}
	if (operation->unreserve)
		visit_list(visitor, operation->unreserve->resources,
			   operation->unreserve->n_resources);
}

static void visit_volumes(const struct visitor *visitor, Mesos__Offer__Operation *operation)
{
	if (operation->create)
		visit_list(visitor, operation->create->volumes, operation->create->n_volumes);
	if (operation->destroy)
		visit_list(visitor, operation->destroy->volumes, operation->destroy->n_volumes);
	if (operation->grow_volume) {
		visit_one(visitor, operation->grow_volume->volume);
		visit_one(visitor, operation->grow_volume->addition);
	}
	if (operation->shrink_volume)
		visit_one(visitor, operation->shrink_volume->volume);
	if (operation->create_disk)
		visit_one(visitor, operation->create_disk->source);
	if (operation->destroy_disk)
		visit_one(visitor, operation->destroy_disk->source);
}

void operation_each_resource(Mesos__Offer__Operation *operation,
			     void (*visit)(void *context, Mesos__Resource *resource), void *context)
{
	struct visitor visitor = {visit, context};

	visit_launches(&visitor, operation);
	visit_reservations(&visitor, operation);
	visit_volumes(&visitor, operation);
}

/* ---- conversions ---------------------------------------------------------------------- */

/* The two sides of a conversion under way. */
struct sides {
	struct resource_shapes *shapes;
	struct resources *consumed;
	struct resources *converted;
};

/* One more step. What an earlier step of the operation makes, this one may take. */
static void operation_convert(const struct sides *sides, const Mesos__Resource *from,
			      const Mesos__Resource *to)
{
	struct resources taken = RESOURCES_INIT, rest;

	resources_add_message(sides->shapes, &taken, from);
	resources_copy(&rest, &taken);
	resources_subtract(&rest, sides->converted);
	resources_subtract(sides->converted, &taken);
	resources_add(sides->consumed, &rest);
	resources_add_message(sides->shapes, sides->converted, to);
	resources_free(&taken);
	resources_free(&rest);
}

static int not_reserved(const Mesos__Resource *resource, struct err *err)
{
	struct buf text = BUF_INIT;

	resource_print(resource, &text);
	invalid(err, "Resource %s is not reserved", text.data);
	buf_free(&text);
	return ERR_INVALID;
}

static int pop_reservation(const Mesos__Resource *resource, Mesos__Resource *popped,
			   struct err *err)
{
	if (!resource->n_reservations)
		return not_reserved(resource, err);
	*popped = *resource;
	popped->n_reservations--;
	return 0;
}

/* The disk that a volume is on. */
static Mesos__Resource strip_volume(const Mesos__Resource *volume, Mesos__Resource__DiskInfo *disk)
{
	Mesos__Resource stripped = *volume;

	stripped.shared = NULL; /* only volumes can be shared */
	stripped.disk = NULL;
	if (volume->disk && volume->disk->source) {
		*disk = *volume->disk;
		disk->persistence = NULL;
		disk->volume = NULL;
		stripped.disk = disk;
	}
	return stripped;
}

static int convert_reserve(const struct sides *sides, const Mesos__Offer__Operation__Reserve *op,
			   struct err *err)
{
	resources_add_messages(sides->shapes, sides->converted, op->resources, op->n_resources);
	resources_add_messages(sides->shapes, sides->consumed, op->source, op->n_source);
	for (size_t i = 0; !op->n_source && i < op->n_resources; i++) {
		Mesos__Resource popped;

		if (pop_reservation(op->resources[i], &popped, err))
			return ERR_INVALID;
		resources_add_message(sides->shapes, sides->consumed, &popped);
	}
	return 0;
}

static int convert_unreserve(const struct sides *sides,
			     const Mesos__Offer__Operation__Unreserve *op, struct err *err)
{
	for (size_t i = 0; i < op->n_resources; i++) {
		Mesos__Resource popped;

		if (pop_reservation(op->resources[i], &popped, err))
			return ERR_INVALID;
		operation_convert(sides, op->resources[i], &popped);
	}
	return 0;
}

static int convert_create(const struct sides *sides, const Mesos__Offer__Operation__Create *op)
{
	for (size_t i = 0; i < op->n_volumes; i++) {
		Mesos__Resource__DiskInfo disk;
		Mesos__Resource stripped = strip_volume(op->volumes[i], &disk);

		operation_convert(sides, &stripped, op->volumes[i]);
	}
	return 0;
}

static int convert_destroy(const struct sides *sides, const Mesos__Offer__Operation__Destroy *op)
{
	for (size_t i = 0; i < op->n_volumes; i++) {
		Mesos__Resource__DiskInfo disk;
		Mesos__Resource stripped = strip_volume(op->volumes[i], &disk);

		operation_convert(sides, op->volumes[i], &stripped);
	}
	return 0;
}

static int check_resized(const Mesos__Resource *volume, struct err *err)
{
	if (volume->provider_id)
		return invalid(err, "Operation not supported for resource provider");
	if (!volume->scalar)
		return invalid(err, "Invalid scalar resource");
	return 0;
}

static int convert_grow(const struct sides *sides, const Mesos__Offer__Operation__GrowVolume *op,
			struct err *err)
{
	Mesos__Value__Scalar size = MESOS__VALUE__SCALAR__INIT;
	Mesos__Resource grown = *op->volume;
	int64_t sum;

	if (check_resized(op->volume, err))
		return ERR_INVALID;
	if (!op->addition->scalar)
		return invalid(err, "Invalid scalar resource");
	sum = scalar_to_milli(op->volume->scalar->value) +
	      scalar_to_milli(op->addition->scalar->value);
	size.value = scalar_from_milli(sum);
	grown.scalar = &size;
	resources_add_message(sides->shapes, sides->consumed, op->volume);
	resources_add_message(sides->shapes, sides->consumed, op->addition);
	resources_add_message(sides->shapes, sides->converted, &grown);
	return 0;
}

static int convert_shrink(const struct sides *sides,
			  const Mesos__Offer__Operation__ShrinkVolume *op, struct err *err)
{
	Mesos__Value__Scalar kept = MESOS__VALUE__SCALAR__INIT, less = MESOS__VALUE__SCALAR__INIT;
	Mesos__Resource__DiskInfo disk;
	Mesos__Resource freed, shrunk = *op->volume;
	int64_t had;

	if (check_resized(op->volume, err))
		return ERR_INVALID;
	less.value = op->subtract->value;
	/* Not a number is neither; what is above all sizes must not get to llround(). */
	if (!(less.value > 0))
		return invalid(err, "Value of 'ShrinkVolume.subtract' must be greater than zero");
	had = scalar_to_milli(op->volume->scalar->value);
	if (less.value > RESOURCE_SCALAR_MAX || scalar_to_milli(less.value) >= had)
		return invalid(err, "Value of 'ShrinkVolume.subtract' must be smaller than the "
				    "size of 'ShrinkVolume.volume'");
	kept.value = scalar_from_milli(had - scalar_to_milli(less.value));
	shrunk.scalar = &kept;
	freed = strip_volume(op->volume, &disk);
	freed.scalar = &less;
	resources_add_message(sides->shapes, sides->consumed, op->volume);
	resources_add_message(sides->shapes, sides->converted, &shrunk);
	resources_add_message(sides->shapes, sides->converted, &freed);
	return 0;
}

static int convert_any(const struct sides *sides, const Mesos__Offer__Operation *op,
		       struct err *err)
{
	if (op->type == MESOS__OFFER__OPERATION__TYPE__UNKNOWN)
		return invalid(err, "Unknown operation");
	if (!operation_converts(op->type))
		return invalid(err, "Operation not supported");
	if (op->type == MESOS__OFFER__OPERATION__TYPE__RESERVE && op->reserve)
		return convert_reserve(sides, op->reserve, err);
	if (op->type == MESOS__OFFER__OPERATION__TYPE__UNRESERVE && op->unreserve)
		return convert_unreserve(sides, op->unreserve, err);
	if (op->type == MESOS__OFFER__OPERATION__TYPE__CREATE && op->create)
		return convert_create(sides, op->create);
	if (op->type == MESOS__OFFER__OPERATION__TYPE__DESTROY && op->destroy)
		return convert_destroy(sides, op->destroy);
	if (op->type == MESOS__OFFER__OPERATION__TYPE__GROW_VOLUME && op->grow_volume)
		return convert_grow(sides, op->grow_volume, err);
	if (op->type == MESOS__OFFER__OPERATION__TYPE__SHRINK_VOLUME && op->shrink_volume)
		return convert_shrink(sides, op->shrink_volume, err);
	return invalid(err, "Unknown operation"); /* its part is not there */
}

int operation_conversion(struct resource_shapes *shapes, const Mesos__Offer__Operation *operation,
			 struct resources *consumed, struct resources *converted, struct err *err)
{
	struct sides sides = {shapes, consumed, converted};

	*consumed = *converted = RESOURCES_INIT;
	if (!convert_any(&sides, operation, err))
		return 0;
	resources_free(consumed);
	resources_free(converted);
	return ERR_INVALID;
}

/* ---- application ---------------------------------------------------------------------- */

static int not_contained(const struct resources *in, const struct resources *consumed,
			 struct err *err)
{
	struct buf have = BUF_INIT, want = BUF_INIT;

	resources_print(in, &have);
	resources_print(consumed, &want);
	invalid(err, "%s does not contain %s", have.data, want.data);
	buf_free(&have);
	buf_free(&want);
	return ERR_INVALID;
}

static bool has_piece(const struct resources *r, struct resource_piece piece)
{
	struct resources one = {&piece, 1, 1};

	return resources_contain(r, &one);
}

/* Whether two of the pieces may need the same: volumes and whole disks, of which one that is
 * there does not do for two. All others were added up. */
static bool may_share(const struct resources *consumed)
{
	for (uint32_t i = 0; consumed->count > 1 && i < consumed->count; i++) {
		if (consumed->pieces[i].shape->mode == SHAPE_EXCLUSIVE)
			return true;
	}
	return false;
}

static bool has_all(const struct resources *r, const struct resources *consumed)
{
	for (uint32_t i = 0; i < consumed->count; i++) {
		if (!has_piece(r, consumed->pieces[i]))
			return false;
	}
	return true;
}

/* Piece by piece: a MOUNT disk that is there once does not do for two volumes. */
static bool can_take_all(const struct resources *from, const struct resources *consumed)
{
	struct resources left;
	bool all = true;

	if (!may_share(consumed))
		return has_all(from, consumed);
	resources_copy(&left, from);
	for (uint32_t i = 0; i < consumed->count && all; i++) {
		all = has_piece(&left, consumed->pieces[i]);
		resources_subtract_piece(&left, &consumed->pieces[i]);
	}
	resources_free(&left);
	return all;
}

static int copies_left(const struct resource_piece *volume, struct err *err)
{
	struct buf text = BUF_INIT;
	struct arena arena;

	arena_init(&arena);
	resource_print(resource_piece_to_message(&arena, volume), &text);
	invalid(err, "Persistent volume %s cannot be removed due to additional shared copies",
		text.data);
	buf_free(&text);
	arena_free(&arena);
	return ERR_INVALID;
}

/* A shared volume that goes must not be left in other hands. */
static int check_copies(const struct resources *in, const struct resources *consumed,
			const struct resources *converted, struct err *err)
{
	for (uint32_t i = 0; i < consumed->count; i++) {
		struct resource_piece piece = consumed->pieces[i], more = piece;

		piece.shares = 1;
		more.shares++;
		if (resource_shape_shared(piece.shape) && !has_piece(converted, piece) &&
		    has_piece(in, more))
			return copies_left(&piece, err);
	}
	return 0;
}

int resources_check_conversion(const struct resources *in, const struct resources *consumed,
			       const struct resources *converted, struct err *err)
{
	if (!can_take_all(in, consumed))
		return not_contained(in, consumed, err);
	return check_copies(in, consumed, converted, err);
}

/* Nothing is copied: a thousand operations may come in one call, on as many pieces. */
int resources_apply_conversion(struct resources *in, const struct resources *consumed,
			       const struct resources *converted, struct err *err)
{
	int rv = resources_check_conversion(in, consumed, converted, err);

	if (rv)
		return rv;
	resources_subtract(in, consumed);
	resources_add(in, converted);
	return 0;
}
