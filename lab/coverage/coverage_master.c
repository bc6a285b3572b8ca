#include "master/core/objects.h"

#include <stdio.h>
#include <string.h>

#include "lab/coverage/coverage.h"
#include "master/core/agents/agent_life.h"
#include "master/core/frameworks/framework_life.h"
#include "proto/names.h"

bool coverage_master_allows(enum life life, const char *from, const char *to)
{
	for (int i = 0; life == LIFE_AGENT && i < AGENT_STATES; i++) {
		for (int j = 0; j < AGENT_STATES && !strcmp(from, agent_life_name(i)); j++) {
			if (!strcmp(to, agent_life_name(j)))
				return agent_may_become(i, j);
		}
	}
	for (int i = 0; life == LIFE_FRAMEWORK && i < FRAMEWORK_STATES; i++) {
		for (int j = 0; j < FRAMEWORK_STATES && !strcmp(from, framework_life_name(i));
		     j++) {
			if (!strcmp(to, framework_life_name(j)))
				return framework_may_become(i, j);
		}
	}
	return true;
}

static void see_task(struct coverage *c, const struct framework *f, const struct task *t)
{
	char id[300];

	snprintf(id, sizeof(id), "%s/%s", f->id, t->id);
	coverage_see(
		c, LIFE_TASK, id,
		proto_enum_name(&mesos__task_state__descriptor, (int)t->record.state, SPELL_V1));
}

/* What became of offers is told by the counters: they are gone in any case. */
static void see_offers(struct coverage *c, const struct framework *f)
{
	const struct framework_counters *k = &f->counters;
	const struct {
		const char *from, *to;
		uint64_t value;
	} counts[] = {
		{"-", "OUTSTANDING", k->offers_sent},
		{"OUTSTANDING", "ACCEPTED", k->offers_accepted},
		{"OUTSTANDING", "DECLINED", k->offers_declined},
		{"OUTSTANDING", "RESCINDED", k->offers_rescinded},
	};
	char id[300];

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		snprintf(id, sizeof(id), "%s/%s", f->id, counts[i].to);
		coverage_count(c, LIFE_OFFER, counts[i].from, counts[i].to,
			       coverage_grown(c, id, counts[i].value));
	}
}

static void see_framework(struct coverage *c, const struct framework *f)
{
	struct task *t, *next;

	coverage_see(c, LIFE_FRAMEWORK, f->id, framework_life_name(f->state));
	HASH_ITER (hh, f->tasks, t, next)
		see_task(c, f, t);
	HASH_ITER (hh, f->unreachable, t, next)
		see_task(c, f, t);
	see_offers(c, f);
}

static void see_agent(struct coverage *c, const struct agent *a)
{
	struct operation *o, *next;
	char uuid[UUID_TEXT];

	coverage_see(c, LIFE_AGENT, a->id, agent_life_name(a->state));
	HASH_ITER (hh, a->operations, o, next) {
		uuid_format(o->uuid, uuid);
		coverage_see(c, LIFE_OPERATION, uuid,
			     proto_enum_name(&mesos__operation_state__descriptor,
					     (int)o->info->latest_status->state, SPELL_V1));
	}
}

void coverage_see_master(struct coverage *c, const struct master *m)
{
	struct framework *f, *next_f;
	struct agent *a, *next_a;
	struct departed *d, *next_d, *away, *gone;

	coverage_look(c, "master");
	HASH_ITER (hh, m->frameworks, f, next_f)
		see_framework(c, f);
	HASH_ITER (hh, m->completed, f, next_f)
		coverage_see(c, LIFE_FRAMEWORK, f->id, framework_life_name(FRAMEWORK_COMPLETED));
	HASH_ITER (hh, m->agents, a, next_a)
		see_agent(c, a);
	HASH_ITER (hh, m->unreachable, d, next_d)
		coverage_see(c, LIFE_AGENT, d->id, agent_life_name(AGENT_UNREACHABLE));
	HASH_ITER (hh, m->gone, d, next_d)
		coverage_see(c, LIFE_AGENT, d->id, agent_life_name(AGENT_GONE));
	HASH_ITER (hh, m->removed, d, next_d) {
		HASH_FIND_STR(m->unreachable, d->id, away);
		HASH_FIND_STR(m->gone, d->id, gone);
		HASH_FIND_STR(m->agents, d->id, a);
		if (!away && !gone && !a)
			coverage_see(c, LIFE_AGENT, d->id, agent_life_name(AGENT_REMOVED));
	}
	coverage_looked(c);
}

static void coverage_master_put(struct buf *out, const char *what, size_t count)
{
	if (count)
		buf_printf(out, " %zu %s in the master", count, what);
}

/* The auditor's is one. */
static size_t connected_frameworks(const struct master *m)
{
	struct framework *f, *next;
	size_t count = 0;

	HASH_ITER (hh, m->frameworks, f, next)
		count += f->state == FRAMEWORK_CONNECTED;
	return count;
}

bool coverage_waits_in_master(const struct master *m)
{
	return HASH_COUNT(m->frameworks) > connected_frameworks(m);
}

void coverage_left_in_master(const struct master *m, struct buf *out)
{
	size_t connected = connected_frameworks(m);
	struct framework *f, *next_f;
	struct agent *a, *next_a;

	coverage_master_put(out, "frameworks of nobody", connected > 1 ? connected - 1 : 0);
	HASH_ITER (hh, m->frameworks, f, next_f) {
		coverage_master_put(out, "tasks", HASH_COUNT(f->tasks));
		coverage_master_put(out, "unreachable tasks", HASH_COUNT(f->unreachable));
	}
	HASH_ITER (hh, m->agents, a, next_a) {
		coverage_master_put(out, "executors", HASH_COUNT(a->executors));
		coverage_master_put(out, "operations", HASH_COUNT(a->operations));
	}
	coverage_master_put(out, "held acknowledgements", !list_empty(&m->held_acks));
	coverage_master_put(out, "awaited writes", !list_empty(&m->pending));
}
