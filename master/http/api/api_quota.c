/* Calls of the operator API that read roles, their quota and weights. */
#include <string.h>

#include "master/core/roles/quota.h"
#include "master/core/roles/roles_view.h"
#include "master/http/api/api_operator.h"

static void collect_quota(const struct view *v, struct arena *arena,
			  Mesos__Master__Response *response)
{
	response->get_quota = PROTO_NEW(arena, Mesos__Master__Response__GetQuota,
					mesos__master__response__get_quota__descriptor);
	response->get_quota->status = view_quota_status(v, arena);
}

void api_get_quota(const struct operator_call *c)
{
	static const struct api_read quota = {.type = MESOS__MASTER__RESPONSE__TYPE__GET_QUOTA,
					      collect_quota};
	struct view view = shell_view(c->shell, c->request);

	api_respond_read(c, &quota, view_count_settings(&view));
}

static void collect_weights(const struct view *v, struct arena *arena,
			    Mesos__Master__Response *response)
{
	Mesos__Master__Response__GetWeights *get =
		PROTO_NEW(arena, Mesos__Master__Response__GetWeights,
			  mesos__master__response__get_weights__descriptor);

	get->n_weight_infos = view_weight_infos(v, arena, &get->weight_infos);
	/* Without weights Mesos leaves out the whole answer, not the list alone. */
	if (get->n_weight_infos)
		response->get_weights = get;
}

void api_get_weights(const struct operator_call *c)
{
	static const struct api_read weights = {.type = MESOS__MASTER__RESPONSE__TYPE__GET_WEIGHTS,
						collect_weights};
	struct view view = shell_view(c->shell, c->request);

	api_respond_read(c, &weights, view_count_settings(&view));
}

static void add_resource(struct arena *arena, Mesos__Role *role, const char *name, double milli)
{
	Mesos__Resource *resource = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

	resource->name = (char *)name;
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = milli / 1000;
	proto_push(arena, role->n_resources, role->resources, resource);
}

static Mesos__Role *role_message(const struct master *m, const struct role_view *view,
				 struct arena *arena)
{
	static const char *const names[] = {"cpus", "disk", "gpus", "mem"};
	Mesos__Role *role = PROTO_NEW(arena, Mesos__Role, mesos__role__descriptor);

	role->name = (char *)view->name;
	role->weight = master_role_weight(m, view->name);
	for (size_t i = 0; i < view->framework_count; i++) {
		Mesos__FrameworkID *id =
			PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);

		id->value = (char *)view->frameworks[i];
		proto_push(arena, role->n_frameworks, role->frameworks, id);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		double milli = amounts_get(view->allocated, names[i]) +
			       amounts_get(view->offered, names[i]);

		if (milli > 0)
			add_resource(arena, role, names[i], milli);
	}
	return role;
}

static void collect_roles(const struct view *v, struct arena *arena,
			  Mesos__Master__Response *response)
{
	struct roles_view roles;

	response->get_roles = PROTO_NEW(arena, Mesos__Master__Response__GetRoles,
					mesos__master__response__get_roles__descriptor);
	roles_view_make(&roles, v->m, arena);
	for (struct role_view *role = roles.roles; role; role = role->hh.next)
		if (view_sees_role(v, role->name))
			proto_push(arena, response->get_roles->n_roles, response->get_roles->roles,
				   role_message(v->m, role, arena));
	roles_view_free(&roles);
}

void api_get_roles(const struct operator_call *c)
{
	static const struct api_read roles = {.type = MESOS__MASTER__RESPONSE__TYPE__GET_ROLES,
					      collect_roles};
	const struct master *m = c->shell->steps.core;

	api_respond_read(c, &roles, HASH_COUNT(m->agents) + HASH_COUNT(m->frameworks));
}
