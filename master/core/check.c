/* The invariants of objects.h, for tests and the simulator: sums are what they are sums
 * of, nothing points at what is not there, and the allocator says the same. */
#include <string.h>

#include "allocator/allocator_looks.h"
#include "master/core/agents/agents.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/objects.h"
#include "master/core/operations/operation_records.h"
#include "master/core/sums.h"

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

		framework_count_held(f, &used, &offered);
		ok = ok && same_sums(f->used_mixed ? &used : &f->used,
				     f->offered_mixed ? &offered : &f->offered, &used, &offered,
				     f->id, why);
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
		if (!agent_registered(o->agent) || !agent_active(o->agent))
			return !err_set(why, ERR_STATE, "offer %s: its agent is not active", o->id);
	}
	return true;
}

static bool check_inverse_offers(const struct master *m, struct err *why)
{
	struct inverse_offer *o, *next;

	HASH_ITER (hh, m->inverse_offers, o, next) {
		if (!framework_connected(o->framework) || !o->framework->active)
			return !err_set(why, ERR_STATE,
					"inverse offer %s: its framework is not active", o->id);
		if (!agent_registered(o->agent) || !agent_active(o->agent))
			return !err_set(why, ERR_STATE, "inverse offer %s: its agent is not active",
					o->id);
		if (!master_agent_machine(m, o->agent))
			return !err_set(why, ERR_STATE, "inverse offer %s: its agent has no window",
					o->id);
	}
	return true;
}

/* Who is connected is found by the stream or the pid, and nobody else. */
static bool check_connections(const struct master *m, struct err *why)
{
	size_t streams = 0, drivers = 0;
	struct framework *f, *next, *found;

	HASH_ITER (hh, m->frameworks, f, next) {
		if (!framework_connected(f))
			continue;
		found = NULL;
		if (f->http)
			HASH_FIND(hh_stream, m->streams, &f->stream, sizeof(f->stream), found);
		else if (f->pid)
			HASH_FIND(hh_driver, m->drivers, f->pid, strlen(f->pid), found);
		if (found != f)
			return !err_set(why, ERR_STATE, "framework %s: is not found by its %s",
					f->id, f->http ? "stream" : "pid");
		streams += f->http;
		drivers += !f->http;
	}
	if (streams != HASH_CNT(hh_stream, m->streams) ||
	    drivers != HASH_CNT(hh_driver, m->drivers))
		return !err_set(why, ERR_STATE, "a stream or pid leads to nobody");
	return true;
}

static bool check_check_tasks(const struct master *m, struct err *why)
{
	size_t states[MASTER_TASK_STATES] = {0};
	struct framework *f, *next_framework;
	struct task *t, *next;

	HASH_ITER (hh, m->frameworks, f, next_framework) {
		HASH_ITER (hh, f->tasks, t, next) {
			states[t->record.state]++;
			if (!t->agent || t->agent != master_find_agent(m, t->agent_id))
				return !err_set(why, ERR_STATE, "task %s: its agent is not known",
						t->id);
			if (t->holds == task_state_terminal(t->record.state))
				return !err_set(why, ERR_STATE, "task %s: holds resources wrongly",
						t->id);
		}
		HASH_ITER (hh, f->unreachable, t, next) {
			states[t->record.state]++;
			if (t->holds || t->agent || !t->unreachable)
				return !err_set(why, ERR_STATE,
						"task %s: is not really unreachable", t->id);
		}
		if (f->unreachable_count != HASH_COUNT(f->unreachable))
			return !err_set(why, ERR_STATE,
					"framework %s: unreachable tasks are miscounted", f->id);
	}
	if (memcmp(states, m->sums.task_states, sizeof(states)))
		return !err_set(why, ERR_STATE, "task states are miscounted");
	return true;
}

