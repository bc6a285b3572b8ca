/* Insides of the master core (master.h), shared by the files of this folder only.
 *
 * Who owns what: `struct master` owns every framework, agent and completed
 * framework by its tables; a framework owns its tasks, offers and executors
 * (tables by id); an agent holds the same objects in intrusive lists. Messages
 * kept in these structs are heap copies (proto_copy), those of tasks packed
 * (task_record.h); read them at will between steps. Nothing here may be kept by the
 * shell across a step.
 *
 * Invariants (master_check, which the simulator and debug builds call after each step):
 *   - agent.used = sum of its tasks that hold resources + its executors;
 *     agent.offered = sum of its offers; framework.used and .offered likewise;
 *   - an offer's framework is connected and active, its agent connected and active;
 *   - a task's framework and agent exist (a RECOVERED agent too).
 */
#ifndef MASTER_CORE_OBJECTS_H
#define MASTER_CORE_OBJECTS_H

#include "allocator/allocator.h"
#include "allocator/constraints.h"
#include "base/list.h"
#include "base/random.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "base/time/timer.h"
#include "master/core/master.h"
#include "proto/resources.h"
#include "proto/states.h"
#include "proto/task_record.h"

#define MASTER_HEARTBEAT 15	     /* s; a constant in Mesos too, not a flag */
#define MASTER_SETTLE (2 * SECOND)   /* wait for awaited frameworks, before offers */
#define MASTER_REMOVED_AGENTS 100000 /* ids remembered as removed */
#define MASTER_TASK_STATES 14	     /* TASK_STARTING 0 .. TASK_UNKNOWN 13 */
#define MASTER_CALL_TYPES 32	     /* scheduler call types fit in */
#define MASTER_EVENT_TYPES 16
#define MASTER_OPERATION_TYPES 20
#define MASTER_OPERATION_STATES 10    /* OPERATION_UNSUPPORTED 0 .. OPERATION_UNKNOWN 9 */
#define MASTER_AGENT_OPERATIONS 10000 /* of one agent, not over and acknowledged */
#define MASTER_EMPTY_PID "@0.0.0.0:0" /* how Mesos prints a UPID that is not set */

/* ---- counters -------------------------------------------------------------- */

