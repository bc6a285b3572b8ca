/* A thread of a simulated process: it runs while the world waits for it, and the world while it
 * waits, so there is always one of them. For code that blocks. */
#ifndef LAB_WORLD_THREAD_H
#define LAB_WORLD_THREAD_H

#include "lab/world/process.h"

struct sim_thread;

/* Begins with a later happening. `ended` is called by the world, after which it is freed; not if
 * it is killed. */
struct sim_thread *thread_start(struct process *process, void (*run)(void *context),
				void (*ended)(void *context), void *context);
/* Ends it now: what it waits for is not there, and it must return then. Frees it. */
void thread_kill(struct sim_thread *thread);

/* -- inside of it -- */

/* The thread that runs; NULL: the world does. */
struct sim_thread *thread_self(void);
struct process *thread_process(const struct sim_thread *thread);
/* Waits until it is woken, or the time. False: it is being killed. */
bool thread_wait(struct sim_thread *thread, int64_t until);

/* -- outside -- */

/* It goes on with a later happening; nothing if it does not wait. */
void thread_wake(struct sim_thread *thread);

#endif
