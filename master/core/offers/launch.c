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

static void version_push(struct master *m, Mesos__Internal__RunTaskMessage *message,
			 const struct agent *a)
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
	proto_push(&m->out->arena, message->n_resource_version_uuids,
		   message->resource_version_uuids, version);
}

/* Agents of old know no refined reservations. */
static void downgrade_task(struct master *m, Mesos__TaskInfo *task)
{
	struct arena *arena = &m->out->arena;

	for (size_t i = 0; i < task->n_resources; i++)
		resource_downgrade(arena, task->resources[i]);
	for (size_t i = 0; task->executor && i < task->executor->n_resources; i++)
		resource_downgrade(arena, task->executor->resources[i]);
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
	version_push(m, message, a);
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

static void launch_task(struct master *m, struct accepting *accepting, Mesos__TaskInfo *task)
{
	struct framework *f = accepting->f;
	struct executor *e = NULL;
	struct task *t;

	if (task->executor)
		e = agent_find_executor(accepting->a, f->id, task->executor->executor_id->value);
	master_hurry_acknowledgement(m, f->id, task->task_id->value);
	send_task(m, f, accepting->a, task, !e);
	if (task->executor && !e) {
		e = master_add_executor(m, f, accepting->a, task->executor);
		consume(m, accepting, &e->resources);
	}
	t = master_add_task(m, f, accepting->a, master_task_record(m, f, task));
	t->fresh = true;
	f->counters.operations[OPERATION(LAUNCH)]++;
	consume(m, accepting, &t->resources);
	log_info("launching task %s of framework %s on agent %s", t->id, f->id, accepting->a->id);
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

/* Groups are checked as Mesos checks them (a health check must tell its type); a good one is
 * refused, too, since no executor of mesita runs several containers. */
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
	if (rv) {
		accept_refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
				    REASON(TASK_GROUP_UNAUTHORIZED), err.text);
		return;
	}
	if (!master_validate_group(m, accepting->f, accepting->a, group, &accepting->remaining,
				   &err))
		err_set(&err, ERR_INVALID,
			"Task groups are not supported by agent %s: its executors run one task's "
			"container each",
			accepting->a->id);
	accept_refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
			    REASON(TASK_GROUP_INVALID), err.text);
}
