/* Coming back after a restart: what the store held becomes frameworks, agents and
 * tasks again.
 *
 * Records come in any order; they are kept until all are there and then put together:
 * agents (RECOVERED until they reregister), frameworks (RECOVERED until they
 * subscribe), then what hangs on both. A task whose agent is not there any more was cut
 * off by the crash: it is completed as lost. A record that cannot be read is an
 * error: starting without it would lose what it says.
 */
#include "master/core/store/recover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agents.h"
#include "master/core/emit.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/objects.h"
#include "master/core/roles/roles.h"
#include "master/core/store/offer_memory.h"
#include "master/core/store/registry.h"
#include "master/core/store/warm.h"
#include "master/core/tasks/tasks.h"
#include "proto/wire/wire_write.h"

enum record_kind {
	RECORD_MASTER,
	RECORD_AGENT,
	RECORD_AGENT_FACTS,
	RECORD_UNREACHABLE,
	RECORD_GONE,
	RECORD_FRAMEWORK,
	RECORD_EXECUTOR,
	RECORD_COMPLETED, /* numbered: those that a task adds follow them */
	RECORD_TASK,
	RECORD_MAINTENANCE,
	RECORD_GIVEN,
	RECORD_GIVEN_ROLE,
	RECORD_ARRIVAL,
	RECORD_FILTER,
	RECORD_QUOTA,
	RECORD_WEIGHT,
};

static const struct kind {
	enum store_line line;
	const char *prefix;
	enum record_kind kind;
	int parts; /* of the key after the prefix; negative: the last one may hold '/' */
	const ProtobufCMessageDescriptor *type;
} kinds[] = {
	{LINE_REGISTRY, "agent", RECORD_AGENT, 1, &mesita__stored_agent__descriptor},
	{LINE_WARM, "agent-facts", RECORD_AGENT_FACTS, 1, &mesita__stored_agent__descriptor},
	{LINE_REGISTRY, "unreachable", RECORD_UNREACHABLE, 1, &mesita__stored_departed__descriptor},
	{LINE_REGISTRY, "gone", RECORD_GONE, 1, &mesita__stored_departed__descriptor},
	{LINE_WARM, "framework", RECORD_FRAMEWORK, 1, &mesita__stored_framework__descriptor},
	{LINE_WARM, "executor", RECORD_EXECUTOR, 3, &mesos__executor_info__descriptor},
	{LINE_WARM, "task", RECORD_TASK, 2, &mesita__stored_task__descriptor},
	{LINE_WARM, "completed", RECORD_COMPLETED, 2, &mesos__task__descriptor},
	{LINE_REGISTRY, "maintenance", RECORD_MAINTENANCE, 1,
	 &mesita__stored_maintenance__descriptor},
	{LINE_WARM, "given", RECORD_GIVEN, -2, &mesita__stored_number__descriptor},
	{LINE_WARM, "given-role", RECORD_GIVEN_ROLE, -1, &mesita__stored_number__descriptor},
	{LINE_WARM, "arrival", RECORD_ARRIVAL, 1, &mesita__stored_number__descriptor},
	{LINE_WARM, "filter", RECORD_FILTER, 1, &mesita__stored_filter__descriptor},
	{LINE_REGISTRY, "quota", RECORD_QUOTA, 1, &mesos__quota__quota_config__descriptor},
	{LINE_REGISTRY, "weight", RECORD_WEIGHT, -1, &mesos__weight_info__descriptor},
};

/* Of hundreds of thousands of tasks no messages are made to be kept. */
struct loaded_task {
	struct task_record record;
	bool unreachable, kill_wanted;
};

struct record {
	enum record_kind kind;
	char *key; /* heap; cut into its parts */
	char *parts[3];
	void *message;		  /* heap; NULL of tasks */
	struct loaded_task *task; /* NULL of all others, and of a record without a task */
};

struct loaded {
	struct record *items;
	size_t count, cap;
	struct arena scratch;
};

/* ---- reading ------------------------------------------------------------------------- */

static void record_free(struct record *r)
{
	proto_free(r->message);
	if (r->task)
		task_record_free(&r->task->record);
	free(r->task);
	free(r->key);
	*r = (struct record){0};
}

