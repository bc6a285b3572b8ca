/* Starts a process as fast as Linux can: the parent's memory is not copied, and no
 * helper stands between it and the program. */
#ifndef AGENT_CONTAINERS_POSIX_SPAWN_H
#define AGENT_CONTAINERS_POSIX_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/containers/capabilities.h"
#include "agent/containers/user.h"
#include "base/err.h"

struct sock_fprog;

struct spawn_limit {
	int resource; /* RLIMIT_... */
	struct rlimit value;
};

struct spawn {
	const char *program;	  /* without '/': searched in PATH of `environment` */
	char *const *arguments;	  /* argv[0] included, NULL-ended */
	char *const *environment; /* the whole of it, NULL-ended */
	const char *directory;	  /* to work in */
	const struct user *user;  /* NULL = ours */
	int input;		  /* descriptors that become 0, 1 and 2 */
	int output;
	int error;
	int message;	   /* descriptor that becomes 3; 0: none */
	int listener;	   /* descriptor that becomes 4; 0: none */
	bool terminal;	   /* the input is one, which becomes its own */
	const int *groups; /* files of control groups that it enters before anything else */
	size_t group_count;
	bool leaves_orphans;		  /* it is no child subreaper */
	const struct spawn_limit *limits; /* others; they count more than open_files */
	size_t limit_count;
	const struct capabilities *capabilities; /* NULL: as we */
	bool no_new_privileges; /* neither it nor what it starts gets more by executing a program */
	/* Which system calls it may make from before it switches to the user on; for the kernel. */
	const struct sock_fprog *filter;
	const struct rlimit *open_files; /* how many it may have open; NULL = as we */
};

/* The process leads a session and group of its own, adopts its orphans (is a child
 * subreaper) unless told otherwise, has no other descriptors, and default signal
 * handling. Returns its pid, or a negative code if it could not be made or its program not be
 * executed. */
pid_t spawn_process(const struct spawn *spawn, struct err *err);

#endif
