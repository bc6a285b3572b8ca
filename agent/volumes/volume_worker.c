/* Work on volumes that may take long; see volume_worker.h. */
#include "agent/volumes/volume_worker.h"

#include <stdlib.h>

#include "agent/containers/volume_dirs.h"
#include "base/memory/arena.h"

struct volume_job {
	struct slow_job slow;
	struct volume_worker *worker;
	struct arena arena;
	struct agent_action action;
	int rv;
	struct err err;
};

struct volume_worker {
	struct slow_pool *pool;
	struct slow_lane lane;
	void (*report)(void *context, const struct agent_event *event);
	void *context;
	bool closing;
};

/* On a thread of the pool. */
static void volume_work(struct slow_job *slow)
{
	struct volume_job *job = container_of(slow, struct volume_job, slow);
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

static void report(struct volume_worker *worker, const struct volume_job *job)
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

static void volume_done(struct slow_job *slow, bool canceled)
{
	struct volume_job *job = container_of(slow, struct volume_job, slow);
	struct volume_worker *worker = job->worker;

	if (!canceled && !worker->closing)
		report(worker, job);
	if (worker->closing && !worker->lane.busy)
		free(worker);
	arena_free(&job->arena);
	free(job);
}

struct volume_worker *
volume_worker_create(struct slow_pool *pool,
		     void (*report)(void *context, const struct agent_event *event), void *context)
{
	struct volume_worker *worker = xcalloc(1, sizeof(*worker));

	worker->pool = pool;
	worker->report = report;
	worker->context = context;
	slow_lane_init(&worker->lane);
	return worker;
}

static void copy_action(struct volume_job *job, const struct agent_action *action)
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
	own->link_volumes.stale = volumes_copy(arena, &action->link_volumes.stale);
	own->link_volumes.fresh = volumes_copy(arena, &action->link_volumes.fresh);
}

void volume_worker_add(struct volume_worker *worker, const struct agent_action *action)
{
	struct volume_job *job = xcalloc(1, sizeof(*job));

	arena_init(&job->arena);
	job->worker = worker;
	job->slow.work = volume_work;
	job->slow.done = volume_done;
	copy_action(job, action);
	slow_add(worker->pool, &worker->lane, &job->slow);
}

void volume_worker_close(struct volume_worker *worker)
{
	bool busy = worker->lane.busy;

	worker->closing = true;
	slow_lane_cancel(&worker->lane);
	if (!busy)
		free(worker);
}
