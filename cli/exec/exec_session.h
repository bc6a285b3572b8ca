/* A command in a debug container inside of a task's: its streams are ours until it ends. */
#ifndef CLI_EXEC_EXEC_SESSION_H
#define CLI_EXEC_EXEC_SESSION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"

/* What a failure of ours exits with, and not the command's: as `docker exec`. */
#define EXEC_FAILED 125

struct exec_request {
	const char *agent;	   /* "host:port" */
	const char *authorization; /* NULL: nobody asks */
	const struct json *parent; /* ContainerID of the task */
	const char *user;	   /* NULL: as the task */
	char *const *command;	   /* NULL-ended, not empty */
	bool interactive;	   /* our input is its own; else that is empty */
	bool tty;		   /* it has a terminal, like ours */
};

/* Returns what to exit with: the command's status, 128 and the signal that ended it, or
 * EXEC_FAILED with `err` set. */
int exec_session_run(const struct exec_request *request, struct err *err);

#endif
