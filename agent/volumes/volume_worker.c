/* Work on volumes that may take long; see volume_worker.h. */
#include "agent/volumes/volume_worker.h"

#include <stdlib.h>

#include "agent/containers/volume_dirs.h"
#include "base/arena.h"
#include "base/list.h"

struct job {
	struct list link;
	struct arena arena;
	struct agent_action action;
	int rv;
	struct err err;
};

struct volume_worker {
	uv_loop_t *loop;
	void (*report)(void *context, const struct agent_event *event);
	void *context;
	struct list queue;
	struct job *busy; /* in the hands of the thread */
	uv_work_t work;
	bool closing;
};

static void job_free(struct job *job)
{
	arena_free(&job->arena);
	free(job);
}

static void free_all(struct volume_worker *worker)
{
	struct job *job, *after;

	list_for_each (job, after, &worker->queue, link)
		job_free(job);
	free(worker);
}

/* On a thread of the pool. */
static void volume_worker_work_cb(uv_work_t *work)
{
	struct volume_worker *worker = work->data;
	struct job *job = worker->busy;
	const struct agent_action *action = &job->action;

	if (action->type == AGENT_MAKE_VOLUMES) {
		job->rv = volume_make(action->make_volumes.paths, action->make_volumes.count,
				      &job->err);
		return;
	}
	job->rv =
		volume_unlink(action->link_volumes.sandbox, &action->link_volumes.stale, &job->err);
	if (job->rv == 0)
		job->rv = volume_link(action->link_volumes.sandbox, &action->link_volumes.fresh,
				      &job->err);
}

static void report(struct volume_worker *worker, const struct job *job)
{
	const char *failure = job->rv < 0 ? job->err.text : NULL;
	struct agent_event event = {.type = AGENT_VOLUMES_MADE};

	if (job->action.type == AGENT_MAKE_VOLUMES) {
		event.volumes_made.number = job->action.make_volumes.number;
		event.volumes_made.failure = failure;
	} else {
		event.type = AGENT_VOLUMES_LINKED;
		event.volumes_linked.container = job->action.link_volumes.container;
		event.volumes_linked.failure = failure;
	}
	worker->report(worker->context, &event);
}

static void volume_worker_next(struct volume_worker *worker);

static void volume_worker_after_cb(uv_work_t *work, int status)
{
	struct volume_worker *worker = work->data;
	struct job *job = worker->busy;

	worker->busy = NULL;
	if (status)
		job->rv = err_set(&job->err, ERR_IO, "%s", uv_strerror(status));
	if (worker->closing) {
		free_all(worker);
	} else {
		report(worker, job);
		volume_worker_next(worker);
	}
	job_free(job);
}

static void volume_worker_next(struct volume_worker *worker)
{
	struct job *job = list_first(&worker->queue, struct job, link);

	if (worker->busy || !job)
		return;
	list_remove(&job->link);
	worker->busy = job;
	uv_queue_work(worker->loop, &worker->work, volume_worker_work_cb, volume_worker_after_cb);
}

struct volume_worker *
volume_worker_create(uv_loop_t *loop,
		     void (*report)(void *context, const struct agent_event *event), void *context)
{
	struct volume_worker *worker = xcalloc(1, sizeof(*worker));

	worker->loop = loop;
	worker->report = report;
	worker->context = context;
	worker->work.data = worker;
	list_init(&worker->queue);
	return worker;
}

static struct agent_volumes copy_volumes(struct arena *arena, const struct agent_volumes *list)
{
	struct agent_volumes copy = {arena_alloc(arena, (list->count + 1) * sizeof(*copy.items)),
				     list->count};

	for (size_t i = 0; i < list->count; i++) {
		copy.items[i] = list->items[i];
		copy.items[i].path = arena_strdup(arena, list->items[i].path);
		copy.items[i].name = arena_strdup(arena, list->items[i].name);
	}
	return copy;
}

static void copy_action(struct job *job, const struct agent_action *action)
{
	struct agent_action *own = &job->action;
	struct arena *arena = &job->arena;

	*own = *action;
	if (action->type == AGENT_MAKE_VOLUMES) {
		size_t count = action->make_volumes.count;

		own->make_volumes.paths = arena_alloc(arena, (count + 1) * sizeof(char *));
		for (size_t i = 0; i < count; i++)
			own->make_volumes.paths[i] =
				arena_strdup(arena, action->make_volumes.paths[i]);
		return;
	}
	own->link_volumes.container = arena_strdup(arena, action->link_volumes.container);
	own->link_volumes.sandbox = arena_strdup(arena, action->link_volumes.sandbox);
	own->link_volumes.stale = copy_volumes(arena, &action->link_volumes.stale);
	own->link_volumes.fresh = copy_volumes(arena, &action->link_volumes.fresh);
}

void volume_worker_add(struct volume_worker *worker, const struct agent_action *action)
{
	struct job *job = xcalloc(1, sizeof(*job));

	arena_init(&job->arena);
	copy_action(job, action);
	list_append(&worker->queue, &job->link);
	volume_worker_next(worker);
}

void volume_worker_close(struct volume_worker *worker)
{
	worker->closing = true;
	if (!worker->busy)
		free_all(worker);
}
