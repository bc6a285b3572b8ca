/* LAUNCH and LAUNCH_GROUP: what is left of the offers becomes tasks.
 *
 * A task that breaks a rule is refused alone; the others of the LAUNCH go on. Shared volumes
 * are not used up: every task may name those of the offers, and what is not there any more
 * is one more copy in the allocator.
 */
#include "master/core/emit.h"

#include <string.h>

#include "base/log/log.h"
#include "master/core/authorize.h"
#include "master/core/offers/accept.h"
#include "master/core/tasks/task_validate.h"
#include "master/core/tasks/tasks.h"
#include "master/core/tasks/updates.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

static void normalise_health_check(Mesos__HealthCheck *check)
{
	if (!check || check->has_type || !check->command == !check->http)
		return;
	check->has_type = true;
	check->type = check->command ? MESOS__HEALTH_CHECK__TYPE__COMMAND
				     : MESOS__HEALTH_CHECK__TYPE__HTTP;
}

static void push_version(struct master *m, const struct agent *a, size_t *count,
			 Mesos__Internal__ResourceVersionUUID ***list)
{
	Mesos__Internal__ResourceVersionUUID *version;

	if (!a->resource_version)
		return;
	version = STEP_NEW(m, Mesos__Internal__ResourceVersionUUID,
			   mesos__internal__resource_version_uuid__descriptor);
	version->uuid = STEP_NEW(m, Mesos__UUID, mesos__uuid__descriptor);
	version->uuid->value.data =
		arena_memdup(&m->out->arena, a->resource_version, a->resource_version_len);
	version->uuid->value.len = a->resource_version_len;
	proto_push(&m->out->arena, *count, *list, version);
}

/* Agents of old know no refined reservations. */
static void downgrade_list(struct master *m, size_t count, Mesos__Resource **list)
{
	for (size_t i = 0; i < count; i++)
		resource_downgrade(&m->out->arena, list[i]);
}

static void downgrade_task(struct master *m, Mesos__TaskInfo *task)
{
	downgrade_list(m, task->n_resources, task->resources);
	if (task->executor)
		downgrade_list(m, task->executor->n_resources, task->executor->resources);
}

static void send_task(struct master *m, struct framework *f, struct agent *a,
		      const Mesos__TaskInfo *task, bool launch_executor)
{
	Mesos__Internal__RunTaskMessage *message = STEP_NEW(
		m, Mesos__Internal__RunTaskMessage, mesos__internal__run_task_message__descriptor);

	/* Both live as long as the step. */
	message->framework = f->info;
	message->task = (Mesos__TaskInfo *)task;
	message->pid = master_text(m, f->pid ? f->pid : MASTER_EMPTY_PID);
	if (!a->reservation_refinement) {
		message->task = STEP_COPY(m, message->task);
		downgrade_task(m, message->task);
	}
	push_version(m, a, &message->n_resource_version_uuids, &message->resource_version_uuids);
	message->has_launch_executor = true;
	message->launch_executor = launch_executor;
	master_send_agent(m, a, message);
}

/* Takes it out of what remains. What shared volumes are not there any more become one
 * more copy each. */
static void consume(struct master *m, struct accepting *accepting, const struct resources *r)
{
	struct resources more = RESOURCES_INIT, none = RESOURCES_INIT;

	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_shared(r->pieces[i].shape))
			resources_add_piece(&more, &r->pieces[i]);
	}
	resources_subtract(&more, &accepting->remaining);
	if (!resources_empty(&more))
		allocator_convert(m->allocator, accepting->f->alloc, accepting->a->alloc, &none,
				  &more);
	resources_subtract(&accepting->remaining, r);
	resources_free(&more);
}

/* The executor is on the agent from now on; what it needs is used. */
static void use_executor(struct master *m, struct accepting *accepting,
			 const Mesos__ExecutorInfo *info)
{
	struct executor *e = master_add_executor(m, accepting->f, accepting->a, info);

	consume(m, accepting, &e->resources);
}

static void use_task(struct master *m, struct accepting *accepting, const Mesos__TaskInfo *task)
{
	struct framework *f = accepting->f;
	struct task *t = master_add_task(m, f, accepting->a, master_task_record(m, f, task));

	t->fresh = true;
	consume(m, accepting, &t->resources);
	log_info("launching task %s of framework %s on agent %s", t->id, f->id, accepting->a->id);
}

static void launch_task(struct master *m, struct accepting *accepting, Mesos__TaskInfo *task)
{
	struct framework *f = accepting->f;
	struct executor *e = NULL;

	if (task->executor)
		e = agent_find_executor(accepting->a, f->id, task->executor->executor_id->value);
	master_hurry_acknowledgement(m, f->id, task->task_id->value);
	send_task(m, f, accepting->a, task, !e);
	if (task->executor && !e)
		use_executor(m, accepting, task->executor);
	use_task(m, accepting, task);
	f->counters.operations[OPERATION(LAUNCH)]++;
}

