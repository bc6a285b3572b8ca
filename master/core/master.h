/* Master core: frameworks, agents, offers, tasks, as a state machine.
 *
 * Pure: no I/O, no clock, no threads. One event goes in with the time, a list of
 * actions comes out, and the core says when it wants to be woken. The same events
 * in the same order give the same actions, byte for byte. The shell (server.h)
 * decodes bytes to events and carries actions out in their order.
 *
 * Whatever an event says that is not valid changes nothing: the answer is in
 * `actions->reply`, or the event is dropped with a log line.
 */
#ifndef MASTER_CORE_MASTER_H
#define MASTER_CORE_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/acls.h"
#include "auth/credentials.h"
#include "base/err.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/random.h"
#include "proto/proto.h"
#include "store/store.h"

struct master;

struct master_options {
	const char *id; /* UUID text of this master process; prefix of all ids it makes */
	const char *ip; /* numeric, as advertised */
	int port;	/* as advertised */
	const char *hostname;
	const char *version;		     /* "1.12.0" */
	struct rng *rng;		     /* the owner's */
	int64_t agent_ping_timeout;	     /* ns; default 15 s */
	int max_agent_ping_timeouts;	     /* default 5 */
	int64_t agent_reregister_timeout;    /* ns; default 10 min */
	int64_t offer_timeout;		     /* ns; 0 = never */
	int64_t allocation_interval;	     /* ns; default 1 s */
	int part;			     /* agents that one step is about at most; 0 = 128 */
	double agent_recovery_factor;	     /* of the agents; see master_hold_offers */
	int64_t allocation_recovery_timeout; /* ns; default 10 min */
	const char *min_allocatable_resources;
	const char *fair_sharing_excluded;
	const char *roles;   /* whitelist, comma-separated, or NULL */
	const char *weights; /* "role=weight,...", or NULL */
	bool random_sorter;  /* in place of DRF */
	bool filter_gpu_resources;
	bool root_submissions;
	bool require_agent_domain;
	int max_completed_frameworks;		 /* 50 */
	int max_completed_tasks_per_framework;	 /* 1000 */
	int max_unreachable_tasks_per_framework; /* 1000 */
	/* What is written behind waits by how much changes: warm.c. In ns. */
	int64_t warm_delay;		  /* at most; 0 = each step stores its own */
	int64_t warm_task_delay;	  /* at most, for records of tasks */
	int64_t warm_cost;		  /* so long for each change of late */
	int64_t registry_gc_interval;	  /* ns; 0 = Mesos' default, 15 min */
	int64_t registry_max_agent_age;	  /* ns; 0 = 2 weeks; of unreachable and gone agents */
	int registry_max_agent_count;	  /* 0 = 102400; of each of both */
	double agent_removals_per_second; /* agent_removal_rate_limit; 0 = unlimited */
	double recovery_removal_limit;	  /* percent of the agents that a restart may lose */
	Mesos__DomainInfo *domain;	  /* or NULL; not owned */
	const struct acls *acls;	  /* or NULL: all may do everything; not owned */
	/* By which agents and drivers authenticate; NULL: none can. Not owned. */
	const struct credentials *credentials;
	bool authenticate_agents, authenticate_frameworks; /* those of v0: they must */
	int64_t authentication_timeout;			   /* ns, of a session; default 15 s */
	/* Called as the allocator begins and ends a cycle, to take its time; or NULL. */
	void (*on_cycle)(void *context, bool begins);
	void *context;
};

/* ---- the two lines of the store --------------------------------------------- */

/* Each line has a store and tickets of its own, so that they may live in two places. What the
 * core hands to the one may be written before what it handed to the other earlier. */
enum store_line {
	LINE_WARM,     /* what is written behind: tasks, frameworks, what the allocator knows */
	LINE_REGISTRY, /* what takes effect once it is durable */
	STORE_LINES,
};

/* ---- events -------------------------------------------------------------- */

enum master_event_type {
	MASTER_CALL,	      /* a v1 scheduler call over HTTP, decoded */
	MASTER_STREAM_CLOSED, /* the client of a subscription went away */
	MASTER_MESSAGE,	      /* a libprocess message, decoded */
	MASTER_EXITED,	      /* the link to a pid broke */
	MASTER_STORED,	      /* every store action of the line up to `ticket` is written; those of
				 class STORE_SYNCED are synced, too */
	MASTER_OPERATOR,      /* an operator's change */
	MASTER_KILL_TASK,     /* an operator kills one task (mesita's own) */
	MASTER_WHITELIST,     /* which hosts' agents may be offered (--whitelist) */
	MASTER_TICK,	      /* time passed (master_next_timeout) */
};

