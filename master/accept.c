/* ACCEPT: offers become tasks.
 *
 * The offers are checked as a whole. If they are good they are taken, and the
 * operations run in their order against what is left of them; the rest goes back to
 * the allocator with the call's filter. If they are not, every task of the call is
 * lost with REASON_INVALID_OFFERS and all named offers are given back.
 * LAUNCH is carried out. The other operations are refused as invalid ones are.
 */
#include "master/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* An ACCEPT under way. */
struct accepting {
	struct framework *f;
	struct agent *a;
	const char *role;	    /* allocation role of the offers */
	struct resources remaining; /* of the offers, after the operations so far */
};

/* ---- offers --------------------------------------------------------------------- */

static int check_duplicates(Mesos__OfferID *const *ids, size_t count, struct err *err)
{
	struct seen {
		const char *id;
		UT_hash_handle hh;
	} *table = NULL, *all = xcalloc(count + 1, sizeof(*all)), *found;
	int rv = 0;

	for (size_t i = 0; i < count && !rv; i++) {
		HASH_FIND(hh, table, ids[i]->value, strlen(ids[i]->value), found);
		if (found) {
			rv = err_set(err, ERR_INVALID, "Duplicate offer %s in offer list",
				     ids[i]->value);
			break;
		}
		all[i].id = ids[i]->value;
		HASH_ADD_KEYPTR(hh, table, all[i].id, strlen(all[i].id), &all[i]);
	}
	HASH_CLEAR(hh, table);
	free(all);
	return rv;
}

static int check_alike(const struct framework *f, struct offer *const *offers, size_t count,
		       struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (offers[i]->framework != f)
			return err_set(err, ERR_INVALID,
				       "Offer %s has invalid framework %s while framework %s is "
				       "expected",
				       offers[i]->id, offers[i]->framework->id, f->id);
	}
	for (size_t i = 1; i < count; i++) {
		/* The quotes are unbalanced in Mesos, too; clients may match the text. */
		if (strcmp(offers[i]->role, offers[0]->role))
			return err_set(
				err, ERR_INVALID,
				"Aggregated offers must be allocated to the same role. Offer "
				"%s uses role '%s but another is using role '%s",
				offers[i]->id, offers[i]->role, offers[0]->role);
	}
	for (size_t i = 1; i < count; i++) {
		if (offers[i]->agent != offers[0]->agent)
			return err_set(
				err, ERR_INVALID,
				"Aggregated offers must belong to one single agent. Offer %s "
				"uses agent %s and agent %s",
				offers[i]->id, offers[i]->agent->id, offers[0]->agent->id);
	}
	return 0;
}

int master_validate_offers(const struct master *m, const struct framework *f,
			   Mesos__OfferID *const *ids, size_t count, struct err *err)
{
	struct offer **offers;
	int rv;

	if (!count)
		return err_set(err, ERR_INVALID, "No offers specified");
	offers = xcalloc(count, sizeof(*offers));
	rv = check_duplicates(ids, count, err);
	for (size_t i = 0; i < count && !rv; i++) {
		offers[i] = master_find_offer(m, ids[i]->value);
		if (!offers[i])
			rv = err_set(err, ERR_INVALID, "Offer %s is no longer valid",
				     ids[i]->value);
	}
	if (!rv)
		rv = check_alike(f, offers, count, err);
	free(offers);
	return rv;
}

/* ---- refusing ------------------------------------------------------------------- */

static void refuse_task(struct master *m, struct framework *f, const Mesos__TaskInfo *task,
			Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			const char *message)
{
	struct master_status say = {
		.task_id = task->task_id->value,
		.agent_id = task->agent_id->value,
		.state = state,
		.reason = reason,
		.message = message,
	};
	Mesos__TaskStatus *status = master_make_status(m, &say);

	log_rumor("refused task %s of framework %s: %s", say.task_id, f->id, message);
	master_count_terminal(m, f, status);
	master_tell_update(m, f, status);
}

static void refuse_tasks(struct master *m, struct framework *f, Mesos__TaskInfo *const *tasks,
			 size_t count, Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			 const char *message)
{
	for (size_t i = 0; i < count; i++)
		refuse_task(m, f, tasks[i], state, reason, message);
}

