/* What the parts of the books share. */
#ifndef LAB_BOOKS_INTERNAL_H
#define LAB_BOOKS_INTERNAL_H

#include "base/arena.h"
#include "base/table.h"
#include "lab/books.h"
#include "proto/proto.h"

/* ---- sums of resources (books_tally.c) ---------------------------------------- */

/* What can be told apart: a name, with its reservations and its volume. */
struct kind {
	UT_hash_handle hh;
	char *key;
	uint32_t number; /* in books.kinds */
	uint32_t name;	 /* number of the kind that is the bare name */
	bool shared;
	bool scalar;
	char *reserved; /* the role that it is reserved for, or NULL */
};

struct amount {
	uint32_t kind;
	int64_t milli;
};

struct tally {
	struct amount *items;
	uint32_t count, cap;
};

/* A message as it is, or as what it is made of. */
enum form {
	AS_IS,
	UNRESERVED,  /* less its last reservation */
	NO_VOLUME,   /* the disk below the volume */
	AS_DETECTED, /* less dynamic reservations and volume */
};

struct books;
void tally_put(struct tally *a, uint32_t kind, int64_t milli); /* may be negative */
void tally_put_message(struct books *b, struct tally *a, const Mesos__Resource *r, enum form form);
void tally_put_messages(struct books *b, struct tally *a, Mesos__Resource *const *list,
			size_t count, enum form form);
void tally_put_all(struct tally *a, const struct tally *more);
void tally_take_all(struct tally *a, const struct tally *less);
int64_t tally_of(const struct tally *a, uint32_t kind);
/* Whether `want` is in `have`; else *which is the kind that is not. */
bool tally_within(const struct books *b, const struct tally *want, const struct tally *have,
		  uint32_t *which);
bool tally_empty(const struct tally *a);
void tally_clear(struct tally *a); /* keeps the memory */
void tally_free(struct tally *a);
uint32_t books_kind(struct books *b, const char *name); /* a bare one */
const char *kind_key(const struct books *b, uint32_t kind);
void kinds_free(struct books *b);

/* ---- records -------------------------------------------------------------------------- */

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
	int64_t refusal;       /* the longest of those that may be in force */
	struct list offers;    /* struct offered.by_fw */
	struct list claims;    /* struct claim.by_fw */
	struct list seats;     /* struct seat.by_fw */
};

/* Quota and weight are those that are stored; a role below another has none. */
struct role {
	UT_hash_handle hh;
	char *name;
	struct role *top; /* the first of its path; may be itself */
	double weight;
	struct tally guarantees, limits; /* by bare names */
	struct tally taken;		 /* of a top one: by all below it */
	struct list seats;		 /* struct seat.by_role */
};

