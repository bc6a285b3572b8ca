/* Figures for the owner's metrics: a walk over the tree of roles, without a stack, as roles
 * may be deep. Agents are not looked at. */
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator/objects.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/sorter.h"

typedef void each_fn(void *context, const struct allocator_figure *figure);

struct telling {
	const struct allocator *a;
	each_fn *each;
	void *context;
	struct buf path; /* of the role */
};

static void figures_tell(struct telling *t, enum allocator_figure_kind kind, const char *role,
			 const char *resource, double value)
{
	struct allocator_figure figure = {kind, role, resource, value};

	t->each(t->context, &figure);
}

/* The path goes down to the component, or up from it. */
static void figures_push(struct buf *path, const char *component)
{
	if (path->len)
		buf_putc(path, '/');
	buf_puts(path, component);
}

static void pop(struct buf *path, const char *component)
{
	size_t len = strlen(component);

	path->len -= path->len > len ? len + 1 : len;
	path->data[path->len] = '\0';
}

static void tell_role(struct telling *t, const struct role *role)
{
	const struct sorter_node *node = role->children ? &role->self : &role->node;

	if (!role->leaves)
		return;
	figures_tell(t, ALLOCATOR_FIGURE_SHARE, t->path.data, NULL,
		     alloc_node_share(&t->a->pool, node));
	figures_tell(t, ALLOCATOR_FIGURE_FILTERS, t->path.data, NULL, (double)role->filters);
}

static void tell_roles(struct telling *t)
{
	const struct role *role = &t->a->root;

	for (;;) {
		if (role->children) {
			role = role->children;
		} else {
			while (role->parent && !role->hh.next) {
				pop(&t->path, role->component);
				role = role->parent;
			}
			if (!role->parent)
				return;
			pop(&t->path, role->component);
			role = role->hh.next;
		}
		figures_push(&t->path, role->component);
		tell_role(t, role);
	}
}

static void tell_charges(struct telling *t, const struct account *account)
{
	for (uint32_t name = 0; name < account->consumed.count; name++) {
		if (account->consumed.milli[name])
			figures_tell(t, ALLOCATOR_FIGURE_CHARGED, t->path.data,
				     t->a->pool.by_number[name]->text,
				     (double)account->consumed.milli[name] / 1000);
	}
}

/* Accounts outlive roles, and need none. */
static void tell_accounts(struct telling *t)
{
	const struct account *account = &t->a->accounts;

	for (;;) {
		if (account->children) {
			account = account->children;
		} else {
			while (account->parent && !account->hh.next) {
				pop(&t->path, account->component);
				account = account->parent;
			}
			if (!account->parent)
				return;
			pop(&t->path, account->component);
			account = account->hh.next;
		}
		figures_push(&t->path, account->component);
		tell_charges(t, account);
	}
}

static void tell_pool(struct telling *t)
{
	const struct pool *pool = &t->a->pool;

	for (uint32_t name = 0; name < pool->total.count; name++) {
		int64_t held = alloc_quantity(&t->a->root.node.sum, name);

		figures_tell(t, ALLOCATOR_FIGURE_TOTAL, NULL, pool->by_number[name]->text,
			     (double)pool->total.milli[name] / 1000);
		figures_tell(t, ALLOCATOR_FIGURE_HELD, NULL, pool->by_number[name]->text,
			     (double)held / 1000);
	}
}

int64_t allocator_role_held(const struct allocator *a, const char *name, const char *resource)
{
	const struct role *role = alloc_role_find((struct allocator *)a, name);
	struct pool_name *number;

	HASH_FIND_STR(a->pool.names, resource, number);
	return role && number ? alloc_quantity(&role->node.sum, number->number) : 0;
}

size_t allocator_role_count(const struct allocator *a)
{
	return a->role_count;
}

void allocator_figures(const struct allocator *a, each_fn *each, void *context)
{
	struct telling t = {.a = a, .each = each, .context = context, .path = BUF_INIT};

	tell_pool(&t);
	tell_roles(&t);
	tell_accounts(&t);
	buf_free(&t.path);
}
