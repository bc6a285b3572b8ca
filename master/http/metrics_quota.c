/* Metrics of quota: what roles are guaranteed, limited to, have, and are charged for. */
#include "master/core/roles/quota.h"

#include "master/http/rest.h"

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
static void put_quota(struct sink *sink, const struct quota *quota, const struct role_view *role,
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
			    role ? amounts_get(role->allocated, named->name) +
					    amounts_get(role->offered, named->name)
				 : 0);
	metrics_quota_put(sink, config->role, had, "offered_or_allocated");
}

void metrics_quota(const struct master *m,
		   void (*each)(void *context, const char *name, double value), void *context)
{
	struct sink sink = {each, context, BUF_INIT};
	struct roles_view view;
	struct arena arena;

	arena_init(&arena);
	roles_view_make(&view, m, &arena);
	for (const struct quota *quota = m->quotas; quota; quota = quota->hh.next)
		put_quota(&sink, quota, roles_view_find(&view, quota->config->role), &arena);
	for (const struct role_view *role = view.roles; role; role = role->hh.next)
		metrics_quota_put(&sink, role->name, role->charged, "consumed");
	roles_view_free(&view);
	arena_free(&arena);
	buf_free(&sink.name);
}
