/* What decides the next offers and is not to be seen from tasks: counts of gifts, which
 * break ties; the order of agents; filters. The owner stores it, and a new process has it
 * back, so that a crash changes nothing (allocator.h says how).
 *
 * Each thing has a record that is marked when it changes, and at most once until the owner
 * asks; what goes away leaves a note if a record of it was stored. So the owner writes what
 * changed, once, and nothing otherwise. Without options.remembers nothing is marked.
 *
 * What comes back waits for its agent. Until it is added again an agent that is remembered
 * is a ghost: it has a place in the order and filters, but no resources, is not active, and
 * so takes no part. Whatever makes filters void finds them there as ever. What a returning
 * agent is said to be used for was counted as a gift in its time, and is not again. A leaf
 * that is not subscribed exists for the count of what it was given, and goes after the last
 * ghost if nothing was restored to it.
 *
 * Filters are stored whatever their length: one of a second may be in force when everybody is
 * back, since a restart takes less. One whose end passed meanwhile is dropped. Inverse
 * offers, their filters and answers are not kept: their owner forgets them, too, and asks
 * again (as Mesos does).
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/stakes.h"
#include "allocator/allocator_memory.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/roles/frameworks.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

/* ---- marks ----------------------------------------------------------------------------- */

static void memory_mark(struct list *changed, struct memory_record *record)
{
	if (list_empty(&record->changed))
		list_append(changed, &record->changed);
}

void alloc_memory_role(struct allocator *a, struct role *role)
{
	/* Those above a marked role are marked. */
	for (; a->memory.on && role != &a->root && list_empty(&role->memory.changed);
	     role = role->parent)
		memory_mark(&a->memory.roles, &role->memory);
}

void alloc_memory_gift(struct allocator *a, struct leaf *leaf)
{
	if (!a->memory.on)
		return;
	memory_mark(&a->memory.leaves, &leaf->memory);
	alloc_memory_role(a, leaf->role);
}

void alloc_memory_agent(struct allocator *a, struct alloc_agent *agent)
{
	if (a->memory.on)
		memory_mark(&a->memory.agents, &agent->memory);
}

void alloc_memory_filter(struct allocator *a, struct filter *filter)
{
	if (a->memory.on)
		memory_mark(&a->memory.filters, &filter->memory);
}

/* ---- notes of what is gone --------------------------------------------------------------- */

/* A note is its kind, its number, and two texts. */
static void memory_note(struct allocator *a, struct memory_record *record,
			enum allocator_memory_kind kind, uint64_t number, const char *first,
			const char *second)
{
	struct buf *gone = &a->memory.gone;

	list_remove(&record->changed);
	if (!record->stored || !a->memory.on)
		return;
	buf_putc(gone, (char)kind);
	buf_append(gone, &number, sizeof(number));
	buf_append(gone, first, strlen(first) + 1);
	buf_append(gone, second, strlen(second) + 1);
}

static void put_path(const struct role *role, struct buf *out)
{
	/* From the top down, without recursion: roles may be deep. */
	for (unsigned above = role->depth - 1;; above--) {
		const struct role *at = role;

		for (unsigned i = 0; i < above; i++)
			at = at->parent;
		buf_puts(out, at->component);
		if (!above)
			return;
		buf_putc(out, '/');
	}
}

void alloc_memory_drop_leaf(struct allocator *a, struct leaf *leaf)
{
	list_remove(&leaf->ghost);
	memory_note(a, &leaf->memory, ALLOCATOR_MEMORY_LEAF, 0, leaf->framework->id,
		    leaf->role_name);
}

void alloc_memory_drop_role(struct allocator *a, struct role *role)
{
	struct buf path = BUF_INIT;

	if (role->memory.stored)
		put_path(role, &path);
	memory_note(a, &role->memory, ALLOCATOR_MEMORY_ROLE, 0, path.data ? path.data : "", "");
	buf_free(&path);
}

void alloc_memory_drop_agent(struct allocator *a, struct alloc_agent *agent)
{
	a->memory.ghosts -= agent->ghost;
	list_remove(&agent->returning);
	memory_note(a, &agent->memory, ALLOCATOR_MEMORY_AGENT, 0, agent->id, "");
}