static bool check_checkpointed(const struct agent *a, struct err *why)
{
	size_t count = 0;

	for (uint32_t i = 0; i < a->total.count; i++)
		count += resource_shape_dynamic(a->total.pieces[i].shape) ||
			 resource_shape_persistence(a->total.pieces[i].shape);
	if (count <= a->checkpointed_count)
		return true;
	return !err_set(why, ERR_STATE, "agent %s: a reservation or volume is not checkpointed",
			a->id);
}

/* Some task is remembered that the agent did not name: it is asked, and until it answers the task
 * may hold what the agent gave to others since. */
static bool is_doubtful(const struct agent *a)
{
	struct task *t, *next;

	list_for_each (t, next, &a->tasks, by_agent) {
		if (t->seen < a->reported)
			return true;
	}
	return false;
}

/* What is used and offered is there. */
static bool check_total(const struct master *m, const struct agent *a, struct err *why)
{
	struct resources taken, plain;
	bool ok, same;

	resources_copy(&taken, &a->used);
	resources_add(&taken, &a->offered);
	resources_allocate(m->shapes, &taken, NULL, &plain);
	same = !agent_registered(a) || resources_equal(allocator_agent_used(a->alloc), &plain);
	ok = !agent_registered(a) || a->overbooked || is_doubtful(a) ||
	     master_agent_holds(a, &plain);
	resources_free(&taken);
	resources_free(&plain);
	if (!same)
		return !err_set(why, ERR_STATE, "agent %s: the allocator knows of other uses",
				a->id);
	return ok || !err_set(why, ERR_STATE, "agent %s: more is taken than it has", a->id);
}

static bool check_operation(const struct master *m, const struct operation *o, struct err *why)
{
	const Mesos__FrameworkID *id = o->info->framework_id;

	if (o->framework ? !id || strcmp(id->value, o->framework->id)
			 : id && master_find_framework(m, id->value))
		return !err_set(why, ERR_STATE, "agent %s: an operation has the wrong framework",
				o->agent->id);
	if (o->named && framework_find_operation(o->framework, operation_id(o)) != o)
		return !err_set(why, ERR_STATE, "operation %s: is not found", operation_id(o));
	return true;
}

static bool check_operations(const struct master *m, struct err *why)
{
	size_t pending = 0, counted = 0, count = 0;
	struct agent *a, *next;
	struct operation *o, *next_operation;

	HASH_ITER (hh, m->agents, a, next) {
		if (!check_checkpointed(a, why) || !check_total(m, a, why))
			return false;
		HASH_ITER (hh, a->operations, o, next_operation) {
			count++;
			pending += o->info->latest_status->state ==
				   MESOS__OPERATION_STATE__OPERATION_PENDING;
			if (o->agent != a || !check_operation(m, o, why))
				return false;
		}
	}
	for (size_t i = 0; i < MASTER_OPERATION_TYPES; i++)
		counted += m->operation_states[i][MESOS__OPERATION_STATE__OPERATION_PENDING];
	if (count != m->operation_count)
		return !err_set(why, ERR_STATE, "operations are miscounted");
	return pending == counted || !err_set(why, ERR_STATE, "operations are miscounted");
}

static bool check_counts(const struct master *m, struct err *why)
{
	struct agent *a, *next;
	size_t in[AGENT_STATES] = {0};

	HASH_ITER (hh, m->agents, a, next) {
		in[a->state]++;
		if (master_find_departed(m->unreachable, a->id) ||
		    master_find_departed(m->gone, a->id))
			return !err_set(why, ERR_STATE, "agent %s: is here and departed", a->id);
	}
	if (memcmp(in, m->agents_in, sizeof(in)))
		return !err_set(why, ERR_STATE, "agents are miscounted");
	return true;
}

bool master_check(const struct master *m, struct err *why)
{
	return check_sums(m, why) && check_offers(m, why) && check_inverse_offers(m, why) &&
	       check_connections(m, why) && check_check_tasks(m, why) && check_operations(m, why) &&
	       check_counts(m, why) && sums_check(m, why) && allocator_audit(m->allocator, why);
}
