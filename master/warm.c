/* What is written behind (STORE_WARM): tasks, executors, frameworks, and the parts of
 * agents that registration does not make durable; and what the allocator remembers
 * (offer_memory.c).
 *
 * Records that change are marked; at the end of the step each is packed once, so many
 * changes of a record in a step cost one write. Deletions go first: a key deleted and
 * made again within a step ends up made. Keys are in registry.c.
 */
#include "master/core.h"

#include <stdio.h>
#include <string.h>

static void mark(struct list *dirty, struct list *node)
{
	if (list_empty(node))
		list_append(dirty, node);
}

void warm_task(struct master *m, struct task *t)
{
	mark(&m->dirty_tasks, &t->dirty);
}

void warm_framework(struct master *m, struct framework *f)
{
	mark(&m->dirty_frameworks, &f->dirty);
}

void warm_agent(struct master *m, struct agent *a)
{
	mark(&m->dirty_agents, &a->dirty);
}

void warm_executor(struct master *m, struct executor *e)
{
	mark(&m->dirty_executors, &e->dirty);
}

void warm_completed(struct master *m, struct completed_task *c)
{
	mark(&m->dirty_completed, &c->dirty);
}

/* ---- deletions ------------------------------------------------------------------- */

void warm_delete(struct master *m, const char *kind, const char *a, const char *b, const char *c)
{
	struct buf *keys = &m->warm_deletes;

	buf_printf(keys, "%s/%s", kind, a);
	if (b)
		buf_printf(keys, "/%s", b);
	if (c)
		buf_printf(keys, "/%s", c);
	buf_putc(keys, '\0');
}

void warm_drop_task(struct master *m, struct task *t)
{
	list_remove(&t->dirty);
	warm_delete(m, "task", t->framework->id, t->id, NULL);
}

void warm_drop_framework(struct master *m, struct framework *f)
{
	list_remove(&f->dirty);
	warm_delete(m, "framework", f->id, NULL, NULL);
}

void warm_drop_executor(struct master *m, struct executor *e)
{
	list_remove(&e->dirty);
	warm_delete(m, "executor", e->agent->id, e->key, NULL);
}

static void completed_name(const struct completed_task *c, char out[17])
{
	snprintf(out, 17, "%016llx", (unsigned long long)c->number);
}

void warm_drop_completed(struct master *m, struct completed_task *c)
{
	char name[17];

	completed_name(c, name);
	list_remove(&c->dirty);
	warm_delete(m, "completed", c->framework->id, name, NULL);
}

/* ---- records --------------------------------------------------------------------------- */

void *warm_stored_agent(struct arena *arena, const struct agent *a)
{
	Mesita__StoredAgent *s =
		PROTO_NEW(arena, Mesita__StoredAgent, mesita__stored_agent__descriptor);

	s->info = a->info;
	s->has_registered_time = a->registered_time != 0;
	s->registered_time = a->registered_time;
	s->pid = a->pid;
	s->version = a->version;
	s->n_capabilities = a->capability_count;
	s->capabilities = a->capabilities;
	s->has_resource_version = a->resource_version != NULL;
	s->resource_version.data = a->resource_version;
	s->resource_version.len = a->resource_version_len;
	s->n_checkpointed = a->checkpointed_count;
	s->checkpointed = a->checkpointed;
	s->has_deactivated = a->deactivated;
	s->deactivated = a->deactivated;
	s->drain_info = a->drain_info;
	return s;
}

static void *stored_framework(struct arena *arena, const struct framework *f)
{
	Mesita__StoredFramework *s =
		PROTO_NEW(arena, Mesita__StoredFramework, mesita__stored_framework__descriptor);

	s->info = f->info;
	s->has_registered_time = s->has_reregistered_time = s->has_unregistered_time = true;
	s->registered_time = f->registered_time;
	s->reregistered_time = f->reregistered_time;
	s->unregistered_time = f->unregistered_time;
	s->pid = f->pid;
	s->n_suppressed_roles = f->suppressed_count;
	s->suppressed_roles = f->suppressed;
	s->has_completed = true;
	s->completed = f->state == FRAMEWORK_COMPLETED;
	s->has_disconnected = s->disconnected = f->state == FRAMEWORK_DISCONNECTED;
	return s;
}

static void *stored_task(struct arena *arena, const struct task *t)
{
	Mesita__StoredTask *s =
		PROTO_NEW(arena, Mesita__StoredTask, mesita__stored_task__descriptor);

	s->task = t->info;
	s->has_unreachable = t->unreachable;
	s->unreachable = t->unreachable;
	s->has_kill_wanted = t->kill_wanted;
	s->kill_wanted = t->kill_wanted;
	return s;
}

/* ---- the batch of a step ------------------------------------------------------------------ */

static void flush_deletes(struct master *m, struct registry_batch *batch)
{
	struct buf *keys = &m->warm_deletes;

	for (size_t at = 0; at < keys->len; at += strlen(keys->data + at) + 1)
		registry_delete(m, batch, master_text(m, keys->data + at));
	buf_clear(keys);
}

static void flush_frameworks(struct master *m, struct registry_batch *batch)
{
	struct arena *arena = &m->out->arena;
	struct framework *f, *next;
	struct executor *e, *next_executor;
	struct agent *a, *next_agent;

	list_for_each (a, next_agent, &m->dirty_agents, dirty) {
		list_remove(&a->dirty);
		/* Never behind a durable change that takes the record away. */
		if (!registry_pending(m, a->id))
			registry_put(m, batch, arena_printf(arena, "agent/%s", a->id),
				     warm_stored_agent(arena, a));
	}
	list_for_each (f, next, &m->dirty_frameworks, dirty) {
		list_remove(&f->dirty);
		registry_put(m, batch, arena_printf(arena, "framework/%s", f->id),
			     stored_framework(arena, f));
	}
	list_for_each (e, next_executor, &m->dirty_executors, dirty) {
		list_remove(&e->dirty);
		registry_put(m, batch, arena_printf(arena, "executor/%s/%s", e->agent->id, e->key),
			     e->info);
	}
}

static void flush_tasks(struct master *m, struct registry_batch *batch)
{
	struct arena *arena = &m->out->arena;
	struct completed_task *c, *next_completed;
	struct task *t, *next;
	char name[17];

	list_for_each (t, next, &m->dirty_tasks, dirty) {
		list_remove(&t->dirty);
		registry_put(m, batch, arena_printf(arena, "task/%s/%s", t->framework->id, t->id),
			     stored_task(arena, t));
	}
	list_for_each (c, next_completed, &m->dirty_completed, dirty) {
		list_remove(&c->dirty);
		completed_name(c, name);
		registry_put(m, batch,
			     arena_printf(arena, "completed/%s/%s", c->framework->id, name),
			     c->info);
	}
}

void warm_flush(struct master *m)
{
	struct registry_batch batch = {0};

	flush_deletes(m, &batch);
	flush_frameworks(m, &batch);
	flush_tasks(m, &batch);
	warm_allocator(m, &batch);
	if (batch.count)
		master_time_acknowledgements(
			m, master_emit_store(m, STORE_WARM, batch.ops, batch.count));
}
