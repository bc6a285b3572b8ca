/* The backend of containers that is made of plain processes: a sandbox and a tree of processes
 * each.
 *
 * How it is known that nothing is left, without walking /proc at each exit: the first
 * process of a container is a child subreaper, so what is orphaned inside the
 * container becomes its child; when it ends, what still lives becomes a child of the
 * agent, which is a subreaper as well. So after an exit, any child of the agent that it
 * did not start is a leftover, and the kernel lists children in proportion to their
 * number. Only for containers that were reattached to after a restart of the agent
 * (their orphans went elsewhere) is /proc walked, on a thread as everything that may be slow.
 *
 * With control groups all that is simpler: what is in a container's group is its own, whoever's
 * child it is.
 *
 * Custom executors run below `mesita init` (init.h); the command executor, which is the
 * agent's own program, is started directly. */
#ifndef AGENT_CONTAINERS_POSIX_POSIX_H
#define AGENT_CONTAINERS_POSIX_POSIX_H

#include <sys/resource.h>
#include <uv.h>

#include "agent/containers/cgroups/cgroups.h"
#include "agent/containers/core/containers.h"
#include "agent/containers/slow.h"

struct fetch_cache;
struct image_store;
struct networks;
struct room_options;
struct posix;

struct posix_options {
	uv_loop_t *loop;
	struct slow_pool *pool;
	const char *program;	 /* absolute path of the mesita binary */
	const char *runtime_dir; /* absolute; for what init writes down */
	const char *frameworks_home;
	const char *hadoop_home;       /* or NULL */
	int64_t fetcher_stall_timeout; /* ns */
	struct fetch_cache *cache;     /* outlives the containers */
	const char *docker;	       /* program for tasks of type DOCKER; NULL: there are none */
	const char *docker_socket;     /* of its daemon; NULL: it knows */
	bool rlimits;		       /* those that containers ask for are set */
	const struct capabilities *capabilities; /* of containers; NULL: as we */
	bool no_new_privileges;			 /* of containers */
	const char *seccomp_directory;	  /* of profiles; NULL: all system calls are allowed */
	const char *seccomp_profile;	  /* of those that name none; or NULL */
	struct cgroups *groups;		  /* for those with limits of their own; or NULL */
	const struct room_options *rooms; /* NULL: containers see what the machine has */
	struct image_store *images;	  /* NULL: they have none */
	struct networks *networks;	  /* NULL: they join none */
	struct rlimit open_files;	  /* of the processes that are started; zero: as we */
	/* Whether a child of this process is of no container, though it came later; may be NULL. */
	bool (*spares)(void *context, pid_t pid);
	void *spares_context;
};

extern const struct container_backend posix_backend; /* its context is a struct posix */

/* Makes this process a child subreaper. The options' strings must outlive it. */
int posix_create(const struct posix_options *options, struct posix **out, struct err *err);
/* Whom it answers; before anything is asked of it. */
void posix_answer(struct posix *posix, struct containers *containers);
/* Hands over our ends of a running session's streams: its input, output and errors, which the
 * caller closes then. With a terminal the first two are that, and there is no third (-1). False: it
 * has none, or they were taken. */
bool posix_take_streams(struct posix *posix, const char *id, int streams[3], bool *tty);
/* Removes what containers that nobody knows any more have on disk; once those of an earlier agent
 * were found. */
void posix_sweep(struct posix *posix);
/* After all containers were forgotten. Frees itself from the loop. */
void posix_close(struct posix *posix);

#endif
