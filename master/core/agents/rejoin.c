/* The agent is the authority on what runs on it. Tasks the master remembers and the agent does not
 * report are asked back; tasks the agent reports and the master does not know are taken in. */
#include "master/core/agents/rejoin.h"

#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agents.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/framework_shutdown.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/journal.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operations.h"
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

static void rejoin_normalise(struct master *m, Mesos__Resource **list, size_t count,
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
Mesos__Internal__ReregisterSlaveMessage *
rejoin_normalised(struct master *m, const Mesos__Internal__ReregisterSlaveMessage *message)
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
	rejoin_normalise(m, copy->agent->resources, copy->agent->n_resources, copy, NULL);
	rejoin_normalise(m, copy->checkpointed_resources, copy->n_checkpointed_resources, copy,
			 NULL);
	for (size_t i = 0; i < copy->n_executor_infos; i++)
		rejoin_normalise(m, copy->executor_infos[i]->resources,
				 copy->executor_infos[i]->n_resources, copy,
				 copy->executor_infos[i]->framework_id->value);
	return copy;
}

/* ---- taking in what the agent has ----------------------------------------------------------- */

/* A copy of a task to take over, its resources in the new format. */
static const Mesos__Task *own_task(struct rejoin *r, const Mesos__Task *task)
{
	Mesos__Task *copy = STEP_COPY(r->m, (Mesos__Task *)task);

	rejoin_normalise(r->m, copy->resources, copy->n_resources, r->message,
			 copy->framework_id->value);
	return copy;
}

void rejoin_take_frameworks(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		const Mesos__FrameworkInfo *info = r->message->frameworks[i];
		struct framework *f;

		if (master_find_completed(r->m, info->id->value) ||
		    master_find_framework(r->m, info->id->value))
			continue;
		f = master_add_framework(r->m, info);
		f->announced = true;
		journal_framework(r->m, JOURNAL_FRAMEWORK_ADDED, f);
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

/* Whether the agent itself said that its task is over. Launched twice, one of before a crash may
 * live on another agent. */
static bool ended_by_agent(struct rejoin *r, const struct framework *f, const char *task_id)
{
	const struct completed_task *c = framework_find_completed_task(f, task_id);
	const Mesos__TaskStatus *last =
		c ? task_record_last_status(&c->record, &r->m->out->arena) : NULL;

	return last &&
	       (!last->has_source || last->source != MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER) &&
	       slice_eq(task_record_agent_id(&c->record), r->a->id);
}

/* Of an agent that was here all the time, what it turns out to use may be on offer. */
static void rejoin_restore(struct rejoin *r, struct framework *f, const struct resources *used)
{
	struct offer *o, *next;

	if (!r->registered)
		return;
	list_for_each (o, next, &r->a->offers, by_agent)
		master_rescind_offer(r->m, o);
	allocator_restore(r->m->allocator, f->alloc, r->a->alloc, used);
}

static void add_reported(struct rejoin *r, struct framework *f, const Mesos__Task *task)
{
	struct task *old = framework_find_unreachable(f, task->task_id->value), *t;

	/* Over already, and this master knows the agent: its last update comes again. */
	if (r->registered && task_state_terminal(task->state))
		return;
	/* An old report, that something newer overtook. */
	if (r->registered && ended_by_agent(r, f, task->task_id->value))
		return;
	if (old)
		master_forget_task(r->m, old);
	master_forget_completed(r->m, f, task->task_id->value);
	if (r->is_new)
		tell_returned(r, f, task);
	t = master_add_task(r->m, f, r->a, own_task(r, task));
	t->seen = r->mark;
	if (t->holds)
		rejoin_restore(r, f, &t->resources);
}

void rejoin_take_tasks(struct rejoin *r)
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

void rejoin_take_executors(struct rejoin *r)
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
			rejoin_restore(r, f, &e->resources);
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
void rejoin_take_completed(struct rejoin *r)
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

void rejoin_answer(struct rejoin *r)
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

void rejoin_repeat_kills(struct rejoin *r)
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

void rejoin_answer_frameworks(struct rejoin *r)
{
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		const char *id = r->message->frameworks[i]->id->value;

		if (master_find_completed(r->m, id))
			framework_shutdown_tell(r->m, r->a, id);
	}
	for (size_t i = 0; i < r->message->n_frameworks; i++) {
		struct framework *f =
			master_find_framework(r->m, r->message->frameworks[i]->id->value);

		if (f && f->state != FRAMEWORK_RECOVERED)
			master_send_agent(r->m, r->a, master_update_framework_message(r->m, f));
	}
}

void rejoin_answer_checkpoints(struct rejoin *r)
{
	if (!r->a->resource_provider)
		master_send_checkpointed(r->m, r->a);
}
