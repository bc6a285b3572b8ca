/* See probe.h; each kind has a file of its own. */
#include "cli/executor/probe_internal.h"

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
		probe = probe_http_start(loop, target, &outcome, err);
		break;
	case PROBE_TCP:
		probe = probe_tcp_start(loop, target, &outcome, err);
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
