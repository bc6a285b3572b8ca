/* Task and executor records: making them, accounting what they hold, ending them. */
#ifndef MASTER_CORE_TASKS_TASKS_H
#define MASTER_CORE_TASKS_TASKS_H

#include "master/core/objects.h"

/* Makes the record of a task that is launched, STAGING, in the step's arena. */
Mesos__Task *master_task_record(struct master *m, const struct framework *f,
				const Mesos__TaskInfo *info);
/* Adds a copy of the record (resources validated, new format, with allocation roles).
 * Resources are accounted unless it is terminal; the allocator is not told. `a`
 * NULL: an unreachable task. */
struct task *master_add_task(struct master *m, struct framework *f, struct agent *a,
			     const Mesos__Task *task);
/* The same with a record, which is then the task's. NULL: there is no room for another
 * unreachable one. */
struct task *master_adopt_task(struct master *m, struct framework *f, struct agent *a,
			       const struct task_record *record);
struct executor *master_add_executor(struct master *m, struct framework *f, struct agent *a,
				     const Mesos__ExecutorInfo *info);
/* Removes the executor. The allocator gets its resources back if `give_back`. */
void master_remove_executor(struct master *m, struct executor *e, bool give_back);
/* Stops accounting the resources of a task that ended. */
void master_release_task(struct master *m, struct task *t, bool give_back);
/* Applies a status to the record; releases the resources at the first terminal
 * state. `state` is the latest known one. */
void master_apply_status(struct master *m, struct task *t, const Mesos__TaskStatus *status,
			 Mesos__TaskState state, bool give_back);
/* Moves a task that is over to the framework's completed tasks. */
void master_complete_task(struct master *m, struct task *t, bool give_back);
/* Moves a task of an unreachable agent to the framework's unreachable tasks. */
void master_park_task(struct master *m, struct task *t);
void master_forget_task(struct master *m, struct task *t); /* no trace is kept */
/* Finds a completed task by its id, one of several if the id was used again. NULL: there is none.
 */
struct completed_task *framework_find_completed_task(const struct framework *f, const char *id);
void master_forget_completed(struct master *m, struct framework *f, const char *task_id);
/* Adds a completed task. Takes the record. */
void master_add_completed_task(struct master *m, struct framework *f,
			       const struct task_record *record, uint64_t number);
void master_drop_completed_task(struct master *m, struct framework *f, struct completed_task *c);

/* What a master-made status says. */
struct master_status {
	const char *task_id;
	const char *agent_id;	 /* or NULL */
	const char *executor_id; /* or NULL */
	Mesos__TaskState state;
	Mesos__TaskStatus__Reason reason;
	const char *message;
	int64_t unreachable_time; /* ns; 0 = none */
};
Mesos__TaskStatus *master_make_status(struct master *m, const struct master_status *status);
/* Where a task goes that the master ends. */
enum task_goes {
	TASK_TO_COMPLETED,
	TASK_TO_UNREACHABLE,
	TASK_STAYS, /* where it is; no agent owns it any more */
};

/* How and why the master itself ends a task, or takes it for unreachable. */
struct task_end {
	Mesos__TaskState state;
	Mesos__TaskStatus__Reason reason;
	const char *message;
	int64_t unreachable_time; /* ns; 0 = none */
	bool silent;		  /* its framework does not hear of it */
	bool give_back;		  /* the allocator gets its resources back */
	enum task_goes goes;
};
void master_end_task(struct master *m, struct task *t, const struct task_end *end);
/* Counts a terminal state in the metrics. */
void master_count_terminal(struct master *m, struct framework *f, const Mesos__TaskStatus *status);

#endif
