/* The durable part of the master's state: which agents are admitted, unreachable,
 * gone, and who this master is.
 *
 * A change is a STORE_SYNCED batch; what follows from it (replies, task updates)
 * happens in the step that hears it is durable, in the order of the batches. A store
 * that fails ends the process, so there is no failure path here.
 *
 * Keys, values are protobuf records (proto/mesita.proto); ids hold no '/':
 *   master                                  Mesos.MasterInfo
 *   agent/<agent id>                        StoredAgent: its info, what operators ordered
 *   unreachable/<agent id>                  StoredDeparted
 *   gone/<agent id>                         StoredDeparted
 *   maintenance/schedule                    StoredMaintenance
 *   quota/<role>                            Mesos.quota.QuotaConfig
 *   weight/<role>                           Mesos.WeightInfo; the role may hold '/'
 * and in the other line, written behind (warm.c):
 *   agent-facts/<agent id>                  StoredAgent: the rest, as it told it
 *   framework/<framework id>                StoredFramework
 *   task/<framework id>/<task id>           StoredTask
 *   completed/<framework id>/<16 hex>       Mesos.Task, by order of completion
 *   executor/<agent id>/<framework id>/<executor id>   Mesos.ExecutorInfo
 *   given/<framework id>/<role>             StoredNumber; a role may hold '/'
 *   given-role/<role>                       StoredNumber
 *   arrival/<agent id>                      StoredNumber
 *   filter/<16 hex>                         StoredFilter
 */
#include "master/core/store/registry.h"

#include <stdlib.h>
#include <string.h>

#include "master/core/agents/agent_health.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agents.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/operator.h"
#include "master/core/store/warm.h"
#include "master/core/tasks/tasks.h"

char *registry_key(struct master *m, const char *kind, const char *id)
{
	return arena_join(&m->out->arena, kind, "/", id, NULL);
}

static struct store_op *batch_op(struct master *m, struct registry_batch *batch, const char *key)
{
	struct store_op *op;

	if (batch->count == batch->cap) {
		size_t cap = batch->cap ? batch->cap * 2 : 4;
		struct store_op *ops = arena_alloc(&m->out->arena, cap * sizeof(*ops));

		if (batch->count)
			memcpy(ops, batch->ops, batch->count * sizeof(*ops));
		batch->ops = ops;
		batch->cap = cap;
	}
	op = &batch->ops[batch->count++];
	*op = (struct store_op){.key = slice_of(key)};
	return op;
}

void registry_put(struct master *m, struct registry_batch *batch, const char *key,
		  const void *message)
{
	batch_op(m, batch, key)->value = proto_pack_to(&m->out->arena, message);
}

void registry_put_bytes(struct master *m, struct registry_batch *batch, const char *key,
			struct slice value)
{
	batch_op(m, batch, key)->value = value;
}

void registry_delete(struct master *m, struct registry_batch *batch, const char *key)
{
	batch_op(m, batch, key);
}

void registry_put_agent(struct master *m, struct registry_batch *batch,
			const Mesos__AgentInfo *info, bool deactivated,
			const Mesos__DrainInfo *drain_info)
{
	Mesita__StoredAgent *stored =
		STEP_NEW(m, Mesita__StoredAgent, mesita__stored_agent__descriptor);

	stored->info = (Mesos__AgentInfo *)info;
	stored->has_deactivated = stored->deactivated = deactivated;
	stored->drain_info = (Mesos__DrainInfo *)drain_info;
	registry_put(m, batch, registry_key(m, "agent", info->id->value), stored);
}

void registry_put_departed(struct master *m, struct registry_batch *batch, const char *kind,
			   const char *id, int64_t time)
{
	Mesita__StoredDeparted *stored =
		STEP_NEW(m, Mesita__StoredDeparted, mesita__stored_departed__descriptor);

	stored->has_time = true;
	stored->time = time;
	registry_put(m, batch, registry_key(m, kind, id), stored);
}

void registry_put_unreachable(struct master *m, struct registry_batch *batch, const char *id,
			      int64_t time, bool deactivated, const Mesos__DrainInfo *drain_info)
{
	Mesita__StoredDeparted *stored =
		STEP_NEW(m, Mesita__StoredDeparted, mesita__stored_departed__descriptor);

	stored->has_time = true;
	stored->time = time;
	stored->has_deactivated = deactivated;
	stored->deactivated = deactivated;
	stored->drain_info = (Mesos__DrainInfo *)drain_info;
	registry_put(m, batch, registry_key(m, "unreachable", id), stored);
}

/* Copies the operations, which live as long as the step's arena, into one piece of memory. */
static struct store_op *copy_ops(const struct registry_batch *batch)
{
	size_t bytes = batch->count * sizeof(*batch->ops);
	struct store_op *ops;
	char *to;

	for (size_t i = 0; i < batch->count; i++)
		bytes += batch->ops[i].key.len + batch->ops[i].value.len + 1;
	ops = xmalloc(bytes + 1);
	to = (char *)(ops + batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const struct store_op *op = &batch->ops[i];

		ops[i] = (struct store_op){{to, op->key.len}, {NULL, op->value.len}};
		memcpy(to, op->key.data, op->key.len);
		to += op->key.len;
		if (!op->value.data)
			continue;
		/* A byte more, so that an empty value has a place, too. */
		ops[i].value.data = to;
		memcpy(to, op->value.data, op->value.len);
		to += op->value.len + 1;
	}
	return ops;
}

