/* The init inside: a process in namespaces of its own, the first of its pids if those are its own.
 * The signals that it gets it passes on; it ends with the outer one, whatever becomes of that. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/containers/init/init_internal.h"
#include "agent/containers/posix/spawn.h"
#include "base/memory/arena.h"

/* What the inner init is born with. */
struct room {
	const struct init_request *request;
	Mesita__ContainerLaunch *launch;
	struct room_doors *doors; /* of a container that runs, or NULL */
	int alive;		  /* a byte comes when the outer one is ready */
	int report;
	struct arena arena;
};

/* ---- the program --------------------------------------------------------------- */

static int find_user(struct room *room, struct user *user, struct err *err)
{
	const Mesita__ContainerLaunch *launch = room->launch;
	int rv = 0;

	if (launch->follows_user && room->doors) {
		*user = room->doors->user;
		return rv;
	}
	if (launch->user_name) {
		rv = room_find_user(launch->user_name, user, err);
		/* It was made for another one. */
		if (rv == 0 && launch->sandbox &&
		    (chown(launch->sandbox, user->uid, user->gid) ||
		     fchown(STDOUT_FILENO, user->uid, user->gid) ||
		     fchown(STDERR_FILENO, user->uid, user->gid)))
			rv = err_set(err, ERR_IO, "Cannot chown the sandbox: %s", strerror(errno));
		return rv;
	}
	user->uid = launch->uid;
	user->gid = launch->gid;
	user->group_count = launch->n_groups;
	user->groups = launch->groups;
	return 0;
}

static struct spawn_limit *take_limits(struct room *room)
{
	const Mesita__ContainerLaunch *launch = room->launch;
	struct spawn_limit *limits =
		arena_alloc(&room->arena, (launch->n_limits + 1) * sizeof(*limits));

	for (size_t i = 0; i < launch->n_limits; i++) {
		limits[i].resource = launch->limits[i]->resource;
		limits[i].value.rlim_cur = launch->limits[i]->soft;
		limits[i].value.rlim_max = launch->limits[i]->hard;
	}
	return limits;
}

static char *const *ended_by_null(struct arena *arena, char *const *list, size_t count)
{
	char **copy = arena_alloc(arena, (count + 1) * sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = list[i];
	return copy;
}

static pid_t start_program(struct room *room, struct err *err)
{
	const Mesita__ContainerLaunch *launch = room->launch;
	const struct capabilities capabilities = {true, true, launch->effective, launch->bounding};
	const struct sock_fprog filter = {
		.len = (unsigned short)(launch->filter.len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)launch->filter.data,
	};
	struct user user = {0};
	const struct spawn spawn = {
		.program = launch->program ? launch->program : "",
		.arguments = ended_by_null(&room->arena, launch->arguments, launch->n_arguments),
		.environment =
			ended_by_null(&room->arena, launch->environment, launch->n_environment),
		.directory = ".",
		.user = launch->switches_user || launch->user_name || launch->follows_user ? &user
											   : NULL,
		.input = STDIN_FILENO,
		.output = STDOUT_FILENO,
		.error = STDERR_FILENO,
		.leaves_orphans = true,
		.limits = take_limits(room),
		.limit_count = launch->n_limits,
		.capabilities = launch->has_effective ? &capabilities : NULL,
		.filter = launch->has_filter ? &filter : NULL,
		.terminal = room->request->tty || room->request->terminal,
	};
	int rv = spawn.user ? find_user(room, &user, err) : 0;

	/* It was made for another one. */
	if (rv == 0 && spawn.user && spawn.terminal && fchown(STDIN_FILENO, user.uid, user.gid))
		rv = err_set(err, ERR_IO, "Cannot chown the terminal: %s", strerror(errno));
	return rv < 0 ? rv : spawn_process(&spawn, err);
}

/* ---- what it sees ---------------------------------------------------------------- */

static int work_in(const char *directory, struct err *err)
{
	int rv = room_make_directory(directory, err);

	if (rv == 0 && chdir(directory))
		rv = err_set(err, ERR_IO, "Failed to change the working directory to '%s': %s",
			     directory, strerror(errno));
	return rv;
}

/* Proves who an executor is; nobody else has it. */
#define TOKEN "MESOS_EXECUTOR_AUTHENTICATION_TOKEN="

/* What the container's first process has, but for what the launch says. */
static void take_environment(struct room *room)
{
	Mesita__ContainerLaunch *launch = room->launch;
	const struct room_doors *doors = room->doors;

	for (size_t at = 0; at < doors->environment_len;) {
		char *pair = doors->environment + at;
		size_t name = strcspn(pair, "=") + 1;
		bool said = !strncmp(pair, TOKEN, sizeof(TOKEN) - 1);

		at += strlen(pair) + 1;
		for (size_t i = 0; i < launch->n_environment && !said; i++)
			said = !strncmp(launch->environment[i], pair, name);
		if (said)
			continue;
		launch->environment =
			xrealloc(launch->environment,
				 (launch->n_environment + 1) * sizeof(*launch->environment));
		launch->environment[launch->n_environment++] = xstrdup(pair);
	}
}

/* Before mounts, one of which shows what the network has. */
static int join_network(const Mesita__ContainerLaunch *launch, struct err *err)
{
	int fd = open(launch->network, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) ||
	    sethostname(launch->hostname, strlen(launch->hostname)))
		return err_set(err, ERR_IO, "Cannot enter the network namespace '%s': %s",
			       launch->network, strerror(errno));
	close(fd);
	return 0;
}

