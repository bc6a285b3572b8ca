/* Containers of the posix launcher: a sandbox and a tree of processes.
 *
 * Life: containers_launch -> sandbox made -> URIs fetched (only if there are any) ->
 * process started (STARTED, or FAILED at any point before) -> its first process ends ->
 * everything it left is killed -> EXITED.
 *
 * How it is known that nothing is left, without walking /proc at each exit: the first
 * process of a container is a child subreaper, so what is orphaned inside the
 * container becomes its child; when it ends, what still lives becomes a child of the
 * agent, which is a subreaper as well. So after an exit, any child of the agent that it
 * did not start is a leftover, and the kernel lists children in proportion to their
 * number. Only for containers that were reattached to after a restart of the agent
 * (their orphans went elsewhere) is /proc walked.
 *
 * Custom executors run below `mesita init` (init.h); the command executor, which is the
 * agent's own program, is started directly. */
#ifndef AGENT_CONTAINERS_CONTAINER_H
#define AGENT_CONTAINERS_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <uv.h>

#include "agent/core/agent.h"

struct containers;

struct containers_options {
	uv_loop_t *loop;
	const char *program;	 /* absolute path of the mesita binary */
	const char *runtime_dir; /* absolute; for what init writes down */
	const char *frameworks_home;
	const char *hadoop_home;       /* or NULL */
	int64_t fetcher_stall_timeout; /* ns */
	struct rlimit open_files;      /* of the processes that are started; zero: as we */
	/* STARTED, FAILED and EXITED events, also from inside of the functions below.
	 * Their strings are valid inside the call. */
	void (*report)(void *context, const struct agent_event *event);
	void *context;
};

struct containers_counters {
	uint64_t fetches_succeeded;
	uint64_t fetches_failed;
	uint64_t destroy_errors;
};

/* Makes this process a child subreaper. The options' strings must outlive it. */
int containers_create(const struct containers_options *options, struct containers **out,
		      struct err *err);
/* Frees from the loop. Executors live on; fetching ones are killed. */
void containers_close(struct containers *containers);

void containers_launch(struct containers *containers, const struct agent_launch *launch);
/* EXITED follows when the process ends or is not there. With pid 0 the container is
 * looked for by its id; if found, STARTED comes first. */
void containers_reattach(struct containers *containers, const char *id, int64_t pid,
			 uint64_t start_ticks);
/* EXITED follows in any case. */
void containers_destroy(struct containers *containers, const char *id);

/* The first process of a running container; 0 if there is none. */
pid_t containers_pid(const struct containers *containers, const char *id);
const struct containers_counters *containers_counters(const struct containers *containers);

#endif
