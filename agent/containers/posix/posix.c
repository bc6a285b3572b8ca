/* The table of processes, their end and what they leave; see posix.h. */
#include "agent/containers/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"
#include "agent/containers/posix/process_tree.h"
#include "agent/containers/sandbox.h"
#include "agent/containers/terminal/terminal.h"
#include "base/log/log.h"
#include "base/memory/arena.h"

/* Leftovers that survive SIGKILL for so long hang in the kernel; nobody waits longer. */
#define CLEAN_TIMEOUT_MS 5000
#define CLEAN_PAUSE_MAX_MS 50

/* ---- table --------------------------------------------------------------- */

struct posix_container *posix_find(const struct posix *posix, const char *id)
{
	struct posix_container *container;

	HASH_FIND_STR(posix->table, id, container);
	return container;
}

struct posix_container *posix_add(struct posix *posix, const char *id)
{
	struct posix_container *container = xcalloc(1, sizeof(*container));

	container->owner = posix;
	posix->users++;
	list_init(&container->cleaning);
	container->streams[0] = container->streams[1] = container->streams[2] = -1;
	container->id = xstrdup(id);
	HASH_ADD_KEYPTR(hh, posix->table, container->id, strlen(container->id), container);
	return container;
}

/* Threads read the options of a container that is forgotten, too, until its jobs end. */
static void leave(struct posix *posix)
{
	if (--posix->users > 0)
		return;
	close(posix->null_fd);
	free(posix->foreign);
	free(posix);
}

static void free_if_done(struct posix_container *container)
{
	struct posix *posix = container->owner;

	if (!container->forgotten || container->jobs)
		return;
	posix_session_close(container);
	posix_free_start(container->start);
	free(container->id);
	free(container);
	leave(posix);
}

/* ---- jobs ------------------------------------------------------------------ */

static void job_work(struct slow_job *slow)
{
	struct posix_job *job = container_of(slow, struct posix_job, slow);

	if (job->work)
		job->work(job);
}

static void job_done(struct slow_job *slow, bool canceled)
{
	struct posix_job *job = container_of(slow, struct posix_job, slow);
	struct posix_container *container = job->container;

	container->jobs--;
	if (canceled || container->forgotten)
		free_if_done(container);
	else if (job->done)
		job->done(job);
	free(job);
}

void posix_begin_job(struct posix_container *container, void (*work)(struct posix_job *job),
		     void (*done)(struct posix_job *job), struct posix_job *job)
{
	job->container = container;
	job->work = work;
	job->done = done;
	job->slow.work = job_work;
	job->slow.done = job_done;
	container->jobs++;
	slow_add(container->owner->options.pool, NULL, &job->slow);
}

static void begin_job(struct posix_container *container, void (*work)(struct posix_job *job),
		      void (*done)(struct posix_job *job))
{
	posix_begin_job(container, work, done, xcalloc(1, sizeof(struct posix_job)));
}

/* ---- starting ------------------------------------------------------------ */

static void process_ended_cb(void *context);
static void posix_clean_group(struct posix_container *container);

void posix_adopt(struct posix_container *container, pid_t pid)
{
	struct posix *posix = container->owner;

	container->pid = pid;
	container->child = container->listed = true;
	HASH_ADD(hh_pid, posix->by_pid, pid, sizeof(pid), container);
	container->watch =
		process_watch_start(posix->options.loop, pid, 0, process_ended_cb, container);
}

int posix_start_process(struct posix_container *container, const struct spawn *spawn,
			struct err *err)
{
	struct posix *posix = container->owner;
	struct spawn limited = *spawn;
	struct cgroups_door door = {.count = 0};
	struct process process;
	pid_t pid;

	if (posix->options.open_files.rlim_max)
		limited.open_files = &posix->options.open_files;
	if (posix->options.groups &&
	    cgroups_open_door(posix->options.groups, container->id, &door, err) < 0)
		return ERR_IO;
	limited.no_new_privileges = posix->options.no_new_privileges;
	limited.groups = door.files;
	limited.group_count = door.count;
	pid = spawn_process(&limited, err);
	cgroups_close_door(&door);
	if (pid < 0)
		return (int)pid;
	container->start_ticks = process_read(pid, &process) ? process.start_ticks : 0;
	posix_adopt(container, pid);
	return 0;
}