static int settle_in(struct room *room, struct err *err)
{
	if (room->doors) {
		take_environment(room);
		return room_enter(room->doors, err);
	}
	if (room->launch->network && join_network(room->launch, err) < 0)
		return ERR_IO;
	if (room_mount(room->launch, err) < 0)
		return ERR_IO;
	return room->launch->directory ? work_in(room->launch->directory, err) : 0;
}

/* ---- the inner init ---------------------------------------------------------------- */

static void __attribute__((noreturn)) give_up(const struct err *err)
{
	dprintf(STDERR_FILENO, "Failed to start the container: %s\n", err->text);
	_exit(1);
}

static void __attribute__((noreturn)) live_inside(struct room *room)
{
	struct err err = {""};
	sigset_t all;
	pid_t child;
	int status;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (room->request->terminal)
		terminal_take(room->request->terminal);
	if (read(room->alive, &byte, 1) != 1)
		_exit(1);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigfillset(&all);
	if (settle_in(room, &err) < 0)
		give_up(&err);
	child = start_program(room, &err);
	if (child < 0)
		give_up(&err);
	status = init_wait(child, &all,
			   room->launch->keeps_signals ? INIT_KEEPS_ALL : INIT_KEEPS_NONE, NULL);
	init_kill_rest();
	if (write(room->report, &status, sizeof(status)) != sizeof(status))
		_exit(1);
	_exit(0);
}

/* ---- the outer one ------------------------------------------------------------------ */

/* Our children share them from now on. */
static int share(const struct room_doors *doors, const Mesita__ContainerLaunch *launch,
		 struct err *err)
{
	if ((launch->shares_pids && doors->pids >= 0 && setns(doors->pids, CLONE_NEWPID)) ||
	    (launch->shares_ipc && doors->ipc >= 0 && setns(doors->ipc, CLONE_NEWIPC)))
		return err_set(err, ERR_IO, "Cannot enter the container: %s", strerror(errno));
	return 0;
}

/* The doors through which it is entered, if there is something to enter. */
static int find_doors(const struct init_request *request, Mesita__ContainerLaunch *launch,
		      struct room_doors *doors, struct err *err)
{
	int rv = 0;

	if (request->enter)
		rv = room_doors_open(request->enter, doors, err);
	else if (launch->shares_pids || launch->shares_ipc)
		rv = room_doors_open(launch->parent, doors, err);
	else
		return 0;
	if (request->enter)
		launch->shares_pids = 1;
	return rv < 0 ? rv : share(doors, launch, err);
}

static pid_t clone_room(const struct init_request *request, const Mesita__ContainerLaunch *launch,
			struct err *err)
{
	unsigned long flags = SIGCHLD;
	pid_t pid;

	if (!request->enter)
		flags |= CLONE_NEWNS | (launch->own_pids ? CLONE_NEWPID : 0UL) |
			 (launch->own_ipc ? CLONE_NEWIPC : 0UL) |
			 (launch->network ? CLONE_NEWUTS : 0UL);
	pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0UL);
	return pid < 0 ? err_set(err, ERR_IO, "Failed to make namespaces: %s", strerror(errno))
		       : pid;
}

pid_t init_room_start(const struct init_request *request, Mesita__ContainerLaunch *launch,
		      int *report, struct err *err)
{
	struct room room = {.request = request, .launch = launch};
	struct room_doors doors;
	int alive[2], status[2];
	pid_t pid;

	if (find_doors(request, launch, &doors, err) < 0)
		return ERR_IO;
	if (request->enter)
		room.doors = &doors;
	if (pipe2(alive, O_CLOEXEC) || pipe2(status, O_CLOEXEC))
		return err_set(err, ERR_IO, "Failed to create a pipe: %s", strerror(errno));
	pid = clone_room(request, launch, err);
	if (pid == 0) {
		close(alive[1]);
		close(status[0]);
		room.alive = alive[0];
		room.report = status[1];
		arena_init(&room.arena);
		live_inside(&room);
	}
	close(alive[0]);
	close(status[1]);
	*report = status[0];
	if (pid > 0 && write(alive[1], "", 1) != 1)
		kill(pid, SIGKILL);
	return pid;
}

int init_room_status(int report, int otherwise)
{
	int status;

	if (read(report, &status, sizeof(status)) != sizeof(status))
		status = otherwise;
	close(report);
	return status;
}
