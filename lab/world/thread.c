#include "lab/world/thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/memory/arena.h"

#define STACK_BYTES (512 * 1024)

struct sim_thread {
	struct process *process;
	void (*run)(void *context);
	void (*ended)(void *context);
	void *context;
	pthread_t thread;
	sem_t mine, worlds; /* whose turn it is */
	struct happening turn;
	bool killed, over;
};

static struct sim_thread *running;

/* Returns when it waits, or is over. */
static void thread_continue(struct sim_thread *thread)
{
	running = thread;
	sem_post(&thread->mine);
	while (sem_wait(&thread->worlds))
		;
	running = NULL;
}

static void *thread_main(void *arg)
{
	struct sim_thread *thread = arg;

	while (sem_wait(&thread->mine))
		;
	thread->run(thread->context);
	thread->over = true;
	sem_post(&thread->worlds);
	return NULL;
}

static void thread_free(struct sim_thread *thread)
{
	world_cancel(thread->process->world, &thread->turn);
	pthread_join(thread->thread, NULL);
	sem_destroy(&thread->mine);
	sem_destroy(&thread->worlds);
	free(thread);
}

static void on_thread_turn(struct happening *h)
{
	struct sim_thread *thread = container_of(h, struct sim_thread, turn);

	if (process_holds(thread->process, h))
		return;
	thread_continue(thread);
	if (thread->over) {
		void (*ended)(void *) = thread->ended;
		void *context = thread->context;

		thread_free(thread);
		ended(context);
	}
}

struct sim_thread *thread_start(struct process *process, void (*run)(void *context),
				void (*ended)(void *context), void *context)
{
	struct sim_thread *thread = xcalloc(1, sizeof(*thread));
	pthread_attr_t attributes;

	thread->process = process;
	thread->run = run;
	thread->ended = ended;
	thread->context = context;
	thread->turn.run = on_thread_turn;
	sem_init(&thread->mine, 0, 0);
	sem_init(&thread->worlds, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread->thread, &attributes, thread_main, thread))
		abort();
	pthread_attr_destroy(&attributes);
	world_after(process->world, &thread->turn, 0);
	return thread;
}

void thread_kill(struct sim_thread *thread)
{
	thread->killed = true;
	thread_continue(thread);
	if (!thread->over)
		abort(); /* it must not wait any more */
	thread_free(thread);
}

struct sim_thread *thread_self(void)
{
	return running;
}

struct process *thread_process(const struct sim_thread *thread)
{
	return thread->process;
}

bool thread_wait(struct sim_thread *thread, int64_t until)
{
	if (thread->killed)
		return false;
	if (until != TIME_NEVER)
		world_at(thread->process->world, &thread->turn, until);
	sem_post(&thread->worlds);
	while (sem_wait(&thread->mine))
		;
	return !thread->killed;
}

void thread_wake(struct sim_thread *thread)
{
	if (running != thread)
		world_after(thread->process->world, &thread->turn, 0);
}
