/* What the parts of the books share. */
#ifndef LAB_BOOKS_RECORDS_H
#define LAB_BOOKS_RECORDS_H

#include "base/memory/arena.h"
#include "base/table.h"
#include "lab/books/books.h"
#include "lab/books/books_tally.h"
#include "proto/proto.h"

/* A filter goes with the first batch after its end, and its record some time later. */
#define FILTERS_LINGER (2 * SECOND)

/* A framework; what is said of the master is of its present life. */
struct fw {
	UT_hash_handle hh;
	char *id;
	bool checkpoint;
	UT_hash_handle hh_stream; /* books.streams */
	uint64_t stream;	  /* number of the connection; 0 = none */
	char *pid;		  /* of the driver that registered it last, or NULL */
	bool inactive;		  /* its driver was aborted */
	bool plain;		  /* of one role, and knows of no others */
	int64_t subscribed;	  /* since */
	bool torn;		  /* down */
	bool over;		  /* torn down in any life */
	bool suppressed;
	int64_t filters_until; /* it refused something that long */
	int64_t refusal;       /* the longest that it ever made */
	struct list offers;    /* struct offered.by_fw */
	struct list claims;    /* struct claim.by_fw */
	struct list seats;     /* struct seat.by_fw */
};

/* Quota and weight are those that are stored; a role below another has none. */
/* What ended in a step. Something else in that step may have been decided before: then it was
 * still taken. */
struct released {
	struct tally amounts;
	uint64_t step; /* of the books; in any other one there is nothing */
};

struct role {
	UT_hash_handle hh;
	char *name;
	struct role *top; /* the first of its path; may be itself */
	double weight;
	struct tally guarantees, limits; /* by bare names */
	struct tally taken;		 /* of a top one: by all below it */
	struct released released;	 /* likewise */
	struct list seats;		 /* struct seat.by_role */
};

/* A framework in a role. */
struct seat {
	struct list by_fw, by_role;
	struct fw *fw;
	struct role *role;
	bool subscribed;
	struct tally taken;   /* offered and used */
	struct tally granted; /* in this step */
	struct released released;
	struct list grant_link; /* in books.granted */
};

/* An agent in the eyes of the present master. */
struct view {
	UT_hash_handle hh;
	char *id, *address;
	bool connected;
	int64_t since;	  /* when it became so */
	bool leaving;	  /* its record is deleted */
	bool outdated;	  /* its total may be another than the agent's until it registers again */
	char version[16]; /* of its total, as it registered */
	struct tally total, used, offered;
	struct list claims;   /* struct claim.by_view */
	struct list offers;   /* struct offered.by_view */
	int64_t unsure_until; /* the master may count tasks that the agent knows nothing of */
	int idle; /* audits in a row that found something free that nobody was offered */
	const struct seat *giving; /* who is offered something in this step, or NULL */
	struct list touched;	   /* in books.touched: to be looked at after the step */
};

/* What a task or an executor uses, for the present master. */
struct claim {
	UT_hash_handle hh;
	char *key; /* "/<framework>/<task>", "<agent>/<framework>/<executor>" */
	bool executor;
	struct view *view;
	struct fw *fw;
	struct seat *seat;
	struct list by_view, by_fw;
	struct tally amounts;
	bool holds;	/* them; a task that is over does not */
	int64_t killed; /* since when the master has a call to kill it; 0 = none */
	bool seen;	/* in the message at hand */
};

struct offered {
	UT_hash_handle hh;
	char *id;
	struct view *view;
	struct fw *fw;
	struct seat *seat;
	struct list by_view, by_fw;
	struct tally amounts;
};

struct task {
	UT_hash_handle hh;
	char *key; /* <framework>/<task> */
	char *agent_id;
	struct fw *fw;
	uint64_t launches; /* RunTaskMessages; a bad scheduler may use an id again */
	uint32_t said;	   /* states that its agent told: bits */
	uint64_t orders;   /* RunTaskMessages that reached an agent: one may arrive twice */
	size_t group;	   /* tasks of its group, when launched; 0 = it is of none */
	uint64_t starts;   /* of its LAUNCH that reached an executor, since launched */
	/* Its end as the scheduler was told by the agent. */
	bool ended;
	bool killing; /* its executor said so: an agent that drains may call that its end */
	uint64_t acknowledged; /* in this life of the master, 1 = the first; 0 = not */
	Mesos__TaskState end;
	uint8_t end_uuid[16];
	const struct update *told; /* last, by the present master */
	uint64_t told_in;	   /* which life of it */
	uint64_t crashes;	   /* of machines, when launched */
	struct host *host;	   /* where, and its crashes and the master's then */
	uint64_t host_crashes;
	bool gone;	  /* its scheduler was told so by its agent: it may yet end as it likes */
	int64_t launched; /* when, and in which life of the master */
	uint64_t launched_in;
	uint64_t heard;	    /* the step in which its framework was last told of it */
	bool kill_called;   /* by a scheduler */
	uint64_t killed_in; /* the step in which its agent was last told to kill it */
	uint64_t parked;    /* the life of the master that took its agent for unreachable */
	/* At its agent (books_streams.c): */
	const struct update *head; /* sent, and not acknowledged there; or NULL */
	struct list waiting;	   /* in host.waiting, if there is a head */
	bool due;		   /* it must be sent in this step */
	uint64_t over_in;	   /* the life of its agent that knows its end is acknowledged */
	int64_t mentioned;	   /* when its agent told something of it */
	uint64_t named_in;	   /* the step in which that was in a reregistration */
};