static void emit_registry(struct master *m, struct pending *p, struct store_op *ops, size_t count)
{
	p->ticket = master_emit_store(m, LINE_REGISTRY, STORE_SYNCED, ops, count);
}

struct pending *registry_write(struct master *m, struct registry_batch *batch,
			       void (*follow)(struct master *m, struct pending *p))
{
	struct pending *p = xcalloc(1, sizeof(*p));

	p->follow = follow;
	p->time = m->now;
	p->after = warm_secure(m);
	m->warm_urgent = true;
	list_init(&p->held);
	list_append(&m->pending, &p->link);
	if (p->after <= m->warm_stored && list_empty(&m->held_writes)) {
		emit_registry(m, p, batch->ops, batch->count);
		return p;
	}
	p->ticket = UINT64_MAX;
	p->ops = copy_ops(batch);
	p->op_count = batch->count;
	list_append(&m->held_writes, &p->held);
	return p;
}

void registry_release(struct master *m, uint64_t warm_ticket)
{
	struct store_op *ops;
	struct pending *p;

	while ((p = list_first(&m->held_writes, struct pending, held)) && p->after <= warm_ticket) {
		list_remove(&p->held);
		ops = arena_alloc(&m->out->arena, (p->op_count + 1) * sizeof(*ops));
		memcpy(ops, p->ops, p->op_count * sizeof(*ops));
		emit_registry(m, p, ops, p->op_count);
	}
}

struct pending *registry_write_change(struct master *m, struct registry_batch *batch,
				      enum agent_change change, const char *agent_id,
				      void (*follow)(struct master *m, struct pending *p))
{
	struct pending *older = registry_pending(m, agent_id);
	struct pending *p = registry_write(m, batch, follow);

	p->change = change;
	p->key = xstrdup(agent_id);
	p->latest = true;
	if (older) {
		HASH_DEL(m->pending_keys, older);
		older->latest = false;
	}
	HASH_ADD_KEYPTR(hh, m->pending_keys, p->key, strlen(p->key), p);
	return p;
}

struct pending *registry_pending(const struct master *m, const char *agent_id)
{
	struct pending *p;

	HASH_FIND(hh, m->pending_keys, agent_id, strlen(agent_id), p);
	return p;
}

void registry_reserve_pid(struct master *m, struct pending *p, const char *pid)
{
	p->pid = xstrdup(pid);
	HASH_ADD_KEYPTR(hh_pid, m->pending_pids, p->pid, strlen(p->pid), p);
}

bool registry_pid_reserved(const struct master *m, const char *pid)
{
	struct pending *p;

	HASH_FIND(hh_pid, m->pending_pids, pid, strlen(pid), p);
	return p != NULL;
}

static void free_pending(struct pending *p)
{
	list_remove(&p->link);
	list_remove(&p->held);
	free(p->ops);
	proto_free(p->message);
	free(p->key);
	free(p->pid);
	free(p->text);
	free(p);
}

void registry_stored(struct master *m, uint64_t ticket)
{
	struct pending *p;

	while ((p = list_first(&m->pending, struct pending, link)) && p->ticket <= ticket) {
		if (p->latest)
			HASH_DEL(m->pending_keys, p);
		if (p->pid)
			HASH_DELETE(hh_pid, m->pending_pids, p);
		p->follow(m, p);
		if (p->key) {
			master_resume_leaving(m, p->key);
			master_deferral_ended(m, DEFER_AGENT, p->key);
		}
		free_pending(p);
	}
}

void registry_free(struct master *m)
{
	struct pending *p;

	HASH_CLEAR(hh, m->pending_keys);
	HASH_CLEAR(hh_pid, m->pending_pids);
	while ((p = list_first(&m->pending, struct pending, link)))
		free_pending(p);
}

/* ---- departed agents of long ago ------------------------------------------------- */

#define PRUNE_INTERVAL (15 * MINUTE)
#define PRUNE_AGE (2 * WEEK)
#define PRUNE_COUNT 102400

/* Oldest first; what is pruned leaves memory at once: it only makes an answer vaguer. */
static void prune_table(struct master *m, struct departed **table, const char *kind,
			struct registry_batch *batch)
{
	const struct master_options *o = &m->options;
	int64_t age = o->registry_max_agent_age ? o->registry_max_agent_age : PRUNE_AGE;
	unsigned most =
		o->registry_max_agent_count ? (unsigned)o->registry_max_agent_count : PRUNE_COUNT;
	struct departed *d, *next;

	HASH_ITER (hh, *table, d, next) {
		bool old = m->now - d->time > age;

		if (!old && HASH_COUNT(*table) <= most)
			continue;
		if (!agent_may_change(m, d->id, CHANGE_FORGET))
			continue;
		registry_delete(m, batch, registry_key(m, kind, d->id));
		while (!list_empty(&d->tasks))
			master_forget_task(m, list_first(&d->tasks, struct task, by_agent));
		master_remove_departed(table, d->id);
	}
}

static void pruned(struct master *m, struct pending *p)
{
	(void)m;
	(void)p;
}

void registry_prune(struct master *m)
{
	int64_t interval = m->options.registry_gc_interval;
	struct registry_batch batch = {0};

	prune_table(m, &m->unreachable, "unreachable", &batch);
	prune_table(m, &m->gone, "gone", &batch);
	if (batch.count)
		registry_write(m, &batch, pruned);
	timers_start(&m->timers, &m->prune, master_later(m, interval ? interval : PRUNE_INTERVAL));
}
