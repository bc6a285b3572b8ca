#include "master/core/authorize.h"

#include <string.h>

#include "master/core/frameworks/subscribe.h"
#include "master/core/offers/accept.h"
#include "master/core/operator.h"

bool authorize(const struct master *m, enum acl_action action, const char *principal,
	       const char *object)
{
	return acls_allow(m->options.acls, action, principal, object);
}

/* ---- frameworks ------------------------------------------------------------------------ */

int authorize_roles(const struct master *m, const Mesos__FrameworkInfo *info, struct err *err)
{
	char *single = info->role ? info->role : (char *)"*";
	bool multi = framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE);
	char *const *roles = multi ? info->roles : &single;
	size_t count = multi ? info->n_roles : 1;
	struct buf text = BUF_INIT;
	bool good = true;

	if (!m->options.acls)
		return 0;
	for (size_t i = 0; i < count; i++)
		good = good && authorize(m, ACL_REGISTER_FRAMEWORK, info->principal, roles[i]);
	if (good)
		return 0;
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%s%s", i ? ", " : "{ ", roles[i]);
	err_set(err, ERR_INVALID, "Not authorized to register framework %s with roles %s }",
		info->id ? info->id->value : "", text.data);
	buf_free(&text);
	return ERR_INVALID;
}

/* The user that a task is to run as, as Mesos finds it. */
static const char *task_user(const struct framework *f, const Mesos__TaskInfo *task)
{
	const Mesos__CommandInfo *executor = task->executor ? task->executor->command : NULL;

	if (task->command && task->command->user)
		return task->command->user;
	return executor && executor->user ? executor->user : f->info->user;
}

int authorize_task(const struct master *m, const struct framework *f, const Mesos__TaskInfo *task,
		   struct err *err)
{
	const char *user = task_user(f, task);

	if (authorize(m, ACL_RUN_TASK, f->info->principal, user))
		return 0;
	return err_set(err, ERR_INVALID, "Not authorized to launch as user '%s'", user);
}

/* ---- operations on resources ------------------------------------------------------------ */

/* The last reservation; NULL: the resource is not reserved. */
static const Mesos__Resource__ReservationInfo *last_reservation(const Mesos__Resource *r)
{
	return r->n_reservations ? r->reservations[r->n_reservations - 1] : NULL;
}

static const char *reserved_role(const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *last = last_reservation(r);

	return last ? last->role : NULL;
}

static const char *reserver(const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *last = last_reservation(r);

	return last ? last->principal : NULL;
}

static const char *creator(const Mesos__Resource *r)
{
	return r->disk && r->disk->persistence ? r->disk->persistence->principal : NULL;
}

static bool allowed_each(const struct master *m, enum acl_action action, const char *principal,
			 Mesos__Resource *const *list, size_t count,
			 const char *(*object)(const Mesos__Resource *r))
{
	for (size_t i = 0; i < count; i++) {
		if (!authorize(m, action, principal, object(list[i])))
			return false;
	}
	return true;
}

static bool allowed_operation(const struct master *m, const char *principal,
			      const Mesos__Offer__Operation *o)
{
	switch (o->type) {
	case MESOS__OFFER__OPERATION__TYPE__RESERVE:
		/* What was reserved otherwise before is unreserved by it. */
		return allowed_each(m, ACL_UNRESERVE_RESOURCES, principal, o->reserve->source,
				    o->reserve->n_source, reserver) &&
		       allowed_each(m, ACL_RESERVE_RESOURCES, principal, o->reserve->resources,
				    o->reserve->n_resources, reserved_role);
	case MESOS__OFFER__OPERATION__TYPE__UNRESERVE:
		return allowed_each(m, ACL_UNRESERVE_RESOURCES, principal, o->unreserve->resources,
				    o->unreserve->n_resources, reserver);
	case MESOS__OFFER__OPERATION__TYPE__CREATE:
		return allowed_each(m, ACL_CREATE_VOLUME, principal, o->create->volumes,
				    o->create->n_volumes, reserved_role);
	case MESOS__OFFER__OPERATION__TYPE__DESTROY:
		return allowed_each(m, ACL_DESTROY_VOLUME, principal, o->destroy->volumes,
				    o->destroy->n_volumes, creator);
	case MESOS__OFFER__OPERATION__TYPE__GROW_VOLUME:
		return allowed_each(m, ACL_RESIZE_VOLUME, principal, &o->grow_volume->volume, 1,
				    reserved_role);
	case MESOS__OFFER__OPERATION__TYPE__SHRINK_VOLUME:
		return allowed_each(m, ACL_RESIZE_VOLUME, principal, &o->shrink_volume->volume, 1,
				    reserved_role);
	default:
		/* Operations on disks of resource providers, which no agent has. */
		return true;
	}
}

