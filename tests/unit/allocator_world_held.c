/* Events on what frameworks hold: it comes back, or is converted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_kit.h"
#include "allocator_named.h"
#include "allocator_world.h"

struct holder {
	const char *framework, *role, *agent;
	const struct resources *held;
};

static struct holder holder_of(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = {NAME(frameworks, value[0]), NAME(roles, value[1]),
				NAME(agents, value[2]), NULL};

	holder.held = oracle_held(world->o, holder.framework, holder.agent, holder.role);
	return holder;
}

const struct allocator_filter *world_filter(unsigned place, struct allocator_filter *out)
{
	out->refuse_seconds = strtod(NAME(refusals, place), NULL);
	return place == 0 ? NULL : out;
}

/* The pieces chosen, of scalars that can be parted only so many percent. */
static struct resources part_of(const struct resources *held, unsigned pieces, unsigned percent)
{
	struct resources part = RESOURCES_INIT;

	for (uint32_t i = 0; i < held->count; i++) {
		struct resource_piece piece = held->pieces[i], less;
		struct resources one = {&less, 1, 1};

		if (!(pieces >> i % 8 & 1))
			continue;
		piece.shares = 1;
		less = piece;
		less.milli = piece.milli * percent / 100;
		if (resource_shape_type(piece.shape) == MESOS__VALUE__TYPE__SCALAR &&
		    less.milli > 0 && resources_contain(held, &one))
			piece = less;
		resources_add_piece(&part, &piece);
	}
	return part;
}

static void recover(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = holder_of(world, value);
	struct allocator_filter filter;

	if (!holder.held)
		return;
	struct resources part = part_of(holder.held, value[3], value[4]);
	if (!resources_empty(&part)) {
		named_recover(world->a, world->now, holder.framework, holder.agent, &part,
			      world_filter(value[5], &filter));
		oracle_recover(world->o, world->now, holder.framework, holder.agent, &part,
			       world_filter(value[5], &filter));
	}
	resources_free(&part);
}

static void restore(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = holder_of(world, value);
	struct resources use = kit_allocated(world->shapes, holder.role, NAME(uses, value[3]));

	named_restore(world->a, holder.framework, holder.agent, &use);
	oracle_restore(world->o, holder.framework, holder.agent, &use);
	resources_free(&use);
}

/* The one piece of the held that the text describes but for its amount, and this in `out`. */
static bool find_piece(struct world *world, const struct holder *holder, const char *name,
		       const char *head, const char *tail, struct resources *out, int64_t *milli)
{
	char text[64];

	for (uint32_t i = 0; i < holder->held->count; i++) {
		const struct resource_piece *piece = &holder->held->pieces[i];
		struct resources one = {(struct resource_piece *)piece, 1, 1};

		if (strcmp(resource_shape_name(piece->shape), name) != 0)
			continue;
		snprintf(text, sizeof(text), "%s:%.3f%s", head, (double)piece->milli / 1000, tail);
		*out = kit_allocated(world->shapes, holder->role, text);
		*milli = piece->milli;
		if (piece->shares == 1 && resources_equal(out, &one))
			return true;
		resources_free(out);
	}
	return false;
}

static void convert(struct world *world, const struct holder *holder, struct resources *before,
		    const char *after_head, int64_t milli, const char *after_tail)
{
	char text[64];

	snprintf(text, sizeof(text), "%s:%.3f%s", after_head, (double)milli / 1000, after_tail);
	struct resources after = kit_allocated(world->shapes, holder->role, text);
	named_convert(world->a, holder->framework, holder->agent, before, &after);
	oracle_convert(world->o, holder->framework, holder->agent, before, &after);
	resources_free(&after);
	resources_free(before);
}