/* X(field, metric name) of every counter of the master. */
#define MASTER_COUNTERS(X)                                                                         \
	X(tasks_finished, "master/tasks_finished")                                                 \
	X(tasks_failed, "master/tasks_failed")                                                     \
	X(tasks_killed, "master/tasks_killed")                                                     \
	X(tasks_lost, "master/tasks_lost")                                                         \
	X(tasks_error, "master/tasks_error")                                                       \
	X(tasks_dropped, "master/tasks_dropped")                                                   \
	X(tasks_gone, "master/tasks_gone")                                                         \
	X(tasks_gone_by_operator, "master/tasks_gone_by_operator")                                 \
	X(dropped_messages, "master/dropped_messages")                                             \
	X(messages_register_framework, "master/messages_register_framework")                       \
	X(messages_reregister_framework, "master/messages_reregister_framework")                   \
	X(messages_unregister_framework, "master/messages_unregister_framework")                   \
	X(messages_deactivate_framework, "master/messages_deactivate_framework")                   \
	X(messages_kill_task, "master/messages_kill_task")                                         \
	X(messages_status_update_acknowledgement, "master/messages_status_update_acknowledgement") \
	X(messages_operation_status_update_acknowledgement,                                        \
	  "master/messages_operation_status_update_acknowledgement")                               \
	X(messages_resource_request, "master/messages_resource_request")                           \
	X(messages_launch_tasks, "master/messages_launch_tasks")                                   \
	X(messages_decline_offers, "master/messages_decline_offers")                               \
	X(messages_revive_offers, "master/messages_revive_offers")                                 \
	X(messages_suppress_offers, "master/messages_suppress_offers")                             \
	X(messages_reconcile_tasks, "master/messages_reconcile_tasks")                             \
	X(messages_reconcile_operations, "master/messages_reconcile_operations")                   \
	X(messages_framework_to_executor, "master/messages_framework_to_executor")                 \
	X(messages_executor_to_framework, "master/messages_executor_to_framework")                 \
	X(messages_register_slave, "master/messages_register_slave")                               \
	X(messages_reregister_slave, "master/messages_reregister_slave")                           \
	X(messages_unregister_slave, "master/messages_unregister_slave")                           \
	X(messages_status_update, "master/messages_status_update")                                 \
	X(messages_operation_status_update, "master/messages_operation_status_update")             \
	X(messages_exited_executor, "master/messages_exited_executor")                             \
	X(messages_update_slave, "master/messages_update_slave")                                   \
	X(messages_authenticate, "master/messages_authenticate")                                   \
	X(valid_framework_to_executor_messages, "master/valid_framework_to_executor_messages")     \
	X(invalid_framework_to_executor_messages, "master/invalid_framework_to_executor_messages") \
	X(valid_executor_to_framework_messages, "master/valid_executor_to_framework_messages")     \
	X(invalid_executor_to_framework_messages, "master/invalid_executor_to_framework_messages") \
	X(valid_status_updates, "master/valid_status_updates")                                     \
	X(invalid_status_updates, "master/invalid_status_updates")                                 \
	X(valid_status_update_acknowledgements, "master/valid_status_update_acknowledgements")     \
	X(invalid_status_update_acknowledgements, "master/invalid_status_update_acknowledgements") \
	X(valid_operation_status_updates, "master/valid_operation_status_updates")                 \
	X(invalid_operation_status_updates, "master/invalid_operation_status_updates")             \
	X(valid_operation_status_update_acknowledgements,                                          \
	  "master/valid_operation_status_update_acknowledgements")                                 \
	X(invalid_operation_status_update_acknowledgements,                                        \
	  "master/invalid_operation_status_update_acknowledgements")                               \
	X(allocation_runs, "allocator/mesos/allocation_runs")                                      \
	X(recovery_slave_removals, "master/recovery_slave_removals")                               \
	X(slave_registrations, "master/slave_registrations")                                       \
	X(slave_reregistrations, "master/slave_reregistrations")                                   \
	X(slave_removals, "master/slave_removals")                                                 \
	X(slave_removals_unhealthy, "master/slave_removals/reason_unhealthy")                      \
	X(slave_removals_unregistered, "master/slave_removals/reason_unregistered")                \
	X(slave_removals_registered, "master/slave_removals/reason_registered")                    \
	X(slave_shutdowns_scheduled, "master/slave_shutdowns_scheduled")                           \
	X(slave_shutdowns_completed, "master/slave_shutdowns_completed")                           \
	X(slave_shutdowns_canceled, "master/slave_shutdowns_canceled")                             \
	X(slave_unreachable_scheduled, "master/slave_unreachable_scheduled")                       \
	X(slave_unreachable_completed, "master/slave_unreachable_completed")                       \
	X(slave_unreachable_canceled, "master/slave_unreachable_canceled")

struct master_counters {
#define MASTER_COUNTER_FIELD(field, name) uint64_t field;
	MASTER_COUNTERS(MASTER_COUNTER_FIELD)
#undef MASTER_COUNTER_FIELD
};

/* master/task_<state>/source_<source>/reason_<reason>, made at the first hit. */
struct reason_counter {
	char *name; /* whole metric name */
	uint64_t value;
	UT_hash_handle hh;
};

struct framework_counters {
	uint64_t calls[MASTER_CALL_TYPES];	     /* by Mesos.scheduler.Call.Type */
	uint64_t events[MASTER_EVENT_TYPES];	     /* by Mesos.scheduler.Event.Type */
	uint64_t operations[MASTER_OPERATION_TYPES]; /* by Mesos.Offer.Operation.Type */
	uint64_t offers_sent, offers_accepted, offers_declined, offers_rescinded;
	uint64_t terminal[MASTER_TASK_STATES]; /* by Mesos.TaskState */
};

/* ---- sums, for metrics (sums.c) ---------------------------------------------- */

#define SUMS_NAMES 4 /* sums_names */

/* What an agent has and uses, in thousandths; [1] is revocable. */
struct agent_sums {
	int64_t total[2][SUMS_NAMES], used[2][SUMS_NAMES];
	bool active; /* it gets offers */
};

