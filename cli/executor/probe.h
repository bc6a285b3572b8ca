/* One probe of a task, as checks and health checks make them: a command, an HTTP
 * request or a TCP connection to this machine. Its time limit is the caller's. */
#ifndef CLI_EXECUTOR_PROBE_H
#define CLI_EXECUTOR_PROBE_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/err.h"
#include "proto/proto.h"

enum probe_kind { PROBE_COMMAND, PROBE_HTTP, PROBE_TCP };

enum probe_outcome {
	PROBE_RESULT,	   /* `value` was found out */
	PROBE_FAILED,	   /* nothing was found out: the task's fault */
	PROBE_UNAVAILABLE, /* this machine cannot make such a probe */
};

struct probe_result {
	enum probe_outcome outcome;
	int value;	 /* exit code, HTTP status, or 1 = connected */
	const char *why; /* unless PROBE_RESULT; valid inside the callback */
};

struct probe;

/* Runs commands elsewhere than in a process of ours; returns as probe_start() does. */
typedef struct probe *probe_commander(void *context, const Mesos__CommandInfo *command,
				      enum probe_outcome *outcome, struct err *err);

/* One such way: in the container of a task whose pid is `inside`; see executor_command_enter(). */
struct probe *probe_command_inside(pid_t inside, const Mesita__ContainerLaunch *launch,
				   const Mesos__CommandInfo *command, enum probe_outcome *outcome,
				   struct err *err);

/* What to probe; pointers must live as long as the probe. */
struct probe_target {
	enum probe_kind kind;
	const Mesos__CommandInfo *command; /* of COMMAND */
	probe_commander *commander;	   /* of COMMAND; NULL: a process of ours runs it */
	void *commander_context;
	const char *path; /* of HTTP; NULL or "" is "/" */
	int port;	  /* of HTTP and TCP */
	bool tls;	  /* of HTTP */
	bool ipv6;
	const char *network; /* of HTTP and TCP: path of the namespace to do it in; NULL: ours */
};

/* Starts a probe, which calls `done` once, not from here, and is gone then. Returns
 * NULL after filling in `failed`, whose text is in `err`, if it cannot even be started. */
typedef void (*probe_done)(void *context, const struct probe_result *result);
struct probe *probe_start(uv_loop_t *loop, const struct probe_target *target, probe_done done,
			  void *context, struct probe_result *failed, struct err *err);
/* The caller reaps all children: offers one that ended. True if it was the probe's. */
bool probe_reap(struct probe *probe, pid_t pid, int status);
/* Ends it without a callback; its processes are killed. */
void probe_cancel(struct probe *probe);

#endif