/* ---- the end of the first process ------------------------------------------ */

/* It was not our child: init may have written its status down. */
static void read_status(struct posix_job *job)
{
	job->ended.known =
		posix_status_read(job->container->owner, job->container->id, &job->ended.status);
}

static void status_read(struct posix_job *job)
{
	struct posix_container *container = job->container;

	containers_ended(container->owner->containers, container->id, job->ended.known,
			 job->ended.status);
}

static void posix_unlist(struct posix_container *container)
{
	if (container->listed)
		HASH_DELETE(hh_pid, container->owner->by_pid, container);
	container->listed = false;
}

static void posix_reap(struct posix_container *container)
{
	struct posix *posix = container->owner;
	int status = 0;

	container->ended = false;
	if (!container->child) {
		begin_job(container, read_status, status_read);
		return;
	}
	while (waitpid(container->pid, &status, 0) < 0 && errno == EINTR)
		;
	posix_unlist(container);
	if (container->fetching) {
		container->fetching = false;
		posix_fetch_ended(container, status);
	} else if (container->removing) {
		posix_docker_removed(container);
		posix_clean_group(container);
	} else {
		containers_ended(posix->containers, container->id, true, status);
	}
}

static void process_ended_cb(void *context)
{
	struct posix_container *container = context;

	container->watch = NULL;
	/* Its pid must not become another's while a thread is about to kill it. */
	if (container->jobs)
		container->ended = true;
	else
		posix_reap(container);
}

static void kill_tree(struct posix_job *job)
{
	process_tree_signal(job->container->pid, SIGKILL, false);
	if (job->container->grouped)
		cgroups_kill(job->container->owner->options.groups, job->container->id);
}

static void tree_killed(struct posix_job *job)
{
	if (job->container->ended && !job->container->jobs)
		posix_reap(job->container);
}

static void posix_give_up(void *context, const char *id)
{
	struct posix_container *container = posix_find(context, id);

	if (posix_room_give_up(container) || posix_network_give_up(container))
		posix_prepare_give_up(container);
}

static void posix_kill(void *context, const char *id)
{
	struct posix_container *container = posix_find(context, id);

	if (posix_fetch_waits(container))
		posix_fetch_give_up(container);
	else
		begin_job(container, kill_tree, tree_killed);
}

/* A pid of one that is no child of ours may be another's by now. */
static bool is_still_there(const struct posix_container *container)
{
	struct process process;

	return container->child || (process_read(container->pid, &process) &&
				    process.start_ticks == container->start_ticks);
}

static void posix_signal(void *context, const char *id, int signal)
{
	const struct posix_container *container = posix_find(context, id);

	if (!container->ended && is_still_there(container))
		kill(container->pid, signal);
}

/* ---- what it left ------------------------------------------------------------ */

static bool is_foreign(const struct posix *posix, pid_t pid)
{
	const struct posix_options *options = &posix->options;

	if (options->spares && options->spares(options->spares_context, pid))
		return true;
	for (const pid_t *p = posix->foreign; *p; p++)
		if (*p == pid)
			return true;
	return false;
}

/* Kills and reaps the children that we did not start; returns how many still live. */
static size_t sweep(struct posix *posix)
{
	pid_t *children = process_children();
	size_t alive = 0;

	for (pid_t *pid = children; *pid; pid++) {
		struct posix_container *known;

		HASH_FIND(hh_pid, posix->by_pid, pid, sizeof(*pid), known);
		if (known || is_foreign(posix, *pid))
			continue;
		kill(*pid, SIGKILL);
		if (waitpid(*pid, NULL, WNOHANG) == 0)
			alive++;
	}
	free(children);
	return alive;
}