/* The same of all. They may say that they have as much as a number can hold, each. */
struct cluster_sums {
	__int128 total[2][SUMS_NAMES], used[2][SUMS_NAMES];
	size_t active; /* how many get offers */
};

struct framework_sums {
	size_t task_states[MASTER_TASK_STATES]; /* of framework.tasks */
	bool connected, active;
};

struct master_sums {
	size_t task_states[MASTER_TASK_STATES]; /* of framework.tasks and .unreachable */
	size_t frameworks_connected, frameworks_active;
	struct cluster_sums agents;
	struct list unsummed; /* struct agent.unsummed: what changed since */
};

/* ---- objects -------------------------------------------------------------- */

struct framework;
struct agent;

struct offer {
	char *id;
	struct framework *framework;
	struct agent *agent;
	char *role;		    /* allocation role */
	struct resources resources; /* carry the allocation role */
	struct timer expiry;	    /* --offer_timeout */
	struct list by_framework;   /* framework.offers */
	struct list by_agent;	    /* agent.offers */
	UT_hash_handle hh;	    /* master.offers, by id */
};

struct task {
	const char *id; /* with the other ids behind this struct */
	struct framework *framework;
	const char *agent_id;
	const char *executor_id; /* NULL: none of its own */
	struct agent *agent;	 /* NULL when unreachable */
	struct task_record record;
	struct resources resources; /* carry the allocation role */
	bool holds;		    /* resources are accounted (not terminal, not unreachable) */
	bool kill_wanted;	    /* a KILL came; repeated when the agent reregisters */
	bool unreachable;	    /* in framework.unreachable, not in framework.tasks */
	bool fresh;		    /* no record of it was stored yet */
	bool reason_due;	    /* its end was counted, the reason was not */
	struct {
		bool counted, present; /* ..in its framework's sums, too */
		uint8_t state;
	} summed;	      /* as what it is in the sums */
	int64_t dirty_since;  /* while it waits to be stored */
	struct list by_agent; /* agent.tasks, or departed.tasks when unreachable */
	struct list order;    /* framework.unreachable_order when unreachable */
	struct list dirty;    /* master.dirty_tasks: to be written behind */
	uint64_t seen;	      /* mark of a reregistration that reported it; or older, of now */
	UT_hash_handle hh;    /* framework.tasks or framework.unreachable, by id */
	char texts[];
};

/* A task that is over: kept for display alone. */
struct completed_task {
	struct framework *framework;
	struct task_record record;
	uint64_t number; /* of its stored record */
	bool fresh;	 /* which there is not yet */
	struct list link;
	struct list dirty; /* master.dirty_completed */
	UT_hash_handle hh; /* framework.completed_by_id; several may have the same id */
};

struct executor {
	char *key; /* framework id '/' executor id */
	struct framework *framework;
	struct agent *agent;
	Mesos__ExecutorInfo *info; /* framework_id set */
	struct resources resources;
	struct list by_framework; /* framework.executors */
	struct list dirty;
	uint64_t seen;
	UT_hash_handle hh; /* agent.executors, by key */
};

/* An agent with a maintenance window asks a framework to leave. */
struct inverse_offer {
	char *id; /* of the same numbers as offers */
	struct framework *framework;
	struct agent *agent;
	Mesos__Unavailability *window;
	struct timer expiry;	  /* --offer_timeout */
	struct list by_framework; /* framework.inverse_offers */
	struct list by_agent;	  /* agent.inverse_offers */
	UT_hash_handle hh;	  /* master.inverse_offers, by id */
};

/* What a framework said to the last one; until the window changes. */
struct inverse_answer {
	struct framework *framework;
	struct agent *agent;
	Mesos__Allocator__InverseOfferStatus__Status status;
	int64_t time;
	struct list by_framework; /* framework.inverse_answers */
	struct list by_agent;	  /* agent.inverse_answers */
};

/* A machine in the maintenance schedule; those that are not are UP. */
struct machine {
	char *key;		  /* machine_key() of its id */
	Mesos__MachineInfo *info; /* id, mode (DRAINING or DOWN), unavailability */
	Mesos__Maintenance__ClusterStatus__DrainingMachine *report; /* while one is made */
	UT_hash_handle hh;					    /* master.machines, by key */
};

