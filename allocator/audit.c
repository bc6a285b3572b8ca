/* Whether the allocator's sums are what they are sums of. Looks at everything: for tests, the
 * simulator and debug builds. */
#include "allocator/allocator_looks.h"
#include "allocator/objects.h"

static bool audit_agent(const struct allocator *a, const struct alloc_agent *agent, struct err *why)
{
	struct resources held = RESOURCES_INIT, plain;
	struct stake *stake, *next;
	bool ok;

	list_for_each (stake, next, &agent->stakes, of_agent)
		resources_add(&held, &stake->held);
	resources_allocate(a->shapes, &held, NULL, &plain);
	ok = resources_equal(&plain, &agent->used);
	resources_free(&held);
	resources_free(&plain);
	return ok || !err_set(why, ERR_STATE, "allocator: agent %s: used is not what stakes hold",
			      agent->id);
}

static bool audit_leaf(const struct leaf *leaf, struct err *why)
{
	struct stake *stake, *next;
	size_t holdings = 0;

	list_for_each (stake, next, &leaf->stakes, of_leaf)
		holdings += !resources_empty(&stake->held);
	return holdings == leaf->holdings ||
	       !err_set(why, ERR_STATE,
			"allocator: framework %s in role %s: holdings are miscounted",
			leaf->framework->id, leaf->role_name);
}

/* Those below the role; each counts its own active frameworks and those of its children. */
static bool audit_roles(const struct role *role, struct err *why)
{
	struct role *child, *next, *below, *after;

	HASH_ITER (hh, role->children, child, next) {
		size_t active = child->frameworks.count;

		HASH_ITER (hh, child->children, below, after)
			active += below->active;
		if (child->active != active)
			return !err_set(why, ERR_STATE,
					"allocator: role %s: active frameworks are miscounted",
					child->component);
		if (!audit_roles(child, why))
			return false;
	}
	return true;
}

/* A shared volume counts once for each of them: without such, a whole is the sum of its parts. */
static bool audit_shares(const struct allocator *a, struct err *why)
{
	struct alloc_framework *framework, *next;
	struct leaf *leaf, *next_leaf;

	for (uint32_t name = 0; !a->shares && name < a->root.node.sum.count; name++) {
		int64_t sum = 0;

		HASH_ITER (hh, a->frameworks, framework, next) {
			HASH_ITER (hh, framework->leaves, leaf, next_leaf)
				sum += alloc_quantity(&leaf->node.sum, name);
		}
		if (sum != alloc_quantity(&a->root.node.sum, name))
			return !err_set(why, ERR_STATE,
					"allocator: of '%s' frameworks hold %g, all roles %g",
					a->pool.by_number[name]->text, (double)sum / 1000,
					(double)alloc_quantity(&a->root.node.sum, name) / 1000);
	}
	return true;
}

bool allocator_audit(const struct allocator *a, struct err *why)
{
	struct alloc_framework *framework, *next_framework;
	struct alloc_agent *agent, *next_agent;
	struct leaf *leaf, *next_leaf;

	HASH_ITER (hh, a->agents, agent, next_agent) {
		if (!audit_agent(a, agent, why))
			return false;
	}
	HASH_ITER (hh, a->frameworks, framework, next_framework) {
		HASH_ITER (hh, framework->leaves, leaf, next_leaf) {
			if (!audit_leaf(leaf, why))
				return false;
		}
	}
	return audit_roles(&a->root, why) && audit_shares(a, why);
}

const struct resources *allocator_agent_used(const struct alloc_agent *agent)
{
	return &agent->used;
}
