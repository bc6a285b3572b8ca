/* What the files of containers share. Nobody else includes this.
 *
 *	container.c		their table, their end
 *	container_launch.c	from the launch to the first process
 *	container_status.c	the exit status that init writes down */
#ifndef AGENT_CONTAINERS_CONTAINER_INTERNAL_H
#define AGENT_CONTAINERS_CONTAINER_INTERNAL_H

#include "agent/containers/container.h"
#include "agent/containers/process_watch.h"
#include "agent/containers/spawn.h"
#include "base/table.h"

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

/* ---- container.c ----------------------------------------------------------- */

struct container *container_find(const struct containers *c, const char *id);
struct container *container_add(struct containers *c, const char *id);
void container_free_start(struct start *start);
/* Reports that it could not be started, or, if it was destroyed meanwhile, that it ended;
 * frees it. */
void container_fail(struct container *container, enum agent_start_stage stage, const char *text);
void container_report_started(struct container *container);
/* Its first process (or the fetcher) is watched. */
int container_start_process(struct container *container, const struct spawn *spawn,
			    struct err *err);

/* ---- container_launch.c ---------------------------------------------------- */

void container_fetch_ended(struct container *container, int status);

/* ---- container_status.c ---------------------------------------------------- */

/* "--status=..." for init, in the start's arena, or NULL when there is no place for it. */
char *container_status_make(struct containers *c, const char *id, struct start *start);
bool container_status_read(const struct containers *c, const char *id, int *status);
void container_status_remove(const struct containers *c, const char *id);

#endif