/* An operation on resources that an agent with RESOURCE_PROVIDER was told to carry out, or
 * reports; until its terminal status is acknowledged (operation_records.c). All are
 * speculative: the agent's total changed when it was ordered. */
struct operation {
	uint8_t uuid[UUID_BYTES];
	Mesos__Operation *info;	     /* the whole record */
	struct agent *agent;	     /* owns it */
	struct framework *framework; /* NULL: an operator's, or its framework is not here */
	bool named;		     /* in framework.named_operations */
	uint64_t seen;		     /* mark of an update that reported it */
	bool assumed;		     /* of the agent's total we have but our own word */
	struct list by_framework;    /* framework.operations, or master.stray_operations */
	UT_hash_handle hh;	     /* agent.operations, by uuid */
	UT_hash_handle hh_id;	     /* framework.named_operations, by operation id */
};

/* frameworks/framework_life.c says what may follow what. */
enum framework_state {
	FRAMEWORK_RECOVERED, /* known from agents or the store only */
	FRAMEWORK_CONNECTED,
	FRAMEWORK_DISCONNECTED, /* failover timer runs */
	FRAMEWORK_COMPLETED,	/* in master.completed */
	FRAMEWORK_STATES,
};

struct framework {
	char *id;
	struct alloc_framework *alloc; /* the allocator's; NULL once it was removed */
	Mesos__FrameworkInfo *info;    /* id set */
	enum framework_state state;
	bool active;	 /* gets offers */
	bool awaited;	 /* RECOVERED, and was connected to the master before */
	bool announced;	 /* JOURNAL_FRAMEWORK_ADDED was said of it */
	bool http;	 /* connected by a stream, not by a pid */
	uint64_t stream; /* the shell's number; valid while connected and http */
	char *stream_id; /* Mesos-Stream-Id; kept after a disconnect to name it in errors */
	char *pid;	 /* driver's pid, kept after a disconnect; NULL for HTTP frameworks */
	char *reached;	 /* "ip:port" at which the driver reaches us; NULL = as advertised */
	char **roles;	 /* subscribed */
	size_t role_count;
	struct constraints *constraints;		       /* offer_constraints; NULL = none */
	Mesos__Scheduler__OfferConstraints *offer_constraints; /* as they were given, to show */
	char **suppressed;				       /* subset of roles */
	size_t suppressed_count;
	bool partition_aware, multi_role, reservation_refinement, gpu_resources;
	bool revocable_resources, shared_resources, region_aware;
	int64_t registered_time;   /* ns; 0 = never subscribed to this master */
	int64_t reregistered_time; /* ns; 0 = unset */
	int64_t unregistered_time; /* ns; 0 = not yet */
	struct timer failover;
	struct timer heartbeat;	       /* runs while connected by HTTP */
	struct task *tasks;	       /* table by task id: live, or terminal and unacknowledged */
	struct task *unreachable;      /* table by task id */
	struct list unreachable_order; /* oldest first */
	size_t unreachable_count;
	struct list completed_tasks; /* struct completed_task.link, oldest first */
	struct completed_task *completed_by_id;
	size_t completed_task_count;
	uint64_t next_completed;
	struct list executors;		    /* struct executor.by_framework */
	struct list offers;		    /* struct offer.by_framework */
	struct list operations;		    /* struct operation.by_framework */
	struct operation *named_operations; /* those with an id, by it; the latest of equals */
	struct list inverse_offers;
	struct list inverse_answers;
	/* Of tasks and executors, and of offers. Ranges and sets of several agents do not add up:
	 * if there were any (`..._mixed`), framework_held() says what there is. */
	bool used_mixed, offered_mixed;
	struct resources used;
	struct resources offered;
	struct framework_counters counters;
	struct framework_sums sums;
	Mesos__Scheduler__Event *offers_event; /* being built during an allocation, else NULL */
	Mesos__Scheduler__Event *inverse_event;
	struct list dirty;
	UT_hash_handle hh;	  /* master.frameworks or master.completed, by id */
	UT_hash_handle hh_stream; /* master.streams, by stream; connected HTTP ones */
	UT_hash_handle hh_driver; /* master.drivers, by pid; connected drivers */
};