static void kill_left(struct posix_job *job)
{
	job->alive = process_tree_kill_left(job->container->pid, job->container->id);
}

bool posix_is_late(const struct posix_container *container)
{
	return uv_now(container->owner->options.loop) > container->clean_deadline;
}

static void left_killed(struct posix_job *job)
{
	struct posix_container *container = job->container;

	if (!job->alive || posix_is_late(container))
		containers_cleaned(container->owner->containers, container->id, !job->alive);
	else
		posix_clean_soon(container->owner);
}

/* False: it is looked at again. */
static bool clean_further(struct posix_container *container, size_t alive)
{
	struct posix *posix = container->owner;

	if (container->jobs)
		return false;
	if (container->grouped) {
		posix_group_clean(container);
		return false;
	}
	if (!container->child) {
		begin_job(container, kill_left, left_killed);
		return false;
	}
	if (alive && !posix_is_late(container))
		return false;
	containers_cleaned(posix->containers, container->id, !alive);
	return true;
}

/* One look at our children is enough for all that ended since the last. */
static void posix_clean_cb(uv_timer_t *timer)
{
	struct posix *posix = timer->data;
	struct posix_container *container;
	size_t alive = sweep(posix);
	struct list todo;
	bool waiting = false;

	/* An answer may take others out of it. */
	list_init(&todo);
	list_move(&todo, &posix->cleaning);
	while ((container = list_first(&todo, struct posix_container, cleaning))) {
		list_remove(&container->cleaning);
		list_append(&posix->cleaning, &container->cleaning);
		if (!clean_further(container, alive))
			waiting |= container->child && !container->grouped && !container->jobs;
	}
	posix->pause = !posix->pause			       ? 1
		       : posix->pause * 2 > CLEAN_PAUSE_MAX_MS ? CLEAN_PAUSE_MAX_MS
							       : posix->pause * 2;
	if (waiting)
		posix_clean_soon(posix);
}

void posix_clean_soon(struct posix *posix)
{
	if (!uv_is_active((uv_handle_t *)&posix->timer) ||
	    uv_timer_get_due_in(&posix->timer) > posix->pause)
		uv_timer_start(&posix->timer, posix_clean_cb, posix->pause, 0);
}

void posix_clean_rest(struct posix_container *container)
{
	struct posix *posix = container->owner;

	if (!container->child) {
		begin_job(container, kill_left, left_killed);
		return;
	}
	posix->pause = 0;
	posix_clean_soon(posix);
}

static void posix_clean_group(struct posix_container *container)
{
	list_append(&container->owner->cleaning, &container->cleaning);
	container->clean_deadline = uv_now(container->owner->options.loop) + CLEAN_TIMEOUT_MS;
	if (container->grouped)
		posix_group_clean(container);
	else
		posix_clean_rest(container);
}

static void posix_clean(void *context, const char *id)
{
	struct posix *posix = context;
	struct posix_container *container = posix_find(posix, id);

	posix->pause = 0;
	if (!container->docker || !posix_docker_remove(container))
		posix_clean_group(container);
}

/* ---- containers of an earlier agent ---------------------------------------------- */

/* An agent that died too early did not write the pid down. */
static void look_for(struct posix_job *job)
{
	struct posix_container *container = job->container;
	struct process process;
	pid_t pid = process_find_container(container->id);

	if (pid && process_read(pid, &process)) {
		container->pid = pid;
		container->start_ticks = process.start_ticks;
	}
}

static bool is_another(const struct posix_container *container)
{
	struct process process;

	return process_read(container->pid, &process) &&
	       process.start_ticks != container->start_ticks;
}

static void watch_found(struct posix_container *container)
{
	struct posix *posix = container->owner;

	if (container->pid)
		container->watch =
			process_watch_start(posix->options.loop, container->pid,
					    container->start_ticks, process_ended_cb, container);
	if (container->watch) {
		posix_group_watch(container);
		containers_started(posix->containers, container->id, container->pid,
				   container->start_ticks);
		return;
	}
	/* Whoever has the pid now is not to be taken for what was left. */
	if (is_another(container))
		container->pid = 0;
	posix_reap(container);
}

