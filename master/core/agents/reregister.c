/* Reregistration of agents: after the agent or the link died,
 * after it was unreachable, and after the master itself was restarted. What the agent has is
 * taken in by rejoin.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/drain.h"
#include "master/core/agents/pid.h"
#include "master/core/agents/rejoin.h"
#include "master/core/authenticate.h"
#include "master/core/emit.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_records.h"
#include "master/core/store/registry.h"
#include "master/core/tasks/tasks.h"

/* ---- the three ways back ----------------------------------------------------------- */

static Mesos__Resource **remembered_checkpoints(struct rejoin *r)
{
	struct agent *a = r->a;
	Mesos__Resource **list =
		arena_alloc(&r->m->out->arena, (a->checkpointed_count + 1) * sizeof(*list));

	for (size_t i = 0; i < a->checkpointed_count; i++)
		list[i] = STEP_COPY(r->m, a->checkpointed[i]);
	return list;
}

static bool same_version(const struct rejoin *r)
{
	const Mesos__UUID *version = r->message->resource_version_uuid;
	const struct agent *a = r->a;

	return version && a->resource_version && version->value.len == a->resource_version_len &&
	       !memcmp(version->value.data, a->resource_version, a->resource_version_len);
}

/* Whether our view of its conversions stands. What we ordered for the version that the message
 * has may not be in it: it was on its way then, and is carried out or answered otherwise. What
 * we ordered for an older one is in it, or is dropped. Without resource providers the master's
 * view wins always. */
static bool view_stands(const struct rejoin *r)
{
	if (!r->registered)
		return false;
	return !r->a->resource_provider || (same_version(r) && !r->a->outdated);
}

static void learn(struct rejoin *r, const char *pid)
{
	struct agent_facts facts = {
		.pid = pid,
		.version = r->message->version,
		.capabilities = r->message->agent_capabilities,
		.capability_count = r->message->n_agent_capabilities,
		.checkpointed = r->message->checkpointed_resources,
		.checkpointed_count = r->message->n_checkpointed_resources,
	};

	if (view_stands(r)) {
		facts.checkpointed = remembered_checkpoints(r);
		facts.checkpointed_count = r->a->checkpointed_count;
	} else {
		master_confirm_operations(r->a);
	}
	r->a->outdated = false;
	if (r->message->resource_version_uuid) {
		facts.resource_version = r->message->resource_version_uuid->value.data;
		facts.resource_version_len = r->message->resource_version_uuid->value.len;
	}
	master_learn_agent(r->m, r->a, r->message->agent, &facts);
	/* Of its operations it tells later. */
	r->a->drain_blind = r->a->resource_provider;
}

/* Rescinds offers of resources that the agent does not have any more, or that changed. */
static void rescind_changed(struct rejoin *r, const struct resources *before)
{
	struct offer *o, *next;

	if (resources_equal(before, &r->a->total))
		return;
	list_for_each (o, next, &r->a->offers, by_agent)
		master_rescind_offer(r->m, o);
}

/* It may not be able any more to answer operations, or to hear that its answer arrived. */
static void drop_operations(struct rejoin *r)
{
	struct operation *o, *next;

	HASH_ITER (hh, r->a->operations, o, next) {
		if (!r->a->resource_provider ||
		    (!r->a->operation_feedback && operation_id(o) &&
		     operation_state_terminal(o->info->latest_status->state)))
			master_remove_operation(r->m, o);
	}
}

/* A registered agent may have moved to another port. Even at the same one the old link is
 * given up: its end may still be on its way to us, and is not the new one's. */
static void move_agent(struct rejoin *r, const char *pid)
{
	struct agent *a = r->a;

	master_unlink_agent(r->m, a);
	if (strcmp(a->pid, pid)) {
		HASH_DELETE(hh_pid, r->m->agents_by_pid, a);
		free(a->pid);
		a->pid = xstrdup(pid);
		HASH_ADD_KEYPTR(hh_pid, r->m->agents_by_pid, a->pid, strlen(a->pid), a);
	}
	master_emit(r->m, MASTER_LINK)->link.pid = master_text(r->m, a->pid);
}