/* What remains, with all shared volumes. */
static void sum_available(const struct accepting *accepting, struct resources *out)
{
	resources_copy(out, &accepting->shared);
	for (uint32_t i = 0; i < accepting->remaining.count; i++) {
		const struct resource_piece *piece = &accepting->remaining.pieces[i];

		if (!resource_shape_shared(piece->shape))
			resources_add_piece(out, piece);
	}
}

static int launch_validate(struct master *m, struct accepting *accepting,
			   const Mesos__TaskInfo *task, struct err *err)
{
	struct resources available = RESOURCES_INIT;
	int rv;

	if (resources_empty(&accepting->shared))
		return master_validate_task(m, accepting->f, accepting->a, task,
					    &accepting->remaining, err);
	sum_available(accepting, &available);
	rv = master_validate_task(m, accepting->f, accepting->a, task, &available, err);
	resources_free(&available);
	return rv;
}

void accept_launch(struct master *m, struct accepting *accepting,
		   const Mesos__Offer__Operation__Launch *launch)
{
	struct framework *f = accepting->f;
	struct err err = {{0}};

	for (size_t i = 0; i < launch->n_task_infos; i++) {
		Mesos__TaskInfo *task = launch->task_infos[i];

		if (task->executor && !task->executor->framework_id)
			task->executor->framework_id = master_framework_id(m, f->id);
		normalise_health_check(task->health_check);
		if (authorize_task(m, f, task, &err))
			accept_refuse_task(m, f, task, MESOS__TASK_STATE__TASK_ERROR,
					   REASON(TASK_UNAUTHORIZED), err.text);
		else if (launch_validate(m, accepting, task, &err))
			accept_refuse_task(m, f, task, MESOS__TASK_STATE__TASK_ERROR,
					   REASON(TASK_INVALID), err.text);
		else
			launch_task(m, accepting, task);
	}
}

/* ---- LAUNCH_GROUP -------------------------------------------------------------------------- */

static void send_group(struct master *m, struct framework *f, struct agent *a,
		       const Mesos__Offer__Operation__LaunchGroup *group, bool launch_executor)
{
	Mesos__Internal__RunTaskGroupMessage *message =
		STEP_NEW(m, Mesos__Internal__RunTaskGroupMessage,
			 mesos__internal__run_task_group_message__descriptor);

	/* They live as long as the step. */
	message->framework = f->info;
	message->executor = group->executor;
	message->task_group = group->task_group;
	if (!a->reservation_refinement) {
		message->executor = STEP_COPY(m, group->executor);
		message->task_group = STEP_COPY(m, group->task_group);
		downgrade_list(m, message->executor->n_resources, message->executor->resources);
		for (size_t i = 0; i < message->task_group->n_tasks; i++)
			downgrade_task(m, message->task_group->tasks[i]);
	}
	push_version(m, a, &message->n_resource_version_uuids, &message->resource_version_uuids);
	message->has_launch_executor = true;
	message->launch_executor = launch_executor;
	master_send_agent(m, a, message);
}

static void launch_group(struct master *m, struct accepting *accepting,
			 const Mesos__Offer__Operation__LaunchGroup *group)
{
	struct framework *f = accepting->f;
	const Mesos__TaskGroupInfo *tasks = group->task_group;
	bool fresh = !agent_find_executor(accepting->a, f->id, group->executor->executor_id->value);

	for (size_t i = 0; i < tasks->n_tasks; i++)
		master_hurry_acknowledgement(m, f->id, tasks->tasks[i]->task_id->value);
	send_group(m, f, accepting->a, group, fresh);
	if (fresh)
		use_executor(m, accepting, group->executor);
	for (size_t i = 0; i < tasks->n_tasks; i++)
		use_task(m, accepting, tasks->tasks[i]);
	f->counters.operations[OPERATION(LAUNCH_GROUP)]++;
}

/* A group is launched as a whole or not at all. */
void accept_launch_group(struct master *m, struct accepting *accepting,
			 const Mesos__Offer__Operation__LaunchGroup *group)
{
	Mesos__TaskInfo **tasks = group->task_group->tasks;
	size_t count = group->task_group->n_tasks;
	struct err err = {{0}};
	int rv = 0;

	for (size_t i = 0; i < count; i++) {
		if (!tasks[i]->executor)
			tasks[i]->executor = STEP_COPY(m, group->executor);
		if (!rv)
			rv = authorize_task(m, accepting->f, tasks[i], &err);
	}
	if (rv)
		accept_refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
				    REASON(TASK_GROUP_UNAUTHORIZED), err.text);
	else if (master_validate_group(m, accepting->f, accepting->a, group, &accepting->remaining,
				       &err))
		accept_refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
				    REASON(TASK_GROUP_INVALID), err.text);
	else if (count)
		launch_group(m, accepting, group);
}
