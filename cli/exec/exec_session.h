/* A command in a debug container inside of a task's, or the terminal of a task itself: its streams
 * are ours until it ends. */
#ifndef CLI_EXEC_EXEC_SESSION_H
#define CLI_EXEC_EXEC_SESSION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"

/* What a failure of ours exits with, and not the command's: as `docker exec`. */
#define EXEC_FAILED 125
#define EXEC_DETACHED (-1)

struct exec_request {
	const char *agent;	   /* "host:port" */
	const char *authorization; /* NULL: nobody asks */
	const struct json *parent; /* ContainerID of the task */
	const char *user;	   /* NULL: as the task */
	char *const *command;	   /* NULL-ended; NULL: the terminal of the container itself */
	bool interactive;	   /* our input is its own; else that is empty */
	bool tty;		   /* it has a terminal, like ours */
};

/* Says which container the request is for: that of a running task. Strings and objects are in the
 * arena; `framework` NULL: of any. */
int exec_find(struct arena *arena, const char *master, const char *id, const char *framework,
	      struct exec_request *request, struct err *err);
/* Returns what to exit with: the command's status, 128 and the signal that ended it, or
 * EXEC_FAILED with `err` set. Without a command 0 when the terminal is gone, or EXEC_DETACHED. */
int exec_session_run(const struct exec_request *request, struct err *err);

#endif