static void reserve(struct world *world, const unsigned value[EVENT_VALUES], bool reserve)
{
	struct holder holder = holder_of(world, value);
	const char *name = NAME(names, value[3]);
	struct resources before;
	char reserved[32];
	int64_t milli;

	if (!holder.held || strcmp(holder.role, "*") == 0)
		return;
	snprintf(reserved, sizeof(reserved), "%s(%s)", name, holder.role);
	if (find_piece(world, &holder, name, reserve ? name : reserved, "", &before, &milli))
		convert(world, &holder, &before, reserve ? reserved : name, milli, "");
}

static bool has_volume(const struct resources *r, const char *id)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *have = resource_shape_persistence(r->pieces[i].shape);

		if (have && strcmp(have, id) == 0)
			return true;
	}
	return false;
}

static void create(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = holder_of(world, value);
	const char *id = NAME(volumes, value[3]);
	struct resources before;
	char reserved[32], volume[32];
	int64_t milli;

	if (!holder.held || strcmp(holder.role, "*") == 0)
		return;
	struct resources used = oracle_used(world->o, holder.agent);
	bool taken = has_volume(&used, id) || has_volume(oracle_total(world->o, holder.agent), id);
	resources_free(&used);
	snprintf(reserved, sizeof(reserved), "disk(%s)", holder.role);
	snprintf(volume, sizeof(volume), "{%s=%s}", value[4] ? "shared" : "volume", id);
	if (!taken && find_piece(world, &holder, "disk", reserved, "", &before, &milli))
		convert(world, &holder, &before, reserved, milli, volume);
}

/* The one copy of a volume that there is. */
static void destroy(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = holder_of(world, value);
	char reserved[32], volume[32];
	struct resources before;
	int64_t milli;

	for (uint32_t i = 0; holder.held && i < holder.held->count; i++) {
		const struct resource_shape *shape = holder.held->pieces[i].shape;

		if (!resource_shape_persistence(shape) || resource_shape_reservations(shape) != 1)
			continue;
		struct resources used = oracle_used(world->o, holder.agent);
		unsigned shares = 0;
		for (uint32_t j = 0; j < used.count; j++) {
			const char *id = resource_shape_persistence(used.pieces[j].shape);

			if (id && strcmp(id, resource_shape_persistence(shape)) == 0)
				shares += used.pieces[j].shares;
		}
		resources_free(&used);
		snprintf(reserved, sizeof(reserved), "disk(%s)", resource_shape_role(shape));
		snprintf(volume, sizeof(volume), "{%s=%s}",
			 resource_shape_shared(shape) ? "shared" : "volume",
			 resource_shape_persistence(shape));
		if (shares == 1 &&
		    find_piece(world, &holder, "disk", reserved, volume, &before, &milli)) {
			convert(world, &holder, &before, reserved, milli, "");
			return;
		}
	}
}

static void copy(struct world *world, const unsigned value[EVENT_VALUES])
{
	struct holder holder = holder_of(world, value);

	for (uint32_t i = 0; holder.held && i < holder.held->count; i++) {
		struct resource_piece piece = holder.held->pieces[i];
		struct resources none = RESOURCES_INIT, one = {&piece, 1, 1}, again;

		if (!resource_shape_shared(piece.shape))
			continue;
		piece.shares = 1;
		resources_copy(&again, &one);
		named_convert(world->a, holder.framework, holder.agent, &none, &again);
		oracle_convert(world->o, holder.framework, holder.agent, &none, &again);
		resources_free(&again);
		return;
	}
}

void world_apply_to_held(struct world *world, const struct event *event)
{
	const unsigned *value = event->value;

	switch (event->kind) {
	case EVENT_RECOVER:
		recover(world, value);
		break;
	case EVENT_RESERVE:
	case EVENT_UNRESERVE:
		reserve(world, value, event->kind == EVENT_RESERVE);
		break;
	case EVENT_CREATE:
		create(world, value);
		break;
	case EVENT_DESTROY:
		destroy(world, value);
		break;
	case EVENT_COPY:
		copy(world, value);
		break;
	default: /* EVENT_RESTORE */
		restore(world, value);
		break;
	}
}