struct master_event {
	enum master_event_type type;
	union {
		struct {
			Mesos__Scheduler__Call *call; /* required fields present */
			uint64_t stream; /* SUBSCRIBE: the shell's number for the stream to be,
					    never reused */
			const char *stream_id; /* Mesos-Stream-Id header or NULL */
			const char *principal; /* authenticated, or NULL */
			bool acceptable;       /* the Accept header allows JSON or protobuf */
		} call;
		struct {
			uint64_t stream;
		} stream_closed;
		struct {
			const char *from; /* sender's pid */
			const char *to;	  /* our actor: "master", "slave-observer(1)" */
			ProtobufCMessage
				*message;  /* a mesos.internal message (or scheduler.Call) */
			const char *local; /* "ip:port" that the sender reached us at if
					      that may not be our address, else NULL */
			bool force;	   /* scheduler.Call SUBSCRIBE of v0 */
		} message;
		struct {
			const char *pid;
		} exited;
		struct {
			enum store_line line;
			uint64_t ticket;
		} stored;
		struct {
			/* A changing call of the operator API, with the field of its type; in
			 * the caller's arena, and the core's to change. */
			Mesos__Master__Call *call;
			const char *principal; /* authenticated, or NULL */
			uint64_t request;      /* for a reply that comes later (MASTER_ANSWER) */
		} operator_;
		struct {
			const char *framework_id, *task_id;
			const char *principal; /* authenticated, or NULL */
		} kill_task;
		struct {
			const char *const *hostnames; /* NULL = all */
			size_t count;
		} whitelist;
	};
};

/* ---- actions ------------------------------------------------------------- */

enum master_action_type {
	MASTER_SEND_EVENT,   /* one scheduler event to a stream */
	MASTER_END_STREAM,   /* end the stream after what was sent */
	MASTER_SEND_MESSAGE, /* a libprocess message */
	MASTER_LINK,	     /* link to a pid: report when it breaks */
	MASTER_UNLINK,
	MASTER_STORE,	      /* a store batch; its ticket counts those of its line from 1 */
	MASTER_ANSWER,	      /* late answer to an operator request */
	MASTER_TELL_WATCHERS, /* an event to those who watch the master (master_watch) */
	MASTER_EXIT,	      /* the process must end; text says why */
};

struct master_action {
	enum master_action_type type;
	union {
		struct {
			uint64_t stream;
			Mesos__Scheduler__Event *event;
		} send_event;
		struct {
			uint64_t stream;
		} end_stream;
		struct {
			const char *from;	   /* our actor: "master" or "slave-observer(N)", at
						      our address; or a whole pid of ours */
			const char *to;		   /* pid */
			ProtobufCMessage *message; /* name = its descriptor's full name */
		} send_message;
		struct {
			const char *pid;
		} link;
		struct {
			enum store_line line;
			enum store_class class;
			struct store_op *ops;
			size_t count;
			uint64_t ticket;
		} store;
		struct {
			uint64_t request;
			int status;
			const char *text;
		} answer;
		struct {
			Mesos__Master__Event *event;
			/* What a watcher must be allowed to see: frameworks and tasks of these
			 * users. NULL: it is not about one. */
			const char *framework_user, *task_user;
		} tell_watchers;
		struct {
			const char *text;
		} exit;
	};
};

/* Answer to a CALL, OPERATOR or KILL_TASK event. */
struct master_reply {
	int status;	       /* HTTP status; 0 = comes later by MASTER_ANSWER */
	const char *text;      /* body; "" = empty */
	const char *stream_id; /* SUBSCRIBE answered 200: value of Mesos-Stream-Id */
};

struct master_actions {
	struct arena arena; /* everything below lives here */
	struct master_action *items;
	size_t count;
	size_t cap;
	struct master_reply reply;
};

void master_actions_init(struct master_actions *actions);
void master_actions_clear(struct master_actions *actions); /* between steps */
void master_actions_free(struct master_actions *actions);

/* ---- life ---------------------------------------------------------------- */

int master_create(const struct master_options *options, struct master **out, struct err *err);
void master_destroy(struct master *master);

/* In which line the core keeps a record of the key. False: it is none of its own. */
bool master_record_line(struct slice key, enum store_line *line);
/* Recovery, before the first step: one stored pair of either line at a time, in any order.
 * ERR_INVALID for a record that cannot be read. May be called on another thread, as long as
 * nothing else uses the core. */
int master_load(struct master *master, struct slice key, struct slice value, struct err *err);
/* All pairs were loaded: rebuilds indexes, writes our identity. Until that write is
 * durable, calls are answered 503 and messages dropped. */
void master_start(struct master *master, int64_t now, struct master_actions *out);
/* Before an orderly end: what waits to be stored. */
void master_finish(struct master *master, int64_t now, struct master_actions *out);

/* Feeds one event; side effects are appended to `out`. */
void master_step(struct master *master, int64_t now, const struct master_event *event,
		 struct master_actions *out);
/* From here on MASTER_TELL_WATCHERS says what changes, or not any more. */
void master_watch(struct master *master, bool watched);
/* What it says of itself, to whoever looks for a master. */
const Mesos__MasterInfo *master_info(const struct master *master);
/* Whether the driver of a connected framework is at the pid, and that one's principal (NULL: none).
 */
bool master_is_driver(const struct master *master, const char *pid, const char **principal);
/* Recovery is over: calls are served. */
bool master_ready(const struct master *master);
/* The clock was set by so much, or the machine slept: from here on `now` is ahead by that. Timers
 * run as if nothing had happened. */
void master_clock_moved(struct master *master, int64_t by);
/* When a TICK is due; TIME_NEVER = not by itself. */
int64_t master_next_timeout(const struct master *master);
/* Whether the invariants of objects.h hold, the allocator's sums among them; `why` says which
 * does not. Looks at everything: for tests, the simulator and debug builds. */
bool master_check(const struct master *master, struct err *why);

#endif
