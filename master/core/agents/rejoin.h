/* What a reregistering agent has, taken into the master's tables; and what it is answered. Of
 * what the agent reports, reregister.c decides when. */
#ifndef MASTER_CORE_AGENTS_REJOIN_H
#define MASTER_CORE_AGENTS_REJOIN_H

#include "master/core/objects.h"

/* A reregistration being carried out. */
struct rejoin {
	struct master *m;
	struct agent *a;
	const Mesos__Internal__ReregisterSlaveMessage *message;
	bool is_new;	   /* unreachable or unknown before: frameworks hear of their tasks */
	bool registered;   /* the allocator knows the agent */
	const char *cause; /* is_new: why they hear */
	uint64_t mark;
};

/* A copy of the message in the step's arena, its resources in the new format. */
Mesos__Internal__ReregisterSlaveMessage *
rejoin_normalised(struct master *m, const Mesos__Internal__ReregisterSlaveMessage *raw);
/* In this order. Tasks and executors of frameworks that are over are left out. */
void rejoin_take_frameworks(struct rejoin *r);
void rejoin_take_executors(struct rejoin *r);
void rejoin_take_tasks(struct rejoin *r);
void rejoin_take_completed(struct rejoin *r);
/* The tasks that it did not report are asked back. */
void rejoin_answer(struct rejoin *r);
void rejoin_repeat_kills(struct rejoin *r);
void rejoin_answer_frameworks(struct rejoin *r);
/* Agents without resource providers keep what the master tells them to. */
void rejoin_answer_checkpoints(struct rejoin *r);

#endif
