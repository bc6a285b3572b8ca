/* What is written behind (LINE_WARM): tasks, executors, frameworks, and the parts of
 * agents that registration does not make durable; and what the allocator remembers
 * (offer_memory.c).
 *
 * Records that change are marked and packed later, so many changes of a record cost one
 * write, and one that comes and goes meanwhile none. Deletions go first: a key deleted
 * and made again ends up made. Keys are in registry.c.
 *
 * One rule says how long a record waits: for options.warm_cost times the changes of about the last
 * quarter of a second. When that is less than options.warm_delay, nothing waits and each step
 * stores its own. Else records of tasks wait so long, up to options.warm_task_delay, since those
 * of short tasks then need never be written; everything else, and what nobody would tell again, as
 * that a task is to be killed, waits for warm_delay at most. What is rare ends the waiting with
 * the step. So does a registry write, for all, and waits until that is synced: the registry never
 * has what follows from something without that.
 *
 * A killed master so forgets what it was told of tasks in the last moments, and hears it from the
 * agents, who forget no task before the record of its end is stored (updates.c).
 */
#include "master/core/store/warm.h"

#include <string.h>

#include "allocator/allocator_memory.h"
#include "master/core/agents/agent_life.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/store/offer_memory.h"
#include "master/core/store/registry.h"
#include "master/core/tasks/updates.h"
#include "proto/wire/wire_write.h"

/* Bounds what waits, and the work of a step. */
#define WAITING_MAX 4096
#define TASKS_AT_ONCE 256
/* A change counts for nothing after that time, and less before. */
#define OF_LATE (250 * MILLISECOND)

static void warm_mark(struct master *m, struct list *dirty, struct list *node)
{
	if (!list_empty(node))
		return;
	list_append(dirty, node);
	m->warm_marks++;
	m->warm_fresh++;
}

static void mark_task(struct master *m, struct task *t)
{
	if (list_empty(&t->dirty))
		t->dirty_since = m->now;
	warm_mark(m, &m->dirty_tasks, &t->dirty);
}

/* However many others wait. */
static void mark_task_first(struct master *m, struct task *t)
{
	list_remove(&t->dirty);
	list_prepend(&m->dirty_tasks, &t->dirty);
	t->dirty_since = 0;
	m->warm_marks++;
	m->warm_fresh++;
}

/* ---- deletions ------------------------------------------------------------------- */

static void warm_forget(struct master *m, const char *kind, const char *a, const char *b,
			const char *c)
{
	const char *parts[] = {kind, a, b, c};
	struct buf *keys = &m->warm_deletes;

	for (size_t i = 0; i < 4 && parts[i]; i++) {
		if (i)
			buf_putc(keys, '/');
		buf_puts(keys, parts[i]);
	}
	buf_putc(keys, '\0');
	m->warm_marks++;
	m->warm_fresh++;
}

void warm_delete(struct master *m, const char *kind, const char *a, const char *b, const char *c)
{
	warm_forget(m, kind, a, b, c);
	m->warm_urgent = true;
}

static void drop_task(struct master *m, struct task *t)
{
	list_remove(&t->dirty);
	if (!t->fresh)
		warm_forget(m, "task", t->framework->id, t->id, NULL);
}

static void drop_completed(struct master *m, struct completed_task *c)
{
	char name[HEX16_TEXT];

	list_remove(&c->dirty);
	if (c->fresh)
		return;
	str_hex16(name, c->number);
	warm_forget(m, "completed", c->framework->id, name, NULL);
}

/* ---- the journal ------------------------------------------------------------------ */

