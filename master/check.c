/* The invariants of core.h, for tests and the simulator: sums are what they are sums
 * of, and nothing points at what is not there. */
#include "master/core.h"

#include <string.h>

/* Adds what a task or executor holds to the sums of its agent (or framework). */
static void sum_agent(const struct agent *a, struct resources *used, struct resources *offered)
{
	struct executor *e, *next_executor;
	struct offer *o, *next_offer;
	struct task *t, *next;

	list_for_each (t, next, &a->tasks, by_agent) {
		if (t->holds)
			resources_add(used, &t->resources);
	}
	HASH_ITER (hh, a->executors, e, next_executor)
		resources_add(used, &e->resources);
	list_for_each (o, next_offer, &a->offers, by_agent)
		resources_add(offered, &o->resources);
}

static void sum_framework(const struct framework *f, struct resources *used,
			  struct resources *offered)
{
	struct executor *e, *next_executor;
	struct offer *o, *next_offer;
	struct task *t, *next;

	HASH_ITER (hh, f->tasks, t, next) {
		if (t->holds)
			resources_add(used, &t->resources);
	}
	list_for_each (e, next_executor, &f->executors, by_framework)
		resources_add(used, &e->resources);
	list_for_each (o, next_offer, &f->offers, by_framework)
		resources_add(offered, &o->resources);
}

static bool same_sums(const struct resources *used, const struct resources *offered,
		      const struct resources *counted_used, const struct resources *counted_offered,
		      const char *what, struct err *why)
{
	bool same =
		resources_equal(used, counted_used) && resources_equal(offered, counted_offered);
	struct buf text = BUF_INIT;

	if (same)
		return true;
	buf_puts(&text, "used ");
	resources_print(used, &text);
	buf_puts(&text, ", in fact ");
	resources_print(counted_used, &text);
	buf_puts(&text, "; offered ");
	resources_print(offered, &text);
	buf_puts(&text, ", in fact ");
	resources_print(counted_offered, &text);
	err_set(why, ERR_STATE, "%s: %s", what, text.data);
	buf_free(&text);
	return false;
}

static bool check_sums(const struct master *m, struct err *why)
{
	struct framework *f, *next_framework;
	struct agent *a, *next;
	bool ok = true;

	HASH_ITER (hh, m->agents, a, next) {
		struct resources used = RESOURCES_INIT, offered = RESOURCES_INIT;

		sum_agent(a, &used, &offered);
		ok = ok && same_sums(&a->used, &a->offered, &used, &offered, a->id, why);
		resources_free(&used);
		resources_free(&offered);
	}
	HASH_ITER (hh, m->frameworks, f, next_framework) {
		struct resources used = RESOURCES_INIT, offered = RESOURCES_INIT;

		sum_framework(f, &used, &offered);
		ok = ok && same_sums(&f->used, &f->offered, &used, &offered, f->id, why);
		resources_free(&used);
		resources_free(&offered);
	}
	return ok;
}

static bool check_offers(const struct master *m, struct err *why)
{
	struct offer *o, *next;

	HASH_ITER (hh, m->offers, o, next) {
		if (!framework_connected(o->framework) || !o->framework->active)
			return !err_set(why, ERR_STATE, "offer %s: its framework is not active",
					o->id);
		if (o->agent->state != AGENT_REGISTERED || !o->agent->active)
			return !err_set(why, ERR_STATE, "offer %s: its agent is not active", o->id);
	}
	return true;
}

static bool check_tasks(const struct master *m, struct err *why)
{
	size_t states[MASTER_TASK_STATES] = {0};
	struct framework *f, *next_framework;
	struct task *t, *next;

	HASH_ITER (hh, m->frameworks, f, next_framework) {
		HASH_ITER (hh, f->tasks, t, next) {
			states[t->info->state]++;
			if (!t->agent || t->agent != master_find_agent(m, t->agent_id))
				return !err_set(why, ERR_STATE, "task %s: its agent is not known",
						t->id);
			if (t->holds == task_state_terminal(t->info->state))
				return !err_set(why, ERR_STATE, "task %s: holds resources wrongly",
						t->id);
		}
		HASH_ITER (hh, f->unreachable, t, next) {
			states[t->info->state]++;
			if (t->holds || t->agent || !t->unreachable)
				return !err_set(why, ERR_STATE,
						"task %s: is not really unreachable", t->id);
		}
		if (f->unreachable_count != HASH_COUNT(f->unreachable))
			return !err_set(why, ERR_STATE,
					"framework %s: unreachable tasks are miscounted", f->id);
	}
	if (memcmp(states, m->task_states, sizeof(states)))
		return !err_set(why, ERR_STATE, "task states are miscounted");
	return true;
}

static bool check_counts(const struct master *m, struct err *why)
{
	struct agent *a, *next;
	size_t recovered = 0;

	HASH_ITER (hh, m->agents, a, next) {
		recovered += a->state == AGENT_RECOVERED;
		if (master_find_departed(m->unreachable, a->id) ||
		    master_find_departed(m->gone, a->id))
			return !err_set(why, ERR_STATE, "agent %s: is here and departed", a->id);
		if (a->active && !a->connected)
			return !err_set(why, ERR_STATE, "agent %s: active, not connected", a->id);
	}
	if (recovered != m->recovered_agents)
		return !err_set(why, ERR_STATE, "recovered agents are miscounted");
	return true;
}

bool master_check(const struct master *m, struct err *why)
{
	return check_sums(m, why) && check_offers(m, why) && check_tasks(m, why) &&
	       check_counts(m, why);
}