static bool same_attributes(const Mesos__AgentInfo *a, const Mesos__AgentInfo *b)
{
	if (a->n_attributes != b->n_attributes)
		return false;
	for (size_t i = 0; i < a->n_attributes; i++) {
		if (!proto_equal(a->attributes[i], b->attributes[i]))
			return false;
	}
	return true;
}

static void rejoin_registered(struct rejoin *r, const char *pid)
{
	struct agent *a = r->a;
	bool other_attributes = !same_attributes(a->info, r->message->agent);
	struct resources before;

	move_agent(r, pid);
	resources_copy(&before, &a->total);
	learn(r, NULL);
	rescind_changed(r, &before);
	resources_free(&before);
	drop_operations(r);
	master_tell_allocator_agent(r->m, a);
	if (other_attributes)
		allocator_forget_filters(r->m->allocator, a->alloc);
	a->reregistered_time = r->m->now;
	rejoin_take_frameworks(r);
	rejoin_take_executors(r);
	rejoin_take_tasks(r);
	rejoin_answer(r);
	rejoin_repeat_kills(r);
	master_repeat_drain(r->m, a);
	master_reconnect_agent(r->m, a);
	rejoin_answer_frameworks(r);
	rejoin_answer_checkpoints(r);
	master_touch_drain(r->m, a);
}

static void rejoin_new(struct rejoin *r, const char *pid)
{
	struct departed *away = master_find_departed(r->m->unreachable, r->a->id);

	learn(r, pid);
	rejoin_take_frameworks(r);
	rejoin_take_executors(r);
	rejoin_take_tasks(r);
	if (away)
		master_take_orders(r->a, away);
	while (away && !list_empty(&away->tasks))
		master_forget_task(r->m, list_first(&away->tasks, struct task, by_agent));
	master_remove_departed(&r->m->unreachable, r->a->id);
	r->a->reregistered_time = r->m->now;
	master_admit_agent(r->m, r->a);
	rejoin_take_completed(r);
	master_repeat_drain(r->m, r->a);
	rejoin_answer(r);
	rejoin_repeat_kills(r);
	rejoin_answer_frameworks(r);
	master_touch_drain(r->m, r->a);
}

/* Another agent that sits, disconnected, at the pid this one has now. */
static bool pid_taken(struct master *m, const char *pid, const char *id)
{
	struct agent *other;

	HASH_FIND(hh_pid, m->agents_by_pid, pid, strlen(pid), other);
	if (!other || !strcmp(other->id, id))
		return false;
	if (!agent_connected(other) && agent_may_change(m, other->id, CHANGE_REPLACE))
		master_begin_remove_agent(m, other, "a new agent registered at the same address",
					  CHANGE_REPLACE);
	return true;
}

/* A scheduler that used a task's id on two agents, and a crash of ours between the launches, may
 * leave a task that we did not count when we gave its resources to others. */
static void note_overbooked(struct rejoin *r)
{
	struct agent *a = r->a;
	struct resources plain;

	resources_allocate(r->m->shapes, &a->used, NULL, &plain);
	a->overbooked = !master_agent_holds(a, &plain);
	resources_free(&plain);
	if (a->overbooked)
		log_warning("agent %s (%s) runs more than it has", a->id, a->info->hostname);
}

static void reregister_reregistered(struct master *m, const char *pid,
				    const Mesos__Internal__ReregisterSlaveMessage *message)
{
	const char *id = message->agent->id->value;
	struct rejoin r = {
		.m = m, .a = master_find_agent(m, id), .message = message, .mark = ++m->mark};

	m->counters.slave_reregistrations++;
	r.registered = r.a && agent_registered(r.a);
	r.is_new = !r.a;
	r.cause = master_find_departed(m->unreachable, id) ? "Unreachable agent re-reregistered"
							   : "Unknown agent reregistered";
	if (!r.a)
		r.a = master_add_agent(m, message->agent);
	r.a->reported = r.mark;
	log_info("agent %s at %s (%s) reregistered", id, pid, message->agent->hostname);
	if (r.registered)
		rejoin_registered(&r, pid);
	else
		rejoin_new(&r, pid);
	note_overbooked(&r);
}

