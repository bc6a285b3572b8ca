/* The table of containers and their life; see container.h. */
#include "agent/containers/container_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/process_tree.h"
#include "agent/containers/sandbox.h"
#include "base/clock.h"
#include "base/log.h"

/* Leftovers that survive SIGKILL for so long hang in the kernel; nobody waits longer. */
#define CLEAN_TIMEOUT_MS 5000
#define CLEAN_PAUSE_MAX_MS 50

/* ---- table --------------------------------------------------------------- */

struct container *container_find(const struct containers *c, const char *id)
{
	struct container *container;

	HASH_FIND_STR(c->table, id, container);
	return container;
}

struct container *container_add(struct containers *c, const char *id)
{
	struct container *container = xcalloc(1, sizeof(*container));

	container->owner = c;
	container->id = xstrdup(id);
	HASH_ADD_KEYPTR(hh, c->table, container->id, strlen(container->id), container);
	return container;
}

void container_free_start(struct start *start)
{
	if (!start)
		return;
	close(start->spawn.output);
	close(start->spawn.error);
	user_free(&start->user);
	arena_free(&start->arena);
	free(start);
}

static void discard(struct container *container)
{
	HASH_DELETE(hh, container->owner->table, container);
	process_watch_stop(container->watch);
	container_free_start(container->start);
	free(container->id);
	free(container);
}

/* ---- reports ------------------------------------------------------------- */

static void report_failed(struct containers *c, const char *id, enum agent_start_stage stage,
			  const char *text)
{
	struct agent_event event = {.type = AGENT_CONTAINER_FAILED,
				    .container_failed = {id, stage, text}};

	c->options.report(c->options.context, &event);
}

void container_report_started(struct container *container)
{
	struct containers *c = container->owner;
	struct agent_event event = {
		.type = AGENT_CONTAINER_STARTED,
		.container_started = {container->id, container->pid, container->start_ticks}};

	c->options.report(c->options.context, &event);
}

static void report_exited(struct containers *c, const char *id, bool known, int status)
{
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED,
				    .container_exited = {id, known, status}};

	c->options.report(c->options.context, &event);
}

void container_fail(struct container *container, enum agent_start_stage stage, const char *text)
{
	struct containers *c = container->owner;
	char *id = xstrdup(container->id);
	bool destroyed = container->destroyed;

	if (container->has_status)
		container_status_remove(c, id);
	discard(container);
	if (destroyed)
		report_exited(c, id, false, 0);
	else
		report_failed(c, id, stage, text);
	free(id);
}

/* ---- starting ------------------------------------------------------------ */

static void container_ended_cb(void *context);

int container_start_process(struct container *container, const struct spawn *spawn, struct err *err)
{
	struct containers *c = container->owner;
	struct spawn limited = *spawn;
	struct process process;
	pid_t pid;

	if (c->options.open_files.rlim_max)
		limited.open_files = &c->options.open_files;
	pid = spawn_process(&limited, err);
	if (pid < 0)
		return (int)pid;
	container->pid = pid;
	container->child = true;
	container->start_ticks = process_read(pid, &process) ? process.start_ticks : 0;
	HASH_ADD(hh_pid, c->by_pid, pid, sizeof(pid), container);
	container->watch =
		process_watch_start(c->options.loop, pid, 0, container_ended_cb, container);
	return 0;
}

/* ---- ending -------------------------------------------------------------- */

static bool is_foreign(const struct containers *c, pid_t pid)
{
	for (const pid_t *p = c->foreign; *p; p++)
		if (*p == pid)
			return true;
	return false;
}

/* Kills and reaps the children that we did not start; returns how many still live. */
static size_t sweep(struct containers *c)
{
	pid_t *children = process_children();
	size_t alive = 0;

	for (pid_t *pid = children; *pid; pid++) {
		struct container *known;

		HASH_FIND(hh_pid, c->by_pid, pid, sizeof(*pid), known);
		if (known || is_foreign(c, *pid))
			continue;
		kill(*pid, SIGKILL);
		if (waitpid(*pid, NULL, WNOHANG) == 0)
			alive++;
	}
	free(children);
	return alive;
}

static size_t kill_leftovers(struct container *container)
{
	return container->child ? sweep(container->owner)
				: process_tree_kill_left(container->pid, container->id);
}

static void container_finish(struct container *container)
{
	struct containers *c = container->owner;
	char *id = xstrdup(container->id);
	bool known = container->known;
	int status = container->status;

	if (container->has_status)
		container_status_remove(c, id);
	discard(container);
	report_exited(c, id, known, status);
	free(id);
}

static struct container *first_clean(const struct containers *c)
{
	struct container *container;

	for (container = c->table; container; container = container->hh.next)
		if (container->clean)
			break;
	return container;
}

