/* The life of a task in the master, as a table. What an update says is an input and may be
 * anything: the table says what becomes of it. */
#ifndef MASTER_CORE_TASKS_TASK_LIFE_H
#define MASTER_CORE_TASKS_TASK_LIFE_H

#include "master/core/objects.h"

enum task_effect {
	LIFE_STAYS, /* as it is: what was said last is final */
	LIFE_MOVES, /* has the new state */
	LIFE_ENDS,  /* likewise, and no longer uses what it held */
};

enum task_effect task_effect(Mesos__TaskState from, Mesos__TaskState to);
/* Brings the task to the state, if the table has that; the caller sees to what an end brings. */
enum task_effect task_life_move(struct master *m, struct task *t, Mesos__TaskState to);

#endif
