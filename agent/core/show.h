/* What the agent has, as messages of the operator API: in the arena, borrowing from the agent what
 * they can. */
#ifndef AGENT_CORE_SHOW_H
#define AGENT_CORE_SHOW_H

#include "agent/core/agent_view.h"

void agent_show_tasks(const struct agent_view *v, struct arena *arena,
		      Mesos__Agent__Response__GetTasks *get);
void agent_show_executors(const struct agent_view *v, struct arena *arena,
			  Mesos__Agent__Response__GetExecutors *get);
void agent_show_frameworks(const struct agent_view *v, struct arena *arena,
			   Mesos__Agent__Response__GetFrameworks *get);
void agent_show_operations(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetOperations *get);
void agent_show_agent(const struct agent *agent, struct arena *arena,
		      Mesos__Agent__Response__GetAgent *get);

/* Appends the members of /state from "id" to "completed_frameworks" that the core
 * knows to an open JSON object. */
void agent_write_state(const struct agent_view *v, struct json_writer *w);

/* Frameworks, executors and tasks that there are, and with `past` those that were; counts no
 * further than `limit`. */
size_t agent_show_count(const struct agent *agent, bool past, size_t limit);

/* A container of an executor that has not ended; or a standalone one that runs, which has only what
 * is in the second line, and limits. */
struct shown_container {
	const char *framework_id, *executor_id, *name, *source;
	const char *container, *directory;
	struct agent_limits limits;
	double disk;				 /* MB that its sandbox may hold: without volumes */
	const Mesos__ContainerStatus *networked; /* networks of its own; NULL: it has ours */
};
void agent_show_each_container(const struct agent_view *v,
			       void (*each)(void *context, const struct shown_container *c),
			       void *context);
void agent_show_each_standalone(const struct agent_view *v,
				void (*each)(void *context, const struct shown_container *c),
				void *context);
/* Those that run inside of such a container, however deep: ids, parent.own. */
void agent_show_each_inside(const struct agent *agent, const char *container,
			    void (*each)(void *context, const char *id), void *context);

#endif
