/* /roles: what each known role and the roles below it hold.
 *
 * Known are the roles that frameworks subscribe to or hold something in, those that
 * resources are reserved for, and all above them; with --roles exactly the listed ones
 * and all above. One pass over frameworks and agents; each piece of resources counts for
 * its role and every ancestor. The tables live in the request's arena. */
#include <stdlib.h>
#include <string.h>

#include "master/rest.h"

struct amount {
	const char *name;
	double milli;	     /* a sum over many agents may leave int64 */
	struct amount *next; /* by name, ascending */
};

struct role_view {
	const char *name;
	struct amount *allocated;
	struct amount *offered;
	struct amount *reserved;
	struct amount *idle; /* reserved and not in use: counts against a quota, too */
	const char **frameworks;
	size_t framework_count, framework_cap;
	UT_hash_handle hh;
};

struct view {
	struct arena *arena;
	struct role_view *roles;
	bool closed; /* no role is added any more */
};

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

static struct role_view *role_of(struct view *view, const char *name, size_t len)
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
static void know_role(struct view *view, const char *name)
{
	for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/'))
		role_of(view, name, (size_t)(end - name));
	role_of(view, name, strlen(name));
}

static void add_amount(struct arena *arena, struct amount **list, const char *name, double milli)
{
	struct amount *amount;

	while (*list && strcmp((*list)->name, name) < 0)
		list = &(*list)->next;
	if (!*list || strcmp((*list)->name, name)) {
		amount = arena_alloc(arena, sizeof(*amount));
		*amount = (struct amount){name, 0, *list};
		*list = amount;
	}
	(*list)->milli += milli;
}

/* Counts one piece for the role and those above it. */
static void count_piece(struct view *view, const char *name, amount_of *which,
			const struct resource_piece *piece, int sign)
{
	double milli = sign * (double)resource_piece_quantity(piece);
	const char *end = name;

	while (end) {
		struct role_view *role;

		end = strchr(end + 1, '/');
		role = role_of(view, name, end ? (size_t)(end - name) : strlen(name));
		if (role)
			add_amount(view->arena, which(role), resource_shape_name(piece->shape),
				   milli);
	}
}

static void count_allocations(struct view *view, const struct resources *r, amount_of *which)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);

		if (role)
			count_piece(view, role, which, &r->pieces[i], 1);
	}
}

static void count_reservations(struct view *view, const struct resources *r, amount_of *which,
			       int sign)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (resource_shape_reservations(r->pieces[i].shape) > 0)
			count_piece(view, resource_shape_role(r->pieces[i].shape), which,
				    &r->pieces[i], sign);
}

static void list_framework(struct view *view, const char *name, const char *id)
{
	struct role_view *role = role_of(view, name, strlen(name));
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

static void list_holder(struct view *view, const struct framework *f, const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);

		if (role)
			list_framework(view, role, f->id);
	}
}

static void know_roles_of(struct view *view, const struct framework *f)
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

static void know_roles(struct view *view, const struct master *m)
{
	for (size_t i = 0; i < m->whitelist_count; i++)
		know_role(view, m->whitelist[i]);
	view->closed = m->options.roles != NULL;
	if (view->closed)
		return;
	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		know_roles_of(view, f);
	for (struct agent *a = m->agents; a; a = a->hh.next)
		for (uint32_t i = 0; i < a->total.count; i++)
			if (resource_shape_reservations(a->total.pieces[i].shape) > 0)
				know_role(view, resource_shape_role(a->total.pieces[i].shape));
	view->closed = true;
}

static void count_all(struct view *view, const struct master *m)
{
	for (struct framework *f = m->frameworks; f; f = f->hh.next) {
		for (size_t i = 0; i < f->role_count; i++)
			list_framework(view, f->roles[i], f->id);
		list_holder(view, f, &f->used);
		list_holder(view, f, &f->offered);
		count_allocations(view, &f->used, allocated_of);
		count_allocations(view, &f->offered, offered_of);
	}
	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (a->state != AGENT_REGISTERED)
			continue;
		count_reservations(view, &a->total, reserved_of, 1);
		count_reservations(view, &a->total, idle_of, 1);
		count_reservations(view, &a->used, idle_of, -1);
	}
}

/* ---- writing ------------------------------------------------------------- */

static void write_amounts(struct json_writer *w, struct arena *arena, const char *key,
			  const struct amount *a, const struct amount *b, bool fill)
{
	static const char *const always[] = {"cpus", "disk", "gpus", "mem"};
	struct amount *sum = NULL;

	for (; a; a = a->next)
		add_amount(arena, &sum, a->name, a->milli);
	for (; b; b = b->next)
		add_amount(arena, &sum, b->name, b->milli);
	/* Tools that know Mesos before 1.9 take these for granted. */
	for (size_t i = 0; fill && i < sizeof(always) / sizeof(*always); i++)
		add_amount(arena, &sum, always[i], 0);
	jw_key(w, key);
	jw_begin_object(w);
	for (; sum; sum = sum->next)
		if (sum->milli > 0 || fill)
			jw_kv_double(w, sum->name, sum->milli / 1000.0);
	jw_end_object(w);
}

static void write_role(struct json_writer *w, struct arena *arena, const struct role_view *role)
{
	jw_begin_object(w);
	jw_kv_string(w, "name", role->name);
	jw_kv_double(w, "weight", 1.0);
	jw_key(w, "quota");
	jw_begin_object(w);
	jw_kv_string(w, "role", role->name);
	write_amounts(w, arena, "guarantee", NULL, NULL, false);
	write_amounts(w, arena, "limit", NULL, NULL, false);
	write_amounts(w, arena, "consumed", role->allocated, role->idle, false);
	jw_end_object(w);
	write_amounts(w, arena, "resources", role->allocated, role->offered, true);
	write_amounts(w, arena, "allocated", role->allocated, NULL, false);
	write_amounts(w, arena, "offered", role->offered, NULL, false);
	write_amounts(w, arena, "reserved", role->reserved, NULL, false);
	jw_key(w, "frameworks");
	jw_begin_array(w);
	for (size_t i = 0; i < role->framework_count; i++)
		jw_string(w, role->frameworks[i]);
	jw_end_array(w);
	jw_end_object(w);
}

static int by_name(const struct role_view *a, const struct role_view *b)
{
	return strcmp(a->name, b->name);
}

void rest_roles(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct view view = {.arena = &request->arena};
	struct buf body = BUF_INIT;
	struct json_writer w;

	know_roles(&view, shell->core);
	count_all(&view, shell->core);
	HASH_SORT(view.roles, by_name);
	jw_init(&w, &body);
	jw_begin_object(&w);
	jw_key(&w, "roles");
	jw_begin_array(&w);
	for (struct role_view *role = view.roles; role; role = role->hh.next)
		write_role(&w, view.arena, role);
	jw_end_array(&w);
	jw_end_object(&w);
	/* The table's buckets are not in the arena; its entries go with the answer. */
	HASH_CLEAR(hh, view.roles);
	router_reply_json(request, &body);
	buf_free(&body);
}