void recover_free(struct master *m)
{
	if (!m->loaded)
		return;
	for (size_t i = 0; i < m->loaded->count; i++)
		record_free(&m->loaded->items[i]);
	arena_free(&m->loaded->scratch);
	free(m->loaded->items);
	free(m->loaded);
	m->loaded = NULL;
}

static void recover_keep(struct loaded *l, const struct record *r)
{
	if (l->count == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->items = xrealloc(l->items, l->cap * sizeof(*l->items));
	}
	l->items[l->count++] = *r;
}

/* Cuts the key at its slashes; false if there are too few. */
static bool recover_cut(struct record *r, int parts)
{
	char *at = strchr(r->key, '/');
	int count = parts < 0 ? -parts : parts;

	for (int i = 0; i < count; i++) {
		if (!at)
			return false;
		*at++ = '\0';
		r->parts[i] = at;
		at = parts < 0 && i + 1 == count ? NULL : strchr(at, '/');
	}
	return !at;
}

static const struct kind *kind_of(struct slice key)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (key.len > len && key.data[len] == '/' &&
		    !memcmp(key.data, kinds[i].prefix, len))
			return &kinds[i];
	}
	return NULL;
}

/* StoredTask.task */
#define STORED_TASK 1

static struct loaded_task *recover_make_task(struct loaded *l, struct slice bytes,
					     const Mesos__Task *task)
{
	struct loaded_task *made = xcalloc(1, sizeof(*made));

	if (bytes.data)
		task_record_adopt(&made->record, &l->scratch, bytes, task);
	else
		task_record_pack(&made->record, &l->scratch, task);
	return made;
}

/* Unpacked to see whether it can be, and kept packed. False if it cannot. */
static bool read_task(struct loaded *l, struct record *r, const ProtobufCMessageDescriptor *type,
		      struct slice value)
{
	void *message;

	arena_reset(&l->scratch);
	message = proto_unpack(type, &l->scratch, value.data, value.len, NULL);
	if (!message)
		return false;
	if (r->kind == RECORD_COMPLETED) {
		r->task = recover_make_task(l, value, message);
	} else {
		const Mesita__StoredTask *s = message;

		if (!s->task)
			return true;
		r->task = recover_make_task(l, wire_only_part(value, STORED_TASK), s->task);
		r->task->unreachable = s->unreachable;
		r->task->kill_wanted = s->kill_wanted;
	}
	return true;
}

static bool read_record(struct loaded *l, struct record *r, const ProtobufCMessageDescriptor *type,
			struct slice value)
{
	if (r->kind == RECORD_TASK || r->kind == RECORD_COMPLETED)
		return read_task(l, r, type, value);
	r->message = proto_unpack_heap(type, value.data, value.len);
	return r->message != NULL;
}

/* Whether the record is of what its key says. */
static bool fits_key(const struct record *r)
{
	const Mesos__WeightInfo *weight = r->message;
	const Mesos__Quota__QuotaConfig *quota = r->message;

	switch (r->kind) {
	case RECORD_WEIGHT:
		return weight->role && !strcmp(weight->role, r->parts[0]) &&
		       isfinite(weight->weight) && weight->weight > 0;
	case RECORD_QUOTA:
		return !strcmp(quota->role, r->parts[0]);
	default:
		return true;
	}
}

bool master_record_line(struct slice key, enum store_line *line)
{
	const struct kind *kind = kind_of(key);

	if (kind)
		*line = kind->line;
	return kind != NULL;
}

int master_load(struct master *m, struct slice key, struct slice value, struct err *err)
{
	const struct kind *kind = kind_of(key);
	struct record r = {0};

	if (!kind) {
		/* The identity of the master before, and what later versions may keep. */
		return 0;
	}
	if (!m->loaded)
		m->loaded = xcalloc(1, sizeof(*m->loaded));
	r.kind = kind->kind;
	r.key = xstrndup(key.data, key.len);
	if (!recover_cut(&r, kind->parts)) {
		free(r.key);
		return err_set(err, ERR_INVALID, "the key '%.*s' is not one of a %s record",
			       (int)key.len, key.data, kind->prefix);
	}
	if (!read_record(m->loaded, &r, kind->type, value)) {
		free(r.key);
		return err_set(err, ERR_INVALID, "the record '%.*s' cannot be read", (int)key.len,
			       key.data);
	}
	if (!fits_key(&r)) {
		record_free(&r);
		return err_set(err, ERR_INVALID, "the record '%.*s' is not what its key says",
			       (int)key.len, key.data);
	}
	recover_keep(m->loaded, &r);
	return 0;
}

