/* What the agent core keeps: frameworks, executors, tasks, streams of updates, operations,
 * and the agent that has them all. For the core alone.
 *
 * Ownership: the agent owns its frameworks, a framework its executors, tasks and
 * update streams, all on the heap. Messages that leave in an action live in the
 * action list's arena. */
#ifndef AGENT_CORE_OBJECTS_H
#define AGENT_CORE_OBJECTS_H

#include "agent/core/agent.h"
#include "base/list.h"
#include "base/log/log.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "base/time/timer.h"
#include "proto/states.h"

#define AGENT_COMPLETED_FRAMEWORKS_MAX 50    /* as Mesos keeps */
#define AGENT_COMPLETED_TASKS_MAX 200	     /* per executor, as Mesos keeps */
#define AGENT_PING_TIMEOUT (75 * SECOND)     /* until the master tells its own */
#define AGENT_BACKOFF_MAX (60 * SECOND)	     /* of registration attempts */
#define AGENT_LINK_BACKOFF_MAX (10 * SECOND) /* while the master cannot be reached at all */
#define AGENT_HEARTBEAT (30 * MINUTE)	     /* to executors */
/* Executors wait a random time below the reregistration timeout before they try again: one
 * that just missed us needs all of it and its way. */
#define AGENT_RECOVERY_MARGIN (500 * MILLISECOND)
#define UPDATE_RETRY_MIN (10 * SECOND)
#define UPDATE_RETRY_MAX (10 * MINUTE)
#define UPDATE_REMEMBERED 128	  /* acknowledged uuids kept per task, to know duplicates */
#define OPERATIONS_REMEMBERED 256 /* acknowledged ones, likewise */
/* Of executors, in a task's stream and in all of a framework's streams without a task: */
#define UPDATES_PENDING_MAX 10000	    /* updates that are not acknowledged */
#define UPDATES_PENDING_BYTES (64ull << 20) /* they are refused from here on */
#define AGENT_WAITS_MAX 10000		    /* requests that wait for the end of a container */
#define AGENT_ORDERS_MAX 10000		    /* of the master, while directories are being made */
#define COMMAND_EXECUTOR_CPUS 0.1
#define COMMAND_EXECUTOR_MEM 32.0
#define COMMAND_EXECUTOR_EXTRA_GRACE                                                               \
	(2 * SECOND) /* to report TASK_KILLED before it is destroyed                               \
		      */

enum agent_state {
	STATE_RECOVERING,
	STATE_DISCONNECTED,
	STATE_RUNNING,
	STATE_TERMINATING,
	AGENT_STATES,
};

enum executor_state {
	EXECUTOR_REGISTERING,
	EXECUTOR_RUNNING,
	EXECUTOR_TERMINATING,
	EXECUTOR_TERMINATED,
	EXECUTOR_STATES,
};

/* The process side of an executor. */
enum container_state {
	CONTAINER_WAITING, /* for its checkpoint to be written */
	CONTAINER_ASKED,   /* LAUNCH or REATTACH went out */
	CONTAINER_UP,
	CONTAINER_GONE,
};

/* A container inside of an executor's. */
enum nested_state {
	NESTED_RECORDED, /* waits for that to be written */
	NESTED_ASKED,	 /* LAUNCH went out, or REATTACH for one whose process is not known */
	NESTED_RUNNING,
	NESTED_ENDED,	 /* nothing of it lives; how it ended is told to who asks */
	NESTED_REMOVING, /* its sandbox is being removed */
	NESTED_STATES,
};

enum task_place {
	TASK_QUEUED,	 /* not delivered to the executor */
	TASK_LAUNCHED,	 /* delivered, not terminal */
	TASK_TERMINATED, /* terminal, acknowledgement outstanding */
	TASK_PLACES,
};

