#include <string.h>

#include "allocator_oracle_internal.h"

struct amounts amounts_minus(struct amounts a, struct amounts b)
{
	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (a.of[i] != UNLIMITED)
			a.of[i] = a.of[i] > b.of[i] ? a.of[i] - b.of[i] : 0;
	}
	return a;
}

bool amounts_empty(struct amounts a)
{
	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (a.of[i] > 0)
			return false;
	}
	return true;
}

void oracle_set_quota(struct oracle *o, const char *role, const struct allocator_quota *quota)
{
	struct oquota *own = &o->quotas[oracle_role_index(o, role)];

	memset(own, 0, sizeof(*own));
	for (int i = 0; i < ORACLE_NAMES; i++)
		own->limits.of[i] = UNLIMITED;
	for (size_t i = 0; quota && i < quota->guarantees.count; i++)
		own->guarantees.of[oracle_name(quota->guarantees.items[i].name)] =
			quota->guarantees.items[i].milli;
	for (size_t i = 0; quota && i < quota->limits.count; i++)
		own->limits.of[oracle_name(quota->limits.items[i].name)] =
			quota->limits.items[i].milli;
}

bool oracle_has_limits(const struct oquota *quota)
{
	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (quota->limits.of[i] != UNLIMITED)
			return true;
	}
	return false;
}

void oracle_set_weight(struct oracle *o, const char *role, double weight)
{
	o->weights[oracle_role_index(o, role)] = weight;
}

static bool in_subtree(const char *role, const char *top)
{
	return strcmp(role, top) == 0 || role_is_strict_subrole(role, top);
}

bool oracle_quota_piece(const struct resource_piece *piece)
{
	return resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR &&
	       resource_shape_reservations(piece->shape) == 0 &&
	       !resource_shape_revocable(piece->shape);
}

static void add_piece(struct amounts *to, const struct resource_piece *piece)
{
	struct resources one = {(struct resource_piece *)piece, 1, 1};

	amounts_add(to, &one);
}

/* Reservations for the role and those below it, used or not; and what is allocated to
 * them that nobody reserved. */
struct amounts oracle_consumption(struct oracle *o, int role)
{
	struct amounts sum = {0};

	for (int a = 0; a < ORACLE_AGENTS; a++) {
		const struct resources *total = &o->agents[a].total;

		for (uint32_t i = 0; i < total->count; i++) {
			const struct resource_piece *piece = &total->pieces[i];

			if (resource_shape_reservations(piece->shape) > 0 &&
			    in_subtree(resource_shape_role(piece->shape), o->roles[role]))
				add_piece(&sum, piece);
		}
		for (int f = 0; f < FRAMEWORKS; f++) {
			for (int r = 0; r < ROLES; r++) {
				const struct resources *held = &o->frameworks[f].held[a][r];

				if (resources_empty(held) ||
				    !in_subtree(o->roles[r], o->roles[role]))
					continue;
				for (uint32_t i = 0; i < held->count; i++) {
					if (oracle_quota_piece(&held->pieces[i]))
						add_piece(&sum, &held->pieces[i]);
				}
			}
		}
	}
	return sum;
}

struct amounts oracle_required(struct oracle *o)
{
	struct amounts sum = {0};

	for (int r = 0; r < ROLES; r++) {
		if (amounts_empty(o->quotas[r].guarantees))
			continue;
		struct amounts lack =
			amounts_minus(o->quotas[r].guarantees, oracle_consumption(o, r));
		for (int i = 0; i < ORACLE_NAMES; i++)
			sum.of[i] += lack.of[i];
	}
	return sum;
}

/* pool - allocated - (reservations - those allocated) - what is free and revocable */
struct amounts oracle_available(struct oracle *o)
{
	struct amounts allocated = {0}, reserved = {0}, reserved_allocated = {0}, revocable = {0};

	for (int a = 0; a < ORACLE_AGENTS; a++) {
		const struct resources *held = &o->role_sorter.root.held[a];
		const struct resources *total = &o->agents[a].total;

		amounts_add(&allocated, held);
		for (uint32_t i = 0; i < held->count; i++) {
			if (resource_shape_reservations(held->pieces[i].shape) > 0)
				add_piece(&reserved_allocated, &held->pieces[i]);
		}
		for (uint32_t i = 0; i < total->count; i++) {
			if (resource_shape_reservations(total->pieces[i].shape) > 0)
				add_piece(&reserved, &total->pieces[i]);
		}
		if (!o->agents[a].id[0])
			continue;
		struct resources free = oracle_free(o, a);
		for (uint32_t i = 0; i < free.count; i++) {
			if (resource_shape_revocable(free.pieces[i].shape))
				add_piece(&revocable, &free.pieces[i]);
		}
		resources_free(&free);
	}
	struct amounts left = amounts_minus(oracle_scale(o).pool, allocated);
	left = amounts_minus(left, amounts_minus(reserved, reserved_allocated));
	return amounts_minus(left, revocable);
}

/* A disk that holds no smaller copy of itself is had in one piece or not at all. */
static bool divisible(const struct resource_piece *piece)
{
	struct resource_piece less = *piece;
	struct resources whole = {(struct resource_piece *)piece, 1, 1}, part = {&less, 1, 1};

	less.milli = piece->milli / 2;
	return less.milli > 0 && resources_contain(&whole, &part);
}

struct resources oracle_shrink(const struct resources *from, struct amounts allow)
{
	struct resources out = RESOURCES_INIT;

	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_piece piece = from->pieces[i];
		int name = oracle_name(resource_shape_name(piece.shape));
		int64_t *left = &allow.of[name];

		if (*left == UNLIMITED) {
			resources_add_piece(&out, &piece);
			continue;
		}
		if (piece.milli > *left) {
			if (*left == 0 || !divisible(&piece))
				continue;
			piece.milli = *left;
		}
		resources_add_piece(&out, &piece);
		*left -= piece.milli;
	}
	return out;
}

int64_t oracle_consumed(struct oracle *o, const char *role, const char *name)
{
	return oracle_consumption(o, oracle_role_index(o, role)).of[oracle_name(name)];
}
