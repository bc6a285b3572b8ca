/* Agent core: registration, frameworks, executors, tasks, status updates and their
 * recovery, as a state machine.
 *
 * Pure: no I/O, no clock, no processes. One event goes in with the time, a list of
 * actions comes out. The shell (server.h) owns sockets, containers, sandboxes and
 * the store, and carries actions out in their order.
 *
 * Checkpoints are store pairs. What a framework with checkpoint=true must keep is
 * in the store before anything visible follows from it (an executor hears
 * ACKNOWLEDGED only after AGENT_STORED), so kill -9 loses nothing.
 */
#ifndef AGENT_CORE_AGENT_H
#define AGENT_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/random.h"
#include "proto/proto.h"
#include "proto/resources.h"
#include "store/store.h"

struct agent;

struct agent_options {
	const char *ip; /* numeric, advertised; also put into TASK_RUNNING's network_infos */
	int port;	/* advertised */
	const char *hostname;
	const char *version;
	const char *work_dir; /* absolute; sandbox paths are made below it */
	const char *
		launcher_program; /* absolute path of the mesita binary, for the command executor */
	struct resource_shapes *shapes;		/* the owner's */
	const struct resources *resources;	/* total, copied */
	const struct resources *oversubscribed; /* revocable, copied; NULL = none */
	Mesos__Attribute *const *attributes;
	size_t attribute_count;
	Mesos__DomainInfo *domain; /* or NULL */
	struct rng *rng;
	int64_t start_time;
	const char *reconfiguration_policy; /* "equal" or "additive" */
	bool start_new;			    /* the stored identity, and all under it, is given up */
	bool recover_cleanup;		    /* --recover=cleanup */
	bool switch_user;
	bool http_command_executor;
	const char *principal, *secret;		 /* of the agent; NULL: it does not authenticate */
	int64_t authentication_backoff_factor;	 /* ns; default 1 s */
	int64_t authentication_timeout_min;	 /* 5 s */
	int64_t authentication_timeout_max;	 /* 1 min */
	int64_t registration_backoff_factor;	 /* ns; default 1 s */
	int64_t executor_registration_timeout;	 /* 1 min */
	int64_t executor_reregistration_timeout; /* 2 s */
	int64_t executor_shutdown_grace_period;	 /* 5 s */
	int64_t recovery_timeout;		 /* 15 min */
	int64_t gc_delay;			 /* 1 week */
	const char *const *executor_environment; /* NAME=VALUE of --executor_environment_variables,
						    NULL-ended */
	const char *libprocess_ip;		 /* LIBPROCESS_IP for executors, or NULL */
	struct slice executor_secret; /* signs their tokens; empty: they are not asked for one */
	const char *native_library;   /* MESOS_NATIVE_JAVA_LIBRARY, or NULL */
	int max_completed_executors_per_framework; /* 150 */
	/* For tasks in Docker containers: the program, its daemon's socket, where a sandbox is in
	 * one. NULL: there are none. */
	const char *docker, *docker_socket, *sandbox_directory;
	/* Containers keep to limits: of processors, of memory; and without a limit of processors
	 * one has but those that it asked for. */
	bool limits_cpus, limits_mem, limits_strictly;
};

/* ---- events -------------------------------------------------------------- */

enum agent_event_type {
	AGENT_DETECTED,	      /* the leading master, or none */
	AGENT_MESSAGE,	      /* a libprocess message, decoded */
	AGENT_EXITED,	      /* the link to a pid broke */
	AGENT_EXECUTOR_CALL,  /* a v1 executor call over HTTP, decoded */
	AGENT_STREAM_CLOSED,  /* an executor's subscription went away */
	AGENT_CONTAINER_CALL, /* of the operator API, about containers inside of executors' */
	AGENT_SESSION_CLOSED, /* nobody reads a session's output any more */
	AGENT_CONTAINER_STARTED,
	AGENT_CONTAINER_NETWORKED, /* an executor's joined networks; before STARTED */
	AGENT_CONTAINER_FAILED,	   /* could not be started; it is gone */
	AGENT_CONTAINER_EXITED,	   /* its first process ended and nothing of it is left */
	AGENT_CONTAINER_LIMITED,   /* it broke a limit, or one could not be set: it must end */
	AGENT_STORED,		   /* every store action up to `ticket` is written */
	AGENT_SHUTDOWN,		   /* SIGUSR1: unregister, end all executors, exit */
	AGENT_COLLECTED,	   /* a path of COLLECT was removed (or was not there) */
	AGENT_VOLUMES_MADE,	   /* answers MAKE_VOLUMES, maybe much later */
	AGENT_VOLUME_REMOVED,	   /* answers REMOVE_VOLUME, likewise */
	AGENT_VOLUMES_LINKED,	   /* answers LINK_VOLUMES, likewise */
	AGENT_TICK,
};