/* Owners of timers, by `struct timer.kind`. */
enum agent_timer {
	TIMER_REGISTER,	 /* (re)registration attempt */
	TIMER_PING,	 /* no ping for too long */
	TIMER_REDETECT,	 /* the link to the master broke */
	TIMER_RECOVERY,	 /* executors had their time to come back */
	TIMER_EXECUTOR,	 /* registration or shutdown grace period */
	TIMER_HEARTBEAT, /* to an executor's stream */
	TIMER_STREAM,	 /* resend the head */
	TIMER_OPERATION, /* resend its status */
	TIMER_PROOF,	 /* the master does not authenticate us */
};

/* How far the proof of who we are has come; authentication.c. */
enum proof_state { PROOF_NONE, PROOF_ASKED, PROOF_STARTED, PROOF_ANSWERED };

struct proof {
	enum proof_state state;
	uint64_t attempts;
	char *actor;	  /* ours, of the attempt under way */
	char *session;	  /* the master's, once it answered */
	int64_t patience; /* upper bound of the next attempt */
	struct timer timer;
};

/* What waits for a ticket. */
enum wait_kind {
	WAIT_LAUNCH,	/* container: start it */
	WAIT_DELIVER,	/* container: hand out queued tasks */
	WAIT_ACK,	/* container, task, uuid: acknowledge to the executor */
	WAIT_FORWARD,	/* framework, task: send the head of the stream */
	WAIT_EXIT,	/* leave */
	WAIT_OPERATION, /* uuid: send its status */
	WAIT_REMOVE,	/* path: remove the volume's data */
	WAIT_DRAIN,	/* end all tasks */
	WAIT_REGISTER,	/* tell the master what we have */
	WAIT_NESTED,	/* container: start it, or tell its end */
};

struct task {
	UT_hash_handle hh; /* in framework->tasks, by id */
	struct list link;  /* in a list of the executor by place; or completed */
	struct executor *executor;
	enum task_place place;
	uint64_t group;	       /* it is delivered with those of the same; 0 = alone */
	bool completed;	       /* in executor->completed, no longer in framework->tasks */
	uint64_t ticket;       /* of its checkpoint, or of what it runs on; 0 = none needed */
	Mesos__Task *record;   /* heap; what the master and /state are told */
	Mesos__TaskInfo *info; /* heap; dropped on delivery */
	bool kill_waits;       /* until its executor is connected */
	Mesos__KillPolicy *kill_policy; /* heap: of that kill; or NULL */
};

struct executor {
	UT_hash_handle hh;	     /* in framework->executors, by id */
	UT_hash_handle hh_container; /* in agent->containers, by container id */
	UT_hash_handle hh_stream;    /* in agent->subscribed, by stream */
	struct list link;	     /* in framework->completed */
	struct framework *framework;
	char *id;
	char *container;	   /* UUID text */
	char *sandbox;		   /* absolute */
	Mesos__ExecutorInfo *info; /* heap */
	bool generated;		   /* command executor made for one task */
	bool checkpoint;	   /* as its framework said when it was launched */
	enum executor_state state;
	enum container_state process;
	bool destroying;    /* DESTROY went out */
	bool sent_task;	    /* it ever got a task */
	bool recovered;	    /* from the store, has not been heard of since */
	uint64_t stream;    /* v1: number of its subscription; 0 = none */
	char *pid;	    /* v0: libprocess pid; NULL = none */
	int64_t process_id; /* 0 = unknown */
	uint64_t start_ticks;
	Mesos__ContainerStatus *networked; /* heap: networks of its own; NULL: it has ours */
	bool pending;			   /* the three below explain why it is being destroyed */
	Mesos__TaskState pending_state;
	Mesos__TaskStatus__Reason pending_reason;
	char *pending_message;
	Mesos__TaskResourceLimitation *pending_limitation; /* heap, or NULL */
	bool bursts; /* a task of it had limits: see limits.c */
	struct list tasks[TASK_PLACES];
	struct list completed; /* newest last, AGENT_COMPLETED_TASKS_MAX */
	unsigned completed_count;
	struct resources allocated;  /* its own and its live tasks' */
	struct agent_volumes linked; /* heap; in its sandbox, or asked to be */
	bool linking;		     /* LINK_VOLUMES went out */
	bool linking_fresh;	     /* with volumes that its queued tasks need */
	bool held;		     /* waits for old data to be gone, or for directories */
	struct list nested;	     /* containers inside of its own, each after its parent */
	struct timer deadline;
	struct timer heartbeat;
};

