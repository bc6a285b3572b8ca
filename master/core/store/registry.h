/* Durable changes, and what follows from them. */
#ifndef MASTER_CORE_STORE_REGISTRY_H
#define MASTER_CORE_STORE_REGISTRY_H

#include "master/core/objects.h"

struct pending {
	uint64_t ticket;      /* UINT64_MAX while it is held */
	uint64_t after;	      /* the ticket of LINE_WARM that it waits for */
	struct store_op *ops; /* heap; while it is held */
	size_t op_count;
	struct list held;				     /* in master.held_writes */
	enum agent_change change;			     /* of the agent under the key */
	void (*follow)(struct master *m, struct pending *p); /* once durable */
	char *key;					     /* agent id; NULL = none */
	bool latest;   /* is what master.pending_keys holds under the key */
	void *message; /* heap; what is being worked on */
	char *pid;     /* that an agent is about to have; in master.pending_pids */
	char *text;    /* cause */
	uint64_t request;
	int64_t time;
	bool flag;
	struct list link;
	UT_hash_handle hh;
	UT_hash_handle hh_pid;
};

/* A batch under construction, of registry.c or warm.c. Keys and all it holds live as long
 * as the step's arena. */
struct registry_batch {
	struct store_op *ops;
	size_t count, cap;
};
void registry_put(struct master *m, struct registry_batch *batch, const char *key,
		  const void *message);
/* Puts a packed message. */
void registry_put_bytes(struct master *m, struct registry_batch *batch, const char *key,
			struct slice value);
void registry_delete(struct master *m, struct registry_batch *batch, const char *key);
/* Puts an admitted agent with the orders of operators for it. */
void registry_put_agent(struct master *m, struct registry_batch *batch,
			const Mesos__AgentInfo *info, bool deactivated,
			const Mesos__DrainInfo *drain_info);
void registry_put_departed(struct master *m, struct registry_batch *batch, const char *kind,
			   const char *id, int64_t time);
/* Puts an unreachable agent with the orders of operators for it. */
void registry_put_unreachable(struct master *m, struct registry_batch *batch, const char *id,
			      int64_t time, bool deactivated, const Mesos__DrainInfo *drain_info);
/* Writes the batch; `follow` runs once it is durable. An empty batch is written too. It leaves for
 * its store when LINE_WARM has synced what changed before it: a crash never leaves what follows
 * from something without that. */
struct pending *registry_write(struct master *m, struct registry_batch *batch,
			       void (*follow)(struct master *m, struct pending *p));
/* The same for a change of an agent, which agent_ask() lets go. */
struct pending *registry_write_change(struct master *m, struct registry_batch *batch,
				      enum agent_change change, const char *agent_id,
				      void (*follow)(struct master *m, struct pending *p));
/* The newest change of the agent that is being written. NULL: there is none. */
struct pending *registry_pending(const struct master *m, const char *agent_id);
/* Keeps the pid for the agent that will have it once `p` is durable. */
void registry_reserve_pid(struct master *m, struct pending *p, const char *pid);
bool registry_pid_reserved(const struct master *m, const char *pid);
void registry_stored(struct master *m, uint64_t ticket);
/* LINE_WARM is written up to that ticket: what waited for it leaves. */
void registry_release(struct master *m, uint64_t warm_ticket);
/* Forgets departed agents that are too old or too many, and arms the next time. */
void registry_prune(struct master *m);
void registry_free(struct master *m);
char *registry_key(struct master *m, const char *kind, const char *id);

#endif
