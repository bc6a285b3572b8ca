/* Where sandboxes are. */
#ifndef AGENT_CORE_PATHS_H
#define AGENT_CORE_PATHS_H

#include "agent/core/objects.h"

/* Heap. */
char *agent_framework_path(const struct agent *agent, const char *framework_id);
char *agent_executor_path(const struct agent *agent, const char *framework_id,
			  const char *executor_id);
char *agent_run_path(const struct agent *agent, const char *framework_id, const char *executor_id,
		     const char *container);
/* Whose sandbox a path leads to, as agent_resolve_path() takes it: ids, heap. False: nobody's. */
bool agent_path_owner(const struct agent *agent, const char *path, char **framework_id,
		      char **executor_id);

#endif