enum agent_start_stage {
	AGENT_STAGE_SANDBOX, /* directory, owner, unknown user: TASK_LOST/DROPPED */
	AGENT_STAGE_TYPE,    /* nobody has such containers: TASK_FAILED, "Abnormal ...: <text>" */
	AGENT_STAGE_LAUNCH,  /* fetch, fork: TASK_FAILED, "Failed to launch container: ..." */
};

struct agent_event {
	enum agent_event_type type;
	union {
		struct {
			const char *master; /* pid "master@ip:port", NULL = none */
		} detected;
		struct {
			const char *from;
			const char *to; /* our actor: "slave(1)", "crammd5-authenticatee(1)" */
			ProtobufCMessage *message;
		} message;
		struct {
			const char *pid;
		} exited;
		struct {
			/* Proto-level required fields present; all rules of "Failed to validate
			 * Executor::Call" and the 406, 501, 503 after it are the core's: the
			 * answer is in actions->reply. A SUBSCRIBE answered 200 opens the stream:
			 * the shell sends the head, then the events of this step. */
			Mesos__Executor__Call *call;
			uint64_t stream; /* SUBSCRIBE: the shell's number for the stream to be */
			bool acceptable; /* Accept allows JSON or protobuf */
			const struct json *claims; /* of its token; asked for a secret only */
		} executor_call;
		struct {
			uint64_t stream;
		} stream_closed;
		struct {
			uint64_t number; /* of the request, in its ANSWER */
			Mesos__Agent__Call *call;
		} container_call;
		struct {
			const char *container;
		} session_closed;
		struct {
			const char *container; /* id */
			int64_t pid;
			uint64_t
				start_ticks; /* starttime of /proc/<pid>/stat: tells a reused pid */
		} container_started;
		struct {
			const char *container;
			const Mesos__ContainerStatus *status; /* its network_infos */
		} container_networked;
		struct {
			const char *container;
			enum agent_start_stage stage;
			const char *text; /* why */
		} container_failed;
		struct {
			const char *container;
			bool known; /* the wait status is known */
			int status; /* raw wait status */
		} container_exited;
		struct {
			const char *container;
			/* CONTAINER_LIMITATION_MEMORY or _DISK, or CONTAINER_UPDATE_FAILED */
			Mesos__TaskStatus__Reason reason;
			const char *text;
			const char *resource; /* that it used up; NULL: none */
			double amount;	      /* of it, in its unit */
		} container_limited;
		struct {
			uint64_t ticket;
		} stored;
		struct {
			const char *path;
		} collected;
		struct {
			uint64_t number;     /* of the action */
			const char *failure; /* NULL = all are there; else none was made */
		} volumes_made;
		struct {
			const char *path;
		} volume_removed;
		struct {
			const char *container;
			const char *failure; /* NULL = all are linked */
		} volumes_linked;
	};
};

/* ---- actions ------------------------------------------------------------- */

enum agent_action_type {
	AGENT_SEND_MESSAGE,
	AGENT_LINK,
	AGENT_UNLINK,
	AGENT_SEND_EVENT, /* an executor event to a stream */
	AGENT_END_STREAM,
	AGENT_LAUNCH, /* sandbox, fetch, start: answered by STARTED or FAILED */
	/* After recovery: watch this process; answered by EXITED when it is gone. pid 0: the
	 * agent died between starting the container and storing its pid; the shell looks for
	 * it (STARTED when found, EXITED when not). */
	AGENT_REATTACH,
	AGENT_DESTROY, /* kill everything in the container; EXITED follows */
	AGENT_SIGNAL,  /* to the first process of a container */
	AGENT_LIMIT,   /* what a container may use from now on; LIMITED follows if it cannot be */
	AGENT_CLEAR,   /* how a container inside of another ended need not be kept any more */
	AGENT_ANSWER,  /* to a CONTAINER_CALL, in its step or much later */
	AGENT_STORE,
	AGENT_COLLECT, /* remove a path at a time (garbage collection); COLLECTED follows */
	AGENT_KEEP,    /* do not remove this path after all */
	/* Persistent volumes. Their data stays until REMOVE: whoever wants it gone repeats
	 * until it is. */
	AGENT_MAKE_VOLUMES,  /* directories, with what is above; VOLUMES_MADE follows */
	AGENT_REMOVE_VOLUME, /* directory (mount: its content only); VOLUME_REMOVED follows */
	AGENT_LINK_VOLUMES,  /* symlinks in a sandbox; VOLUMES_LINKED follows */
	AGENT_REDETECT,	     /* look for the master again; DETECTED follows */
	AGENT_EXIT,	     /* end the process with this status */
};

/* A persistent volume in a sandbox. */
struct agent_volume {
	char *path; /* absolute, of the data */
	char *name; /* of the symlink in the sandbox */
	bool own;   /* give it to the sandbox's owner: nobody else uses it */
};

struct agent_volumes {
	struct agent_volume *items; /* by name, then path */
	size_t count;
};

/* What a container may use, memory in bytes. Above what it asked for it gets what nobody else
 * wants, up to its limits. */
struct agent_limits {
	double cpus, mem;
	double cpus_limit, mem_limit; /* NAN: none was set; INFINITY: all there is */
	bool revocable;		      /* its processors are */
};