/* Tells of an operation with an id; any other is dropped silently. */
static void drop_operation(struct master *m, struct framework *f,
			   const Mesos__Offer__Operation *operation, const char *message)
{
	log_warning("dropped an operation of type %d of framework %s: %s", operation->type, f->id,
		    message);
	if (operation->id)
		master_tell_operation_error(m, f, operation->id, message);
}

/* The tasks of LAUNCH and LAUNCH_GROUP; none for others. */
static size_t operation_tasks(const Mesos__Offer__Operation *operation, Mesos__TaskInfo ***tasks)
{
	if (operation->type == OPERATION(LAUNCH) && operation->launch) {
		*tasks = operation->launch->task_infos;
		return operation->launch->n_task_infos;
	}
	if (operation->type == OPERATION(LAUNCH_GROUP) && operation->launch_group) {
		*tasks = operation->launch_group->task_group->tasks;
		return operation->launch_group->task_group->n_tasks;
	}
	*tasks = NULL;
	return 0;
}

static bool launches(const Mesos__Offer__Operation *operation)
{
	return operation->type == OPERATION(LAUNCH) || operation->type == OPERATION(LAUNCH_GROUP);
}

/* Every task is lost and every offer given back; the framework hears why. */
static void refuse_offers(struct master *m, struct framework *f,
			  const Mesos__Scheduler__Call__Accept *accept, const char *why)
{
	Mesos__TaskState state =
		f->partition_aware ? MESOS__TASK_STATE__TASK_DROPPED : MESOS__TASK_STATE__TASK_LOST;
	const char *tasks_say, *others_say;
	Mesos__TaskInfo **tasks;

	tasks_say = arena_printf(&m->out->arena, "Task launched with invalid offers: %s", why);
	others_say =
		arena_printf(&m->out->arena, "Operation attempted with invalid offers: %s", why);
	for (size_t i = 0; i < accept->n_offer_ids; i++) {
		struct offer *o = master_find_offer(m, accept->offer_ids[i]->value);

		if (o)
			master_discard_offer(m, o);
	}
	for (size_t i = 0; i < accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = accept->operations[i];
		size_t count = operation_tasks(operation, &tasks);

		if (launches(operation))
			refuse_tasks(m, f, tasks, count, state, REASON(INVALID_OFFERS), tasks_say);
		else
			drop_operation(m, f, operation, others_say);
	}
}

/* ---- the pre-pass: structure ------------------------------------------ */

/* Nobody names that many; comparing them all would hold up everyone else. */
#define LIST_RESOURCES_MAX 1000

static int check_list(Mesos__Resource *const *list, size_t count, struct err *err)
{
	if (count > LIST_RESOURCES_MAX)
		return err_set(err, ERR_INVALID, "More than %d resources in one list",
			       LIST_RESOURCES_MAX);
	return resources_validate(list, count, err);
}

static int check_tasks(Mesos__TaskInfo *const *tasks, size_t count, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < count && !rv; i++) {
		rv = check_list(tasks[i]->resources, tasks[i]->n_resources, err);
		if (!rv && tasks[i]->executor)
			rv = check_list(tasks[i]->executor->resources,
					tasks[i]->executor->n_resources, err);
	}
	return rv;
}

