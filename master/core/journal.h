/* The journal of changes. Whatever changes in the core says so here, at once after it did; what
 * goes away says so just before. Everyone who follows the core (what is written behind, the sums
 * of the metrics) is a row of the table of consumers in journal.c. A consumer takes note and
 * returns: it changes nothing else and sends nothing.
 *
 * What must be durable before it happens (weights, quota, maintenance, the admission of agents)
 * is written by store/registry.h; it is in the journal once it happens. */
#ifndef MASTER_CORE_JOURNAL_H
#define MASTER_CORE_JOURNAL_H

#include "master/core/objects.h"

enum journal_kind {
	JOURNAL_TASK_ADDED,
	JOURNAL_TASK_CHANGED,
	JOURNAL_TASK_STATUS,	  /* got a status, which is not in its record yet; its state is */
	JOURNAL_TASK_KILL_WANTED, /* which nobody would tell again */
	JOURNAL_TASK_REMOVED,
	JOURNAL_COMPLETED_ADDED, /* struct completed_task */
	JOURNAL_COMPLETED_REMOVED,
	JOURNAL_EXECUTOR_ADDED,
	JOURNAL_EXECUTOR_REMOVED,
	JOURNAL_FRAMEWORK_ADDED,      /* it is new to this master, and whole */
	JOURNAL_FRAMEWORK_SUBSCRIBED, /* again, or its info changed */
	JOURNAL_FRAMEWORK_ENDED,      /* it is among the completed ones */
	JOURNAL_FRAMEWORK_CHANGED,    /* or added */
	JOURNAL_FRAMEWORK_MOVED,      /* to another enum framework_state, or made (in)active */
	JOURNAL_FRAMEWORK_REMOVED,    /* from the completed ones */
	JOURNAL_AGENT_ADMITTED,	      /* it is registered, and whole */
	JOURNAL_AGENT_LOST,	      /* it was registered, and departs */
	JOURNAL_AGENT_CHANGED,	      /* or added */
	JOURNAL_AGENT_MOVED,	      /* to another enum agent_state */
	JOURNAL_AGENT_HELD,	      /* its `total` or `used` */
	JOURNAL_AGENT_REMOVED,
};

struct change {
	enum journal_kind kind;
	union {
		struct task *task;
		struct completed_task *completed;
		struct executor *executor;
		struct framework *framework;
		struct agent *agent;
	};
	const Mesos__TaskStatus *status; /* of JOURNAL_TASK_STATUS */
};

void journal_task(struct master *m, enum journal_kind kind, struct task *t);
void journal_status(struct master *m, struct task *t, const Mesos__TaskStatus *status);
void journal_completed(struct master *m, enum journal_kind kind, struct completed_task *c);
void journal_executor(struct master *m, enum journal_kind kind, struct executor *e);
void journal_framework(struct master *m, enum journal_kind kind, struct framework *f);
void journal_agent(struct master *m, enum journal_kind kind, struct agent *a);

#endif
