/* One program after the other; see docker_task.h.
 *
 * Happy path: [pull ->] run, and inspect now and then until it runs -> run ends with the
 * container's status. Whoever started us removes the container after that: it does so, too, when we
 * cannot. */
#include "cli/executor/docker/docker_task.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/posix/spawn.h"
#include "base/log/log.h"
#include "base/memory/buf.h"
#include "base/time/clock.h"

#define INSPECT_MS 200
/* What `docker stop` takes for the time until SIGKILL, seconds. */
#define GRACE_MAX (INT32_MAX * (int64_t)SECOND)

extern char **environ;

struct docker_task {
	uv_loop_t *loop;
	struct docker_setting setting;
	const Mesos__TaskInfo *task;
	const struct docker_handlers *handlers;
	void *context;
	struct arena arena;
	pid_t pull, run, inspect; /* 0: it does not run */
	int output;		  /* of inspect: a file in memory */
	bool runs;		  /* that was told */
	bool stopped;
	int64_t grace; /* of the last stop */
	uv_timer_t timer;
};

static pid_t start_program(struct docker_task *d, char **argv, int output, struct err *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn spawn = {
		.program = argv[0],
		.arguments = argv,
		.environment = environ,
		.directory = ".",
		.input = null,
		.output = output >= 0 ? output : STDOUT_FILENO,
		.error = output >= 0 ? null : STDERR_FILENO,
		.leaves_orphans = true,
	};
	pid_t pid = spawn_process(&spawn, err);

	close(null);
	return pid;
}

static void docker_failed(struct docker_task *d, const char *why)
{
	uv_timer_stop(&d->timer);
	d->handlers->failed(d->context, why);
}

/* ---- looking at it ------------------------------------------------------------------- */

static void inspect_cb(uv_timer_t *timer)
{
	struct docker_task *d = timer->data;
	struct err err = {""};
	pid_t pid;

	if (d->inspect || !d->run || d->runs)
		return;
	if (ftruncate(d->output, 0) || lseek(d->output, 0, SEEK_SET))
		return;
	pid = start_program(
		d, docker_arguments(&d->arena, &d->setting, "inspect", d->setting.name, NULL),
		d->output, &err);
	if (pid > 0)
		d->inspect = pid;
	else
		log_warning("%s", err.text);
}

static void read_output(int fd, struct buf *out)
{
	char piece[4096];
	ssize_t got;

	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		buf_append(out, piece, (size_t)got);
}

static void docker_inspect_ended(struct docker_task *d, int status)
{
	struct buf text = BUF_INIT;
	const char *address = NULL;
	struct arena arena;

	arena_init(&arena);
	read_output(d->output, &text);
	if (status == 0 && text.len)
		address = docker_inspected(&arena, text.data, text.len);
	if (address && d->run) {
		d->runs = true;
		d->handlers->running(d->context, (struct slice){text.data, text.len}, address);
		/* It may not have been there to be stopped. */
		if (d->stopped)
			docker_task_stop(d, d->grace);
	} else if (d->run) {
		uv_timer_start(&d->timer, inspect_cb, INSPECT_MS, 0);
	}
	buf_free(&text);
	arena_free(&arena);
}

/* ---- its life ---------------------------------------------------------------------------- */

static void docker_run(struct docker_task *d)
{
	struct err err = {""};
	char **argv = docker_run_arguments(&d->arena, &d->setting, d->task, &err);
	pid_t pid = argv ? start_program(d, argv, -1, &err) : -1;

	if (pid < 0) {
		docker_failed(d, err.text);
		return;
	}
	d->run = pid;
	uv_timer_start(&d->timer, inspect_cb, 0, 0);
	if (d->stopped)
		docker_task_stop(d, d->grace);
}

static void docker_begin(uv_timer_t *timer)
{
	struct docker_task *d = timer->data;
	const Mesos__ContainerInfo__DockerInfo *docker = d->task->container->docker;
	struct err err = {""};

	if (!docker || !docker->has_force_pull_image || !docker->force_pull_image) {
		docker_run(d);
		return;
	}
	d->pull = start_program(
		d, docker_arguments(&d->arena, &d->setting, "pull", docker->image, NULL), -1, &err);
	if (d->pull < 0) {
		d->pull = 0;
		docker_failed(d, err.text);
	}
}

static void docker_pull_ended(struct docker_task *d, int status)
{
	const char *image = d->task->container->docker->image;

	if (status)
		docker_failed(d, arena_printf(&d->arena,
					      "Failed to run '%s pull %s': exited with status %d",
					      d->setting.program, image, WEXITSTATUS(status)));
	else
		docker_run(d);
}

void docker_task_stop(struct docker_task *d, int64_t grace)
{
	struct err err = {""};
	char *seconds;

	if (grace < 0)
		grace = 0;
	if (grace > GRACE_MAX)
		grace = GRACE_MAX;
	d->stopped = true;
	d->grace = grace;
	/* It is stopped when it was started, whose name is not known before. */
	if (!d->run)
		return;
	seconds = arena_printf(&d->arena, "%lld", (long long)((grace + SECOND - 1) / SECOND));
	if (start_program(d,
			  docker_arguments(&d->arena, &d->setting, "stop", "-t", seconds,
					   d->setting.name, NULL),
			  d->output, &err) < 0)
		log_warning("%s", err.text);
}

bool docker_task_reap(struct docker_task *d, pid_t pid, int status)
{
	if (!d)
		return false;
	if (pid == d->run) {
		d->run = 0;
		uv_timer_stop(&d->timer);
		d->handlers->over(d->context, status);
	} else if (pid == d->inspect) {
		d->inspect = 0;
		docker_inspect_ended(d, status);
	} else if (pid == d->pull) {
		d->pull = 0;
		docker_pull_ended(d, status);
	} else {
		return false;
	}
	return true;
}

struct docker_task *docker_task_start(uv_loop_t *loop, const struct docker_setting *setting,
				      const Mesos__TaskInfo *task,
				      const struct docker_handlers *handlers, void *context)
{
	struct docker_task *d = xcalloc(1, sizeof(*d));

	d->loop = loop;
	d->task = task;
	d->handlers = handlers;
	d->context = context;
	arena_init(&d->arena);
	d->setting = (struct docker_setting){
		.program = arena_strdup(&d->arena, setting->program),
		.socket = arena_strdup(&d->arena, setting->socket),
		.name = arena_strdup(&d->arena, setting->name),
		.sandbox = arena_strdup(&d->arena, setting->sandbox),
		.mapped = arena_strdup(&d->arena, setting->mapped),
	};
	d->output = memfd_create("inspect", MFD_CLOEXEC);
	uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	uv_timer_start(&d->timer, docker_begin, 0, 0);
	return d;
}

static void docker_closed_cb(uv_handle_t *handle)
{
	struct docker_task *d = handle->data;

	close(d->output);
	arena_free(&d->arena);
	free(d);
}

void docker_task_close(struct docker_task *d)
{
	if (d)
		uv_close((uv_handle_t *)&d->timer, docker_closed_cb);
}