/* A framework in a role. */
struct seat {
	struct list by_fw, by_role;
	struct fw *fw;
	struct role *role;
	bool subscribed;
	struct tally taken;	/* offered and used */
	struct tally granted;	/* in this step */
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

/* ---- books.c ------------------------------------------------------------------------------ */

const void *books_unpack(struct books *b, const ProtobufCMessageDescriptor *type,
			 const struct letter *letter);
struct fw *books_fw(struct books *b, const char *id); /* made if missing */
struct fw *books_fw_by_stream(struct books *b, const struct conn *conn);
void books_set_stream(struct books *b, struct fw *fw, uint64_t number); /* 0: it has none */
void books_learn_fw(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info);

/* To the framework that subscribed at the other end, or nobody. */
void books_event(struct books *b, struct fw *fw, const Mesos__Scheduler__Event *event);

/* ---- books_drivers.c ---------------------------------------------------------------------- */

/* It says something to the master, or is told something by it. */
void books_driver_says(struct books *b, const struct letter *letter);
void books_driver_told(struct books *b, const struct letter *letter);
/* The master lost the link to whoever is at the pid. False: no driver. */
bool books_driver_link_closed(struct books *b, const char *pid);

/* ---- books_agents.c ----------------------------------------------------------------------- */

struct view *books_view(const struct books *b, const char *agent_id);
struct view *books_view_at(const struct books *b, const char *address);
void books_touch(struct books *b, struct view *v);
/* What the agent has is now this. */
void books_set_total(struct books *b, struct view *v, const struct tally *total);
/* Of an executor `of` is its agent, of a task NULL. */
struct claim *books_claim(const struct books *b, const struct view *of, const char *framework_id,
			  const char *id);
struct claim *books_add_claim(struct books *b, bool executor, struct view *v, struct fw *fw,
			      const char *id, Mesos__Resource *const *list, size_t count);
struct task *books_claimed(struct books *b, const struct claim *c); /* not an executor's */
void books_release(struct claim *c);
void books_drop_claim(struct books *b, struct claim *c);
void books_want_registration(struct books *b, const char *from, const struct letter *letter);
/* The master hears from the agent what it has, besides. */
void books_agent_updated(struct books *b, const char *from, const struct letter *letter);
void books_registered(struct books *b, const char *agent_id, const char *address);
void books_reregistered(struct books *b, const char *agent_id, const char *address);
void books_agent_link_closed(struct books *b, const char *address);
void books_executor_exited(struct books *b, const char *from, const struct letter *letter);
void books_agent_record_deleted(struct books *b, const char *agent_id);
void books_check_views(struct books *b);
void books_master_began(struct books *b);
void books_master_ended(struct books *b);

/* ---- books_operations.c ------------------------------------------------------------------- */

void books_operation_ordered(struct books *b, const char *to, const struct letter *letter);
void books_operation_status(struct books *b, const char *from, const struct letter *letter);
/* Its totals are the agent's own again: nothing is assumed. */
void books_operations_confirmed(struct books *b, struct view *v);
void books_undo_operations(struct books *b);
void books_free_operations(struct books *b);

/* ---- books_offers.c ----------------------------------------------------------------------- */

/* The framework is NULL if nobody subscribed there. */
void books_offers_made(struct books *b, struct fw *fw,
		       const Mesos__Scheduler__Event__Offers *offers);
void books_rescinded(struct books *b, struct fw *fw, const char *offer_id);
void books_end_offer(struct books *b, struct offered *o);
void books_end_offers_of(struct books *b, struct fw *fw);
void books_call_delivered(struct books *b, const struct letter *letter);
/* The master takes it, as it must: there is no answer. */
void books_call_taken(struct books *b);
void books_call_answered(struct books *b, int status);
void books_run_task(struct books *b, const struct letter *letter);
/* Its framework is over: torn down, or given up by the master. */
void books_tear_down(struct books *b, struct fw *fw);

/* ---- books_roles.c ------------------------------------------------------------------------ */

struct role *books_role(struct books *b, const char *name);
struct seat *books_seat(struct books *b, struct fw *fw, const char *role); /* made if missing */
/* In the role that these are allocated to. */
struct seat *books_seat_of(struct books *b, struct fw *fw, Mesos__Resource *const *list,
			   size_t count);
void books_seat_roles(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info);
void books_take(struct seat *seat, const struct tally *amounts);
void books_give_back(struct seat *seat, const struct tally *amounts);
/* Taken, and looked at after the step. */
void books_grant(struct books *b, struct seat *seat, const struct tally *amounts);
void books_quota_written(struct books *b, const char *name, struct slice value);
void books_weight_written(struct books *b, const char *name, struct slice value);
void books_forget_orders(struct books *b);
/* Quota may keep it from what is free. */
/* Of what is free of the agent somebody should have been offered something. */
bool books_is_wanted(struct books *b, const struct view *v);
bool books_is_bounded(const struct books *b, const struct seat *seat);
/* Of the name; INT64_MAX if its role may have any. */
int64_t books_limit_left(const struct books *b, const struct seat *seat, uint32_t name);
void books_check_shares(struct books *b);
void books_free_seats(struct fw *fw);
void books_free_roles(struct books *b);

/* ---- books_registry.c --------------------------------------------------------------------- */

struct known_agent *books_known(struct books *b, const char *id); /* made if missing */
/* A record "<kind>/<id>"; without data it is deleted. */
void books_registry_written(struct books *b, const char *kind, const char *id, struct slice value);
void books_maintenance_written(struct books *b, struct slice value);
void books_forget_registry(struct books *b);
void books_check_registry(struct books *b);
/* What the master says of an agent must be durable. */
void books_said_lost(struct books *b, const char *agent_id);
void books_said_admitted(struct books *b, const char *agent_id);
void books_said_back(struct books *b, const char *agent_id);
/* Somebody said that it is gone, or its machine down. */
bool books_wanted_away(const struct books *b, const char *agent_id);
bool books_master_paused(const struct books *b);
void books_registry_began(struct books *b);
void books_audit_agents(struct books *b);
/* An operator is told that the call is carried out. */
void books_operated(struct books *b, const Mesos__Master__Call *call);
void books_free_registry(struct books *b);

/* A write takes no longer, on a disk that was not slow for some time. */
#define STORE_HIGH (600 * MILLISECOND) /* masters in a rush let records wait for 500 */
#define SLOW_HIGH (5 * SECOND)

/* ---- books_tasks.c ------------------------------------------------------------------------ */

struct task *books_task(struct books *b, const char *framework_id, const char *task_id, bool make);
void books_note_slowness(struct books *b);
void books_task_launched(struct books *b, struct fw *fw, const Mesos__TaskInfo *info);
void books_task_ordered(struct books *b, const struct letter *letter);
void books_executor_call(struct books *b, const struct process *from, const struct letter *letter);
void books_executor_call_delivered(struct books *b, const struct letter *letter);
void books_executor_acknowledged(struct books *b, const struct process *from,
				 const Mesos__Executor__Event__Acknowledged *event);
void books_agent_update_sent(struct books *b, const struct process *from,
			     const struct letter *letter);
void books_agent_update_delivered(struct books *b, const char *from, const struct letter *letter);
void books_update_event(struct books *b, struct fw *fw, const Mesos__TaskStatus *status);
void books_agent_gone(struct books *b, const char *agent_id);
void books_note_sent_last(struct books *b, struct task *t, const Mesos__Task *task);
void books_acknowledged(struct books *b, struct fw *fw,
			const Mesos__Scheduler__Call__Acknowledge *call);
void books_forwarded_acknowledgement(struct books *b, const struct letter *letter);
struct update *books_find_update(const struct books *b, const ProtobufCBinaryData *uuid);
const char *books_state_name(Mesos__TaskState state);
bool books_terminal(Mesos__TaskState state);
void books_free_tasks(struct books *b);

/* ---- books_streams.c ---------------------------------------------------------------------- */

void books_stream_sent(struct books *b, const struct process *from, struct update *u);
void books_stream_acknowledged(struct books *b, const struct process *to,
			       const struct letter *letter);
void books_stream_repeated(struct update *u);
void books_agent_asks(struct books *b, const struct process *from);
void books_agent_loses_master(struct books *b, const struct process *p);
void books_agent_operates(struct books *b, const struct process *to);
void books_agent_hears_registered(struct books *b, const struct process *to);
void books_check_resumed(struct books *b);
void books_streams_ended(struct books *b, struct host *host);

/* ---- books_debts.c ------------------------------------------------------------------------ */

enum debt_kind { DEBT_ACKNOWLEDGEMENT, DEBT_TASK, DEBT_END, DEBT_EXIT };
/* In this step, if its framework is there. */
void books_must_hear(struct books *b, struct task *t);
void books_check_heard(struct books *b);
/* Within a minute: the master tells the agent that the task's end is acknowledged; */
void books_owe_acknowledgement(struct books *b, const struct view *v, const struct update *u);
/* the agent says something of a task that it did not name; */
void books_owe_task(struct books *b, const struct view *v, struct task *t);
/* it says that the task is over, whose executor ended, and that the executor did. */
void books_owe_end(struct books *b, struct host *host, struct task *t);
void books_owe_exit(struct books *b, struct host *host, struct fw *fw, const char *executor_id);
void books_exit_told(struct books *b, const struct process *from, const struct letter *letter);
void books_collect_debts(struct books *b);
void books_free_debts(struct books *b);

/* ---- books_kills.c ------------------------------------------------------------------------ */

/* The master took the call. */
void books_kill_called(struct books *b, const struct fw *fw, const char *task_id);
void books_kill_ordered(struct books *b, const char *to, const struct letter *letter);
/* Somebody asked for that; by its key. */
bool books_is_to_be_killed(const struct books *b, const char *key);
/* A master that is new finds the task, and what the one before stored of it. */
void books_kill_inherited(struct books *b, struct claim *c);
/* An agent is back. */
void books_kills_repeated(struct books *b, const struct view *v,
			  const Mesos__Internal__ReregisterSlaveMessage *message);
void books_check_killed(struct books *b);
void books_audit_kills(struct books *b);

/* ---- books_hosts.c ------------------------------------------------------------------------ */

struct host *books_host(struct books *b, const char *address); /* made if missing */
/* A task is to be handed to its executor. */
void books_launch_sent(struct books *b, const struct process *from, const struct conn *conn,
		       const Mesos__TaskInfo *info);
void books_executor_life(struct books *b, const struct executor_life *life, bool up);
void books_launch_delivered(struct books *b, const struct process *to, const Mesos__TaskInfo *info);
void books_executor_said(struct books *b, const struct process *from, struct task *t,
			 Mesos__TaskState state);
void books_note_capacity(struct books *b, const char *address, const Mesos__AgentInfo *info);
void books_agent_life_began(struct books *b, const struct process *p);
/* Told to shut down, it stores nothing more. */
void books_agent_leaves(struct books *b, const char *address);
bool books_is_leaving(struct books *b, const struct process *agent);
void books_agent_life_ended(struct books *b, const struct process *p);
void books_host_crashed(struct books *b, const char *name);
void books_fw_torn(struct books *b, const struct fw *fw);
void books_free_hosts(struct books *b);

/* ---- books_disks.c ------------------------------------------------------------------------ */

enum survival { AFTER_KILL, AFTER_CRASH };
void books_written(struct books *b, struct disk *disk, struct slice key, struct slice value);
void books_synced(struct books *b, struct disk *disk);
void books_crashed(struct books *b, struct disk *disk);
bool books_stored(const struct books *b, const char *owner, enum survival after, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));
/* A crash would leave the record, though it may be deleted. */
bool books_would_return(const struct books *b, const char *owner, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool books_update_stored(const struct books *b, const char *owner, const uint8_t *uuid);
void books_agent_began(struct books *b, const struct process *p);
/* What it says of itself to the master must be what it has stored. */
void books_agent_sent_away(struct books *b, const char *address);
void books_agent_registers(struct books *b, const struct process *from,
			   const struct letter *letter);
void books_agent_reregisters(struct books *b, const struct process *from,
			     const struct letter *letter);
void books_free_disks(struct books *b);

/* ---- books_volumes.c ---------------------------------------------------------------------- */

/* The record of what the master made of an agent's resources. */
void books_resources_written(struct books *b, const char *owner, struct slice value);
void books_resources_lost(struct books *b, const char *owner); /* with its disk's memory */
void books_resources_life_began(struct books *b, const char *owner);
void books_resources_told(struct books *b, const char *owner, Mesos__Resource *const *list,
			  size_t count);
/* All operations that the master ordered are done, as the agent says. */
void books_resources_confirmed(struct books *b, const struct view *v);
void books_directory(struct books *b, const struct process *agent, const char *path,
		     enum directory_deed deed);
void books_check_directories(struct books *b);
void books_free_rooms(struct books *b);

#endif
