#include "agent/core/store/orphans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/store/checkpoint.h"

struct orphan {
	struct list link;
	int64_t pid; /* 0: not known */
	uint64_t start_ticks;
	char container[UUID_TEXT];
};

static struct orphan *orphan_add(struct agent *agent, const char *container, int64_t pid,
				 uint64_t start_ticks)
{
	struct orphan *orphan = xcalloc(1, sizeof(*orphan));

	orphan->pid = pid;
	orphan->start_ticks = start_ticks;
	snprintf(orphan->container, sizeof(orphan->container), "%s", container);
	list_append(&agent->orphans, &orphan->link);
	return orphan;
}

static void orphan_free(struct orphan *orphan)
{
	list_remove(&orphan->link);
	free(orphan);
}

static char *orphan_key(struct agent *agent, const struct orphan *orphan)
{
	return agent_key(agent, "orphan/%s", orphan->container);
}

int agent_load_orphan(struct agent *agent, const char *container, const char *text, struct err *err)
{
	uint8_t uuid[UUID_BYTES];
	uint64_t start_ticks;
	int64_t pid;

	if (!uuid_parse(container, uuid) ||
	    sscanf(text, "%" SCNd64 " %" SCNu64, &pid, &start_ticks) != 2)
		return err_set(err, ERR_INVALID, "it holds no container");
	orphan_add(agent, container, pid, start_ticks);
	return 0;
}

void agent_leave_orphan(struct agent *agent, const struct executor *executor)
{
	const struct orphan *orphan;

	if (!executor->container)
		return;
	orphan =
		orphan_add(agent, executor->container, executor->process_id, executor->start_ticks);
	agent_put_text(agent, orphan_key(agent, orphan),
		       agent_key(agent, "%" PRId64 " %" PRIu64, orphan->pid, orphan->start_ticks));
}

void agent_destroy_orphans(struct agent *agent, bool rebooted)
{
	struct orphan *orphan, *next;

	list_for_each (orphan, next, &agent->orphans, link) {
		struct agent_action *action;
		char *container = arena_strdup(&agent->out->arena, orphan->container);

		if (rebooted) {
			agent_delete(agent, orphan_key(agent, orphan));
			orphan_free(orphan);
			continue;
		}
		action = agent_emit(agent, AGENT_REATTACH);
		action->reattach.container = container;
		action->reattach.sandbox = "";
		action->reattach.pid = orphan->pid;
		action->reattach.start_ticks = orphan->start_ticks;
		agent_emit(agent, AGENT_DESTROY)->destroy.container = container;
	}
}

void agent_orphan_exited(struct agent *agent, const char *container)
{
	struct orphan *orphan, *next;

	list_for_each (orphan, next, &agent->orphans, link) {
		if (strcmp(orphan->container, container))
			continue;
		agent_delete(agent, orphan_key(agent, orphan));
		orphan_free(orphan);
		return;
	}
}

void agent_free_orphans(struct agent *agent)
{
	struct orphan *orphan, *next;

	list_for_each (orphan, next, &agent->orphans, link)
		orphan_free(orphan);
}
