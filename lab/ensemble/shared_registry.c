#include "lab/ensemble/shared_registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/ensemble/ensemble.h"
#include "lab/world/thread.h"
#include "store/backend.h"
#include "store/groups.h"

#define PATIENCE (20 * SECOND) /* --registry_store_timeout */
#define SESSION_MS 10000       /* --zk_session_timeout */

struct shared_registry {
	struct process *process;
	const struct shared_registry_handlers *handlers;
	void *context;
	struct store_cache cache;
	char mark[STORE_MARK_MAX]; /* of what is durable */
	struct sim_thread *thread; /* NULL: it has ended */
	struct store_backend *backend;
	struct list waiting, writing; /* struct store_group.link */
	uint64_t last, durable;
	char *note; /* that waits; heap */
	uint64_t note_number, noted;
	bool loaded, loaded_told;
	char *failure; /* heap */
	struct happening telling;
};

static void tell_later(struct shared_registry *r)
{
	world_after(r->process->world, &r->telling, 0);
}

static void on_registry_tells(struct happening *h)
{
	struct shared_registry *r = container_of(h, struct shared_registry, telling);

	if (process_holds(r->process, h))
		return;
	if (r->failure) {
		r->handlers->failed(r->context, r->failure);
	} else if (r->loaded && !r->loaded_told) {
		r->loaded_told = true;
		r->handlers->loaded(r->context);
	} else {
		r->handlers->progress(r->context);
	}
}

/* ---- on the thread ----------------------------------------------------------------------- */

static int registry_take(struct shared_registry *r, struct err *err)
{
	const struct zk_url url = {.servers = "keeper:2181", .path = "/mesos"};
	const struct store_options options = {
		.backend = "zookeeper",
		.path = ENSEMBLE_REGISTRY,
		.zookeeper = &url,
		.zookeeper_timeout_ms = SESSION_MS,
		.patience = PATIENCE,
		.cache = &r->cache,
	};
	int rv = store_zookeeper_open(&options, &r->backend, err);

	if (rv < 0)
		return rv;
	r->backend->ops->mark(r->backend, r->mark);
	r->handlers->opened(r->context, r->backend->ops->holder(r->backend),
			    r->backend->ops->note_before(r->backend),
			    r->backend->ops->cached(r->backend));
	return r->backend->ops->load(r->backend, "", r->handlers->pair, r->context, err);
}

static int write_waiting(struct shared_registry *r, struct err *err)
{
	struct store_group *group;
	struct store_op *ops;
	size_t count;
	int rv = 0;

	store_groups_take(&r->waiting, &r->writing);
	while (rv == 0 && (group = list_first(&r->writing, struct store_group, link))) {
		ops = store_group_ops(group, &count);
		rv = r->backend->ops->write(r->backend, ops, count, true, err);
		free(ops);
		if (rv < 0)
			return rv;
		r->durable = group->last;
		r->backend->ops->mark(r->backend, r->mark);
		store_group_free(group);
		tell_later(r);
	}
	return rv;
}

static int write_note(struct shared_registry *r, struct err *err)
{
	uint64_t number = r->note_number;
	char *note = r->note;
	int rv;

	r->note = NULL;
	rv = r->backend->ops->note(r->backend, note, err);
	free(note);
	if (rv == 0) {
		r->noted = number;
		r->backend->ops->mark(r->backend, r->mark);
	}
	tell_later(r);
	return rv;
}

static void registry_run(void *context)
{
	struct shared_registry *r = context;
	struct err err;
	int rv = registry_take(r, &err);

	r->loaded = rv == 0;
	tell_later(r);
	while (rv == 0 && thread_wait(thread_self(), TIME_NEVER)) {
		while (rv == 0 && (r->note || !list_empty(&r->waiting)))
			rv = r->note ? write_note(r, &err) : write_waiting(r, &err);
	}
	if (rv < 0) {
		r->failure = xstrdup(err.text);
		tell_later(r);
	}
}

static void registry_ended(void *context)
{
	struct shared_registry *r = context;

	r->thread = NULL;
}

/* ---- for the loop -------------------------------------------------------------------------- */

struct shared_registry *shared_registry_open(struct process *process,
					     const struct store_cache *cache,
					     const struct shared_registry_handlers *handlers,
					     void *context)
{
	struct shared_registry *r = xcalloc(1, sizeof(*r));

	r->process = process;
	if (cache)
		r->cache = *cache;
	r->handlers = handlers;
	r->context = context;
	r->telling.run = on_registry_tells;
	list_init(&r->waiting);
	list_init(&r->writing);
	r->thread = thread_start(process, registry_run, registry_ended, r);
	return r;
}

void shared_registry_drop(struct shared_registry *r)
{
	if (r->thread)
		thread_kill(r->thread);
	if (r->backend)
		r->backend->ops->close(r->backend);
	world_cancel(r->process->world, &r->telling);
	store_groups_free(&r->waiting);
	store_groups_free(&r->writing);
	free(r->failure);
	free(r->note);
	free(r);
}

uint64_t shared_registry_write(struct shared_registry *r, enum store_class class,
			       const struct store_op *ops, size_t count)
{
	store_groups_add(&r->waiting, r->backend->ops->group_bytes, ++r->last, class, ops, count);
	if (r->thread)
		thread_wake(r->thread);
	return r->last;
}

uint64_t shared_registry_note(struct shared_registry *r, const char *text)
{
	free(r->note);
	r->note = xstrdup(text);
	if (r->thread)
		thread_wake(r->thread);
	return ++r->note_number;
}

uint64_t shared_registry_noted(const struct shared_registry *r)
{
	return r->noted;
}

uint64_t shared_registry_mark(struct shared_registry *r, char mark[STORE_MARK_MAX])
{
	memcpy(mark, r->mark, STORE_MARK_MAX);
	return r->durable;
}

uint64_t shared_registry_durable(const struct shared_registry *r)
{
	return r->durable;
}
