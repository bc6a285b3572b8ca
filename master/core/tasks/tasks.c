/* Task and executor records: making them, accounting what they hold, ending them.
 *
 * A task is in framework.tasks from RunTaskMessage until its terminal update is
 * acknowledged (or the master itself ends it), then in the ring of completed tasks;
 * when its agent is unreachable it is in framework.unreachable. Its resources are
 * accounted to agent and framework until its first terminal state.
 */
#include "master/core/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/drain.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/journal.h"
#include "master/core/objects.h"
#include "master/core/tasks/task_life.h"
#include "master/core/tasks/task_validate.h"

struct task *framework_find_task(const struct framework *f, const char *id)
{
	struct task *t;

	HASH_FIND(hh, f->tasks, id, strlen(id), t);
	return t;
}

struct task *framework_find_unreachable(const struct framework *f, const char *id)
{
	struct task *t;

	HASH_FIND(hh, f->unreachable, id, strlen(id), t);
	return t;
}

static char *executor_key(const char *framework_id, const char *executor_id)
{
	return xprintf("%s/%s", framework_id, executor_id);
}

struct executor *agent_find_executor(const struct agent *a, const char *framework_id,
				     const char *executor_id)
{
	char *key = executor_key(framework_id, executor_id);
	struct executor *e;

	HASH_FIND(hh, a->executors, key, strlen(key), e);
	free(key);
	return e;
}

/* ---- metrics ----------------------------------------------------------------- */

static void count_state(struct master_counters *c, Mesos__TaskState state)
{
	switch (state) {
	case MESOS__TASK_STATE__TASK_FINISHED:
		c->tasks_finished++;
		break;
	case MESOS__TASK_STATE__TASK_FAILED:
		c->tasks_failed++;
		break;
	case MESOS__TASK_STATE__TASK_KILLED:
		c->tasks_killed++;
		break;
	case MESOS__TASK_STATE__TASK_LOST:
		c->tasks_lost++;
		break;
	case MESOS__TASK_STATE__TASK_ERROR:
		c->tasks_error++;
		break;
	case MESOS__TASK_STATE__TASK_DROPPED:
		c->tasks_dropped++;
		break;
	case MESOS__TASK_STATE__TASK_GONE:
		c->tasks_gone++;
		break;
	case MESOS__TASK_STATE__TASK_GONE_BY_OPERATOR:
		c->tasks_gone_by_operator++;
		break;
	default:
		break;
	}
}

static void count_reason(struct master *m, const Mesos__TaskStatus *status)
{
	const char *state, *source, *reason;
	struct reason_counter *counter;
	char *name;

	if (!status->has_source || !status->has_reason)
		return;
	state = proto_enum_name(&mesos__task_state__descriptor, status->state, SPELL_V0);
	source = proto_enum_name(&mesos__task_status__source__descriptor, status->source, SPELL_V0);
	reason = proto_enum_name(&mesos__task_status__reason__descriptor, status->reason, SPELL_V0);
	name = xprintf("master/%s/%s/%s", state, source, reason);
	for (char *c = name; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	}
	HASH_FIND(hh, m->reasons, name, strlen(name), counter);
	if (counter) {
		free(name);
	} else {
		counter = xcalloc(1, sizeof(*counter));
		counter->name = name;
		HASH_ADD_KEYPTR(hh, m->reasons, name, strlen(name), counter);
	}
	counter->value++;
}

static void count_end(struct master *m, struct framework *f, Mesos__TaskState state)
{
	count_state(&m->counters, state);
	if (f && state < MASTER_TASK_STATES && task_state_terminal(state))
		f->counters.terminal[state]++;
}

void master_count_terminal(struct master *m, struct framework *f, const Mesos__TaskStatus *status)
{
	count_end(m, f, status->state);
	count_reason(m, status);
}

/* ---- executors ---------------------------------------------------------------- */

