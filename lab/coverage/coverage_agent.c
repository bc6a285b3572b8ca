#include "agent/core/objects.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/states.h"
#include "lab/coverage/coverage.h"
#include "proto/names.h"

bool coverage_agent_allows(enum life life, const char *from, const char *to)
{
	for (int i = 0; life == LIFE_OWN_AGENT && i < AGENT_STATES; i++) {
		for (int j = 0; j < AGENT_STATES && !strcmp(from, agent_state_name(i)); j++) {
			if (!strcmp(to, agent_state_name(j)))
				return agent_state_follows(i, j);
		}
	}
	for (int i = 0; life == LIFE_EXECUTOR && i < EXECUTOR_STATES; i++) {
		for (int j = 0; j < EXECUTOR_STATES && !strcmp(from, executor_state_name(i)); j++) {
			if (!strcmp(to, executor_state_name(j)))
				return executor_state_follows(i, j);
		}
	}
	return true;
}

static const char *task_state(Mesos__TaskState state)
{
	return proto_enum_name(&mesos__task_state__descriptor, (int)state, SPELL_V1);
}

void coverage_see_agent(struct coverage *c, const char *owner, const struct agent *agent)
{
	struct framework *f, *next_f;
	struct executor *e, *next_e;
	struct task *t, *next_t;
	struct operation *o, *next_o;
	char id[300], uuid[UUID_TEXT];

	coverage_look(c, owner);
	coverage_see(c, LIFE_OWN_AGENT, "", agent_state_name(agent->state));
	HASH_ITER (hh, agent->frameworks, f, next_f) {
		HASH_ITER (hh, f->executors, e, next_e)
			coverage_see(c, LIFE_EXECUTOR, e->container, executor_state_name(e->state));
		HASH_ITER (hh, f->tasks, t, next_t) {
			snprintf(id, sizeof(id), "%s/%s", f->id, t->record->task_id->value);
			coverage_see(c, LIFE_OWN_TASK, id, task_state(t->record->state));
		}
	}
	HASH_ITER (hh, agent->operations, o, next_o) {
		uuid_format(o->uuid, uuid);
		coverage_see(c, LIFE_OWN_OPERATION, uuid,
			     proto_enum_name(&mesos__operation_state__descriptor,
					     (int)o->record->latest_status->state, SPELL_V1));
	}
	coverage_looked(c);
}

static void coverage_agent_put(struct buf *out, const char *what, size_t count)
{
	if (count)
		buf_printf(out, " %zu %s in an agent", count, what);
}

void coverage_left_in_agent(const struct agent *agent, struct buf *out)
{
	coverage_agent_put(out, "frameworks", HASH_COUNT(agent->frameworks));
	coverage_agent_put(out, "containers", HASH_CNT(hh_container, agent->containers));
	coverage_agent_put(out, "subscriptions", HASH_CNT(hh_stream, agent->subscribed));
	coverage_agent_put(out, "operations", HASH_COUNT(agent->operations));
	coverage_agent_put(out, "volumes to remove", HASH_COUNT(agent->removals));
	coverage_agent_put(out, "changes of resources", !list_empty(&agent->changes));
	coverage_agent_put(out, "awaited writes", !list_empty(&agent->waiters));
}
