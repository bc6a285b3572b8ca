/* Reregistration of agents: after the agent or the link died,
 * after it was unreachable, and after the master itself was restarted.
 *
 * The agent is the authority on what runs on it. Tasks the master remembers and the
 * agent does not report are asked back in SlaveReregisteredMessage; tasks the agent
 * reports and the master does not know are taken in.
 */
#include "master/core/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/drain.h"
#include "master/core/agents/pid.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_records.h"
#include "master/core/operations/operations.h"
#include "master/core/store/registry.h"
#include "master/core/tasks/task_validate.h"
#include "master/core/tasks/tasks.h"
#include "master/core/tasks/updates.h"

/* ---- normalising ------------------------------------------------------------------------- */

static const Mesos__FrameworkInfo *info_of(const Mesos__Internal__ReregisterSlaveMessage *message,
					   const char *id)
{
	for (size_t i = 0; i < message->n_frameworks; i++) {
		if (!strcmp(message->frameworks[i]->id->value, id))
			return message->frameworks[i];
	}
	return NULL;
}

/* The only role of a framework; agents of old send no allocation roles. */
static const char *only_role(const Mesos__FrameworkInfo *info)
{
	if (!info)
		return "*";
	if (framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE))
		return info->n_roles ? info->roles[0] : "*";
	return info->role ? info->role : "*";
}

static void reregister_normalise(struct master *m, Mesos__Resource **list, size_t count,
				 const Mesos__Internal__ReregisterSlaveMessage *message,
				 const char *framework_id)
{
	for (size_t i = 0; i < count; i++) {
		resource_upgrade(&m->out->arena, list[i]);
		if (!framework_id || (list[i]->allocation_info && list[i]->allocation_info->role))
			continue;
		list[i]->allocation_info = STEP_NEW(m, Mesos__Resource__AllocationInfo,
						    mesos__resource__allocation_info__descriptor);
		list[i]->allocation_info->role =
			master_text(m, only_role(info_of(message, framework_id)));
	}
}

/* The agent and its executors are copied to the step's arena, with all resources in the new
 * format. Tasks are not: most are known, and of those nothing is taken (own_task()). */
static Mesos__Internal__ReregisterSlaveMessage *
normalised(struct master *m, const Mesos__Internal__ReregisterSlaveMessage *message)
{
	Mesos__Internal__ReregisterSlaveMessage *copy =
		STEP_NEW(m, Mesos__Internal__ReregisterSlaveMessage,
			 mesos__internal__reregister_slave_message__descriptor);

	*copy = *message;
	copy->agent = STEP_COPY(m, message->agent);
	copy->checkpointed_resources = NULL;
	copy->n_checkpointed_resources = 0;
	for (size_t i = 0; i < message->n_checkpointed_resources; i++)
		proto_push(&m->out->arena, copy->n_checkpointed_resources,
			   copy->checkpointed_resources,
			   STEP_COPY(m, message->checkpointed_resources[i]));
	copy->executor_infos = NULL;
	copy->n_executor_infos = 0;
	for (size_t i = 0; i < message->n_executor_infos; i++)
		proto_push(&m->out->arena, copy->n_executor_infos, copy->executor_infos,
			   STEP_COPY(m, message->executor_infos[i]));
	reregister_normalise(m, copy->agent->resources, copy->agent->n_resources, copy, NULL);
	reregister_normalise(m, copy->checkpointed_resources, copy->n_checkpointed_resources, copy,
			     NULL);
	for (size_t i = 0; i < copy->n_executor_infos; i++)
		reregister_normalise(m, copy->executor_infos[i]->resources,
				     copy->executor_infos[i]->n_resources, copy,
				     copy->executor_infos[i]->framework_id->value);
	return copy;
}

/* ---- taking in what the agent has ----------------------------------------------------------- */

/* A reregistration being carried out. */
struct rejoin {
	struct master *m;
	struct agent *a;
	const Mesos__Internal__ReregisterSlaveMessage *message;
	bool is_new;	   /* unreachable or unknown before: frameworks hear of their tasks */
	bool registered;   /* the allocator knows the agent */
	const char *cause; /* is_new: why they hear */
	uint64_t mark;
};