/* ---- putting together ------------------------------------------------------------------ */

/* What it told of itself is a record of its own; masters of before had it in this one. */
static void recover_learn(struct master *m, struct agent *a, const Mesita__StoredAgent *s)
{
	struct agent_facts facts = {
		.pid = s->pid,
		.version = s->version,
		.capabilities = s->capabilities,
		.capability_count = s->n_capabilities,
		.checkpointed = s->checkpointed,
		.checkpointed_count = s->n_checkpointed,
		.resource_version = s->has_resource_version ? s->resource_version.data : NULL,
		.resource_version_len = s->has_resource_version ? s->resource_version.len : 0,
	};

	master_learn_agent(m, a, s->info ? s->info : a->info, &facts);
	a->registered_time = s->registered_time;
	list_remove(&a->dirty);
}

static void restore_agent(struct master *m, struct record *r)
{
	const Mesita__StoredAgent *s = r->message;
	struct agent *a;

	if (!s->info || !s->info->id)
		return;
	a = master_add_agent(m, s->info);
	if (s->pid)
		recover_learn(m, a, s);
	a->deactivated = s->deactivated;
	a->drain_info = proto_copy(s->drain_info);
}

static void restore_facts(struct master *m, struct record *r)
{
	struct agent *a = master_find_agent(m, r->parts[0]);

	if (!a) {
		warm_delete(m, "agent-facts", r->parts[0], NULL, NULL);
		return;
	}
	recover_learn(m, a, r->message);
}

/* Of one that was admitted in the last moments the registry alone knows. */
static void recover_unlearned(struct master *m)
{
	static const Mesita__StoredAgent nothing = MESITA__STORED_AGENT__INIT;

	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (!a->version)
			recover_learn(m, a, &nothing);
	}
}

static void restore_unreachable(struct master *m, struct record *r)
{
	const Mesita__StoredDeparted *s = r->message;
	struct departed *d;

	master_add_departed(&m->unreachable, r->parts[0], s->time);
	d = master_find_departed(m->unreachable, r->parts[0]);
	d->deactivated = s->deactivated;
	d->drain_info = proto_copy(s->drain_info);
}

static void restore_framework(struct master *m, struct record *r)
{
	const Mesita__StoredFramework *s = r->message;
	struct framework *f;

	if (!s->info || !s->info->id)
		return;
	if (s->completed) {
		f = master_make_framework(s->info);
	} else {
		f = master_add_framework(m, s->info);
		framework_set_suppressed(f, s->suppressed_roles, s->n_suppressed_roles);
		/* Filters of a role are dropped when it is no longer suppressed. */
		master_tell_allocator(m, f);
		master_await_framework(m, f, !s->disconnected);
		list_remove(&f->dirty);
	}
	f->announced = true;
	f->registered_time = s->registered_time;
	f->reregistered_time = s->reregistered_time;
	f->unregistered_time = s->unregistered_time;
	if (s->completed) {
		master_keep_completed(m, f);
		if (master_find_completed(m, r->parts[0]))
			list_remove(&f->dirty);
	}
}

static void restore_executor(struct master *m, struct record *r)
{
	struct agent *a = master_find_agent(m, r->parts[0]);
	struct framework *f = master_find_framework(m, r->parts[1]);
	const Mesos__ExecutorInfo *info = r->message;

	if (!a || !f || strcmp(info->executor_id->value, r->parts[2])) {
		warm_delete(m, "executor", r->parts[0], r->parts[1], r->parts[2]);
		return;
	}
	list_remove(&master_add_executor(m, f, a, info)->dirty);
}