struct executor *master_add_executor(struct master *m, struct framework *f, struct agent *a,
				     const Mesos__ExecutorInfo *info)
{
	struct executor *e = xcalloc(1, sizeof(*e));

	e->key = executor_key(f->id, info->executor_id->value);
	e->framework = f;
	e->agent = a;
	e->info = proto_copy(info);
	list_init(&e->dirty);
	master_resources(m, e->info->resources, e->info->n_resources, &e->resources);
	resources_add(&a->used, &e->resources);
	framework_add_held(f, &f->used, &e->resources);
	list_append(&f->executors, &e->by_framework);
	HASH_ADD_KEYPTR(hh, a->executors, e->key, strlen(e->key), e);
	journal_executor(m, JOURNAL_EXECUTOR_ADDED, e);
	return e;
}

void master_remove_executor(struct master *m, struct executor *e, bool give_back)
{
	journal_executor(m, JOURNAL_EXECUTOR_REMOVED, e);
	resources_subtract(&e->agent->used, &e->resources);
	resources_subtract(&e->framework->used, &e->resources);
	if (give_back)
		allocator_recover(m->allocator, m->now, e->framework->alloc, e->agent->alloc,
				  &e->resources, NULL);
	list_remove(&e->by_framework);
	HASH_DEL(e->agent->executors, e);
	resources_free(&e->resources);
	proto_free(e->info);
	free(e->key);
	free(e);
}

/* ---- records -------------------------------------------------------------------- */

Mesos__Task *master_task_record(struct master *m, const struct framework *f,
				const Mesos__TaskInfo *info)
{
	Mesos__Task *t = STEP_NEW(m, Mesos__Task, mesos__task__descriptor);
	const Mesos__CommandInfo *command =
		info->executor ? info->executor->command : info->command;

	t->name = info->name;
	t->task_id = info->task_id;
	t->framework_id = master_framework_id(m, f->id);
	t->agent_id = info->agent_id;
	if (info->executor)
		t->executor_id = info->executor->executor_id;
	t->state = MESOS__TASK_STATE__TASK_STAGING;
	t->n_resources = info->n_resources;
	t->resources = info->resources;
	t->labels = info->labels;
	t->discovery = info->discovery;
	t->container = info->container;
	t->health_check = info->health_check;
	t->kill_policy = info->kill_policy;
	if (info->command && info->command->user)
		t->user = info->command->user;
	else if (command && command->user)
		t->user = command->user;
	for (size_t i = 0; i < info->n_limits; i++) {
		Mesos__Task__LimitsEntry *limit = STEP_NEW(m, Mesos__Task__LimitsEntry,
							   mesos__task__limits_entry__descriptor);

		limit->key = info->limits[i]->key;
		limit->value = info->limits[i]->value;
		proto_push(&m->out->arena, t->n_limits, t->limits, limit);
	}
	return t;
}

static void hold_resources(struct master *m, struct task *t)
{
	t->holds = true;
	resources_add(&t->agent->used, &t->resources);
	framework_add_held(t->framework, &t->framework->used, &t->resources);
	journal_agent(m, JOURNAL_AGENT_HELD, t->agent);
}

/* False: there is no room, and the task is gone. */
static bool park_in_ring(struct master *m, struct task *t)
{
	struct framework *f = t->framework;
	struct departed *away = master_find_departed(m->unreachable, t->agent_id);

	if (!away)
		away = master_find_departed(m->gone, t->agent_id);
	if (away)
		list_append(&away->tasks, &t->by_agent);
	list_append(&f->unreachable_order, &t->order);
	f->unreachable_count++;
	HASH_ADD_KEYPTR(hh, f->unreachable, t->id, strlen(t->id), t);
	while (f->unreachable_count > (size_t)m->options.max_unreachable_tasks_per_framework)
		master_forget_task(m, list_first(&f->unreachable_order, struct task, order));
	return m->options.max_unreachable_tasks_per_framework > 0;
}

/* The id behind those that are there already. */
static const char *put_text(char **at, struct slice text)
{
	char *to = *at;

	memcpy(to, text.data, text.len);
	to[text.len] = '\0';
	*at += text.len + 1;
	return to;
}

static struct task *tasks_make_task(const struct task_record *record)
{
	struct slice id = task_record_id(record), agent = task_record_agent_id(record);
	struct slice executor = task_record_executor_id(record);
	struct task *t = xmalloc(sizeof(*t) + id.len + agent.len + executor.len + 3);
	char *at = t->texts;