/* What each type of operation must carry, and the resources in it. */
static const struct shape {
	Mesos__Offer__Operation__Type type;
	const char *name, *field;
	size_t offset;	  /* of the sub-message in the operation */
	ptrdiff_t list;	  /* of its (count, list) of resources; -1 = none */
	ptrdiff_t one[2]; /* of single resources; -1 = none */
} shapes[] = {
#define FIELD(member) offsetof(Mesos__Offer__Operation, member)
	{OPERATION(LAUNCH), "LAUNCH", "launch", FIELD(launch), -1, {-1, -1}},
	{OPERATION(LAUNCH_GROUP),
	 "LAUNCH_GROUP",
	 "launch_group",
	 FIELD(launch_group),
	 -1,
	 {-1, -1}},
	{OPERATION(RESERVE),
	 "RESERVE",
	 "reserve",
	 FIELD(reserve),
	 offsetof(Mesos__Offer__Operation__Reserve, n_resources),
	 {-1, -1}},
	{OPERATION(UNRESERVE),
	 "UNRESERVE",
	 "unreserve",
	 FIELD(unreserve),
	 offsetof(Mesos__Offer__Operation__Unreserve, n_resources),
	 {-1, -1}},
	{OPERATION(CREATE),
	 "CREATE",
	 "create",
	 FIELD(create),
	 offsetof(Mesos__Offer__Operation__Create, n_volumes),
	 {-1, -1}},
	{OPERATION(DESTROY),
	 "DESTROY",
	 "destroy",
	 FIELD(destroy),
	 offsetof(Mesos__Offer__Operation__Destroy, n_volumes),
	 {-1, -1}},
	{OPERATION(GROW_VOLUME),
	 "GROW_VOLUME",
	 "grow_volume",
	 FIELD(grow_volume),
	 -1,
	 {offsetof(Mesos__Offer__Operation__GrowVolume, volume),
	  offsetof(Mesos__Offer__Operation__GrowVolume, addition)}},
	{OPERATION(SHRINK_VOLUME),
	 "SHRINK_VOLUME",
	 "shrink_volume",
	 FIELD(shrink_volume),
	 -1,
	 {offsetof(Mesos__Offer__Operation__ShrinkVolume, volume), -1}},
	{OPERATION(CREATE_DISK),
	 "CREATE_DISK",
	 "create_disk",
	 FIELD(create_disk),
	 -1,
	 {offsetof(Mesos__Offer__Operation__CreateDisk, source), -1}},
	{OPERATION(DESTROY_DISK),
	 "DESTROY_DISK",
	 "destroy_disk",
	 FIELD(destroy_disk),
	 -1,
	 {offsetof(Mesos__Offer__Operation__DestroyDisk, source), -1}},
#undef FIELD
};

static const struct shape *shape_of(const Mesos__Offer__Operation *operation)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (operation->has_type && shapes[i].type == operation->type)
			return &shapes[i];
	}
	return NULL;
}

/* A repeated field of protobuf-c: the count, right before the array. */
struct repeated_resources {
	size_t count;
	Mesos__Resource **list;
};

/* Mesos' texts are not quite alike; clients may match them. */
static int say_missing(const struct shape *shape, struct err *err)
{
	bool grow = shape->type == OPERATION(GROW_VOLUME);
	bool volume = grow || shape->type == OPERATION(SHRINK_VOLUME);

	return err_set(err, ERR_INVALID,
		       "%s %s%s operation must have the Offer.Operation.%s field set%s",
		       shape->type == OPERATION(UNRESERVE) ? "An" : "A", shape->name,
		       grow ? "" : " offer", shape->field, volume ? "" : ".");
}

static int check_structure(const Mesos__Offer__Operation *operation, const struct shape *shape,
			   struct err *err)
{
	const char *body = *(const char *const *)((const char *)operation + shape->offset);
	Mesos__TaskInfo **tasks;
	size_t count;
	int rv = 0;

	if (!body)
		return say_missing(shape, err);
	count = operation_tasks(operation, &tasks);
	if (shape->type == OPERATION(LAUNCH_GROUP))
		rv = check_list(operation->launch_group->executor->resources,
				operation->launch_group->executor->n_resources, err);
	if (!rv)
		rv = check_tasks(tasks, count, err);
	if (!rv && shape->list >= 0) {
		const struct repeated_resources *r =
			(const struct repeated_resources *)(body + shape->list);

		rv = check_list(r->list, r->count, err);
	}
	for (size_t i = 0; i < 2 && !rv && shape->one[i] >= 0; i++)
		rv = resource_validate(*(const Mesos__Resource *const *)(body + shape->one[i]),
				       err);
	if (!rv && shape->type == OPERATION(RESERVE) && operation->reserve->n_source)
		rv = err_set(err, ERR_INVALID,
			     "Reservation updates are not yet implemented for the scheduler API.");
	return rv;
}

/* ---- normalising -------------------------------------------------------- */

