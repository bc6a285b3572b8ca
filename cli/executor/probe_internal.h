/* The kinds of probes behind probe.h. */
#ifndef CLI_EXECUTOR_PROBE_INTERNAL_H
#define CLI_EXECUTOR_PROBE_INTERNAL_H

#include "cli/executor/probe.h"

struct probe_ops {
	bool (*reap)(struct probe *probe, pid_t pid, int status); /* NULL: has no process */
	void (*cancel)(struct probe *probe);			  /* frees it */
};

/* The head of each kind's own struct. */
struct probe {
	const struct probe_ops *ops;
	probe_done done;
	void *context;
};

/* Each returns NULL, with *outcome and `err` set, if it cannot be started. */
struct probe *probe_command_start(const Mesos__CommandInfo *command, enum probe_outcome *outcome,
				  struct err *err);
struct probe *probe_tcp_start(uv_loop_t *loop, const struct probe_target *target,
			      enum probe_outcome *outcome, struct err *err);
struct probe *probe_http_start(uv_loop_t *loop, const struct probe_target *target,
			       enum probe_outcome *outcome, struct err *err);
/* GETs `url` with the curl program, which follows redirects and takes any certificate. */
struct probe *probe_curl_start(const char *url, enum probe_outcome *outcome, struct err *err);

void probe_say(struct probe *probe, enum probe_outcome outcome, int value, const char *why);

#endif
