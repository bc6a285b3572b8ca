/* Tasks and frameworks are counted when they change. What agents have and use is counted when
 * somebody asks: until then those that changed wait in a list. */
#include "master/core/sums.h"

#include <string.h>

const char *const sums_names[SUMS_NAMES] = {"cpus", "gpus", "mem", "disk"};

void sums_init(struct master *m)
{
	list_init(&m->sums.unsummed);
}

/* ---- tasks ------------------------------------------------------------------------ */

static void count_task(struct master *m, const struct task *t, size_t change)
{
	m->sums.task_states[t->summed.state] += change;
	if (t->summed.present)
		t->framework->sums.task_states[t->summed.state] += change;
}

static void sum_task(struct master *m, struct task *t, bool there)
{
	if (t->summed.counted)
		count_task(m, t, (size_t)-1);
	t->summed.counted = there;
	t->summed.state = (uint8_t)t->record.state;
	t->summed.present = !t->unreachable;
	if (there)
		count_task(m, t, 1);
}

/* ---- frameworks ------------------------------------------------------------------- */

static void sum_framework(struct master *m, struct framework *f)
{
	bool connected = framework_connected(f);
	bool active = f->active && f->state != FRAMEWORK_COMPLETED;

	m->sums.frameworks_connected += connected - (size_t)f->sums.connected;
	m->sums.frameworks_active += active - (size_t)f->sums.active;
	f->sums.connected = connected;
	f->sums.active = active;
}

/* ---- agents ------------------------------------------------------------------------ */

/* One alone may be as large as a number can be. */
static int64_t at_most_int64(__int128 value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void measure(const struct resources *r, int64_t milli[2][SUMS_NAMES])
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_piece *piece = &r->pieces[i];
		int64_t *sums = milli[resource_shape_revocable(piece->shape)];

		for (int name = 0; name < SUMS_NAMES; name++) {
			if (strcmp(resource_shape_name(piece->shape), sums_names[name]))
				continue;
			sums[name] = at_most_int64((__int128)sums[name] +
						   resource_piece_quantity(piece));
		}
	}
}

static struct agent_sums measured(const struct agent *a)
{
	struct agent_sums sums = {0};

	if (!agent_registered(a) || a->state > AGENT_DISCONNECTED)
		return sums;
	sums.active = agent_active(a);
	measure(&a->total, sums.total);
	measure(&a->used, sums.used);
	return sums;
}

static void count_agent(struct cluster_sums *sums, const struct agent_sums *part, int sign)
{
	sums->active += (size_t)(sign * part->active);
	for (int i = 0; i < 2; i++) {
		for (int name = 0; name < SUMS_NAMES; name++) {
			sums->total[i][name] += sign * part->total[i][name];
			sums->used[i][name] += sign * part->used[i][name];
		}
	}
}

static void sum_agent(struct master *m, struct agent *a)
{
	struct agent_sums now = measured(a);

	count_agent(&m->sums.agents, &a->sums, -1);
	count_agent(&m->sums.agents, &now, 1);
	a->sums = now;
	list_remove(&a->unsummed);
}

static void touch_agent(struct master *m, struct agent *a)
{
	if (list_empty(&a->unsummed))
		list_append(&m->sums.unsummed, &a->unsummed);
}

const struct master_sums *sums_now(struct master *m)
{
	struct agent *a;

	while ((a = list_first(&m->sums.unsummed, struct agent, unsummed)))
		sum_agent(m, a);
	return &m->sums;
}

/* ---- the journal --------------------------------------------------------------------- */

void sums_note(struct master *m, const struct change *change)
{
	switch (change->kind) {
	case JOURNAL_TASK_ADDED:
	case JOURNAL_TASK_CHANGED:
		sum_task(m, change->task, true);
		break;
	case JOURNAL_TASK_REMOVED:
		sum_task(m, change->task, false);
		break;
	case JOURNAL_EXECUTOR_ADDED:
	case JOURNAL_EXECUTOR_REMOVED:
		touch_agent(m, change->executor->agent);
		break;
	case JOURNAL_FRAMEWORK_MOVED:
		sum_framework(m, change->framework);
		break;
	case JOURNAL_AGENT_CHANGED:
	case JOURNAL_AGENT_MOVED:
	case JOURNAL_AGENT_HELD:
		touch_agent(m, change->agent);
		break;
	case JOURNAL_AGENT_REMOVED:
		sum_agent(m, change->agent);
		break;
	case JOURNAL_TASK_STATUS:
	case JOURNAL_FRAMEWORK_ADDED:
	case JOURNAL_FRAMEWORK_SUBSCRIBED:
	case JOURNAL_FRAMEWORK_ENDED:
	case JOURNAL_AGENT_ADMITTED:
	case JOURNAL_AGENT_LOST:
	case JOURNAL_TASK_KILL_WANTED:
	case JOURNAL_COMPLETED_ADDED:
	case JOURNAL_COMPLETED_REMOVED:
	case JOURNAL_FRAMEWORK_CHANGED:
	case JOURNAL_FRAMEWORK_REMOVED:
		break;
	}
}

/* ---- checking ------------------------------------------------------------------------ */

static bool check_framework_sums(const struct framework *f, struct err *why)
{
	size_t states[MASTER_TASK_STATES] = {0};

	for (const struct task *t = f->tasks; t; t = t->hh.next)
		states[t->record.state]++;
	if (memcmp(states, f->sums.task_states, sizeof(states)))
		return !err_set(why, ERR_STATE, "framework %s: its tasks are miscounted", f->id);
	return true;
}

bool sums_check(const struct master *m, struct err *why)
{
	struct master_sums is = {0}, told = m->sums;

	for (struct framework *f = m->frameworks; f; f = f->hh.next) {
		is.frameworks_connected += framework_connected(f);
		is.frameworks_active += f->active;
		if (!check_framework_sums(f, why))
			return false;
	}
	for (struct agent *a = m->agents; a; a = a->hh.next) {
		struct agent_sums now = measured(a);

		count_agent(&is.agents, &now, 1);
		if (list_empty(&a->unsummed))
			continue;
		count_agent(&told.agents, &a->sums, -1);
		count_agent(&told.agents, &now, 1);
	}
	if (is.agents.active != told.agents.active ||
	    memcmp(is.agents.total, told.agents.total, sizeof(is.agents.total)) ||
	    memcmp(is.agents.used, told.agents.used, sizeof(is.agents.used)))
		return !err_set(why, ERR_STATE, "what agents have and use is summed wrongly");
	if (is.frameworks_connected != told.frameworks_connected ||
	    is.frameworks_active != told.frameworks_active)
		return !err_set(why, ERR_STATE, "frameworks are miscounted");
	return true;
}
