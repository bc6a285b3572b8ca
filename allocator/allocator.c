/* Creation and end of an allocator, and looking in. */
#include "allocator/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/stakes.h"
#include "allocator/agents/whitelist.h"
#include "allocator/allocator_looks.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/accounts.h"
#include "allocator/roles/frameworks.h"
#include "allocator/roles/minima.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

#define MIN_ALLOCATABLE_DEFAULT "cpus:0.01|mem:32" /* Mesos' flag's default */

static void exclude_names(struct pool *pool, const char *names)
{
	while (names && *names) {
		size_t len = strcspn(names, ",");
		char *name = xstrndup(names, len);

		if (*name)
			alloc_pool_exclude(pool, name);
		free(name);
		names += len + (names[len] == ',');
	}
}

int allocator_create(const struct allocator_options *options, struct allocator **out,
		     struct err *err)
{
	struct allocator *a = xcalloc(1, sizeof(*a));
	const char *minima = options->min_allocatable_resources;
	int rv;

	a->shapes = options->shapes;
	rv = alloc_minima_parse(a->shapes, minima ? minima : MIN_ALLOCATABLE_DEFAULT, &a->minima,
				err);
	if (rv < 0) {
		free(a);
		return rv;
	}
	a->interval = options->allocation_interval;
	a->filter_gpus = options->filter_gpu_resources;
	a->region = options->region ? xstrdup(options->region) : NULL;
	a->random = options->random;
	a->pool.epoch = 1;
	exclude_names(&a->pool, options->fair_sharing_excluded);
	alloc_accounts_init(a);
	alloc_roles_init(a);
	list_init(&a->overdue);
	list_init(&a->candidates);
	list_init(&a->dirty);
	list_init(&a->spare);
	list_init(&a->willing);
	list_init(&a->windows);
	alloc_memory_init(a, options->remembers);
	a->batches = 1;
	alloc_quota_init(a);
	*out = a;
	return 0;
}

void allocator_destroy(struct allocator *a)
{
	if (!a)
		return;
	alloc_memory_end(a);
	alloc_frameworks_free(a);
	alloc_agents_free(a);
	alloc_whitelist_free(a);
	alloc_roles_free(a);
	alloc_accounts_free(a);
	alloc_quota_end_all(a);
	alloc_pool_free(&a->pool);
	alloc_minima_free(&a->minima);
	timers_free(&a->timers);
	free(a->region);
	free(a->visit);
	free(a->scratch);
	free(a->wakers);
	for (int i = 0; i < WALK_KINDS; i++)
		lottery_free(&a->role_lotteries[i]);
	stake_table_free(&a->stakes);
	free(a);
}

bool allocator_pending(const struct allocator *a)
{
	return !a->held && (a->all_candidates || !list_empty(&a->candidates));
}

bool allocator_pending_all(const struct allocator *a)
{
	return !a->held && a->all_candidates;
}

void allocator_grants_free(struct allocator_grants *grants)
{
	for (size_t i = 0; i < grants->count; i++)
		resources_free(&grants->items[i].resources);
	free(grants->items);
	free(grants->inverse);
	*grants = (struct allocator_grants){0};
}

double allocator_role_share(const struct allocator *a, const char *name)
{
	struct role *role = alloc_role_find((struct allocator *)a, name);

	if (!role || role->leaves == 0)
		return 0;
	return alloc_node_share(&a->pool, role->children ? &role->self : &role->node);
}

double allocator_framework_share(const struct allocator *a, const char *id, const char *role)
{
	struct alloc_framework *framework = alloc_framework_find((struct allocator *)a, id);
	struct leaf *leaf = framework ? alloc_leaf_find(framework, role) : NULL;

	return leaf ? alloc_node_share(&a->pool, &leaf->node) : 0;
}

size_t allocator_filter_count(const struct allocator *a)
{
	return a->filters;
}

void allocator_clock_moved(struct allocator *a, int64_t by)
{
	timers_shift(&a->timers, by);
	if (a->held && a->hold_until < TIME_NEVER - (by > 0 ? by : 0))
		a->hold_until += by;
}

int64_t allocator_next_timeout(const struct allocator *a)
{
	int64_t filter = timers_next(&a->timers);

	return a->held && a->hold_until < filter ? a->hold_until : filter;
}
