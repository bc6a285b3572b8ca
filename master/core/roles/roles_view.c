/* One pass over frameworks and agents; each piece of resources counts for its role and
 * every ancestor. */
#include "master/core/roles/roles_view.h"
#include "master/core/frameworks/frameworks.h"

#include <string.h>

typedef struct amount **amount_of(struct role_view *role);

static struct amount **allocated_of(struct role_view *role)
{
	return &role->allocated;
}

static struct amount **offered_of(struct role_view *role)
{
	return &role->offered;
}

static struct amount **reserved_of(struct role_view *role)
{
	return &role->reserved;
}

static struct amount **idle_of(struct role_view *role)
{
	return &role->idle;
}

static struct amount **charged_of(struct role_view *role)
{
	return &role->charged;
}

static struct role_view *roles_view_role_of(struct roles_view *view, const char *name, size_t len)
{
	struct role_view *role;

	HASH_FIND(hh, view->roles, name, len, role);
	if (role || view->closed)
		return role;
	role = arena_alloc(view->arena, sizeof(*role));
	role->name = arena_strndup(view->arena, name, len);
	HASH_ADD_KEYPTR(hh, view->roles, role->name, len, role);
	return role;
}

/* The role and those above it, "a/b" and "a", are known. */
static void know_role(struct roles_view *view, const char *name)
{
	for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/'))
		roles_view_role_of(view, name, (size_t)(end - name));
	roles_view_role_of(view, name, strlen(name));
}

/* Counts one piece for the role and those above it. */
static void count_piece(struct roles_view *view, const char *name, amount_of *which,
			const struct resource_piece *piece, int sign)
{
	const char *end = name;

	while (end) {
		struct role_view *role;

		end = strchr(end + 1, '/');
		role = roles_view_role_of(view, name, end ? (size_t)(end - name) : strlen(name));
		if (role)
			amounts_add_piece(view->arena, which(role), piece, sign);
	}
}

static void count_allocations(struct roles_view *view, const struct resources *r, amount_of *which)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);

		if (role)
			count_piece(view, role, which, &r->pieces[i], 1);
	}
}

static void count_reservations(struct roles_view *view, const struct resources *r, amount_of *which,
			       int sign)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (resource_shape_reservations(r->pieces[i].shape) > 0)
			count_piece(view, resource_shape_role(r->pieces[i].shape), which,
				    &r->pieces[i], sign);
}

/* What of an agent's total, or of what a framework uses, the allocator charges. */
static void count_charges(struct roles_view *view, const struct resources *total,
			  const struct resources *used)
{
	const struct resources *r = total ? total : used;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;
		bool reserved = resource_shape_reservations(shape) > 0;
		const char *role =
			total ? resource_shape_role(shape) : resource_shape_allocation_role(shape);

		if (resource_shape_type(shape) == MESOS__VALUE__TYPE__SCALAR && role &&
		    (total ? reserved : !reserved && !resource_shape_revocable(shape)))
			count_piece(view, role, charged_of, &r->pieces[i], 1);
	}
}

static void list_framework(struct roles_view *view, const char *name, const char *id)
{
	struct role_view *role = roles_view_role_of(view, name, strlen(name));
	const char **grown;

	if (!role ||
	    (role->framework_count && !strcmp(role->frameworks[role->framework_count - 1], id)))
		return;
	if (role->framework_count == role->framework_cap) {
		role->framework_cap = role->framework_cap ? 2 * role->framework_cap : 4;
		grown = arena_alloc(view->arena, role->framework_cap * sizeof(*grown));
		if (role->framework_count)
			memcpy(grown, role->frameworks, role->framework_count * sizeof(*grown));
		role->frameworks = grown;
	}
	role->frameworks[role->framework_count++] = id;
}

static void list_holder(struct roles_view *view, const struct framework *f,
			const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);

		if (role)
			list_framework(view, role, f->id);
	}
}

static void know_roles_of(struct roles_view *view, const struct framework *f)
{
	const struct resources *held[] = {&f->used, &f->offered};

	for (size_t i = 0; i < f->role_count; i++)
		know_role(view, f->roles[i]);
	for (int i = 0; i < 2; i++)
		for (uint32_t j = 0; j < held[i]->count; j++)
			if (resource_shape_allocation_role(held[i]->pieces[j].shape))
				know_role(view,
					  resource_shape_allocation_role(held[i]->pieces[j].shape));
}

static void know_roles(struct roles_view *view, const struct master *m)
{
	for (size_t i = 0; i < m->whitelist_count; i++)
		know_role(view, m->whitelist[i]);
	view->closed = m->options.roles != NULL;
	if (view->closed)
		return;
	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		know_roles_of(view, f);
	for (struct weight *weight = m->weights; weight; weight = weight->hh.next)
		know_role(view, weight->role);
	for (struct quota *quota = m->quotas; quota; quota = quota->hh.next)
		know_role(view, quota->config->role);
	for (struct agent *a = m->agents; a; a = a->hh.next)
		for (uint32_t i = 0; i < a->total.count; i++)
			if (resource_shape_reservations(a->total.pieces[i].shape) > 0)
				know_role(view, resource_shape_role(a->total.pieces[i].shape));
	view->closed = true;
}

static void count_all(struct roles_view *view, const struct master *m)
{
	struct resources used, offered;

	for (struct framework *f = m->frameworks; f; f = f->hh.next) {
		for (size_t i = 0; i < f->role_count; i++)
			list_framework(view, f->roles[i], f->id);
		framework_held(f, &used, &offered);
		list_holder(view, f, &used);
		list_holder(view, f, &offered);
		count_allocations(view, &used, allocated_of);
		count_charges(view, NULL, &used);
		count_allocations(view, &offered, offered_of);
		resources_free(&used);
		resources_free(&offered);
	}
	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (!agent_registered(a))
			continue;
		count_reservations(view, &a->total, reserved_of, 1);
		count_charges(view, &a->total, NULL);
		count_reservations(view, &a->total, idle_of, 1);
		count_reservations(view, &a->used, idle_of, -1);
	}
}

/* ---- looking ---------------------------------------------------------------------- */

static int roles_view_by_name(const struct role_view *a, const struct role_view *b)
{
	return strcmp(a->name, b->name);
}

void roles_view_make(struct roles_view *view, const struct master *m, struct arena *arena)
{
	*view = (struct roles_view){.arena = arena};
	know_roles(view, m);
	count_all(view, m);
	HASH_SORT(view->roles, roles_view_by_name);
}

void roles_view_free(struct roles_view *view)
{
	/* The table's buckets are not in the arena. */
	HASH_CLEAR(hh, view->roles);
}

struct role_view *roles_view_find(const struct roles_view *view, const char *role)
{
	struct role_view *found;

	HASH_FIND(hh, view->roles, role, strlen(role), found);
	return found;
}

struct amount *role_view_consumed(const struct role_view *role, struct arena *arena)
{
	struct amount *consumed = NULL;

	if (role) {
		amounts_add_list(arena, &consumed, role->allocated, 1);
		amounts_add_list(arena, &consumed, role->idle, 1);
	}
	return consumed;
}
