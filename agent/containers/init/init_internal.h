/* What the files of `mesita init` share. Nobody else includes this.
 *
 *	init.c		arguments; a program in no room of its own
 *	init_wait.c	waiting for it, and ending after it
 *	init_room.c	a second init inside of namespaces
 *	init_enter.c	into those of a container that runs
 *	init_mounts.c	what it sees of file systems
 *	init_user.c	users as an image names them */
#ifndef AGENT_CONTAINERS_INIT_INIT_INTERNAL_H
#define AGENT_CONTAINERS_INIT_INIT_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/containers/init/init.h"
#include "agent/containers/terminal/terminal.h"
#include "agent/containers/user.h"
#include "proto/proto.h"

struct init_request {
	const char *status_path;
	pid_t parent;		   /* that we are tied to; 0 = none */
	bool tty;		   /* the standard streams are a session's terminal */
	const char *terminal_size; /* of one of the container's own; NULL: it has none */
	struct terminal *terminal;
	bool keeps_signals;
	bool launch; /* a message says the rest */
	pid_t enter; /* 0 = none */
	const char *program;
	char **arguments;
};

/* What the kernel sends when the parent ends. */
#define INIT_PARENT_ENDED (SIGRTMIN + 1)

/* ---- init_wait.c ------------------------------------------------------------- */

/* Signals that are not passed on. */
enum init_keeps { INIT_KEEPS_NONE, INIT_KEEPS_TERMINALS, INIT_KEEPS_ALL };

/* Reaps until `child` has ended, and returns its wait status; other signals are passed on to it.
 * `all` are blocked. The terminal, if there is one, is served meanwhile. */
int init_wait(pid_t child, const sigset_t *all, enum init_keeps keeps, struct terminal *terminal);
/* All descendants are our children sooner or later, since orphans are given to us. */
void init_kill_rest(void);
/* How to end as a process with that wait status did; an exit status, if need be. */
int init_end_like(int status);

/* ---- init_room.c ------------------------------------------------------------- */

/* Starts the inner init; its pid, or a negative code. `report`: a pipe's end from which the
 * program's wait status can be read when it has ended. */
pid_t init_room_start(const struct init_request *request, Mesita__ContainerLaunch *launch,
		      int *report, struct err *err);
/* Reads it and closes the end; `otherwise`: the inner init said nothing. */
int init_room_status(int report, int otherwise);

/* ---- init_enter.c ------------------------------------------------------------ */

struct room_doors {
	int pids, ipc, mounts, network, name; /* namespaces, -1: it has ours */
	int directory;
	char *environment; /* NUL-separated; heap */
	size_t environment_len;
	struct user user; /* of its program */
};

/* Finds the container that lives at or below the process, or is about to. ERR_NOT_FOUND. */
int room_doors_open(pid_t pid, struct room_doors *doors, struct err *err);
/* Children are in its namespace of pids from now on, we in its others. */
int room_enter(const struct room_doors *doors, struct err *err);

/* ---- init_mounts.c ----------------------------------------------------------- */

/* In namespaces of our own. */
int room_mount(const Mesita__ContainerLaunch *launch, struct err *err);
/* Makes the directory and what is above it. */
int room_make_directory(const char *path, struct err *err);

/* ---- init_user.c ------------------------------------------------------------- */

/* "name", "name:group", "uid", "uid:gid", by /etc/passwd and /etc/group. */
int room_find_user(const char *name, struct user *out, struct err *err);

#endif