int authorize_operation(const struct master *m, const char *principal,
			const Mesos__Offer__Operation *operation, struct err *err)
{
	if (!m->options.acls || allowed_operation(m, principal, operation))
		return 0;
	return err_set(err, ERR_INVALID, "Not authorized to perform the operation %s",
		       operation_name(operation));
}

/* ---- operators' calls --------------------------------------------------------------------- */

static bool may_tear_down(const struct master *m, const struct operator_request *request)
{
	const char *id = request->call->teardown->framework_id->value;
	const struct framework *f = master_find_framework(m, id);

	/* Who asks for one that is not there is told so. */
	return !f || authorize(m, ACL_TEARDOWN_FRAMEWORK, request->principal, f->info->principal);
}

static bool may_drain(const struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__DrainAgent *call = request->call->drain_agent;

	return authorize(m, ACL_DRAIN_AGENT, request->principal, NULL) &&
	       (!call->has_mark_gone || !call->mark_gone ||
		authorize(m, ACL_MARK_AGENT_GONE, request->principal, NULL));
}

static bool may_update_quota(const struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__UpdateQuota *call = request->call->update_quota;

	for (size_t i = 0; i < call->n_quota_configs; i++) {
		if (!authorize(m, ACL_UPDATE_QUOTA, request->principal,
			       call->quota_configs[i]->role))
			return false;
	}
	return true;
}

static bool may_set_quota(const struct master *m, const struct operator_request *request)
{
	return authorize(m, ACL_UPDATE_QUOTA, request->principal,
			 request->call->set_quota->quota_request->role);
}

static bool may_remove_quota(const struct master *m, const struct operator_request *request)
{
	return authorize(m, ACL_UPDATE_QUOTA, request->principal,
			 request->call->remove_quota->role);
}

static bool may_update_weights(const struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__UpdateWeights *call = request->call->update_weights;

	for (size_t i = 0; i < call->n_weight_infos; i++) {
		if (!authorize(m, ACL_UPDATE_WEIGHT, request->principal,
			       call->weight_infos[i]->role))
			return false;
	}
	return true;
}

/* Its resources are looked at as an operation. */
static bool looked_at_later(const struct master *m, const struct operator_request *request)
{
	return true;
}

#define TYPE(name) MESOS__MASTER__CALL__TYPE__##name

static const struct {
	Mesos__Master__Call__Type type;
	enum acl_action action; /* without an object, where there is no function */
	bool (*allows)(const struct master *m, const struct operator_request *request);
} changes[] = {
	{TYPE(TEARDOWN), ACL_TEARDOWN_FRAMEWORK, may_tear_down},
	{TYPE(MARK_AGENT_GONE), ACL_MARK_AGENT_GONE, NULL},
	{TYPE(UPDATE_QUOTA), ACL_UPDATE_QUOTA, may_update_quota},
	{TYPE(SET_QUOTA), ACL_UPDATE_QUOTA, may_set_quota},
	{TYPE(REMOVE_QUOTA), ACL_UPDATE_QUOTA, may_remove_quota},
	{TYPE(UPDATE_WEIGHTS), ACL_UPDATE_WEIGHT, may_update_weights},
	{TYPE(RESERVE_RESOURCES), ACL_RESERVE_RESOURCES, looked_at_later},
	{TYPE(UNRESERVE_RESOURCES), ACL_UNRESERVE_RESOURCES, looked_at_later},
	{TYPE(CREATE_VOLUMES), ACL_CREATE_VOLUME, looked_at_later},
	{TYPE(DESTROY_VOLUMES), ACL_DESTROY_VOLUME, looked_at_later},
	{TYPE(GROW_VOLUME), ACL_RESIZE_VOLUME, looked_at_later},
	{TYPE(SHRINK_VOLUME), ACL_RESIZE_VOLUME, looked_at_later},
	{TYPE(UPDATE_MAINTENANCE_SCHEDULE), ACL_UPDATE_MAINTENANCE_SCHEDULE, NULL},
	{TYPE(START_MAINTENANCE), ACL_START_MAINTENANCE, NULL},
	{TYPE(STOP_MAINTENANCE), ACL_STOP_MAINTENANCE, NULL},
	{TYPE(DRAIN_AGENT), ACL_DRAIN_AGENT, may_drain},
	{TYPE(DEACTIVATE_AGENT), ACL_DEACTIVATE_AGENT, NULL},
	{TYPE(REACTIVATE_AGENT), ACL_REACTIVATE_AGENT, NULL},
};

bool authorize_request(const struct master *m, const struct operator_request *request)
{
	if (!m->options.acls)
		return true;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		if (changes[i].type != request->call->type)
			continue;
		return changes[i].allows
			       ? changes[i].allows(m, request)
			       : authorize(m, changes[i].action, request->principal, NULL);
	}
	/* A call without a row is nobody's to make. */
	return false;
}