/* What the master before could not say any more of the task; nothing if that was over. */
static void end_record(struct master *m, struct task_record *record, struct master_status *say)
{
	struct slice executor = task_record_executor_id(record);
	struct arena *arena = &m->out->arena;

	if (task_state_terminal(record->state))
		return;
	if (executor.data)
		say->executor_id = arena_strndup(arena, executor.data, executor.len);
	say->reason = MESOS__TASK_STATUS__REASON__REASON_AGENT_REMOVED;
	task_record_set_state(record, say->state);
	task_record_add_status(record, arena, master_make_status(m, say));
}

/* Its agent became unreachable by the last words of the master before. */
static void cut_off_task(struct master *m, const struct framework *f, struct record *r,
			 const char *agent_id, const struct departed *away)
{
	struct master_status say = {
		.task_id = r->parts[1],
		.agent_id = agent_id,
		.state = f->partition_aware ? MESOS__TASK_STATE__TASK_UNREACHABLE
					    : MESOS__TASK_STATE__TASK_LOST,
		.message = "Agent unreachable",
		.unreachable_time = away->time,
	};

	end_record(m, &r->task->record, &say);
}

/* The task's or completed task's from now on. */
static struct task_record recover_take_record(struct record *r)
{
	struct task_record record = r->task->record;

	r->task->record = (struct task_record){0};
	return record;
}

/* Its agent was removed by the last words of the master before. */
static void recover_lose_task(struct master *m, struct framework *f, struct record *r,
			      const char *agent_id)
{
	bool gone = master_find_departed(m->gone, agent_id) && f->partition_aware;
	struct master_status say = {
		.task_id = r->parts[1],
		.agent_id = agent_id,
		.state = gone ? MESOS__TASK_STATE__TASK_GONE_BY_OPERATOR
			      : MESOS__TASK_STATE__TASK_LOST,
		.message = "Agent removed",
	};
	struct task_record record;

	end_record(m, &r->task->record, &say);
	record = recover_take_record(r);
	warm_delete(m, "task", f->id, r->parts[1], NULL);
	master_add_completed_task(m, f, &record, ++f->next_completed);
}

static void restore_task(struct master *m, struct record *r)
{
	struct framework *f = master_find_framework(m, r->parts[0]);
	struct loaded_task *s = r->task;
	struct task_record record;
	struct slice agent_id;
	struct departed *away;
	bool lost_touch;
	struct agent *a;
	struct task *t;
	char *id;

	if (!f || !s || !slice_eq(task_record_id(&s->record), r->parts[1])) {
		warm_delete(m, "task", r->parts[0], r->parts[1], NULL);
		return;
	}
	agent_id = task_record_agent_id(&s->record);
	id = arena_strndup(&m->out->arena, agent_id.data, agent_id.len);
	a = master_find_agent(m, id);
	if (a && s->unreachable) {
		/* The agent is back, as is durable; that its tasks are not unreachable any more was
		 * lost in a crash. It tells which of them it has. */
		warm_delete(m, "task", f->id, r->parts[1], NULL);
		return;
	}
	away = master_find_departed(m->unreachable, id);
	if (!a && !s->unreachable && !away) {
		recover_lose_task(m, f, r, id);
		return;
	}
	lost_touch = !a && !s->unreachable;
	if (lost_touch)
		cut_off_task(m, f, r, id, away);
	record = recover_take_record(r);
	t = master_adopt_task(m, f, a, &record);
	if (!t)
		return;
	t->kill_wanted = s->kill_wanted;
	if (!lost_touch)
		list_remove(&t->dirty);
}

static void restore_completed(struct master *m, struct record *r)
{
	struct framework *f = master_find_framework(m, r->parts[0]);
	uint64_t number = strtoull(r->parts[1], NULL, 16);
	struct task_record record;
	struct completed_task *c;

	if (!f)
		f = master_find_completed(m, r->parts[0]);
	if (!f) {
		warm_delete(m, "completed", r->parts[0], r->parts[1], NULL);
		return;
	}
	if (number > f->next_completed)
		f->next_completed = number;
	record = recover_take_record(r);
	master_add_completed_task(m, f, &record, number);
	c = f->completed_task_count
		    ? list_entry(f->completed_tasks.prev, struct completed_task, link)
		    : NULL;
	if (c && c->number == number)
		list_remove(&c->dirty);
}

