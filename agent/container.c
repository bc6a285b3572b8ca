/* The table of containers and their life; see container.h. */
#include "agent/container.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/container_info.h"
#include "agent/fetcher.h"
#include "agent/process_tree.h"
#include "agent/process_watch.h"
#include "agent/sandbox.h"
#include "agent/spawn.h"
#include "agent/volume_dirs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/table.h"

/* Leftovers that survive SIGKILL for so long hang in the kernel; nobody waits longer. */
#define CLEAN_TIMEOUT_MS 5000
#define CLEAN_PAUSE_MAX_MS 50

extern char **environ;

enum container_stage { FETCHING, RUNNING, CLEANING };

struct container {
	UT_hash_handle hh;     /* by id */
	UT_hash_handle hh_pid; /* by pid, while it is a child of ours */
	struct containers *owner;
	char *id;
	enum container_stage stage;
	pid_t pid;
	uint64_t start_ticks;
	bool child; /* of ours, not reattached to */
	bool destroyed;
	bool known; /* CLEANING: the wait status is */
	bool clean; /* CLEANING: may be reported */
	int status;
	bool has_status;	 /* init was told to write it down, or may have been */
	uint64_t clean_deadline; /* loop's ms */
	struct process_watch *watch;
	struct start *start; /* until it is started */
};

/* What is needed to start the process, from launch to start. */
struct start {
	struct arena arena;
	struct spawn spawn;
	struct user user;
	bool switches_user;
};

struct containers {
	struct containers_options options;
	struct container *table;
	struct container *by_pid;
	struct containers_counters counters;
	pid_t *foreign; /* children that this process had before, ended by 0 */
	int null_fd;
	uv_timer_t timer; /* looks after leftovers */
	uint64_t pause;
};

/* ---- table --------------------------------------------------------------- */

static struct container *find(const struct containers *c, const char *id)
{
	struct container *container;

	HASH_FIND_STR(c->table, id, container);
	return container;
}

static struct container *add(struct containers *c, const char *id)
{
	struct container *container = xcalloc(1, sizeof(*container));

	container->owner = c;
	container->id = xstrdup(id);
	HASH_ADD_KEYPTR(hh, c->table, container->id, strlen(container->id), container);
	return container;
}

static void free_start(struct start *start)
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
	free_start(container->start);
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

static void report_started(struct container *container)
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

static void fail(struct container *container, enum agent_start_stage stage, const char *text)
{
	struct containers *c = container->owner;
	char *id = xstrdup(container->id);
	bool destroyed = container->destroyed;

	discard(container);
	if (destroyed)
		report_exited(c, id, false, 0);
	else
		report_failed(c, id, stage, text);
	free(id);
}

/* ---- what init writes down ----------------------------------------------- */

static char *status_directory(const struct containers *c, const char *id)
{
	return xprintf("%s/containers/%s", c->options.runtime_dir, id);
}

static void remove_status(const struct containers *c, const char *id)
{
	char *directory = status_directory(c, id), *file = xprintf("%s/status", directory);

	unlink(file);
	rmdir(directory);
	free(file);
	free(directory);
}

static bool read_status(const struct containers *c, const char *id, int *status)
{
	char *directory = status_directory(c, id), *file = xprintf("%s/status", directory);
	int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[16] = "", more;
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(file);
	free(directory);
	return len > 0 && sscanf(text, "%d%c", status, &more) == 1 && *status >= 0 &&
	       *status <= 0xffff;
}

/* "--status=..." for init, or NULL when there is no place for it. */
static char *make_status(struct containers *c, const char *id, struct start *start)
{
	char *directory = status_directory(c, id), *argument = NULL;

	if ((mkdir(directory, 0755) && errno != EEXIST) ||
	    (start->switches_user && chown(directory, start->user.uid, start->user.gid)))
		log_warning(
			"Cannot make '%s': %s; the exit status of container %s will not outlive "
			"the agent",
			directory, strerror(errno), id);
	else
		argument = arena_printf(&start->arena, "--status=%s/status", directory);
	free(directory);
	return argument;
}

/* ---- starting ------------------------------------------------------------ */

static void ended_cb(void *context);

static int start_process(struct container *container, const struct spawn *spawn, struct err *err)
{
	struct containers *c = container->owner;
	struct process process;
	pid_t pid = spawn_process(spawn, err);

	if (pid < 0)
		return (int)pid;
	container->pid = pid;
	container->child = true;
	container->start_ticks = process_read(pid, &process) ? process.start_ticks : 0;
	HASH_ADD(hh_pid, c->by_pid, pid, sizeof(pid), container);
	container->watch = process_watch_start(c->options.loop, pid, 0, ended_cb, container);
	return 0;
}