/* A copy of a task to take over, its resources in the new format. */
static const Mesos__Task *own_task(struct rejoin *r, const Mesos__Task *task)
{
	Mesos__Task *copy = STEP_COPY(r->m, (Mesos__Task *)task);

	reregister_normalise(r->m, copy->resources, copy->n_resources, r->message,
			     copy->framework_id->value);
	return copy;
}

static void take_in_frameworks(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		const Mesos__FrameworkInfo *info = r->message->frameworks[i];

		if (!master_find_completed(r->m, info->id->value) &&
		    !master_find_framework(r->m, info->id->value))
			master_add_framework(r->m, info);
	}
}

static void tell_returned(struct rejoin *r, struct framework *f, const Mesos__Task *task)
{
	struct master_status say = {
		.task_id = task->task_id->value,
		.agent_id = r->a->id,
		.executor_id = task->executor_id ? task->executor_id->value : NULL,
		.state = task->state,
		.reason = MESOS__TASK_STATUS__REASON__REASON_AGENT_REREGISTERED,
		.message = r->cause,
	};
	Mesos__TaskStatus *status = master_make_status(r->m, &say);

	if (task->n_statuses)
		master_copy_last_known(r->m, task->statuses[task->n_statuses - 1], status);
	master_tell_update(r->m, f, status);
}

/* The record of a task the master remembers follows the agent's. Records are written behind, so
 * what was last sent may be newer on the agent even where the state is the same. */
static void correct_task(struct rejoin *r, struct task *t, const Mesos__Task *task)
{
	bool kill_wanted = t->kill_wanted;
	struct framework *f = t->framework;

	if (r->registered || task_record_agrees(&t->record, task)) {
		t->seen = r->mark;
		return;
	}
	if (t->record.state != task->state)
		log_info(
			"task %s of framework %s is %s on its agent, was remembered as %s", t->id,
			f->id,
			proto_enum_name(&mesos__task_state__descriptor, task->state, SPELL_V1),
			proto_enum_name(&mesos__task_state__descriptor, t->record.state, SPELL_V1));
	master_forget_task(r->m, t);
	t = master_add_task(r->m, f, r->a, own_task(r, task));
	t->kill_wanted = kill_wanted;
	t->seen = r->mark;
}

/* Whether the agent itself said that the task is over. */
static bool ended_by_agent(struct master *m, const struct framework *f, const char *task_id)
{
	const struct completed_task *c = framework_find_completed_task(f, task_id);
	const Mesos__TaskStatus *last =
		c ? task_record_last_status(&c->record, &m->out->arena) : NULL;

	return last &&
	       (!last->has_source || last->source != MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER);
}

static void add_reported(struct rejoin *r, struct framework *f, const Mesos__Task *task)
{
	struct task *old = framework_find_unreachable(f, task->task_id->value), *t;

	/* Over already, and this master knows the agent: its last update comes again. */
	if (r->registered && task_state_terminal(task->state))
		return;
	/* An old report, that something newer overtook. */
	if (r->registered && ended_by_agent(r->m, f, task->task_id->value))
		return;
	if (old)
		master_forget_task(r->m, old);
	master_forget_completed(r->m, f, task->task_id->value);
	if (r->is_new)
		tell_returned(r, f, task);
	t = master_add_task(r->m, f, r->a, own_task(r, task));
	t->seen = r->mark;
	if (r->registered && t->holds)
		allocator_restore(r->m->allocator, f->id, r->a->id, &t->resources);
}

static void take_in_tasks(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_tasks; i++) {
		const Mesos__Task *task = r->message->tasks[i];
		struct framework *f = master_find_framework(r->m, task->framework_id->value);
		struct task *t = f ? framework_find_task(f, task->task_id->value) : NULL;

		if (!f)
			continue;
		if (t && t->agent != r->a)
			log_warning("task %s of framework %s is on agents %s and %s", t->id, f->id,
				    t->agent_id, r->a->id);
		else if (t)
			correct_task(r, t, task);
		else
			add_reported(r, f, task);
	}
}