static bool is_departed(const struct record *r)
{
	return r->kind == RECORD_UNREACHABLE || r->kind == RECORD_GONE;
}

/* The order in which it came to be, where that matters. */
static int64_t record_time(const struct record *r)
{
	if (r->kind == RECORD_FRAMEWORK)
		return ((const Mesita__StoredFramework *)r->message)->unregistered_time;
	return is_departed(r) ? ((const Mesita__StoredDeparted *)r->message)->time : 0;
}

/* Completed frameworks and departed agents are kept in the order of their ends. */
static int compare_records(const void *x, const void *y)
{
	const struct record *a = x, *b = y;
	int64_t first = record_time(a), second = record_time(b);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (first != second)
		return first < second ? -1 : 1;
	for (int i = 0; i < 3 && a->parts[i]; i++) {
		int order = strcmp(a->parts[i], b->parts[i]);

		if (order)
			return order;
	}
	return 0;
}

static void restore(struct master *m, struct record *r)
{
	switch (r->kind) {
	case RECORD_MASTER:
		break;
	case RECORD_AGENT:
		restore_agent(m, r);
		break;
	case RECORD_AGENT_FACTS:
		restore_facts(m, r);
		break;
	case RECORD_UNREACHABLE:
		restore_unreachable(m, r);
		break;
	case RECORD_GONE:
		master_add_departed(&m->gone, r->parts[0],
				    ((const Mesita__StoredDeparted *)r->message)->time);
		break;
	case RECORD_FRAMEWORK:
		restore_framework(m, r);
		break;
	case RECORD_EXECUTOR:
		restore_executor(m, r);
		break;
	case RECORD_TASK:
		restore_task(m, r);
		break;
	case RECORD_COMPLETED:
		restore_completed(m, r);
		break;
	case RECORD_MAINTENANCE:
		master_set_machines(m, r->message);
		break;
	case RECORD_GIVEN:
		recover_given(m, r->parts[0], r->parts[1], r->message);
		break;
	case RECORD_GIVEN_ROLE:
		recover_given(m, NULL, r->parts[0], r->message);
		break;
	case RECORD_ARRIVAL:
		recover_arrival(m, r->parts[0], r->message);
		break;
	case RECORD_FILTER:
		recover_filter(m, r->parts[0], r->message);
		break;
	case RECORD_QUOTA:
		master_adopt_quota(m, r->message);
		break;
	case RECORD_WEIGHT:
		master_adopt_weight(m, r->message);
		break;
	}
}

static void elected(struct master *m, struct pending *p)
{
	(void)p;
	m->recovered = true;
	m->elected_time = m->now;
	log_info("master %s is ready: %u agents and %u frameworks remembered", m->options.id,
		 HASH_COUNT(m->agents), HASH_COUNT(m->frameworks));
}

/* By kinds: what hangs on others comes after them. */
static void restore_all(struct master *m)
{
	struct loaded *l = m->loaded;
	size_t i = 0;

	if (!l)
		return;
	if (l->count)
		qsort(l->items, l->count, sizeof(*l->items), compare_records);
	for (; i < l->count && l->items[i].kind <= RECORD_AGENT_FACTS; i++) {
		restore(m, &l->items[i]);
		record_free(&l->items[i]);
	}
	recover_unlearned(m);
	for (; i < l->count; i++) {
		restore(m, &l->items[i]);
		record_free(&l->items[i]);
	}
	recover_free(m);
}

void master_start(struct master *m, int64_t now, struct master_actions *out)
{
	struct registry_batch batch = {0};

	m->now = now;
	m->out = out;
	restore_all(m);
	m->loaded_agents = m->agents_in[AGENT_RECOVERED];
	if (m->quotas)
		master_hold_offers(m);
	master_settle_start(m);
	master_start_weights(m, &batch);
	registry_put(m, &batch, "master", m->info);
	registry_write(m, &batch, elected);
	registry_prune(m);
	timers_start(&m->timers, &m->allocation, master_later(m, m->options.allocation_interval));
	if (m->agents_in[AGENT_RECOVERED])
		timers_start(&m->timers, &m->recovery,
			     master_later(m, m->options.agent_reregister_timeout));
	warm_flush(m, true);
	m->out = NULL;
}