static void reregistration_stored(struct master *m, struct pending *p)
{
	Mesos__Internal__ReregisterSlaveMessage *message = p->message;

	/* Marked gone meanwhile: the shutdown goes out with that. */
	if (!p->latest || master_find_departed(m->gone, p->key))
		return;
	reregister_reregistered(m, p->pid, message);
}

/* ---- the message --------------------------------------------------------------------- */

static void reregister_shut_down(struct master *m, const char *to, const char *why)
{
	Mesos__Internal__ShutdownMessage *message = STEP_NEW(
		m, Mesos__Internal__ShutdownMessage, mesos__internal__shutdown_message__descriptor);

	message->message = master_text(m, why);
	master_emit_message(m, "master", to, message);
}

static bool moved_host(const struct agent *a, const char *from, const Mesos__AgentInfo *info)
{
	char old[64], new[64];

	pid_ip(a->pid, old, sizeof(old));
	pid_ip(from, new, sizeof(new));
	return strcmp(old, new) || strcmp(a->info->hostname, info->hostname);
}

static void store_first(struct master *m, const char *from, struct agent *a,
			Mesos__Internal__ReregisterSlaveMessage *message)
{
	const char *id = message->agent->id->value;
	const struct departed *away = master_find_departed(m->unreachable, id);
	struct registry_batch batch = {0};
	struct pending *p;

	if (a) {
		registry_put_agent(m, &batch, message->agent, a->deactivated, a->drain_info);
	} else {
		registry_put_agent(m, &batch, message->agent, away && away->deactivated,
				   away ? away->drain_info : NULL);
		registry_delete(m, &batch, registry_key(m, "unreachable", id));
	}
	p = registry_write_change(m, &batch, CHANGE_REREGISTER, id, reregistration_stored);
	p->message = proto_copy(message);
	registry_reserve_pid(m, p, from);
}

void master_reregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__ReregisterSlaveMessage *raw)
{
	Mesos__Internal__ReregisterSlaveMessage *message;
	const char *id = raw->agent->id ? raw->agent->id->value : "";
	struct agent *a = master_find_agent(m, id);
	struct err err = {{0}};

	m->counters.messages_reregister_slave++;
	if (!authenticate_agent(m, from))
		return;
	if (!agent_may_change(m, id, CHANGE_REREGISTER)) {
		log_info("ignored the reregistration of agent %s at %s: a change of it is in "
			 "progress",
			 id, from);
		return;
	}
	if (master_find_departed(m->gone, id)) {
		reregister_shut_down(m, from, "Agent has been marked gone");
		return;
	}
	if (master_validate_reregistration(m, from, raw, &err)) {
		log_warning("ignored the reregistration of agent '%s' at %s: %s", id, from,
			    err.text);
		return;
	}
	if (a && agent_registered(a) && moved_host(a, from, raw->agent)) {
		reregister_shut_down(m, from,
				     "Agent attempted to reregister with different IP / hostname");
		return;
	}
	if (master_refuse_down(m, from, raw->agent))
		return;
	/* Before anything is written: what is written then holds. */
	if (registry_pid_reserved(m, from) || pid_taken(m, from, id)) {
		log_warning("ignored the reregistration of agent %s: another agent is at %s", id,
			    from);
		return;
	}
	message = rejoin_normalised(m, raw);
	if (!a && !master_find_departed(m->unreachable, id))
		log_warning("agent %s at %s is not known: letting it in", id, from);
	if (a && proto_equal(a->info, message->agent))
		reregister_reregistered(m, from, message);
	else
		store_first(m, from, a, message);
}