/* A container inside of an executor's, made by the operator API (nested/nested.h). */
struct nested {
	UT_hash_handle hh;	   /* in agent->nested, by id */
	struct list link;	   /* in executor->nested or standalone->inside, or alone */
	struct list removing;	   /* in agent->removing, or alone */
	struct list inside;	   /* of a standalone one: all that are in it, at any depth */
	struct executor *executor; /* whose container it is in; NULL: of none, or that is gone */
	struct nested *standalone; /* which it is in, or itself; NULL: none */
	char *id;		   /* parent.own, or its own alone */
	char *sandbox;		   /* absolute; of a session its parent's; NULL until it is known */
	enum nested_state state;
	bool session;
	Mesos__Agent__Call__LaunchContainer *launch; /* heap */
	int64_t process_id;			     /* 0 = unknown */
	uint64_t start_ticks;
	bool known; /* once ended: its wait status is */
	int status;
	Mesos__Agent__Response__WaitContainer *broken; /* heap: why it had to end, or NULL */
	uint64_t ticket;			       /* of what was stored of it last */
	uint64_t request;  /* LAUNCH or REMOVE that is to be answered; 0 = none */
	struct list waits; /* requests that are told its end */
};

struct update {
	UT_hash_handle hh; /* in stream->by_uuid */
	struct list link;
	uint64_t seq;				/* in the stream; part of its key */
	uint64_t ticket;			/* 0 = not stored */
	size_t size;				/* of the message, packed */
	Mesos__Internal__StatusUpdate *message; /* heap */
};

/* What an executor sent and no framework acknowledged yet. */
struct backlog {
	uint32_t count;
	uint64_t bytes;
};

struct stream {
	UT_hash_handle hh; /* in framework->streams, by task id */
	struct framework *framework;
	char *task_id;
	bool checkpoint;
	bool stray;		/* made without a task */
	struct list pending;	/* head = in flight */
	struct update *by_uuid; /* the same */
	uint64_t next_seq;
	uint8_t (*acked)[UUID_BYTES]; /* ring: slot seq % UPDATE_REMEMBERED */
	uint32_t acked_count;
	struct backlog backlog; /* of `pending` */
	int64_t interval;
	struct timer retry;
};

struct framework {
	UT_hash_handle hh; /* in agent->frameworks, by id */
	struct list link;  /* in agent->completed */
	char *id;
	Mesos__FrameworkInfo *info; /* heap; NULL only while loading */
	char *pid;		    /* NULL = an HTTP scheduler */
	bool terminating;
	bool checkpoint;
	struct executor *executors;
	struct task *tasks; /* all of its executors, not the completed ones */
	struct stream *streams;
	struct backlog strays; /* of all stray ones */
	struct list completed; /* executors */
	unsigned completed_count;
};

/* What the master ordered to be made of our resources; there until its status is
 * acknowledged. */
struct operation {
	UT_hash_handle hh; /* in agent->operations, by uuid */
	uint8_t uuid[UUID_BYTES];
	Mesos__Operation *record; /* heap */
	unsigned removals;	  /* of volumes, under way; FINISHED after them */
	uint64_t ticket;	  /* of its record */
	int64_t interval;
	struct timer retry;
};