void warm_note(struct master *m, const struct change *change)
{
	switch (change->kind) {
	case JOURNAL_TASK_ADDED:
	case JOURNAL_TASK_CHANGED:
		mark_task(m, change->task);
		break;
	case JOURNAL_TASK_KILL_WANTED:
		mark_task_first(m, change->task);
		break;
	case JOURNAL_TASK_REMOVED:
		drop_task(m, change->task);
		break;
	case JOURNAL_COMPLETED_ADDED:
		warm_mark(m, &m->dirty_completed, &change->completed->dirty);
		break;
	case JOURNAL_COMPLETED_REMOVED:
		drop_completed(m, change->completed);
		break;
	case JOURNAL_EXECUTOR_ADDED:
		warm_mark(m, &m->dirty_executors, &change->executor->dirty);
		break;
	case JOURNAL_EXECUTOR_REMOVED:
		list_remove(&change->executor->dirty);
		warm_forget(m, "executor", change->executor->agent->id, change->executor->key,
			    NULL);
		break;
	case JOURNAL_FRAMEWORK_CHANGED:
		warm_mark(m, &m->dirty_frameworks, &change->framework->dirty);
		m->warm_urgent = true;
		break;
	case JOURNAL_FRAMEWORK_REMOVED:
		list_remove(&change->framework->dirty);
		warm_delete(m, "framework", change->framework->id, NULL, NULL);
		break;
	case JOURNAL_AGENT_CHANGED:
		warm_mark(m, &m->dirty_agents, &change->agent->dirty);
		m->warm_urgent = true;
		break;
	case JOURNAL_AGENT_REMOVED:
		warm_delete(m, "agent-facts", change->agent->id, NULL, NULL);
		break;
	case JOURNAL_TASK_STATUS:
	case JOURNAL_FRAMEWORK_ADDED:
	case JOURNAL_FRAMEWORK_SUBSCRIBED:
	case JOURNAL_FRAMEWORK_ENDED:
	case JOURNAL_AGENT_ADMITTED:
	case JOURNAL_AGENT_LOST:
	case JOURNAL_FRAMEWORK_MOVED:
	case JOURNAL_AGENT_MOVED:
	case JOURNAL_AGENT_HELD:
		break;
	}
}

/* ---- records --------------------------------------------------------------------------- */

/* What the agent told of itself; the rest is in the registry. */
static void *stored_facts(struct arena *arena, const struct agent *a)
{
	Mesita__StoredAgent *s =
		PROTO_NEW(arena, Mesita__StoredAgent, mesita__stored_agent__descriptor);

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

/* A StoredTask around what is packed already. */
static struct slice stored_task(struct arena *arena, const struct task *t)
{
	Mesita__StoredTask marks = MESITA__STORED_TASK__INIT;
	struct slice task = task_record_bytes(&t->record), rest;
	uint8_t head[WIRE_HEAD_MAX];
	size_t size = wire_head(head, 1, task.len);
	char *to;

	marks.has_unreachable = marks.unreachable = t->unreachable;
	marks.has_kill_wanted = marks.kill_wanted = t->kill_wanted;
	rest = proto_pack_to(arena, &marks);
	to = arena_take(arena, size + task.len + rest.len);
	memcpy(to, head, size);
	memcpy(to + size, task.data, task.len);
	memcpy(to + size + task.len, rest.data, rest.len);
	return (struct slice){to, size + task.len + rest.len};
}

static struct slice stored_completed(struct arena *arena, const struct completed_task *c)
{
	struct slice task = task_record_bytes(&c->record);

	/* It may be gone when this is written. */
	return (struct slice){arena_memdup(arena, task.data, task.len), task.len};
}

/* ---- how long ----------------------------------------------------------------- */

/* Adds what was marked since the last time; what is older fades. */
static void count_changes(struct master *m)
{
	double age = (double)(m->now - m->warm_counted) / OF_LATE;

	m->warm_changes = (age < 1 ? m->warm_changes * (1 - age) : 0) + (double)m->warm_fresh;
	m->warm_fresh = 0;
	m->warm_counted = m->now;
}

/* How long a record of a task waits now; 0: nothing waits. */
static int64_t warm_patience(const struct master *m)
{
	double wait = m->warm_changes * (double)m->options.warm_cost;

	if (wait < (double)m->options.warm_delay)
		return 0;
	return wait < (double)m->options.warm_task_delay ? (int64_t)wait
							 : m->options.warm_task_delay;
}

/* ---- batches ------------------------------------------------------------------ */

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
		registry_put(m, batch, arena_join(arena, "agent-facts/", a->id, NULL),
			     stored_facts(arena, a));
	}
	list_for_each (f, next, &m->dirty_frameworks, dirty) {
		list_remove(&f->dirty);
		registry_put(m, batch, arena_join(arena, "framework/", f->id, NULL),
			     stored_framework(arena, f));
	}
	list_for_each (e, next_executor, &m->dirty_executors, dirty) {
		list_remove(&e->dirty);
		registry_put(m, batch,
			     arena_join(arena, "executor/", e->agent->id, "/", e->key, NULL),
			     e->info);
	}
}