void alloc_memory_drop_filter(struct allocator *a, struct filter *filter)
{
	memory_note(a, &filter->memory, ALLOCATOR_MEMORY_FILTER, filter->number, "", "");
}

/* ---- giving out --------------------------------------------------------------------------- */

typedef void each_fn(void *context, const struct allocator_memory *memory);

static void give_gone(struct allocator *a, each_fn *each, void *context)
{
	struct buf *gone = &a->memory.gone;

	for (size_t at = 0; at < gone->len;) {
		struct allocator_memory say = {.gone = true};
		const char *first;

		say.kind = (enum allocator_memory_kind)gone->data[at++];
		memcpy(&say.number, gone->data + at, sizeof(say.number));
		first = gone->data + at + sizeof(say.number);
		if (say.kind == ALLOCATOR_MEMORY_LEAF)
			say.framework = first;
		else if (say.kind == ALLOCATOR_MEMORY_ROLE)
			say.role = first;
		else if (say.kind == ALLOCATOR_MEMORY_AGENT)
			say.agent = first;
		const char *second = first + strlen(first) + 1;
		if (say.kind == ALLOCATOR_MEMORY_LEAF)
			say.role = second;
		at = (size_t)(second + strlen(second) + 1 - gone->data);
		each(context, &say);
	}
	buf_clear(gone);
}

static void taken(struct memory_record *record)
{
	list_remove(&record->changed);
	record->stored = true;
}

static void give_counts(struct allocator *a, each_fn *each, void *context)
{
	struct buf path = BUF_INIT;
	struct leaf *leaf, *next;
	struct role *role, *after;

	list_for_each (leaf, next, &a->memory.leaves, memory.changed) {
		struct allocator_memory say = {
			.kind = ALLOCATOR_MEMORY_LEAF,
			.framework = leaf->framework->id,
			.role = leaf->role_name,
			.number = leaf->node.count,
		};

		taken(&leaf->memory);
		each(context, &say);
	}
	list_for_each (role, after, &a->memory.roles, memory.changed) {
		struct allocator_memory say = {
			.kind = ALLOCATOR_MEMORY_ROLE,
			.number = role->node.count,
			.own = role->self.count,
		};

		buf_clear(&path);
		put_path(role, &path);
		say.role = path.data;
		taken(&role->memory);
		each(context, &say);
	}
	buf_free(&path);
}

static void give_filter(struct filter *filter, each_fn *each, void *context)
{
	const struct leaf *leaf = filter->stake->key.leaf;
	struct allocator_memory say = {
		.kind = ALLOCATOR_MEMORY_FILTER,
		.framework = leaf->framework->id,
		.role = leaf->role_name,
		.agent = filter->stake->key.agent->id,
		.number = filter->number,
		.since = filter->since,
		.until = filter->timer.deadline,
		.refused = &filter->refusal->resources,
	};

	taken(&filter->memory);
	each(context, &say);
}

bool allocator_changed(const struct allocator *a)
{
	return a->memory.gone.len || !list_empty(&a->memory.leaves) ||
	       !list_empty(&a->memory.roles) || !list_empty(&a->memory.agents) ||
	       !list_empty(&a->memory.filters);
}

void allocator_changes(struct allocator *a, each_fn *each, void *context)
{
	struct filter *filter, *next_filter;
	struct alloc_agent *agent, *next;

	give_gone(a, each, context);
	give_counts(a, each, context);
	list_for_each (agent, next, &a->memory.agents, memory.changed) {
		struct allocator_memory say = {
			.kind = ALLOCATOR_MEMORY_AGENT,
			.agent = agent->id,
			.number = agent->number,
		};

		taken(&agent->memory);
		each(context, &say);
	}
	list_for_each (filter, next_filter, &a->memory.filters, memory.changed)
		give_filter(filter, each, context);
	list_for_each (agent, next, &a->memory.returning, returning)
		list_remove(&agent->returning);
}

/* ---- coming back ---------------------------------------------------------------------------- */

