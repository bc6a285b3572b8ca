/* See loop.h. */
#include "client/libmesos/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/memory/arena.h"
#include "client/libmesos/status.h"
#include "net/client.h"
#include "net/tls/tls.h"

struct driver_loop {
	uv_loop_t uv;
	uv_async_t posted;
	struct rng rng;
	pthread_t thread;
	pthread_mutex_t mutex; /* of what follows */
	struct list tasks;
	struct list members;
	bool lost;
};

static pthread_mutex_t current_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct driver_loop *current; /* that new members join */

static void run_tasks(uv_async_t *async)
{
	struct driver_loop *loop = async->data;
	struct list tasks;
	struct loop_task *task;

	list_init(&tasks);
	pthread_mutex_lock(&loop->mutex);
	while ((task = list_first(&loop->tasks, struct loop_task, link))) {
		list_remove(&task->link);
		list_append(&tasks, &task->link);
	}
	pthread_mutex_unlock(&loop->mutex);
	while ((task = list_first(&tasks, struct loop_task, link))) {
		list_remove(&task->link);
		task->run(task);
	}
}

static void run_loop(void *context)
{
	struct driver_loop *loop = context;

	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

/* The loop's connections and timers stay as they are: nobody turns it any more. */
static void lose(struct driver_loop *loop)
{
	struct loop_member *member;

	pthread_mutex_lock(&current_mutex);
	if (current == loop)
		current = NULL;
	pthread_mutex_unlock(&current_mutex);
	for (;;) {
		pthread_mutex_lock(&loop->mutex);
		loop->lost = true;
		member = list_first(&loop->members, struct loop_member, link);
		if (member)
			list_remove(&member->link);
		pthread_mutex_unlock(&loop->mutex);
		if (!member)
			return;
		member->lost(member);
	}
}

static void *loop_thread_main(void *context)
{
	libmesos_guard(run_loop, context);
	/* The async handle keeps the loop running, so memory has run out. */
	lose(context);
	return NULL;
}

/* Signals are for the threads of the program that we live in. */
static int start_thread(struct driver_loop *loop, struct err *err)
{
	sigset_t all, old;
	int rv;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rv = pthread_create(&loop->thread, NULL, loop_thread_main, loop);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rv)
		return err_set(err, ERR_IO, "cannot start a thread: %s", uv_strerror(-rv));
	pthread_detach(loop->thread);
	return 0;
}

static int loop_create(struct driver_loop **out, struct err *err)
{
	struct driver_loop *loop = calloc(1, sizeof(*loop));
	struct tls *tls;
	int rv;

	if (!loop)
		return err_set(err, ERR_LIMIT, "out of memory");
	rv = tls_from_environment(false, &tls, err);
	if (rv < 0) {
		free(loop);
		return rv;
	}
	http_clients_secure(tls);
	rv = uv_loop_init(&loop->uv);
	if (rv == 0)
		rv = uv_async_init(&loop->uv, &loop->posted, run_tasks);
	if (rv < 0) {
		/* Only descriptors or memory are missing, so what leaks is little. */
		return err_set(err, ERR_IO, "cannot make an event loop: %s", uv_strerror(rv));
	}
	loop->posted.data = loop;
	pthread_mutex_init(&loop->mutex, NULL);
	list_init(&loop->tasks);
	list_init(&loop->members);
	rng_seed(&loop->rng, rng_entropy());
	rv = start_thread(loop, err);
	if (rv == 0)
		*out = loop;
	return rv;
}

int driver_loop_join(struct loop_member *member, struct driver_loop **out, struct err *err)
{
	int rv = 0;

	pthread_mutex_lock(&current_mutex);
	if (!current)
		rv = loop_create(&current, err);
	if (rv == 0) {
		*out = current;
		pthread_mutex_lock(&current->mutex);
		list_append(&current->members, &member->link);
		pthread_mutex_unlock(&current->mutex);
	}
	pthread_mutex_unlock(&current_mutex);
	return rv;
}

void driver_loop_leave(struct driver_loop *loop, struct loop_member *member)
{
	pthread_mutex_lock(&loop->mutex);
	list_remove(&member->link);
	pthread_mutex_unlock(&loop->mutex);
}

bool driver_loop_post(struct driver_loop *loop, struct loop_task *task)
{
	bool lost;

	pthread_mutex_lock(&loop->mutex);
	lost = loop->lost;
	if (!lost)
		list_append(&loop->tasks, &task->link);
	pthread_mutex_unlock(&loop->mutex);
	if (!lost)
		uv_async_send(&loop->posted);
	return !lost;
}

uv_loop_t *driver_loop_uv(struct driver_loop *loop)
{
	return &loop->uv;
}

struct rng *driver_loop_rng(struct driver_loop *loop)
{
	return &loop->rng;
}
