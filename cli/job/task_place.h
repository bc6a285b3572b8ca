/* Where a task is, as the master says. */
#ifndef CLI_JOB_TASK_PLACE_H
#define CLI_JOB_TASK_PLACE_H

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"

/* The task as /tasks has it, in the arena; `framework` NULL: of any. NULL with `err` set. */
const struct json *cli_find_task(struct arena *arena, const char *master, const char *id,
				 const char *framework, struct err *err);
/* "host:port" of an agent, in the arena; NULL with `err` set. */
const char *cli_agent_address(struct arena *arena, const char *master, const char *agent_id,
			      struct err *err);
/* The ContainerID of its latest status that has one, or an empty object. */
const struct json *cli_task_container(const struct json *task);

#endif
