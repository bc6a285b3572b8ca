/* The pool of threads; see slow.h. */
#include "agent/containers/slow.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

/* What jobs did is taken up for so long in one turn of the loop: a start of a container is a part
 * of that, and hundreds come at once. */
#define TURN_NS (2 * 1000 * 1000)

struct slow_pool {
	uv_async_t finished; /* something is in `done` */
	pthread_t threads[SLOW_THREADS];
	int thread_count;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct list ready; /* struct slow_job.link: to be taken by a thread */
	int ready_count;
	struct list done;
	int idle, running;
	bool closing;
};

/* ---- threads --------------------------------------------------------------- */

static void *slow_thread(void *argument)
{
	struct slow_pool *pool = argument;
	struct slow_job *job;

	pthread_mutex_lock(&pool->lock);
	while (true) {
		while (list_empty(&pool->ready) && !pool->closing) {
			pool->idle++;
			pthread_cond_wait(&pool->wake, &pool->lock);
			pool->idle--;
		}
		job = list_first(&pool->ready, struct slow_job, link);
		if (!job)
			break;
		list_remove(&job->link);
		pool->ready_count--;
		pool->running++;
		pthread_mutex_unlock(&pool->lock);
		job->work(job);
		pthread_mutex_lock(&pool->lock);
		pool->running--;
		list_append(&pool->done, &job->link);
		uv_async_send(&pool->finished);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void add_thread(struct slow_pool *pool)
{
	sigset_t all, old;

	/* Signals belong to the loop's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&pool->threads[pool->thread_count], NULL, slow_thread, pool))
		pool->thread_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!pool->thread_count) {
		log_error("no thread can be started");
		abort();
	}
}

/* ---- jobs ------------------------------------------------------------------ */

static void slow_queue(struct slow_pool *pool, struct slow_job *job)
{
	bool needs_thread;

	pthread_mutex_lock(&pool->lock);
	if (pool->closing) {
		job->canceled = true;
		list_append(&pool->done, &job->link);
		uv_async_send(&pool->finished);
	} else {
		list_append(&pool->ready, &job->link);
		pool->ready_count++;
	}
	/* Threads that were woken for other jobs count as idle until they run. */
	needs_thread = pool->ready_count > pool->idle && pool->thread_count < SLOW_THREADS;
	pthread_mutex_unlock(&pool->lock);
	if (needs_thread)
		add_thread(pool);
	pthread_cond_signal(&pool->wake);
}

void slow_lane_init(struct slow_lane *lane)
{
	list_init(&lane->waiting);
	lane->busy = false;
}

void slow_add(struct slow_pool *pool, struct slow_lane *lane, struct slow_job *job)
{
	job->lane = lane;
	job->canceled = false;
	if (lane && lane->busy) {
		list_append(&lane->waiting, &job->link);
		return;
	}
	if (lane)
		lane->busy = true;
	slow_queue(pool, job);
}

void slow_lane_cancel(struct slow_lane *lane)
{
	struct list waiting;
	struct slow_job *job;

	list_init(&waiting);
	while ((job = list_first(&lane->waiting, struct slow_job, link))) {
		list_remove(&job->link);
		list_append(&waiting, &job->link);
	}
	while ((job = list_first(&waiting, struct slow_job, link))) {
		list_remove(&job->link);
		job->done(job, true);
	}
}

static void end_job(struct slow_pool *pool, struct slow_job *job)
{
	struct slow_lane *lane = job->lane;
	struct slow_job *next = lane ? list_first(&lane->waiting, struct slow_job, link) : NULL;

	if (next) {
		list_remove(&next->link);
		slow_queue(pool, next);
	} else if (lane) {
		lane->busy = false;
	}
	job->done(job, job->canceled);
}

/* ---- life ------------------------------------------------------------------ */

static void slow_closed_cb(uv_handle_t *handle)
{
	struct slow_pool *pool = handle->data;

	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static void slow_finished_cb(uv_async_t *async)
{
	struct slow_pool *pool = async->data;
	uint64_t begin = uv_hrtime();
	struct slow_job *job;
	bool over;

	do {
		pthread_mutex_lock(&pool->lock);
		job = list_first(&pool->done, struct slow_job, link);
		if (job)
			list_remove(&job->link);
		over = !job && pool->closing && !pool->running && list_empty(&pool->ready);
		pthread_mutex_unlock(&pool->lock);
		if (job)
			end_job(pool, job);
	} while (job && uv_hrtime() - begin < TURN_NS);
	if (job)
		uv_async_send(async);
	if (!over || uv_is_closing((uv_handle_t *)async))
		return;
	for (int i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	uv_close((uv_handle_t *)async, slow_closed_cb);
}

struct slow_pool *slow_pool_create(uv_loop_t *loop)
{
	struct slow_pool *pool = xcalloc(1, sizeof(*pool));

	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	list_init(&pool->ready);
	list_init(&pool->done);
	uv_async_init(loop, &pool->finished, slow_finished_cb);
	pool->finished.data = pool;
	return pool;
}

void slow_pool_close(struct slow_pool *pool)
{
	struct slow_job *job;

	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pool->ready_count = 0;
	while ((job = list_first(&pool->ready, struct slow_job, link))) {
		list_remove(&job->link);
		job->canceled = true;
		list_append(&pool->done, &job->link);
	}
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	uv_async_send(&pool->finished);
}