static void clean_cb(uv_timer_t *timer)
{
	struct containers *c = timer->data;
	struct container *container;
	bool waiting = false;

	for (container = c->table; container; container = container->hh.next) {
		if (container->stage != CLEANING)
			continue;
		if (!kill_leftovers(container)) {
			container->clean = true;
		} else if (uv_now(c->options.loop) > container->clean_deadline) {
			log_error("Processes that container %s left behind cannot be killed",
				  container->id);
			c->counters.destroy_errors++;
			container->clean = true;
		} else {
			waiting = true;
		}
	}
	c->pause = c->pause * 2 > CLEAN_PAUSE_MAX_MS ? CLEAN_PAUSE_MAX_MS : c->pause * 2;
	if (waiting)
		uv_timer_start(&c->timer, clean_cb, c->pause, 0);
	/* A report may change the table. */
	while ((container = first_clean(c)))
		container_finish(container);
}

static void begin_cleaning(struct container *container)
{
	struct containers *c = container->owner;

	container->stage = CLEANING;
	if (!kill_leftovers(container)) {
		container_finish(container);
		return;
	}
	container->clean_deadline = uv_now(c->options.loop) + CLEAN_TIMEOUT_MS;
	c->pause = 1;
	uv_timer_start(&c->timer, clean_cb, c->pause, 0);
}

static void container_ended_cb(void *context)
{
	struct container *container = context;
	struct containers *c = container->owner;
	int status = 0;

	container->watch = NULL;
	if (container->child) {
		while (waitpid(container->pid, &status, 0) < 0 && errno == EINTR)
			;
		HASH_DELETE(hh_pid, c->by_pid, container);
		container->known = true;
		container->status = status;
	} else {
		container->known = container_status_read(c, container->id, &container->status);
	}
	if (container->stage == FETCHING)
		container_fetch_ended(container, status);
	else
		begin_cleaning(container);
}

/* An agent that died too early did not write the pid down. */
static void look_for(struct container *container)
{
	struct process process;
	pid_t pid = process_find_container(container->id);

	if (pid && process_read(pid, &process)) {
		container->pid = pid;
		container->start_ticks = process.start_ticks;
	}
}

static bool is_another(const struct container *container)
{
	struct process process;

	return process_read(container->pid, &process) &&
	       process.start_ticks != container->start_ticks;
}

void containers_reattach(struct containers *c, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct container *container;

	if (container_find(c, id)) {
		log_error("container %s was to be reattached to twice", id);
		return;
	}
	container = container_add(c, id);
	container->stage = RUNNING;
	container->has_status = true;
	container->start_ticks = start_ticks;
	if (pid > 1 && pid <= INT32_MAX)
		container->pid = (pid_t)pid;
	else
		look_for(container);
	if (container->pid)
		container->watch =
			process_watch_start(c->options.loop, container->pid, container->start_ticks,
					    container_ended_cb, container);
	if (!container->watch) {
		/* Whoever has the pid now is not to be taken for what was left. */
		if (is_another(container))
			container->pid = 0;
		container_ended_cb(container);
	} else if (!pid)
		container_report_started(container);
}

void containers_destroy(struct containers *c, const char *id)
{
	struct container *container = container_find(c, id);

	if (!container) {
		report_exited(c, id, false, 0);
		return;
	}
	if (container->stage == CLEANING)
		return;
	container->destroyed = true;
	log_info("Destroying container %s", id);
	process_tree_signal(container->pid, SIGKILL);
}

/* ---- life ---------------------------------------------------------------- */

int containers_create(const struct containers_options *options, struct containers **out,
		      struct err *err)
{
	struct containers *c;
	char *directory;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0)
		return err_set(err, ERR_IO, "Failed to open /dev/null: %s", strerror(errno));
	c = xcalloc(1, sizeof(*c));
	c->options = *options;
	c->null_fd = null_fd;
	directory = xprintf("%s/containers", options->runtime_dir);
	if (sandbox_make_directories(directory, err) < 0)
		log_warning("Cannot make '%s': %s", directory, err->text);
	free(directory);
	c->foreign = process_children();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	uv_timer_init(options->loop, &c->timer);
	c->timer.data = c;
	*out = c;
	return 0;
}

static void container_closed_cb(uv_handle_t *handle)
{
	struct containers *c = handle->data;

	close(c->null_fd);
	free(c->foreign);
	free(c);
}

void containers_close(struct containers *c)
{
	struct container *container, *next;

	HASH_ITER (hh, c->table, container, next) {
		if (container->stage == FETCHING)
			process_tree_signal(container->pid, SIGKILL);
		if (container->child && container->stage != CLEANING)
			HASH_DELETE(hh_pid, c->by_pid, container);
		discard(container);
	}
	uv_close((uv_handle_t *)&c->timer, container_closed_cb);
}

pid_t containers_pid(const struct containers *c, const char *id)
{
	const struct container *container = container_find(c, id);

	return container && container->stage == RUNNING ? container->pid : 0;
}

const struct containers_counters *containers_counters(const struct containers *c)
{
	return &c->counters;
}