/* One that was started again since the record of it that a crash left holds something else. */
static bool holds_the_same(struct rejoin *r, const struct executor *e,
			   const Mesos__ExecutorInfo *info)
{
	struct resources now = RESOURCES_INIT;
	bool same;

	master_resources(r->m, info->resources, info->n_resources, &now);
	same = resources_equal(&e->resources, &now);
	resources_free(&now);
	return same;
}

static void take_in_executors(struct rejoin *r)
{
	struct executor *e, *next;

	for (size_t i = 0; i < r->message->n_executor_infos; i++) {
		const Mesos__ExecutorInfo *info = r->message->executor_infos[i];
		struct framework *f = master_find_framework(r->m, info->framework_id->value);

		if (!f)
			continue;
		e = agent_find_executor(r->a, f->id, info->executor_id->value);
		if (e && !holds_the_same(r, e, info)) {
			master_remove_executor(r->m, e, r->registered);
			e = NULL;
		}
		if (!e) {
			e = master_add_executor(r->m, f, r->a, info);
			if (r->registered)
				allocator_restore(r->m->allocator, f->id, r->a->id, &e->resources);
		}
		e->seen = r->mark;
	}
	HASH_ITER (hh, r->a->executors, e, next) {
		if (e->seen == r->mark)
			continue;
		log_warning("executor %s is not known to agent %s any more", e->key, r->a->id);
		master_remove_executor(r->m, e, r->registered);
	}
}

/* What the agent remembers of tasks that are over, where the master remembers nothing. */
static void take_in_completed(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_completed_frameworks; i++) {
		const Mesos__Internal__Archive__Framework *archive =
			r->message->completed_frameworks[i];
		struct framework *f;

		if (!archive->framework_info->id)
			continue;
		f = master_find_framework(r->m, archive->framework_info->id->value);
		if (!f || f->completed_task_count)
			continue;
		for (size_t k = 0; k < archive->n_tasks; k++) {
			struct task_record record;

			task_record_pack(&record, &r->m->out->arena, archive->tasks[k]);
			master_add_completed_task(r->m, f, &record, ++f->next_completed);
		}
	}
}

/* ---- answers ----------------------------------------------------------------------- */

static Mesos__TaskStatus *asked_status(struct rejoin *r, const struct task *t)
{
	struct master_status say = {
		.task_id = t->id,
		.agent_id = r->a->id,
		.state = task_record_told_state(&t->record),
		.reason = MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION,
		.message = "Reconciliation request",
	};

	return master_make_status(r->m, &say);
}

/* The reconciliation of a framework, begun if there is none yet. */
static Mesos__Internal__ReconcileTasksMessage *
asked_of(struct rejoin *r, Mesos__Internal__SlaveReregisteredMessage *answer, struct framework *f)
{
	struct arena *arena = &r->m->out->arena;
	Mesos__Internal__ReconcileTasksMessage *ask;

	for (size_t i = 0; i < answer->n_reconciliations; i++) {
		if (!strcmp(answer->reconciliations[i]->framework_id->value, f->id))
			return answer->reconciliations[i];
	}
	ask = STEP_NEW(r->m, Mesos__Internal__ReconcileTasksMessage,
		       mesos__internal__reconcile_tasks_message__descriptor);
	ask->framework_id = master_framework_id(r->m, f->id);
	ask->framework = STEP_COPY(r->m, f->info);
	proto_push(arena, answer->n_reconciliations, answer->reconciliations, ask);
	return ask;
}