static bool remember_leaf(struct allocator *a, const struct allocator_memory *memory)
{
	struct alloc_framework *framework = alloc_framework_find(a, memory->framework);
	struct leaf *leaf;

	if (!framework)
		return false;
	leaf = alloc_leaf_get(a, framework, memory->role);
	leaf->node.count = memory->number;
	alloc_node_touch(&leaf->node);
	leaf->memory.stored = true;
	if (!leaf->subscribed && list_empty(&leaf->ghost))
		list_append(&a->memory.ghost_leaves, &leaf->ghost);
	return true;
}

static bool remember_role(struct allocator *a, const struct allocator_memory *memory)
{
	struct role *role = alloc_role_find(a, memory->role);

	if (!role || role == &a->root)
		return false;
	role->node.count = memory->number;
	role->self.count = memory->own;
	alloc_node_touch(&role->node);
	alloc_node_touch(&role->self);
	role->memory.stored = true;
	return true;
}

static bool remember_agent(struct allocator *a, const struct allocator_memory *memory)
{
	struct alloc_agent *agent = alloc_agent_find(a, memory->agent);

	if (!agent || agent->added || agent->ghost)
		return false;
	agent->number = memory->number;
	if (agent->number > a->last_agent)
		a->last_agent = agent->number;
	agent->ghost = true;
	agent->memory.stored = true;
	a->memory.ghosts++;
	return true;
}

static bool remember_filter(struct allocator *a, int64_t now, const struct allocator_memory *memory)
{
	struct alloc_framework *framework = alloc_framework_find(a, memory->framework);
	struct leaf *leaf = framework ? alloc_leaf_find(framework, memory->role) : NULL;
	struct alloc_agent *agent = alloc_agent_find(a, memory->agent);
	int64_t since = memory->since, until = memory->until;
	struct filter *filter;

	if (memory->number > a->last_filter)
		a->last_filter = memory->number;
	/* Made in the future: the clock was set back. It lasts as long as it was asked to. */
	if (since > now) {
		until -= since - now;
		since = now;
	}
	if (!leaf || !leaf->subscribed || !agent || until <= now)
		return false;
	filter = alloc_filter_make(a, alloc_stake_get(a, agent, leaf), memory->refused, since,
				   until);
	filter->number = memory->number;
	filter->memory.stored = true;
	/* Not anew with every start of a clock that is behind. */
	if (since != memory->since)
		alloc_memory_filter(a, filter);
	/* Without the crash a batch would have met it. */
	if (since <= now - a->interval)
		filter->born = 0;
	return true;
}

bool allocator_remember(struct allocator *a, int64_t now, const struct allocator_memory *memory)
{
	switch (memory->kind) {
	case ALLOCATOR_MEMORY_LEAF:
		return remember_leaf(a, memory);
	case ALLOCATOR_MEMORY_ROLE:
		return remember_role(a, memory);
	case ALLOCATOR_MEMORY_AGENT:
		return remember_agent(a, memory);
	case ALLOCATOR_MEMORY_FILTER:
		return remember_filter(a, now, memory);
	}
	return false;
}

void alloc_memory_return(struct allocator *a, struct alloc_agent *agent)
{
	agent->ghost = false;
	a->memory.ghosts--;
	list_append(&a->memory.returning, &agent->returning);
}

void alloc_memory_settle(struct allocator *a)
{
	struct leaf *leaf, *next;

	if (a->memory.ghosts > 0)
		return;
	list_for_each (leaf, next, &a->memory.ghost_leaves, ghost) {
		list_remove(&leaf->ghost);
		alloc_leaf_put(a, leaf);
	}
}

void alloc_memory_init(struct allocator *a, bool on)
{
	a->memory.on = on;
	list_init(&a->memory.leaves);
	list_init(&a->memory.roles);
	list_init(&a->memory.agents);
	list_init(&a->memory.filters);
	list_init(&a->memory.returning);
	list_init(&a->memory.ghost_leaves);
	a->memory.gone = BUF_INIT;
}

void alloc_memory_end(struct allocator *a)
{
	a->memory.on = false;
	buf_free(&a->memory.gone);
}
