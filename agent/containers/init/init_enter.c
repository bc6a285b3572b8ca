/* Into a container that runs: its first process is the nearest descendant of a known one that has
 * other mounts than we; that process knows its environment and where it works. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/init/init_internal.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/time/clock.h"

#define DEPTH_MAX 8 /* an executor, the init outside, the init inside; others are not looked at */
#define READ_SIZE 16384
#define START_SECONDS 10 /* for a container that is about to start */
#define GROUPS_MAX 1024	 /* of a process; more are left out */

static bool read_proc(pid_t pid, const char *name, struct buf *out)
{
	char path[96], data[READ_SIZE];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (got = read(fd, data, sizeof(data))) > 0)
		buf_append(out, data, (size_t)got);
	if (fd >= 0)
		close(fd);
	return got == 0;
}

/* The namespace, if it is another than ours; else -1. */
static int open_other(pid_t pid, const char *name)
{
	char path[96], own[64];
	struct stat theirs, ours;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	snprintf(own, sizeof(own), "/proc/self/ns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &theirs) && !stat(own, &ours) &&
	    (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* It, or the first below it that has mounts of its own; 0: none. */
static pid_t find_inside(pid_t pid, int depth, int *mounts)
{
	char name[64];
	struct buf list = BUF_INIT;
	pid_t found = 0;
	char *at, *end;

	*mounts = open_other(pid, "mnt");
	if (*mounts >= 0 || !depth)
		return *mounts >= 0 ? pid : 0;
	snprintf(name, sizeof(name), "task/%d/children", (int)pid);
	if (read_proc(pid, name, &list) && list.len) {
		for (at = list.data; !found; at = end) {
			pid_t child = (pid_t)strtol(at, &end, 10);

			if (end == at)
				break;
			found = find_inside(child, depth - 1, mounts);
		}
	}
	buf_free(&list);
	return found;
}

/* The numbers behind a name in /proc/.../status. */
static size_t read_numbers(const char *status, const char *name, unsigned *out, size_t most)
{
	const char *at = strstr(status, name);
	size_t count = 0;
	char *end;

	for (at = at ? at + strlen(name) : ""; count < most && *at != '\n'; at = end) {
		unsigned long number = strtoul(at, &end, 10);

		if (end == at)
			break;
		out[count++] = (unsigned)number;
		/* What separates them ends the line, too. */
		while (*end == ' ' || *end == '\t')
			end++;
	}
	return count;
}

/* The program, which is the first child of its init; 0: it does not run yet, or any more. */
static pid_t find_program(pid_t inside)
{
	char name[64];
	struct buf list = BUF_INIT;
	pid_t program = 0;

	snprintf(name, sizeof(name), "task/%d/children", (int)inside);
	if (read_proc(inside, name, &list) && list.len) {
		buf_putc(&list, '\0');
		program = (pid_t)strtol(list.data, NULL, 10);
	}
	buf_free(&list);
	return program;
}

static void read_user(pid_t program, struct user *user)
{
	struct buf status = BUF_INIT;
	unsigned id[1];

	*user = (struct user){0};
	if (read_proc(program, "status", &status) && status.len) {
		buf_putc(&status, '\0');
		user->uid = read_numbers(status.data, "\nUid:", id, 1) ? id[0] : 0;
		user->gid = read_numbers(status.data, "\nGid:", id, 1) ? id[0] : 0;
		user->groups = xcalloc(GROUPS_MAX, sizeof(*user->groups));
		user->group_count =
			read_numbers(status.data, "\nGroups:", user->groups, GROUPS_MAX);
	}
	buf_free(&status);
}

/* Waits until its program runs: before that, what it sees is not complete, and may be ours. */
static pid_t await_inside(pid_t pid, pid_t *program, int *mounts)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int64_t deadline = clock_steady() + START_SECONDS * SECOND;
	pid_t inside;

	for (;;) {
		inside = find_inside(pid, DEPTH_MAX, mounts);
		*program = inside ? find_program(inside) : 0;
		if (*program)
			return inside;
		if (inside)
			close(*mounts);
		if (clock_steady() > deadline || (kill(pid, 0) && errno == ESRCH))
			return 0;
		nanosleep(&pause, NULL);
	}
}

int room_doors_open(pid_t pid, struct room_doors *doors, struct err *err)
{
	struct buf environment = BUF_INIT;
	char path[64];
	pid_t program, inside = await_inside(pid, &program, &doors->mounts);

	if (!inside)
		return err_set(err, ERR_NOT_FOUND, "The container does not run");
	read_user(program, &doors->user);
	doors->pids = open_other(inside, "pid");
	doors->ipc = open_other(inside, "ipc");
	doors->network = open_other(inside, "net");
	doors->name = open_other(inside, "uts");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)inside);
	doors->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (doors->directory < 0 || !read_proc(inside, "environ", &environment)) {
		buf_free(&environment);
		return err_set(err, ERR_NOT_FOUND, "The container does not run any more");
	}
	if (environment.len)
		buf_putc(&environment, '\0');
	doors->environment = environment.data;
	doors->environment_len = environment.len ? environment.len - 1 : 0;
	return 0;
}

int room_enter(const struct room_doors *doors, struct err *err)
{
	if ((doors->ipc >= 0 && setns(doors->ipc, CLONE_NEWIPC)) ||
	    (doors->network >= 0 && setns(doors->network, CLONE_NEWNET)) ||
	    (doors->name >= 0 && setns(doors->name, CLONE_NEWUTS)) ||
	    setns(doors->mounts, CLONE_NEWNS) || fchdir(doors->directory))
		return err_set(err, ERR_IO, "Cannot enter the container: %s", strerror(errno));
	return 0;
}