static void looked_for(struct posix_job *job)
{
	watch_found(job->container);
}

static void posix_find_process(void *context, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct posix_container *container = posix_add(context, id);

	container->housed = container->owner->options.images != NULL;
	container->networked = container->owner->options.networks && !strchr(id, '.');
	container->has_status = true;
	container->docker = posix_docker_marked(container->owner, id);
	container->grouped = container->owner->options.groups &&
			     cgroups_has(container->owner->options.groups, id);
	container->start_ticks = start_ticks;
	if (pid > 1 && pid <= INT32_MAX) {
		container->pid = (pid_t)pid;
		watch_found(container);
	} else {
		begin_job(container, look_for, looked_for);
	}
}

/* ---- forgetting ------------------------------------------------------------------ */

static void remove_runtime_files(struct posix_job *job)
{
	posix_status_remove(job->container->owner, job->container->id);
	terminal_remove(job->container->owner->options.runtime_dir, job->container->id);
}

static void posix_forget(void *context, const char *id, bool over)
{
	struct posix *posix = context;
	struct posix_container *container = posix_find(posix, id);

	if (!container)
		return;
	HASH_DELETE(hh, posix->table, container);
	/* Threads may not get to it any more. */
	if (container->fetching)
		process_tree_signal(container->pid, SIGKILL, false);
	posix_room_give_up(container);
	posix_network_give_up(container);
	fetch_claim_release(container->claim);
	container->claim = NULL;
	posix_unlist(container);
	process_watch_stop(container->watch);
	container->watch = NULL;
	container->forgotten = true;
	list_remove(&container->cleaning);
	/* It was never started. */
	if (over && container->docker)
		posix_docker_unmark(container);
	if (over) {
		posix_network_drop(container);
		posix_room_drop(container);
		posix_group_drop(container);
	} else
		posix_group_unwatch(container);
	/* The end of one inside of another is asked for later: posix_clear(). */
	if (over && container->has_status && !strchr(id, '.'))
		begin_job(container, remove_runtime_files, NULL);
	free_if_done(container);
}

static void posix_clear(void *context, const char *id)
{
	struct posix_container *container = posix_add(context, id);

	begin_job(container, remove_runtime_files, NULL);
	HASH_DELETE(hh, container->owner->table, container);
	container->forgotten = true;
}

/* ---- life ---------------------------------------------------------------- */

const struct container_backend posix_backend = {
	.prepare = posix_prepare,
	.give_up = posix_give_up,
	.fetch = posix_fetch,
	.start = posix_start,
	.find = posix_find_process,
	.kill = posix_kill,
	.limit = posix_limit,
	.signal = posix_signal,
	.clean = posix_clean,
	.forget = posix_forget,
	.clear = posix_clear,
};

int posix_create(const struct posix_options *options, struct posix **out, struct err *err)
{
	struct posix *posix;
	char *directory;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0)
		return err_set(err, ERR_IO, "Failed to open /dev/null: %s", strerror(errno));
	posix = xcalloc(1, sizeof(*posix));
	posix->options = *options;
	posix->users = 1;
	posix->null_fd = null_fd;
	list_init(&posix->cleaning);
	directory = xprintf("%s/containers", options->runtime_dir);
	if (sandbox_make_directories(directory, err) < 0)
		log_warning("Cannot make '%s': %s", directory, err->text);
	free(directory);
	posix->foreign = process_children();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	uv_timer_init(options->loop, &posix->timer);
	posix->timer.data = posix;
	*out = posix;
	return 0;
}

void posix_answer(struct posix *posix, struct containers *containers)
{
	posix->containers = containers;
}

static void posix_closed_cb(uv_handle_t *handle)
{
	leave(handle->data);
}

void posix_close(struct posix *posix)
{
	posix_sweep_close(posix);
	uv_close((uv_handle_t *)&posix->timer, posix_closed_cb);
}