static void normalise_resources(struct master *m, Mesos__Resource **list, size_t count,
				const char *role)
{
	for (size_t i = 0; i < count; i++) {
		resource_upgrade(&m->out->arena, list[i]);
		if (list[i]->allocation_info && list[i]->allocation_info->role)
			continue;
		list[i]->allocation_info = STEP_NEW(m, Mesos__Resource__AllocationInfo,
						    mesos__resource__allocation_info__descriptor);
		list[i]->allocation_info->role = master_text(m, role);
	}
}

static void normalise_health_check(Mesos__HealthCheck *check)
{
	if (!check || check->has_type || !check->command == !check->http)
		return;
	check->has_type = true;
	check->type = check->command ? MESOS__HEALTH_CHECK__TYPE__COMMAND
				     : MESOS__HEALTH_CHECK__TYPE__HTTP;
}

static void normalise_task(struct master *m, struct accepting *accepting, Mesos__TaskInfo *task)
{
	normalise_resources(m, task->resources, task->n_resources, accepting->role);
	if (task->executor)
		normalise_resources(m, task->executor->resources, task->executor->n_resources,
				    accepting->role);
}

/* ---- LAUNCH ------------------------------------------------------------------------------ */

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

	message->framework = STEP_COPY(m, f->info);
	message->pid = master_text(m, f->pid ? f->pid : MASTER_EMPTY_PID);
	message->task = STEP_COPY(m, (Mesos__TaskInfo *)task);
	if (!a->reservation_refinement)
		downgrade_task(m, message->task);
	version_push(m, message, a);
	message->has_launch_executor = true;
	message->launch_executor = launch_executor;
	master_send_agent(m, a, message);
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
		resources_subtract(&accepting->remaining, &e->resources);
	}
	t = master_add_task(m, f, accepting->a, master_task_record(m, f, task));
	f->counters.operations[OPERATION(LAUNCH)]++;
	resources_subtract(&accepting->remaining, &t->resources);
	log_info("launching task %s of framework %s on agent %s", t->id, f->id, accepting->a->id);
}

static void launch(struct master *m, struct accepting *accepting,
		   const Mesos__Offer__Operation__Launch *operation)
{
	struct framework *f = accepting->f;
	struct err err = {{0}};

	for (size_t i = 0; i < operation->n_task_infos; i++) {
		Mesos__TaskInfo *task = operation->task_infos[i];

		normalise_task(m, accepting, task);
		if (task->executor && !task->executor->framework_id)
			task->executor->framework_id = master_framework_id(m, f->id);
		normalise_health_check(task->health_check);
		if (master_validate_task(m, f, accepting->a, task, &accepting->remaining, &err))
			refuse_task(m, f, task, MESOS__TASK_STATE__TASK_ERROR, REASON(TASK_INVALID),
				    err.text);
		else
			launch_task(m, accepting, task);
	}
}

/* ---- LAUNCH_GROUP -------------------------------------------------------------------------- */

/* Groups are checked as Mesos checks them (a health check must tell its type); a good one is
 * refused, too, since no executor of mesita runs several containers. */
static void refuse_group(struct master *m, struct accepting *accepting,
			 const Mesos__Offer__Operation__LaunchGroup *group)
{
	struct err err = {{0}};

	normalise_resources(m, group->executor->resources, group->executor->n_resources,
			    accepting->role);
	for (size_t i = 0; i < group->task_group->n_tasks; i++) {
		Mesos__TaskInfo *task = group->task_group->tasks[i];

		normalise_task(m, accepting, task);
		if (!task->executor)
			task->executor = STEP_COPY(m, group->executor);
	}
	if (!master_validate_group(m, accepting->f, accepting->a, group, &accepting->remaining,
				   &err))
		err_set(&err, ERR_INVALID,
			"Task groups are not supported by agent %s: its executors run one task's "
			"container each",
			accepting->a->id);
	refuse_tasks(m, accepting->f, group->task_group->tasks, group->task_group->n_tasks,
		     MESOS__TASK_STATE__TASK_ERROR, REASON(TASK_GROUP_INVALID), err.text);
}

