/* What the files of the posix backend share. Nobody else includes this.
 *
 *	posix.c		their table, their end
 *	posix_launch.c	from the launch to the first process
 *	posix_program.c	what that is, and what it may
 *	posix_room.c	of those that see more than the machine, or less
 *	posix_network.c	of those that join networks
 *	posix_groups.c	control groups of those that have one
 *	posix_docker.c	what Docker runs for one
 *	posix_status.c	the exit status that init writes down */
#ifndef AGENT_CONTAINERS_POSIX_POSIX_INTERNAL_H
#define AGENT_CONTAINERS_POSIX_POSIX_INTERNAL_H

#include <linux/filter.h>

#include "agent/containers/fetch/fetch_cache.h"
#include "agent/containers/posix/posix.h"
#include "agent/containers/posix/process_watch.h"
#include "agent/containers/posix/spawn.h"
#include "base/list.h"
#include "base/table.h"

struct posix_oom;

struct posix_before {
	pid_t pid;
	bool child;
};

struct posix_container {
	UT_hash_handle hh;     /* by id */
	UT_hash_handle hh_pid; /* by pid, while it is a child of ours */
	struct posix *owner;
	char *id;
	pid_t pid;
	uint64_t start_ticks;
	bool child;		      /* of ours, not reattached to */
	bool listed;		      /* in posix.by_pid */
	bool fetching;		      /* its process is the fetcher */
	struct fetch_claim *claim;    /* files of the cache; or NULL */
	struct list cleaning;	      /* in the owner's list, while what is left of it is killed */
	bool ended;		      /* while it was being killed: it is reaped after that */
	bool has_status;	      /* there may be something of it in runtime_dir */
	bool forgotten;		      /* freed with its last job */
	bool docker;		      /* there may be a Docker container of its name */
	bool removing;		      /* its process removes that */
	struct posix_before before;   /* what its process was */
	struct image_want *image;     /* it waits for that */
	struct network_want *network; /* it waits for that */
	bool networked;		      /* it may have joined some */
	bool housed;		      /* there may be something on disk of its root */
	int64_t parent_pid;	      /* of the container that it is inside of; 0: none */
	bool grouped;		      /* it has a control group of its own */
	bool limits_changed;	      /* since it was prepared */
	struct agent_limits limits;
	struct posix_oom *oom; /* watches the memory of its group; or NULL */
	int jobs;
	uint64_t clean_deadline; /* loop's ms */
	int streams[3]; /* our ends of a session's, -1: none, or taken; see posix_take_streams() */
	struct process_watch *watch;
	struct posix_start *start; /* until it is started */
};

enum posix_room {
	POSIX_ROOM_NONE,
	POSIX_ROOM_OWN,
	POSIX_ROOM_PARENT, /* a session goes into that of the container that it is inside of */
	POSIX_ROOM_TASK,   /* the command executor makes it for its task */
};

/* What is needed to start the process, from launch to start. While it is prepared it belongs to a
 * thread. */
struct posix_start {
	struct arena arena;
	struct agent_launch launch; /* copied into the arena */
	struct spawn spawn;
	struct user user;
	const char *user_name; /* NULL: we are it */
	bool switches_user;
	Mesos__CommandInfo *command; /* heap */
	struct capabilities capabilities;
	struct sock_fprog filter; /* in the arena */
	bool session;
	bool tty;
	char *terminal; /* an argument: it gets one of its own; in the arena, or NULL */
	int listener;	/* for that; 0: none */
	enum posix_room room;
	int message; /* the room's launch, in a file; 0: none */
};

/* Slow work for a container, on a thread; freed after `done`. */
struct posix_job {
	struct slow_job slow;
	struct posix_container *container;
	void (*work)(struct posix_job *job);
	void (*done)(struct posix_job *job); /* not for a container that was forgotten */
	union {
		struct {
			int rv;
			bool unfetchable; /* by what its URIs say */
			bool grouped;
			enum agent_start_stage stage;
			struct err err;
		} prepare;
		struct {
			bool known;
			int status;
		} ended;
		size_t alive; /* of a cleaning */
	};
};

struct posix {
	struct posix_options options;
	struct containers *containers; /* whom it answers */
	struct posix_container *table;
	struct posix_container *by_pid;
	int users;	/* containers that are not freed, and 1 until it is closed */
	pid_t *foreign; /* children that this process had before, ended by 0 */
	int null_fd;
	uv_timer_t timer; /* looks after leftovers: */
	struct list cleaning;
	struct room_sweep *sweep; /* under way; or NULL */
	uint64_t pause;
};

/* ---- posix.c --------------------------------------------------------------- */

struct posix_container *posix_find(const struct posix *posix, const char *id);
struct posix_container *posix_add(struct posix *posix, const char *id);
/* Either may be NULL: there is nothing to do, or nothing follows. */
void posix_begin_job(struct posix_container *container, void (*work)(struct posix_job *job),
		     void (*done)(struct posix_job *job), struct posix_job *job);
/* Its first process (or the fetcher) is watched. */
int posix_start_process(struct posix_container *container, const struct spawn *spawn,
			struct err *err);

void posix_clean_soon(struct posix *posix);
/* The process, a child of ours, is watched for the container. */
void posix_adopt(struct posix_container *container, pid_t pid);
/* Nobody waits any longer for what it left behind. */
bool posix_is_late(const struct posix_container *container);
/* Its control group, if it had one, is gone. */
void posix_clean_rest(struct posix_container *container);

/* ---- posix_launch.c -------------------------------------------------------- */

void posix_prepare(void *posix, const struct agent_launch *launch);
/* Its image is there. */
void posix_prepare_on(struct posix_container *container);
/* What it waited for was given up: it fails soon. */
void posix_prepare_give_up(struct posix_container *container);
void posix_fetch(void *posix, const char *id);
void posix_start(void *posix, const char *id);
void posix_free_start(struct posix_start *start);
void posix_fetch_ended(struct posix_container *container, int status);
/* Waits for files that others fetch; and is not to any more: it fails soon. */
bool posix_fetch_waits(const struct posix_container *container);
void posix_fetch_give_up(struct posix_container *container);

/* ---- posix_program.c ---------------------------------------------------------- */

/* Fills in program, arguments and limits of the process; and its terminal, if it gets one. On a
 * thread. */
int posix_program_choose(struct posix_container *container, struct err *err);
bool posix_is_command_executor(const struct posix *posix, const Mesos__CommandInfo *command);

#endif