/* The data of a destroyed volume, not gone yet. */
struct removal {
	UT_hash_handle hh; /* in agent->removals, by path */
	bool mount;
	bool asked;		  /* REMOVE_VOLUME went out */
	bool ordered;		  /* by an operation, whose uuid is */
	uint8_t uuid[UUID_BYTES]; /* of it */
	char path[];
};

/* Directories of volumes that are being made, and the change of the total that waits for
 * them, if one does. */
struct change {
	struct list link; /* in agent->changes */
	uint64_t number;
	size_t count;					      /* of directories */
	bool ordered;					      /* by an operation, whose */
	uint8_t uuid[UUID_BYTES];			      /* is this, or by */
	Mesos__Internal__CheckpointResourcesMessage *message; /* heap; or nothing waits */
};

struct waiter {
	struct list link;
	uint64_t ticket;
	enum wait_kind kind;
	uint8_t uuid[UUID_BYTES];
	char *owner; /* container or framework id */
	char *task_id;
	char data[];
};

struct collectable {
	struct list link;
	int64_t when;
	char path[];
};

struct agent_counters {
	uint64_t valid_status_updates;
	uint64_t invalid_status_updates;
	uint64_t valid_framework_messages;
	uint64_t invalid_framework_messages;
	uint64_t container_launch_errors;
	uint64_t executors_terminated;
	uint64_t recovery_errors;
	uint64_t finished[16]; /* by TaskState */
};

struct agent {
	struct agent_options options; /* its strings are in `arena` */
	struct arena arena;
	struct agent_actions *out; /* of the step under way */
	int64_t now;		   /* of the step under way */
	enum agent_state state;
	bool started;		/* agent_start() was called */
	Mesos__AgentInfo *info; /* heap; id set once known */
	char *pid;		/* slave(1)@ip:port */
	char *master;		/* pid; NULL = none */
	bool sought_master;	/* it waited for a first registration since its start */
	bool link_broken;	/* the link to the master broke since the last attempt */
	bool leaving;		/* the last framework is gone; EXIT is on its way */
	int64_t backoff;	/* upper bound of the next wait for registration */
	int64_t ping_timeout;
	struct framework *frameworks;
	struct executor *containers;
	struct executor *subscribed;
	struct list completed; /* frameworks, newest last */
	unsigned completed_count;
	uint64_t last_group;
	unsigned awaited;		 /* executors recovered, not heard of yet */
	struct resources checkpointed;	 /* what the master made of our resources */
	struct resources total;		 /* our resources with that put in */
	uint64_t total_ticket;		 /* of its last change */
	struct resources oversubscribed; /* beyond it */
	uint8_t version[UUID_BYTES];	 /* of the total; new with each start and detection */
	struct nested *nested;
	struct list removing; /* of those, whose sandboxes are */
	size_t wait_count;    /* requests that wait for the end of one */
	struct operation *operations;
	struct removal *removals;
	struct list changes;
	uint64_t last_change;
	struct list orders; /* that wait for the changes */
	size_t order_count;
	uint8_t (*acked)[UUID_BYTES]; /* ring of acknowledged operations */
	uint64_t acked_count;
	Mesos__DrainConfig *drain; /* heap; NULL = not draining */
	int64_t drain_time;
	struct agent_counters counters;
	int64_t recovery_time; /* how long recovery took; -1 = under way */
	int64_t recovery_began;
	struct timers timers;
	struct timer register_timer;
	struct proof proof;
	struct timer ping_timer;
	struct timer redetect_timer;
	struct timer recovery_timer;

	/* checkpoint.c */
	struct store_op *batch; /* of the step under way; slices in out->arena */
	size_t batch_count;
	size_t batch_cap;
	enum store_class batch_class;
	uint64_t last_ticket;
	uint64_t stored;
	struct list waiters;	       /* by ticket, ascending */
	struct list collectables;      /* loaded, until agent_start() */
	struct list orphans;	       /* store/orphans.c */
	Mesos__AgentInfo *loaded_info; /* until agent_start() */
};

#endif