static void run(struct container *container)
{
	struct containers *c = container->owner;
	struct err err = {""};

	if (start_process(container, &container->start->spawn, &err) < 0) {
		remove_status(c, container->id);
		fail(container, AGENT_STAGE_LAUNCH, err.text);
		return;
	}
	free_start(container->start);
	container->start = NULL;
	container->stage = RUNNING;
	report_started(container);
}

static int fetch_input(const Mesos__CommandInfo *command, struct err *err)
{
	int fd = memfd_create("fetch", MFD_CLOEXEC);
	struct buf bytes = BUF_INIT;
	size_t done = 0;

	proto_pack(command, &bytes);
	while (fd >= 0 && done < bytes.len) {
		ssize_t put = write(fd, bytes.data + done, bytes.len - done);

		if (put < 0)
			break;
		done += (size_t)put;
	}
	if (fd < 0 || done < bytes.len || lseek(fd, 0, SEEK_SET)) {
		err_set(err, ERR_IO, "Failed to pass the URIs on: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ERR_IO;
	}
	buf_free(&bytes);
	return fd;
}

static int fetch(struct container *container, const Mesos__CommandInfo *command, struct err *err)
{
	const struct containers_options *options = &container->owner->options;
	struct start *start = container->start;
	struct arena *arena = &start->arena;
	struct spawn spawn = start->spawn;
	char *argv[8] = {"mesita", "fetch"};
	int rv, count = 2;

	argv[count++] = arena_printf(arena, "--directory=%s", spawn.directory);
	argv[count++] = arena_printf(arena, "--stall_timeout=%lldns",
				     (long long)options->fetcher_stall_timeout);
	if (options->frameworks_home && *options->frameworks_home)
		argv[count++] =
			arena_printf(arena, "--frameworks_home=%s", options->frameworks_home);
	if (options->hadoop_home)
		argv[count++] = arena_printf(arena, "--hadoop_home=%s", options->hadoop_home);
	spawn.program = options->program;
	spawn.arguments = argv;
	spawn.environment = environ;
	spawn.input = fetch_input(command, err);
	if (spawn.input < 0)
		return ERR_IO;
	rv = start_process(container, &spawn, err);
	close(spawn.input);
	container->stage = FETCHING;
	return rv;
}

static void fetch_ended(struct container *container, int status)
{
	struct containers *c = container->owner;
	char text[256];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !container->destroyed) {
		c->counters.fetches_succeeded++;
		run(container);
		return;
	}
	c->counters.fetches_failed++;
	if (WIFEXITED(status))
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': exited with status %d",
			 container->id, WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': terminated with signal %s",
			 container->id, strsignal(WTERMSIG(status)));
	fail(container, AGENT_STAGE_LAUNCH, text);
}

/* ---- launching ----------------------------------------------------------- */

