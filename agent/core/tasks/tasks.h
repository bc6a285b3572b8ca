/* Tasks: launched, moved, changed by statuses, killed. */
#ifndef AGENT_CORE_TASKS_TASKS_H
#define AGENT_CORE_TASKS_TASKS_H

#include "agent/core/objects.h"

void agent_handle_run_task(struct agent *agent, const char *from,
			   Mesos__Internal__RunTaskMessage *message);
void agent_handle_run_task_group(struct agent *agent, const char *from,
				 Mesos__Internal__RunTaskGroupMessage *message);
bool agent_id_usable(const char *id); /* as a path component and part of a key */

struct task *agent_task_create(struct executor *executor, Mesos__Task *record,
			       Mesos__TaskInfo *info, enum task_place place);
struct task *agent_task_find(struct framework *framework, const char *id);
void agent_task_move(struct task *task, enum task_place place);
Mesos__Task *agent_task_record(struct agent *agent, const char *framework_id,
			       const Mesos__TaskInfo *info); /* heap, TASK_STAGING */
/* Applies a status. Error: the task may not take it; nothing changed. */
int agent_task_apply(struct agent *agent, struct task *task, const Mesos__TaskStatus *status,
		     struct err *err);
void agent_task_complete(struct agent *agent, struct task *task);
void agent_task_free(struct task *task);

/* Whether a task is remembered as one that is over and acknowledged: of the executor, or of any. */
bool agent_task_is_past_of(const struct executor *executor, const char *task_id);
bool agent_task_is_past(const struct framework *framework, const char *task_id);
/* Ends the task if nobody has it yet, else tells its executor, now or when that is connected. */
void agent_kill(struct agent *agent, struct task *task, Mesos__KillPolicy *policy);
/* The executor is connected: it hears of the kills that came while it was not. */
void agent_repeat_kills(struct agent *agent, struct executor *executor);
void agent_handle_kill_task(struct agent *agent, const char *from,
			    Mesos__Internal__KillTaskMessage *message);

#endif