/* agents/agent_life.c says what may follow what. */
enum agent_state {
	AGENT_RECOVERED,    /* from the store; has not reregistered (REST: recovered_slaves) */
	AGENT_CONNECTED,    /* registered, with a link that works */
	AGENT_DISCONNECTED, /* registered, without */
	/* Those that departed. */
	AGENT_UNREACHABLE,
	AGENT_GONE,
	AGENT_REMOVED,
	AGENT_STATES,
};

/* What is written of an agent before it happens; agents/agent_life.c says what each does while
 * another is being written. */
enum agent_change {
	CHANGE_NONE,
	CHANGE_REREGISTER,
	CHANGE_ORDER,	    /* an operator drains, deactivates or reactivates it */
	CHANGE_DRAINED,	    /* it has nothing left */
	CHANGE_UNREACHABLE, /* it does not answer, or did not come back */
	CHANGE_UNREGISTER,
	CHANGE_REPLACE, /* another agent is at its address */
	CHANGE_EXPEL,	/* its machine is taken down */
	CHANGE_GONE,
	CHANGE_FORGET, /* it departed long ago */
	AGENT_CHANGES,
};

struct agent {
	char *id;
	struct alloc_agent *alloc; /* the allocator's */
	Mesos__AgentInfo *info;	   /* id set; resources in the new format */
	enum agent_state state;
	char *pid;	  /* "slave(1)@ip:port"; of RECOVERED ones the last known, or NULL */
	bool deactivated; /* by an operator: it gets no offers */
	Mesos__DrainInfo *drain_info; /* NULL = does not drain */
	int64_t drain_start;	      /* ns: when this master told it to; 0 = unset */
	bool drain_blind;	      /* its operations are not known yet */
	bool outdated;		      /* its total is not what we know: it is to register again */
	bool overbooked;	      /* as it registered again it ran more than it has */
	uint64_t reported;	      /* mark of its last reregistration; 0 = none */
	struct list drain_check;      /* master.drain_checks */
	char *version;
	Mesos__AgentInfo__Capability **capabilities; /* heap copies */
	size_t capability_count;
	bool resource_provider, reservation_refinement, task_resource_limits;
	bool multi_role, hierarchical_role, agent_draining;
	uint8_t *resource_version; /* resource_version_uuid, NULL if it sent none */
	size_t resource_version_len;
	Mesos__Resource **checkpointed; /* heap copies: dynamic reservations, volumes */
	size_t checkpointed_count;
	bool checkpointed_changed; /* until it is listed anew from the total */
	struct resources total;	   /* no allocation roles */
	struct resources used;	   /* with allocation roles */
	struct resources offered;  /* with allocation roles */
	int64_t registered_time;
	int64_t reregistered_time;		/* 0 = never */
	struct list tasks;			/* struct task.by_agent */
	struct executor *executors;		/* table by key */
	struct operation *operations;		/* table by uuid */
	bool operation_feedback, resize_volume; /* capabilities */
	struct list offers;			/* struct offer.by_agent */
	struct list inverse_offers;
	struct list inverse_answers;
	/* health (agent_health.c) */
	uint64_t observer;   /* N of slave-observer(N) */
	char *observer_name; /* "slave-observer(N)" */
	struct timer ping;
	int missed_pings;
	bool pinged;		 /* and not answered yet */
	struct timer reregister; /* runs while disconnected */
	unsigned waiting;	 /* 1 << enum agent_change: until what is written is durable */
	struct list removal;	 /* master.removals: waits for the rate limiter */
	char *removal_cause;	 /* of CHANGE_UNREACHABLE, while it waits here or there */
	struct list dirty;
	struct agent_sums sums; /* what of it is in master.sums */
	struct list unsummed;	/* master.sums.unsummed */
	UT_hash_handle hh;	/* master.agents, by id */
	UT_hash_handle hh_pid;	/* master.agents_by_pid; registered ones only */
};

/* An agent that is not here any more: unreachable, gone or removed. */
struct departed {
	char *id;
	int64_t time;	  /* ns: when */
	bool deactivated; /* of unreachable ones, as in struct agent */
	Mesos__DrainInfo *drain_info;
	struct list tasks; /* struct task.by_agent: in frameworks' unreachable tasks */
	UT_hash_handle hh;
};

