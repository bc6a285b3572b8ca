/* What the processes of containers use, as /proc tells, or their control groups. Looking at all
 * processes of a machine costs, so a thread does it, once for all who asked before it began. */
#ifndef AGENT_HTTP_USAGE_H
#define AGENT_HTTP_USAGE_H

#include "agent/containers/slow.h"
#include "proto/proto.h"

struct agent_shell;

/* Of one container. */
struct usage {
	int64_t pid; /* of its first process */
	char *group; /* its id, if it has a control group of its own; heap, or NULL */
	/* Without limits. As /proc has it: seconds of processors, and bytes, of what lives. */
	Mesos__ResourceStatistics counted;
};

/* Of all of them, sorted by pid. */
struct usages {
	struct usage *items;
	size_t count;
};

/* Part of whatever asks. */
struct usage_ask {
	struct list link;
	/* On the loop, never inside of usage_read(). NULL: the agent is ending. May free the ask.
	 */
	void (*done)(struct usage_ask *ask, const struct usages *usages);
};

/* Part of the agent's shell. */
struct usage_turns {
	struct agent_shell *shell;
	struct list waiting; /* for the next walk */
	struct list asking;  /* who gets what is being read */
	bool walking;
	struct slow_job slow;
	struct slow_lane lane;
	struct usages usages; /* the thread's, while it walks */
};

void usage_init(struct usage_turns *turns, struct agent_shell *shell);
/* Before the containers are gone and the pool ends. Tells all who asked, and nobody asks again. */
void usage_close(struct usage_turns *turns);
void usage_read(struct usage_turns *turns, struct usage_ask *ask);
/* NULL: the container had no process when the walk began. */
const struct usage *usage_find(const struct usages *usages, int64_t pid);

#endif