struct agent_launch {
	/* Id: of an executor's, a UUID; inside of others, parent.own. */
	const char *container;
	const char *framework_id; /* "" if it is in no executor's, as the next */
	const char *executor_id;
	/* Absolute path. Of an executor's container, "latest" beside it must point there. */
	const char *sandbox;
	bool session;	  /* the sandbox is the parent's, which is there; output goes to a client */
	const char *user; /* NULL = no switch */
	Mesos__CommandInfo *command;	   /* what to run and which URIs to fetch */
	Mesos__ContainerInfo *info;	   /* or NULL */
	const Mesos__ContainerInfo *above; /* of the container that it is inside of; or NULL */
	char *const *environment;	   /* whole environment, NAME=VALUE, NULL-ended */
	struct agent_limits limits;
	bool limited; /* it has limits of its own; else those of what it is inside of */
	struct agent_volumes volumes; /* to be linked */
};

struct agent_action {
	enum agent_action_type type;
	union {
		struct {
			const char *actor; /* ours that sends it; NULL: slave(1) */
			const char *to;
			ProtobufCMessage *message;
		} send_message;
		struct {
			const char *pid;
		} link;
		struct {
			uint64_t stream;
			Mesos__Executor__Event *event;
		} send_event;
		struct {
			uint64_t stream;
		} end_stream;
		struct agent_launch launch;
		struct {
			const char *container;
			const char *sandbox;
			int64_t pid;
			uint64_t start_ticks;
		} reattach;
		struct {
			const char *container;
		} destroy;
		struct {
			const char *container;
			int number;
		} signal;
		struct {
			const char *container;
			struct agent_limits limits;
		} limit;
		struct {
			const char *container;
		} clear;
		struct {
			uint64_t number;
			int status;
			const char *text;		  /* "" = empty; or */
			Mesos__Agent__Response *response; /* this; or */
			const char *session;		  /* its output, from now on */
		} answer;
		struct {
			enum store_class class;
			struct store_op *ops;
			size_t count;
			uint64_t ticket; /* counts store actions from 1 */
		} store;
		struct {
			const char *path;
			int64_t when; /* COLLECT: ns */
		} collect;
		struct {
			uint64_t number; /* counts these actions from 1 */
			char **paths;
			size_t count;
		} make_volumes;
		struct {
			const char *path;
			bool mount; /* a disk's root, which stays */
		} remove_volume;
		struct {
			const char *container;
			const char *sandbox;
			struct agent_volumes stale; /* to go first */
			struct agent_volumes fresh;
		} link_volumes;
		struct {
			int status;
			const char *text;
		} exit;
	};
};

struct agent_reply {
	int status;	  /* answer to EXECUTOR_CALL */
	const char *text; /* "" = empty */
};

struct agent_actions {
	struct arena arena;
	struct agent_action *items;
	size_t count;
	size_t cap;
	struct agent_reply reply;
};

void agent_actions_init(struct agent_actions *actions);
void agent_actions_clear(struct agent_actions *actions);
void agent_actions_free(struct agent_actions *actions);

/* ---- life ---------------------------------------------------------------- */

int agent_create(const struct agent_options *options, struct agent **out, struct err *err);
void agent_destroy(struct agent *agent);

/* Recovery, before the first step: one stored pair at a time, in byte order. */
int agent_load(struct agent *agent, struct slice key, struct slice value, struct err *err);
/* All pairs were loaded. `rebooted`: the boot id differs from the stored one, so no
 * process can live. ERR_STATE: the stored agent info does not fit the flags; the
 * text tells the operator what to do. */
int agent_start(struct agent *agent, int64_t now, bool rebooted, struct agent_actions *out,
		struct err *err);

void agent_step(struct agent *agent, int64_t now, const struct agent_event *event,
		struct agent_actions *out);
int64_t agent_next_timeout(const struct agent *agent);
/* The clock was set by so much, or the machine slept: from here on `now` is ahead by that. Timers
 * run as if nothing had happened. */
void agent_clock_moved(struct agent *agent, int64_t by);

/* -- looking in, for endpoints: the shell renders what these give -- */
bool agent_recovering(const struct agent *agent); /* executor API answers 503 */
bool agent_registered(const struct agent *agent); /* metric slave/registered */
const char *agent_id(const struct agent *agent);  /* "" before registration */
/* slave/... counters and gauges, one call each. */
void agent_each_metric(const struct agent *agent,
		       void (*each)(void *context, const char *name, double value), void *context);
/* The id of a container as events and actions have it: own or parent.own, in the arena. "" if it is
 * too deep inside of others, or has a name that cannot be one. */
const char *agent_container_key(struct arena *arena, const Mesos__ContainerID *id);
/* True if the path (absolute, or virtual /frameworks/...) lies in a sandbox that may
 * be read; `real` then receives the file's path (heap). */
bool agent_resolve_path(const struct agent *agent, const char *path, char **real);

#endif