struct update {
	UT_hash_handle hh;
	uint8_t uuid[16];
	struct task *task;
	Mesos__TaskState state;
	int64_t forwarded; /* its acknowledgement, to the agent: when; 0 = not */
	/* Lives of agents: that sent it last, and that knows that it is acknowledged. */
	uint64_t sent_in, acknowledged_in;
	uint64_t asked; /* host.asked then */
};

/* A machine that an agent runs on (books_hosts.c, books_streams.c). */
struct host {
	UT_hash_handle hh;
	char *address;
	struct tally capacity, busy; /* by bare names */
	struct list lives;
	int64_t agent_since; /* it runs; 0 = not */
	uint64_t life;	     /* of the agent; no two have the same */
	bool leaving;	     /* its agent was told to shut down */
	bool drained_gone;   /* or to drain, to be marked gone */
	char *name;	     /* of its agent */
	uint64_t crashes;    /* of the machine */
	bool asks;	     /* to be registered */
	uint64_t asked;	     /* how often in this life */
	int64_t registered;  /* in the eyes of the agent, since; 0 = not */
	int64_t operated;    /* when it was told to change what it has, last */
	struct list waiting; /* struct task.waiting */
};

/* An agent that was ever in the registry. */
struct known_agent {
	UT_hash_handle hh;
	char *id;
	bool admitted;	     /* its record is there */
	bool closed;	     /* deactivated, or draining */
	bool told;	     /* that this is its id */
	struct tally total;  /* what it had when it was last there */
	int64_t seen;	     /* it was connected, or a life of the master began */
	struct list changed; /* in books.changed */
};

/* The call that the master is at. */
struct current_call {
	struct arena arena;
	const Mesos__Scheduler__Call *call; /* NULL = none */
	const char *pid;		    /* of a SUBSCRIBE of a driver */
	struct fw *fw;
	bool accepts;	   /* good offers, and may launch */
	struct view *view; /* whose */
	struct tally pool; /* what is left of them */
};

struct pending {
	UT_hash_handle hh;
	char *address;
	struct arena arena;
	const Mesos__Internal__RegisterSlaveMessage *first;
	const Mesos__Internal__ReregisterSlaveMessage *again;
	int asked; /* times since it was answered; the master may take any of them */
};

struct books {
	struct observer observer;
	struct world *world;
	struct arena arena; /* of the letter at hand */
	struct kind *kind_table, **kinds;
	uint32_t kind_count, kind_cap;

	struct fw *fws, *streams;
	uint64_t driver_streams; /* that there were */
	struct role *roles;
	unsigned guarantees; /* roles that have any */
	struct task *tasks;
	struct update *updates;
	uint64_t crashes; /* of machines */
	uint64_t crashes_of_master;
	uint64_t lives_of_master;     /* that are over */
	const struct process *master; /* the present one, or NULL */

	/* The present life of the master: */
	struct view *views;
	struct claim *claims;
	struct offered *offers;
	struct pending *pendings; /* by address */
	struct operation_note *operations;
	struct current_call call;
	struct tally cluster; /* all totals */
	struct list touched;  /* struct view.touched */
	struct list granted;  /* struct seat.grant_link */

	struct known_agent *known;
	struct list changed; /* struct known_agent.changed: to be looked at after the step */
	int64_t audit_at;    /* when to look for agents that are away, and what is idle */
	int64_t slow_until;  /* disks were */
	struct arena maintenance_arena;
	const struct Mesita__StoredMaintenance *maintenance; /* as written, or NULL */

	struct host *hosts;
	struct host *resumed; /* the agent that hears in this step that it is registered */
	struct life *lives;
	uint64_t lives_of_agents;
	struct disk_book *disks;
	struct disk_book *disk; /* asked for last, or NULL */
	struct store_room *rooms;

	uint64_t steps;
	struct task **must_hear; /* in this step */
	size_t must_hear_count, must_hear_cap;
	struct task **must_kill; /* in this step */
	size_t must_kill_count, must_kill_cap;
	struct list debts; /* struct debt.link, by age */

	uint64_t letters; /* in the minute that ends then: */
	int64_t minute_end;
	uint64_t quiet; /* the most there may be; 0 = any number */
};

#endif
