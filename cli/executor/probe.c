/* See probe.h; each kind has a file of its own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/executor/probe_internal.h"

/* A socket stays in the network in which it was made, a process in that in which it was started.
 * Returns how to come back, or a negative code. */
static int probe_enter(const char *network, struct err *err)
{
	int ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int theirs = open(network, O_RDONLY | O_CLOEXEC);

	if (ours < 0 || theirs < 0 || setns(theirs, CLONE_NEWNET)) {
		err_set(err, ERR_IO, "Cannot enter the network of the task: %s", strerror(errno));
		if (ours >= 0)
			close(ours);
		ours = ERR_IO;
	}
	if (theirs >= 0)
		close(theirs);
	return ours;
}

static void probe_come_back(int ours)
{
	/* Whatever comes next would be said to the wrong ones. */
	if (setns(ours, CLONE_NEWNET))
		abort();
	close(ours);
}

static struct probe *probe_network(uv_loop_t *loop, const struct probe_target *target,
				   enum probe_outcome *outcome, struct err *err)
{
	int ours = target->network ? probe_enter(target->network, err) : -1;
	struct probe *probe;

	if (target->network && ours < 0)
		return NULL;
	probe = target->kind == PROBE_TCP ? probe_tcp_start(loop, target, outcome, err)
					  : probe_http_start(loop, target, outcome, err);
	if (target->network)
		probe_come_back(ours);
	return probe;
}

struct probe *probe_start(uv_loop_t *loop, const struct probe_target *target, probe_done done,
			  void *context, struct probe_result *failed, struct err *err)
{
	enum probe_outcome outcome = PROBE_FAILED;
	struct probe *probe = NULL;

	switch (target->kind) {
	case PROBE_COMMAND:
		probe = target->commander ? target->commander(target->commander_context,
							      target->command, &outcome, err)
					  : probe_command_start(target->command, &outcome, err);
		break;
	case PROBE_HTTP:
	case PROBE_TCP:
		probe = probe_network(loop, target, &outcome, err);
		break;
	}
	if (!probe) {
		*failed = (struct probe_result){outcome, 0, err->text};
		return NULL;
	}
	probe->done = done;
	probe->context = context;
	return probe;
}

bool probe_reap(struct probe *probe, pid_t pid, int status)
{
	return probe->ops->reap && probe->ops->reap(probe, pid, status);
}

void probe_cancel(struct probe *probe)
{
	probe->ops->cancel(probe);
}

void probe_say(struct probe *probe, enum probe_outcome outcome, int value, const char *why)
{
	struct probe_result result = {outcome, value, why};

	probe->done(probe->context, &result);
}
