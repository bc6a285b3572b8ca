/* A custom executor that is kept: one process that runs the tasks of a framework, each as a
 * child `/bin/sh -c COMMAND` with the task's `data` as the command, and stays when they are done.
 * What `bench_tasks` launches real tasks on to see what an executor of its own costs each task.
 *
 * Tells TASK_RUNNING when the child runs, TASK_FINISHED or TASK_FAILED when it ended. A task
 * that is killed gets SIGKILL; SHUTDOWN, or the agent's loss, ends the children and it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <uv.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "client/executor.h"

struct child {
	uv_process_t process;
	struct kept *owner;
	char *task_id;
	bool killed;
	UT_hash_handle hh;
};

struct kept {
	uv_loop_t loop;
	struct rng rng;
	struct executor_driver *driver;
	struct child *children;
	int status;
	bool over;
};

static void tell(struct kept *k, char *task_id, Mesos__TaskState state, char *why)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;

	if (k->over)
		return;
	id.value = task_id;
	status.task_id = &id;
	status.state = state;
	status.message = why;
	executor_driver_update(k->driver, &status);
}

static void end(struct kept *k, int status)
{
	if (k->over)
		return;
	k->over = true;
	k->status = status;
	for (struct child *c = k->children; c; c = c->hh.next)
		uv_process_kill(&c->process, SIGKILL);
	executor_driver_close(k->driver);
}

/* ---- children -------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	struct child *c = handle->data;

	free(c->task_id);
	free(c);
}

static void on_exit_cb(uv_process_t *process, int64_t code, int number)
{
	struct child *c = process->data;
	Mesos__TaskState state = MESOS__TASK_STATE__TASK_FAILED;

	if (c->killed)
		state = MESOS__TASK_STATE__TASK_KILLED;
	else if (code == 0 && number == 0)
		state = MESOS__TASK_STATE__TASK_FINISHED;
	tell(c->owner, c->task_id, state, NULL);
	HASH_DEL(c->owner->children, c);
	uv_close((uv_handle_t *)process, on_closed);
}

static void run(struct kept *k, const Mesos__TaskInfo *task)
{
	char *command = xstrndup((char *)task->data.data, task->data.len);
	char *argv[] = {"/bin/sh", "-c", command, NULL};
	uv_process_options_t options = {.file = argv[0], .args = argv, .exit_cb = on_exit_cb};
	struct child *c = xcalloc(1, sizeof(*c));
	int rv = uv_spawn(&k->loop, &c->process, &options);

	c->owner = k;
	c->process.data = c;
	c->task_id = xstrdup(task->task_id->value);
	if (rv == 0) {
		HASH_ADD_KEYPTR(hh, k->children, c->task_id, strlen(c->task_id), c);
		tell(k, c->task_id, MESOS__TASK_STATE__TASK_RUNNING, NULL);
	} else {
		tell(k, c->task_id, MESOS__TASK_STATE__TASK_FAILED, (char *)uv_strerror(rv));
		uv_close((uv_handle_t *)&c->process, on_closed);
	}
	free(command);
}

static void kill_task(struct kept *k, const char *task_id)
{
	struct child *c;

	HASH_FIND_STR(k->children, task_id, c);
	if (!c)
		return;
	c->killed = true;
	uv_process_kill(&c->process, SIGKILL);
}

/* ---- events ---------------------------------------------------------------- */

static void event_cb(void *context, const Mesos__Executor__Event *event)
{
	struct kept *k = context;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		run(k, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		kill_task(k, event->kill->task_id->value);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		end(k, 0);
		break;
	default:
		break;
	}
}

static void failed_cb(void *context, const char *why)
{
	log_error("%s", why);
	end(context, 1);
}

int main(void)
{
	static const struct executor_handlers handlers = {.event = event_cb, .failed = failed_cb};
	struct kept k = {.children = NULL};
	struct err err = {{0}};

	signal(SIGPIPE, SIG_IGN);
	rng_seed(&k.rng, rng_entropy());
	uv_loop_init(&k.loop);
	if (executor_driver_create(&k.loop, &k.rng, &handlers, &k, &k.driver, &err) < 0) {
		fprintf(stderr, "bench_executor: %s\n", err.text);
		return 1;
	}
	uv_run(&k.loop, UV_RUN_DEFAULT);
	uv_loop_close(&k.loop);
	return k.status;
}