static void flush_tasks(struct master *m, struct registry_batch *batch, bool all)
{
	int64_t since = m->now - warm_patience(m);
	struct arena *arena = &m->out->arena;
	struct task *t, *next;
	size_t count = 0;

	/* They are in the order of their times. */
	list_for_each (t, next, &m->dirty_tasks, dirty) {
		if (!all && (t->dirty_since > since || count++ == TASKS_AT_ONCE))
			break;
		list_remove(&t->dirty);
		t->fresh = false;
		registry_put_bytes(m, batch,
				   arena_join(arena, "task/", t->framework->id, "/", t->id, NULL),
				   stored_task(arena, t));
	}
}

static void flush_completed(struct master *m, struct registry_batch *batch)
{
	struct arena *arena = &m->out->arena;
	struct completed_task *c, *next_completed;
	char name[HEX16_TEXT];

	list_for_each (c, next_completed, &m->dirty_completed, dirty) {
		list_remove(&c->dirty);
		c->fresh = false;
		str_hex16(name, c->number);
		registry_put_bytes(
			m, batch,
			arena_join(arena, "completed/", c->framework->id, "/", name, NULL),
			stored_completed(arena, c));
	}
}

static struct registry_batch gather_batch(struct master *m, bool all)
{
	struct registry_batch batch = {0};

	flush_deletes(m, &batch);
	flush_frameworks(m, &batch);
	flush_tasks(m, &batch, all);
	flush_completed(m, &batch);
	warm_allocator(m, &batch);
	m->warm_marks = 0;
	m->warm_urgent = false;
	timers_stop(&m->timers, &m->warm);
	return batch;
}

static void emit_warm(struct master *m, enum store_class class, const struct registry_batch *batch)
{
	master_time_acknowledgements(
		m, master_emit_store(m, LINE_WARM, class, batch->ops, batch->count));
}

void warm_flush(struct master *m, bool all)
{
	struct registry_batch batch = gather_batch(m, all);

	/* An empty one, too, tells acknowledgements that all before it is stored. */
	if (batch.count || master_untimed_acknowledgements(m))
		emit_warm(m, STORE_BEHIND, &batch);
}

uint64_t warm_secure(struct master *m)
{
	struct registry_batch batch;

	/* Without the timer nothing waits but what changed in this step. */
	if (timer_running(&m->warm) || m->store_tickets[LINE_WARM] != m->warm_synced) {
		batch = gather_batch(m, true);
		emit_warm(m, STORE_SYNCED, &batch);
		m->warm_synced = m->store_tickets[LINE_WARM];
	}
	return m->warm_synced;
}

static bool something_waits(const struct master *m)
{
	return m->warm_marks || !list_empty(&m->dirty_tasks) || allocator_changed(m->allocator) ||
	       master_untimed_acknowledgements(m);
}

void warm_end_step(struct master *m)
{
	bool waits = m->options.warm_delay;

	count_changes(m);
	if (!waits || m->warm_urgent || m->warm_marks > WAITING_MAX ||
	    (something_waits(m) && !warm_patience(m)))
		warm_flush(m, !waits);
	if (!timer_running(&m->warm) && something_waits(m))
		timers_start(&m->timers, &m->warm, master_later(m, m->options.warm_delay));
}
