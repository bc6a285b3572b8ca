/* Resources between the formats of messages, and between messages and collections. */
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

/* ---- formats -------------------------------------------------------------------------- */

static const char *resource_convert_role_of(const Mesos__Resource *resource)
{
	return resource->role ? resource->role : "*";
}

static void clear_old_format(Mesos__Resource *resource)
{
	resource->role = mesos__resource__role__default_value;
	resource->reservation = NULL;
}

void resource_upgrade(struct arena *arena, Mesos__Resource *resource)
{
	Mesos__Resource__ReservationInfo *reservation;

	if (resource->n_reservations || !strcmp(resource_convert_role_of(resource), "*")) {
		clear_old_format(resource);
		return;
	}
	reservation = PROTO_NEW(arena, Mesos__Resource__ReservationInfo,
				mesos__resource__reservation_info__descriptor);
	reservation->has_type = true;
	reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC;
	if (resource->reservation) {
		reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
		reservation->principal = resource->reservation->principal;
		reservation->labels = resource->reservation->labels;
	}
	reservation->role = resource->role;
	resource->reservations = NULL;
	proto_push(arena, resource->n_reservations, resource->reservations, reservation);
	clear_old_format(resource);
}

/* Fills the old fields from a single reservation or none. */
static void fill_old_format(struct arena *arena, Mesos__Resource *resource)
{
	const Mesos__Resource__ReservationInfo *from;

	if (!resource->n_reservations) {
		resource->role = arena_strdup(arena, "*");
		return;
	}
	from = resource->reservations[0];
	resource->role = from->role;
	if (from->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC) {
		resource->reservation = PROTO_NEW(arena, Mesos__Resource__ReservationInfo,
						  mesos__resource__reservation_info__descriptor);
		resource->reservation->principal = from->principal;
		resource->reservation->labels = from->labels;
	}
}

bool resource_downgrade(struct arena *arena, Mesos__Resource *resource)
{
	if (resource->n_reservations > 1)
		return false;
	fill_old_format(arena, resource);
	resource->n_reservations = 0;
	resource->reservations = NULL;
	return true;
}

void resource_endpoint_format(struct arena *arena, Mesos__Resource *resource)
{
	if (resource->n_reservations <= 1)
		fill_old_format(arena, resource);
}

/* ---- collections ---------------------------------------------------------------------- */

static void take_ranges(struct resource_piece *piece, const Mesos__Value__Ranges *ranges)
{
	if (!ranges->n_range)
		return;
	piece->ranges = xcalloc(ranges->n_range, sizeof(*piece->ranges));
	for (size_t i = 0; i < ranges->n_range; i++)
		piece->ranges[i] =
			(struct resource_range){ranges->range[i]->begin, ranges->range[i]->end};
	piece->count = ranges_coalesce(piece->ranges, (uint32_t)ranges->n_range);
}

static void take_items(struct resource_piece *piece, const Mesos__Value__Set *set)
{
	if (!set->n_item)
		return;
	piece->items = xcalloc(set->n_item, sizeof(*piece->items));
	for (size_t i = 0; i < set->n_item; i++)
		piece->items[i] = xstrdup(set->item[i]);
	piece->count = (uint32_t)set->n_item;
}

struct resource_piece piece_of(struct resource_shapes *shapes, const Mesos__Resource *resource)
{
	struct resource_piece piece = {.shape = shape_intern(shapes, resource), .shares = 1};

	if (resource->type == MESOS__VALUE__TYPE__SCALAR && resource->scalar)
		piece.milli = scalar_to_milli(resource->scalar->value);
	else if (resource->type == MESOS__VALUE__TYPE__RANGES && resource->ranges)
		take_ranges(&piece, resource->ranges);
	else if (resource->type == MESOS__VALUE__TYPE__SET && resource->set)
		take_items(&piece, resource->set);
	return piece;
}

void resources_add_message(struct resource_shapes *shapes, struct resources *to,
			   const Mesos__Resource *resource)
{
	Mesos__Resource upgraded = *resource;
	struct resource_piece piece;
	struct arena arena;

	arena_init(&arena);
	resource_upgrade(&arena, &upgraded);
	piece = piece_of(shapes, &upgraded);
	resources_add_piece(to, &piece);
	value_free(&piece);
	arena_free(&arena);
}

void resources_add_messages(struct resource_shapes *shapes, struct resources *to,
			    Mesos__Resource *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		resources_add_message(shapes, to, list[i]);
}

static Mesos__Value__Ranges *give_ranges(struct arena *arena, const struct resource_piece *piece)
{
	Mesos__Value__Ranges *ranges =
		PROTO_NEW(arena, Mesos__Value__Ranges, mesos__value__ranges__descriptor);

	for (uint32_t i = 0; i < piece->count; i++) {
		Mesos__Value__Range *range =
			PROTO_NEW(arena, Mesos__Value__Range, mesos__value__range__descriptor);

		range->begin = piece->ranges[i].begin;
		range->end = piece->ranges[i].end;
		proto_push(arena, ranges->n_range, ranges->range, range);
	}
	return ranges;
}

static Mesos__Value__Set *give_items(struct arena *arena, const struct resource_piece *piece)
{
	Mesos__Value__Set *set = PROTO_NEW(arena, Mesos__Value__Set, mesos__value__set__descriptor);

	for (uint32_t i = 0; i < piece->count; i++)
		proto_push(arena, set->n_item, set->item, arena_strdup(arena, piece->items[i]));
	return set;
}

Mesos__Resource *resource_piece_to_message(struct arena *arena, const struct resource_piece *piece)
{
	Mesos__Resource *resource = proto_copy_to(arena, piece->shape->message);

	switch (resource->type) {
	case MESOS__VALUE__TYPE__SCALAR:
		resource->scalar =
			PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
		resource->scalar->value = scalar_from_milli(piece->milli);
		break;
	case MESOS__VALUE__TYPE__RANGES:
		resource->ranges = give_ranges(arena, piece);
		break;
	default:
		resource->set = give_items(arena, piece);
	}
	return resource;
}

void resources_to_messages(struct arena *arena, const struct resources *from, size_t *count,
			   Mesos__Resource ***list)
{
	*count = 0;
	*list = NULL;
	for (uint32_t i = 0; i < from->count; i++)
		proto_push(arena, *count, *list,
			   resource_piece_to_message(arena, &from->pieces[i]));
}