/* What an operator said of a role. */
struct quota {
	Mesos__Quota__QuotaConfig *config; /* not of nothing: then there is none */
	UT_hash_handle hh;
};

struct weight {
	char *role;
	double value;
	uint64_t mark; /* the last change that named it */
	UT_hash_handle hh;
};

struct pending;	 /* a follow-up of a registry write (registry.c) */
struct loaded;	 /* recover.c */
struct held_ack; /* updates.c */
struct deferred; /* operator.c */

enum master_timer {
	TIMER_ALLOCATION,
	TIMER_ALLOCATION_PART, /* the next part of an allocation that is under way */
	TIMER_SHUTDOWN_PART,   /* the next agents are told of frameworks that are over */
	TIMER_HEARTBEAT,
	TIMER_OFFER,
	TIMER_FAILOVER,
	TIMER_PING,
	TIMER_REREGISTER,
	TIMER_RECOVERY, /* agents of the store that did not come back */
	TIMER_REMOVAL,	/* the rate limiter lets the next one go */
	TIMER_PRUNE,	/* departed agents of long ago are forgotten */
	TIMER_INVERSE_OFFER,
	TIMER_WARM,   /* what changed is stored */
	TIMER_SETTLE, /* offers begin after a restart, whoever is back */
	TIMER_AUTHENTICATION,
};

struct master {
	struct master_options options; /* strings are heap copies */
	Mesos__MasterInfo
		*info; /* id, ip, port, pid, hostname, version, address, domain, capabilities */
	char *pid;     /* "master@ip:port" */
	int64_t elected_time; /* ns; when the identity became durable; 0 = not yet */
	bool recovered;	      /* serves calls */
	bool watched;	      /* somebody wants to hear of changes: watch.h */
	struct resource_shapes *shapes;
	struct allocator *allocator;
	struct timers timers;
	char **whitelist; /* --roles */
	size_t whitelist_count;

	struct framework *frameworks;	/* all but completed ones, by id */
	struct framework *completed;	/* by id, oldest first */
	struct framework *streams;	/* connected by HTTP, by stream number */
	struct framework *drivers;	/* connected drivers of v0, by pid */
	struct agent *agents;		/* all but those that departed, by id */
	struct agent *agents_by_pid;	/* registered ones, by pid */
	size_t agents_in[AGENT_STATES]; /* how many of agents are in each state */
	size_t loaded_agents;		/* how many the store had at the start */
	size_t awaited_frameworks;
	bool settling; /* no offers yet: see offer_memory.c */
	struct timer settle;
	struct offer *offers;	      /* by id */
	struct departed *unreachable; /* by agent id, oldest first */
	struct departed *gone;	      /* by agent id, oldest first */
	struct departed *removed;     /* ids whose messages are ignored, oldest first */

	uint64_t next_framework, next_agent, next_offer, next_observer;
	uint64_t store_tickets[STORE_LINES]; /* of the last store action of each line */
	uint64_t warm_synced;		     /* of the last one of LINE_WARM that is synced */
	uint64_t warm_stored;		     /* up to which LINE_WARM is written */
	struct list pending;		     /* struct pending, oldest first */
	struct list held_writes;	     /* those of them that wait for LINE_WARM */
	struct pending *pending_keys;	     /* the latest for an agent id */
	struct pending *pending_pids;	     /* of agents that (re)register, by pid */
	struct list removals;		     /* agents waiting for the rate limiter */
	int64_t next_removal;		     /* ns: earliest */
	struct timer allocation, allocation_part, shutdown_part, recovery, removal, prune;
	struct list shutdowns; /* struct framework_shutdown.link */
	bool batch_due;	       /* the periodic allocation over all agents */
	bool allocating;       /* one over all is under way, in parts */
	uint64_t mark;	       /* source of the `seen` marks */

