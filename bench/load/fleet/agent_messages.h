/* What simulated agents say to the master, and what it orders them. */
#ifndef BENCH_LOAD_AGENT_MESSAGES_H
#define BENCH_LOAD_AGENT_MESSAGES_H

#include "base/random.h"
#include "bench/load/measure/books.h"
#include "bench/load/plan.h"
#include "proto/proto.h"

/* What schedulers call their tasks. */
#define AGENT_TASK_NAME "load"

void agent_message_register(const struct plan *plan, uint32_t agent, int port, struct rng *rng,
			    struct buf *out);
void agent_message_unregister(const char *agent_id, struct buf *out);

/* A task that an agent reports to a new master: nothing but TASK_RUNNING was told of it yet, or
 * its end is under way. */
struct agent_task {
	char id[TASK_ID_MAX];
	const Mesos__FrameworkInfo *framework;
	Mesos__TaskState state;
	const uint8_t *uuid; /* of its update */
	int64_t time;
};
struct agent_self {
	uint32_t number;
	const char *id;
	int port;
	const struct agent_task *tasks;
	size_t count;
};
void agent_message_reregister(const struct plan *plan, const struct agent_self *self,
			      struct rng *rng, struct buf *out);

struct agent_update {
	const char *framework;
	const char *agent;
	const char *task;
	Mesos__TaskState state;
	const uint8_t *uuid;
	int64_t time;
	uint32_t number; /* of the agent */
	const char *ip;
	int port;
};
void agent_message_update(const struct agent_update *update, struct buf *out);

struct agent_order {
	enum {
		ORDER_OTHER,
		ORDER_REGISTERED,   /* id: the agent's */
		ORDER_REREGISTERED, /* id: the agent's; asked_for */
		ORDER_RUN,	    /* id: the task's; framework */
		ORDER_KILL,	    /* id: the task's */
		ORDER_ACKNOWLEDGED, /* id: the task's; uuid */
		ORDER_PING,	    /* connected */
		ORDER_SHUTDOWN,	    /* id: why */
	} kind;
	const char *id;
	ProtobufCBinaryData uuid;
	const Mesos__FrameworkInfo *framework;
	size_t asked_for; /* tasks that the master misses */
	bool connected;
};
/* `name` without "mesos.internal.". False: the body is malformed. */
bool agent_message_parse(const char *name, struct slice body, struct arena *arena,
			 struct agent_order *out);

#endif
