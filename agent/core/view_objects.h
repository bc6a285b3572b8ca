/* What of the core's objects a view shows. */
#ifndef AGENT_CORE_VIEW_OBJECTS_H
#define AGENT_CORE_VIEW_OBJECTS_H

#include "agent/core/agent_view.h"
#include "agent/core/objects.h"

bool agent_view_sees_framework(const struct agent_view *v, const struct framework *framework);
bool agent_view_sees_executor(const struct agent_view *v, const struct executor *executor);
bool agent_view_sees_container(const struct agent_view *v, const struct executor *executor);
/* `executor` is the task's. */
bool agent_view_sees_task(const struct agent_view *v, const struct executor *executor,
			  const struct task *task);

#endif