static void answer_reregistered(struct rejoin *r)
{
	struct master *m = r->m;
	Mesos__Internal__SlaveReregisteredMessage *answer =
		STEP_NEW(m, Mesos__Internal__SlaveReregisteredMessage,
			 mesos__internal__slave_reregistered_message__descriptor);
	struct task *t, *next;

	answer->agent_id = master_agent_id(m, r->a->id);
	answer->connection = master_connection(m);
	list_for_each (t, next, &r->a->tasks, by_agent) {
		Mesos__Internal__ReconcileTasksMessage *ask;

		if (t->seen == r->mark)
			continue;
		log_warning("task %s of framework %s is not known to agent %s", t->id,
			    t->framework->id, r->a->id);
		ask = asked_of(r, answer, t->framework);
		proto_push(&m->out->arena, ask->n_statuses, ask->statuses, asked_status(r, t));
	}
	master_send_agent(m, r->a, answer);
}

static void repeat_kills(struct rejoin *r)
{
	struct task *t, *next;

	list_for_each (t, next, &r->a->tasks, by_agent) {
		Mesos__Internal__KillTaskMessage *message;

		if (t->seen != r->mark || !t->kill_wanted || task_state_terminal(t->record.state))
			continue;
		message = STEP_NEW(r->m, Mesos__Internal__KillTaskMessage,
				   mesos__internal__kill_task_message__descriptor);
		message->framework_id = master_framework_id(r->m, t->framework->id);
		message->task_id = master_task_id(r->m, t->id);
		master_send_agent(r->m, r->a, message);
	}
}

static void answer_frameworks(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		const char *id = r->message->frameworks[i]->id->value;
		Mesos__Internal__ShutdownFrameworkMessage *shutdown;

		if (!master_find_completed(r->m, id))
			continue;
		shutdown = STEP_NEW(r->m, Mesos__Internal__ShutdownFrameworkMessage,
				    mesos__internal__shutdown_framework_message__descriptor);
		shutdown->framework_id = master_framework_id(r->m, id);
		master_send_agent(r->m, r->a, shutdown);
	}
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		struct framework *f =
			master_find_framework(r->m, r->message->frameworks[i]->id->value);

		if (f && f->state != FRAMEWORK_RECOVERED)
			master_send_agent(r->m, r->a, master_update_framework_message(r->m, f));
	}
}

/* Agents without resource providers keep what the master tells them to. */
static void answer_checkpoints(struct rejoin *r)
{
	if (!r->a->resource_provider)
		master_send_checkpointed(r->m, r->a);
}

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
		allocator_forget_filters(r->m->allocator, a->id);
	a->reregistered_time = r->m->now;
	take_in_frameworks(r);
	take_in_executors(r);
	take_in_tasks(r);
	answer_reregistered(r);
	repeat_kills(r);
	master_repeat_drain(r->m, a);
	master_reconnect_agent(r->m, a);
	answer_frameworks(r);
	answer_checkpoints(r);
	master_touch_drain(r->m, a);
}

static void rejoin_new(struct rejoin *r, const char *pid)
{
	struct departed *away = master_find_departed(r->m->unreachable, r->a->id);

	learn(r, pid);
	take_in_frameworks(r);
	take_in_executors(r);
	take_in_tasks(r);
	if (away)
		master_take_orders(r->a, away);
	while (away && !list_empty(&away->tasks))
		master_forget_task(r->m, list_first(&away->tasks, struct task, by_agent));
	master_remove_departed(&r->m->unreachable, r->a->id);
	r->a->reregistered_time = r->m->now;
	master_admit_agent(r->m, r->a);
	take_in_completed(r);
	master_repeat_drain(r->m, r->a);
	answer_reregistered(r);
	repeat_kills(r);
	answer_frameworks(r);
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
	struct registry_batch batch = {0};
	struct pending *p;

	registry_put_agent(m, &batch, message->agent, a);
	if (!a)
		registry_delete(m, &batch, registry_key(m, "unreachable", id));
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
	message = normalised(m, raw);
	if (!a && !master_find_departed(m->unreachable, id))
		log_warning("agent %s at %s is not known: letting it in", id, from);
	if (a && proto_equal(a->info, message->agent))
		reregister_reregistered(m, from, message);
	else
		store_first(m, from, a, message);
}