	memset(t, 0, sizeof(*t));
	t->record = *record;
	t->id = put_text(&at, id);
	t->agent_id = put_text(&at, agent);
	if (executor.data)
		t->executor_id = put_text(&at, executor);
	list_init(&t->by_agent);
	list_init(&t->order);
	list_init(&t->dirty);
	return t;
}

static struct task *add_task(struct master *m, struct framework *f, struct agent *a,
			     const struct task_record *record, Mesos__Resource *const *list,
			     size_t count)
{
	struct task *t = tasks_make_task(record);

	t->seen = m->mark;
	t->framework = f;
	t->agent = a;
	master_resources(m, list, count, &t->resources);
	resources_trim(&t->resources);
	t->unreachable = !a;
	journal_task(m, JOURNAL_TASK_ADDED, t);
	if (!a)
		return park_in_ring(m, t) ? t : NULL;
	list_append(&a->tasks, &t->by_agent);
	HASH_ADD_KEYPTR(hh, f->tasks, t->id, strlen(t->id), t);
	if (!task_state_terminal(t->record.state))
		hold_resources(m, t);
	return t;
}

struct task *master_add_task(struct master *m, struct framework *f, struct agent *a,
			     const Mesos__Task *task)
{
	struct task_record record;

	task_record_pack(&record, &m->out->arena, task);
	return add_task(m, f, a, &record, task->resources, task->n_resources);
}

struct task *master_adopt_task(struct master *m, struct framework *f, struct agent *a,
			       const struct task_record *record)
{
	Mesos__Resource **list;
	size_t count;

	task_record_resources(record, &m->out->arena, &count, &list);
	return add_task(m, f, a, record, list, count);
}

void master_release_task(struct master *m, struct task *t, bool give_back)
{
	if (!t->holds)
		return;
	t->holds = false;
	resources_subtract(&t->agent->used, &t->resources);
	resources_subtract(&t->framework->used, &t->resources);
	journal_agent(m, JOURNAL_AGENT_HELD, t->agent);
	if (give_back)
		allocator_recover(m->allocator, m->now, t->framework->alloc, t->agent->alloc,
				  &t->resources, NULL);
}

void master_apply_status(struct master *m, struct task *t, const Mesos__TaskStatus *status,
			 Mesos__TaskState state, bool give_back)
{
	enum task_effect effect = task_life_move(m, t, state);

	journal_status(m, t, status);
	task_record_add_status(&t->record, &m->out->arena, status);
	journal_task(m, JOURNAL_TASK_CHANGED, t);
	log_info("task %s of framework %s is %s", t->id, t->framework->id,
		 proto_enum_name(&mesos__task_state__descriptor, t->record.state, SPELL_V1));
	if (effect == LIFE_ENDS) {
		master_release_task(m, t, give_back);
		count_end(m, t->framework, state);
		t->reason_due = true;
	}
	/* An update that is not the last may say that the task is over; why, the last one says. */
	if (t->reason_due && task_state_terminal(status->state)) {
		count_reason(m, status);
		t->reason_due = false;
	}
}

/* ---- endings ---------------------------------------------------------------------- */

/* Out of its tables, still whole. */
static void unlink_task(struct master *m, struct task *t, bool give_back)
{
	struct framework *f = t->framework;

	master_release_task(m, t, give_back);
	list_remove(&t->by_agent);
	if (t->agent)
		master_touch_drain(m, t->agent);
	if (t->unreachable) {
		list_remove(&t->order);
		f->unreachable_count--;
		HASH_DEL(f->unreachable, t);
	} else {
		HASH_DEL(f->tasks, t);
	}
}

static void free_task(struct task *t)
{
	resources_free(&t->resources);
	task_record_free(&t->record);
	free(t);
}

void master_complete_task(struct master *m, struct task *t, bool give_back)
{
	struct framework *f = t->framework;
	struct task_record record;

	journal_task(m, JOURNAL_TASK_REMOVED, t);
	unlink_task(m, t, give_back);
	record = t->record;
	t->record = (struct task_record){0};
	free_task(t);
	master_add_completed_task(m, f, &record, ++f->next_completed);
	if (!list_empty(&f->completed_tasks))
		list_entry(f->completed_tasks.prev, struct completed_task, link)->fresh = true;
}