/* ---- the operations in their order ----------------------------------------------------------- */

/* Steps 2 and 3. True if the operation goes on. */
static bool admit_operation(struct master *m, struct accepting *accepting,
			    const Mesos__Offer__Operation *operation)
{
	const struct shape *shape = shape_of(operation);
	Mesos__TaskInfo **tasks;
	size_t count = operation_tasks(operation, &tasks);
	struct err err = {{0}};
	int rv;

	if (!shape) {
		log_warning("dropped an operation of framework %s: Unknown offer operation",
			    accepting->f->id);
		return false;
	}
	rv = check_structure(operation, shape, &err);
	if (!rv && operation->id && launches(operation))
		rv = err_set(&err, ERR_INVALID, "The `id` field cannot be set on %s operations",
			     shape->name);
	if (!rv)
		return true;
	if (launches(operation)) {
		refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
			     operation->type == OPERATION(LAUNCH) ? REASON(TASK_INVALID)
								  : REASON(TASK_GROUP_INVALID),
			     err.text);
	} else {
		err_wrap(&err, ERR_INVALID, "Operation attempted with invalid resources");
		drop_operation(m, accepting->f, operation, err.text);
	}
	return false;
}

static void run_operation(struct master *m, struct accepting *accepting,
			  const Mesos__Offer__Operation *operation)
{
	if (operation->type == OPERATION(LAUNCH)) {
		launch(m, accepting, operation->launch);
	} else if (operation->type == OPERATION(LAUNCH_GROUP)) {
		refuse_group(m, accepting, operation->launch_group);
	} else {
		drop_operation(m, accepting->f, operation,
			       arena_printf(&m->out->arena,
					    "%s is not supported: resources cannot be converted",
					    shape_of(operation)->name));
	}
}

/* What is malformed is refused before anything runs. */
static void run_operations(struct master *m, struct accepting *accepting,
			   const Mesos__Scheduler__Call__Accept *accept)
{
	Mesos__Offer__Operation **admitted =
		arena_alloc(&m->out->arena, (accept->n_operations + 1) * sizeof(*admitted));
	size_t count = 0;

	for (size_t i = 0; i < accept->n_operations; i++) {
		if (admit_operation(m, accepting, accept->operations[i]))
			admitted[count++] = accept->operations[i];
	}
	for (size_t i = 0; i < count; i++)
		run_operation(m, accepting, admitted[i]);
}

static void count_launches(struct master *m, const Mesos__Scheduler__Call__Accept *accept)
{
	for (size_t i = 0; i < accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = accept->operations[i];

		if (!operation->has_type || operation->type != OPERATION(LAUNCH))
			continue;
		if (operation->launch && operation->launch->n_task_infos)
			m->counters.messages_launch_tasks++;
		else
			m->counters.messages_decline_offers++;
	}
}

/* The offers are no longer outstanding; their sum is what operations may use. */
static void take_offers(struct master *m, struct accepting *accepting,
			const Mesos__Scheduler__Call__Accept *accept)
{
	for (size_t i = 0; i < accept->n_offer_ids; i++) {
		struct offer *o = master_find_offer(m, accept->offer_ids[i]->value);

		accepting->a = o->agent;
		accepting->role = master_text(m, o->role);
		resources_add(&accepting->remaining, &o->resources);
		accepting->f->counters.offers_accepted++;
		master_take_offer(m, o);
	}
}

void master_accept(struct master *m, struct framework *f,
		   const Mesos__Scheduler__Call__Accept *accept)
{
	struct accepting accepting = {.f = f};
	struct allocator_filter filter = master_filter(accept->filters);
	struct err err = {{0}};

	count_launches(m, accept);
	if (master_validate_offers(m, f, accept->offer_ids, accept->n_offer_ids, &err)) {
		refuse_offers(m, f, accept, err.text);
		return;
	}
	take_offers(m, &accepting, accept);
	run_operations(m, &accepting, accept);
	if (!resources_empty(&accepting.remaining))
		allocator_recover(m->allocator, m->now, f->id, accepting.a->id,
				  &accepting.remaining, &filter);
	resources_free(&accepting.remaining);
}