static char *const *copy_strings(struct arena *arena, char *const *list)
{
	size_t count = 0;
	char **copy;

	while (list && list[count])
		count++;
	copy = arena_alloc(arena, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(arena, list[i]);
	return copy;
}

/* Program and argv as the command says; custom ones below init. */
static int make_arguments(struct containers *c, struct container *container,
			  const Mesos__CommandInfo *command, struct err *err)
{
	struct start *start = container->start;
	struct arena *arena = &start->arena;
	bool shell = !command->has_shell || command->shell, custom;
	size_t count = 0, given = shell ? 3 : command->n_arguments;
	char **argv = arena_alloc(arena, (given + 8) * sizeof(*argv)), *status;
	const char *program = shell ? "sh" : command->value;

	if (!command->value)
		return err_set(err, ERR_INVALID, "The command of the executor has no value");
	custom = shell || strcmp(program, c->options.program);
	if (custom) {
		argv[count++] = "mesita";
		argv[count++] = "init";
		status = make_status(c, container->id, start);
		container->has_status = true;
		if (status)
			argv[count++] = status;
		argv[count++] = arena_printf(arena, "--program=%s", program);
		argv[count++] = "--";
	}
	if (shell) {
		argv[count++] = "sh";
		argv[count++] = "-c";
		argv[count++] = arena_strdup(arena, command->value);
	} else if (!command->n_arguments) {
		argv[count++] = arena_strdup(arena, program);
	}
	for (size_t i = 0; !shell && i < command->n_arguments; i++)
		argv[count++] = arena_strdup(arena, command->arguments[i]);
	start->spawn.program = custom ? c->options.program : arena_strdup(arena, program);
	start->spawn.arguments = argv;
	return 0;
}

static int find_user(const char *name, struct start *start, struct err *err)
{
	int rv;

	if (!name)
		return 0;
	rv = user_find(name, &start->user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to chown directory to '%s'", name);
	start->switches_user = start->user.uid != geteuid();
	return 0;
}

static int prepare_sandbox(const struct agent_launch *launch, struct start *start, struct err *err)
{
	struct spawn *spawn = &start->spawn;
	const struct user *user;
	int rv = find_user(launch->user, start, err);

	user = start->switches_user ? &start->user : NULL;
	if (rv == 0)
		rv = sandbox_create(launch->sandbox, launch->user, user, err);
	if (rv == 0)
		rv = spawn->output = sandbox_open_output(launch->sandbox, "stdout", user, err);
	if (rv >= 0)
		rv = spawn->error = sandbox_open_output(launch->sandbox, "stderr", user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to create executor directory '%s'",
				launch->sandbox);
	spawn->user = user;
	spawn->directory = arena_strdup(&start->arena, launch->sandbox);
	return 0;
}

static int launch_or_fetch(struct container *container, const struct agent_launch *launch,
			   struct err *err)
{
	struct containers *c = container->owner;
	int rv = volume_link(launch->sandbox, &launch->volumes, err);

	if (rv < 0)
		return rv;
	rv = fetch_validate(launch->command, err);
	if (rv < 0) {
		c->counters.fetches_failed++;
		return err_wrap(err, rv, "Could not fetch");
	}
	rv = make_arguments(c, container, launch->command, err);
	if (rv == 0 && launch->command->n_uris)
		return fetch(container, launch->command, err);
	if (rv == 0)
		run(container);
	return rv;
}

void containers_launch(struct containers *c, const struct agent_launch *launch)
{
	struct container *container;
	enum agent_start_stage stage;
	struct start *start;
	struct err err = {""};

	if (find(c, launch->container)) {
		log_error("container %s was to be launched twice", launch->container);
		return;
	}
	container = add(c, launch->container);
	container->start = start = xcalloc(1, sizeof(*start));
	arena_init(&start->arena);
	start->spawn.input = c->null_fd;
	start->spawn.output = start->spawn.error = -1;
	start->spawn.environment = copy_strings(&start->arena, launch->environment);
	if (prepare_sandbox(launch, start, &err) < 0)
		fail(container, AGENT_STAGE_SANDBOX, err.text);
	else if (container_info_check(launch->info, &stage, &err) < 0)
		fail(container, stage, err.text);
	else if (launch_or_fetch(container, launch, &err) < 0) {
		remove_status(c, launch->container);
		fail(container, AGENT_STAGE_LAUNCH, err.text);
	}
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

static void finish(struct container *container)
{
	struct containers *c = container->owner;
	char *id = xstrdup(container->id);
	bool known = container->known;
	int status = container->status;

	if (container->has_status)
		remove_status(c, id);
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
		finish(container);
}

static void begin_cleaning(struct container *container)
{
	struct containers *c = container->owner;

	container->stage = CLEANING;
	if (!kill_leftovers(container)) {
		finish(container);
		return;
	}
	container->clean_deadline = uv_now(c->options.loop) + CLEAN_TIMEOUT_MS;
	c->pause = 1;
	uv_timer_start(&c->timer, clean_cb, c->pause, 0);
}

static void ended_cb(void *context)
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
		container->known = read_status(c, container->id, &container->status);
	}
	if (container->stage == FETCHING)
		fetch_ended(container, status);
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

	if (find(c, id)) {
		log_error("container %s was to be reattached to twice", id);
		return;
	}
	container = add(c, id);
	container->stage = RUNNING;
	container->has_status = true;
	container->start_ticks = start_ticks;
	if (pid > 1 && pid <= INT32_MAX)
		container->pid = (pid_t)pid;
	else
		look_for(container);
	if (container->pid)
		container->watch = process_watch_start(c->options.loop, container->pid,
						       container->start_ticks, ended_cb, container);
	if (!container->watch) {
		/* Whoever has the pid now is not to be taken for what was left. */
		if (is_another(container))
			container->pid = 0;
		ended_cb(container);
	} else if (!pid)
		report_started(container);
}

void containers_destroy(struct containers *c, const char *id)
{
	struct container *container = find(c, id);

	if (!container) {
		report_exited(c, id, false, 0);
		return;
	}
	if (container->stage == CLEANING)
		return;
	container->destroyed = true;
	log_info("Destroying container %s", id);
	process_tree_kill(container->pid);
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

static void closed_cb(uv_handle_t *handle)
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
			process_tree_kill(container->pid);
		if (container->child && container->stage != CLEANING)
			HASH_DELETE(hh_pid, c->by_pid, container);
		discard(container);
	}
	uv_close((uv_handle_t *)&c->timer, closed_cb);
}

pid_t containers_pid(const struct containers *c, const char *id)
{
	const struct container *container = find(c, id);

	return container && container->stage == RUNNING ? container->pid : 0;
}

const struct containers_counters *containers_counters(const struct containers *c)
{
	return &c->counters;
}
