/* What the agent has, as messages of the operator API: in the arena, borrowing from the agent what
 * they can. */
#ifndef AGENT_CORE_SHOW_H
#define AGENT_CORE_SHOW_H

#include "agent/core/agent.h"

void agent_show_tasks(const struct agent *agent, struct arena *arena,
		      Mesos__Agent__Response__GetTasks *get);
void agent_show_executors(const struct agent *agent, struct arena *arena,
			  Mesos__Agent__Response__GetExecutors *get);
void agent_show_frameworks(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetFrameworks *get);
void agent_show_operations(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetOperations *get);
void agent_show_agent(const struct agent *agent, struct arena *arena,
		      Mesos__Agent__Response__GetAgent *get);

/* A container of an executor that has not ended. */
struct shown_container {
	const char *framework_id, *executor_id, *name, *container;
	double cpus, mem; /* mem in MB */
};
void agent_show_each_container(const struct agent *agent,
			       void (*each)(void *context, const struct shown_container *c),
			       void *context);

#endif