void master_park_task(struct master *m, struct task *t)
{
	master_release_task(m, t, false);
	list_remove(&t->by_agent);
	HASH_DEL(t->framework->tasks, t);
	t->agent = NULL;
	t->unreachable = true;
	journal_task(m, JOURNAL_TASK_CHANGED, t);
	park_in_ring(m, t);
}

void master_forget_task(struct master *m, struct task *t)
{
	journal_task(m, JOURNAL_TASK_REMOVED, t);
	unlink_task(m, t, false);
	free_task(t);
}

struct completed_task *framework_find_completed_task(const struct framework *f, const char *id)
{
	struct completed_task *c;

	HASH_FIND(hh, f->completed_by_id, id, strlen(id), c);
	return c;
}

void master_drop_completed_task(struct master *m, struct framework *f, struct completed_task *c)
{
	journal_completed(m, JOURNAL_COMPLETED_REMOVED, c);
	list_remove(&c->link);
	HASH_DEL(f->completed_by_id, c);
	f->completed_task_count--;
	task_record_free(&c->record);
	free(c);
}

void master_add_completed_task(struct master *m, struct framework *f,
			       const struct task_record *record, uint64_t number)
{
	struct completed_task *c = xcalloc(1, sizeof(*c));
	struct slice id;

	c->framework = f;
	c->record = *record;
	c->number = number;
	list_init(&c->dirty);
	list_append(&f->completed_tasks, &c->link);
	id = task_record_id(&c->record);
	HASH_ADD_KEYPTR(hh, f->completed_by_id, id.data, id.len, c);
	f->completed_task_count++;
	journal_completed(m, JOURNAL_COMPLETED_ADDED, c);
	while (f->completed_task_count > (size_t)m->options.max_completed_tasks_per_framework)
		master_drop_completed_task(
			m, f, list_first(&f->completed_tasks, struct completed_task, link));
}

void master_forget_completed(struct master *m, struct framework *f, const char *task_id)
{
	struct completed_task *c;

	while ((c = framework_find_completed_task(f, task_id)))
		master_drop_completed_task(m, f, c);
}

/* ---- statuses the master makes ------------------------------------------------------ */

Mesos__TaskStatus *master_make_status(struct master *m, const struct master_status *say)
{
	Mesos__TaskStatus *s = STEP_NEW(m, Mesos__TaskStatus, mesos__task_status__descriptor);

	s->task_id = master_task_id(m, say->task_id);
	s->state = say->state;
	s->message = master_text(m, say->message);
	if (say->agent_id)
		s->agent_id = master_agent_id(m, say->agent_id);
	if (say->executor_id)
		s->executor_id = master_executor_id(m, say->executor_id);
	s->has_timestamp = true;
	s->timestamp = clock_seconds(m->now);
	s->has_source = true;
	s->source = MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER;
	s->has_reason = true;
	s->reason = say->reason;
	if (say->unreachable_time) {
		s->unreachable_time = STEP_NEW(m, Mesos__TimeInfo, mesos__time_info__descriptor);
		s->unreachable_time->nanoseconds = say->unreachable_time;
	}
	return s;
}

void master_end_task(struct master *m, struct task *t, const struct task_end *end)
{
	struct master_status say = {
		.task_id = t->id,
		.agent_id = t->agent_id,
		.executor_id = t->executor_id,
		.state = end->state,
		.reason = end->reason,
		.message = end->message,
		.unreachable_time = end->unreachable_time,
	};
	Mesos__TaskStatus *status = master_make_status(m, &say);

	if (!end->silent)
		master_tell_update(m, t->framework, status);
	master_apply_status(m, t, status, end->state, end->give_back);
	switch (end->goes) {
	case TASK_TO_COMPLETED:
		master_complete_task(m, t, end->give_back);
		break;
	case TASK_TO_UNREACHABLE:
		master_park_task(m, t);
		break;
	case TASK_STAYS:
		list_remove(&t->by_agent);
		break;
	}
}