	/* maintenance and draining */
	struct inverse_offer *inverse_offers;	/* by id */
	Mesos__Maintenance__Schedule *schedule; /* NULL = none */
	struct machine *machines;		/* in the schedule, by key */
	bool maintenance_writing;		/* a change of both is on its way to the disk */
	struct list drain_checks;		/* agents of which something ended in this step */
	struct deferred_line *deferred;		/* requests of operators that wait */
	struct list deferred_ready;		/* struct deferred_line.ready */

	struct list dirty_tasks, dirty_frameworks, dirty_agents, dirty_executors;
	struct buf warm_deletes; /* NUL-ended keys, one after the other */
	struct timer warm;	 /* runs while something waits to be stored (warm.c) */
	size_t warm_marks;	 /* how many records were marked since the last batch */
	bool warm_urgent;	 /* the step ends with a batch */
	double warm_changes;	 /* of late, as of warm_counted: what warm_patience() is made of */
	int64_t warm_counted;
	size_t warm_fresh;	       /* marks since then */
	struct list dirty_completed;   /* struct completed_task.dirty */
	struct list held_acks;	       /* of terminal updates, by ticket (updates.c) */
	struct held_ack *acks_by_task; /* the same, by framework and task */

	/* authenticate.c */
	struct auth_session *sessions; /* by the pid that they are about */
	struct auth_session *sessions_by_actor;
	struct authenticated *authenticated; /* by pid, oldest first */

	/* quota and weights */
	struct quota *quotas;	/* by role */
	struct weight *weights; /* by role */
	bool quota_writing;	/* a change of quota is on its way to the disk */

	/* operations on resources */
	struct list stray_operations; /* of frameworks that are not here */
	size_t operation_count;	      /* of all agents */
	/* By Offer.Operation.Type and OperationState: the present number of those that are
	 * not over, and how many ever got into the others. */
	uint64_t operation_states[MASTER_OPERATION_TYPES][MASTER_OPERATION_STATES];

	struct master_counters counters;
	struct reason_counter *reasons;
	struct master_sums sums;

	/* The step under way; not for the shell. */
	int64_t now;
	struct master_actions *out;
	struct loaded *loaded; /* records of the store between master_load and master_start */
};

/* ---- looking in: for the shell's endpoints --------------------------------- */

struct framework *master_find_framework(const struct master *m, const char *id);
struct framework *master_find_completed(const struct master *m, const char *id);
/* NULL: there is none, or it departed. */
struct agent *master_find_agent(const struct master *m, const char *id);
struct offer *master_find_offer(const struct master *m, const char *id);
struct inverse_offer *master_find_inverse_offer(const struct master *m, const char *id);
/* The machine that the agent is on, NULL if it is UP. */
struct machine *master_agent_machine(const struct master *m, const struct agent *a);
/* What operators see: in the arena, borrowing from the master. */
Mesos__Maintenance__Schedule *master_maintenance_schedule(const struct master *m,
							  struct arena *arena);
Mesos__Maintenance__ClusterStatus *master_maintenance_status(const struct master *m,
							     struct arena *arena);
/* uuid: 16 bytes. */
struct operation *agent_find_operation(const struct agent *a, const uint8_t *uuid);
struct operation *framework_find_operation(const struct framework *f, const char *id);
struct departed *master_find_departed(struct departed *table, const char *id);
struct task *framework_find_task(const struct framework *f, const char *id);
struct task *framework_find_unreachable(const struct framework *f, const char *id);
struct executor *agent_find_executor(const struct agent *a, const char *framework_id,
				     const char *executor_id);
static inline bool framework_connected(const struct framework *f)
{
	return f->state == FRAMEWORK_CONNECTED;
}
static inline bool agent_registered(const struct agent *a)
{
	return a->state != AGENT_RECOVERED;
}
static inline bool agent_connected(const struct agent *a)
{
	return a->state == AGENT_CONNECTED;
}
/* Its resources are offered. */
static inline bool agent_active(const struct agent *a)
{
	return a->state == AGENT_CONNECTED && !a->deactivated;
}

/* NULL = none. */
struct quota *master_find_quota(const struct master *m, const char *role);
double master_role_weight(const struct master *m, const char *role); /* 1 if never said */
/* Of all roles that one was said of, in the arena; returns how many. */
size_t master_weight_infos(const struct master *m, struct arena *arena, Mesos__WeightInfo ***list);

#endif
