/* Metrics of quota: what roles are guaranteed, limited to and have. What they are charged for is
 * shown of roles without quota, too: metrics.c. */
#include "master/core/roles/quota.h"

#include "master/http/rest/rest.h"

struct sink {
	void (*each)(void *context, const char *name, double value);
	void *context;
	struct buf name;
};

static void metrics_quota_put(struct sink *sink, const char *role, const struct amount *list,
			      const char *what)
{
	for (; list; list = list->next) {
		buf_clear(&sink->name);
		buf_printf(&sink->name, "allocator/mesos/quota/roles/%s/resources/%s/%s", role,
			   list->name, what);
		sink->each(sink->context, sink->name.data, list->milli / 1000);
	}
}

/* Of scalars: quota knows nothing else. */
static void put_quota(struct sink *sink, const struct master *m, const struct quota *quota,
		      struct arena *arena)
{
	const Mesos__Quota__QuotaConfig *config = quota->config;
	struct amount *had = NULL, *named = quota_limits(config, arena);

	metrics_quota_put(sink, config->role, quota_guarantees(config, arena), "guarantee");
	metrics_quota_put(sink, config->role, named, "limit");
	for (struct amount *g = quota_guarantees(config, arena); g; g = g->next)
		amounts_add(arena, &named, g->name, 0);
	for (; named; named = named->next)
		amounts_add(arena, &had, named->name,
			    (double)allocator_role_held(m->allocator, config->role, named->name));
	metrics_quota_put(sink, config->role, had, "offered_or_allocated");
}

void metrics_quota(const struct master *m,
		   void (*each)(void *context, const char *name, double value), void *context)
{
	struct sink sink = {each, context, BUF_INIT};
	struct view view = {.m = m};
	const struct quota *quota = NULL;
	struct arena arena;

	arena_init(&arena);
	while ((quota = view_next_quota(&view, quota)))
		put_quota(&sink, m, quota, &arena);
	arena_free(&arena);
	buf_free(&sink.name);
}
