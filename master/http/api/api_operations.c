/* The calls of the operator API about operations: GET_OPERATIONS, what agents were told to do
 * with their resources and is not over, and those that have them do something. */
#include "master/http/api/api_operator.h"

#define TYPE(name) MESOS__MASTER__CALL__TYPE__##name

static void collect_operations(const struct view *v, struct arena *arena,
			       Mesos__Master__Response *response)
{
	Mesos__Master__Response__GetOperations *get =
		PROTO_NEW(arena, Mesos__Master__Response__GetOperations,
			  mesos__master__response__get_operations__descriptor);

	const struct operation *o = NULL;
	const struct agent *a = NULL;

	while ((a = view_next_agent(v, a))) {
		while ((o = view_next_operation(v, a, o)))
			proto_push(arena, get->n_operations, get->operations, o->info);
	}
	response->get_operations = get;
}

void api_get_operations(const struct operator_call *c)
{
	static const struct api_read operations = {
		.type = MESOS__MASTER__RESPONSE__TYPE__GET_OPERATIONS, collect_operations};
	const struct master *m = c->shell->steps.core;

	api_respond_read(c, &operations, m->operation_count + HASH_COUNT(m->agents));
}

static int need_agent(const Mesos__AgentID *id, struct err *err)
{
	if (id)
		return 0;
	return err_set(err, ERR_INVALID,
		       "Expecting 'agent_id' to be present; only agent default resources are "
		       "supported right now");
}

/* What is wrong with the call itself, whatever agent it is for. */
static int api_operations_validate(const Mesos__Master__Call *call, struct err *err)
{
	switch (call->type) {
	case TYPE(RESERVE_RESOURCES):
		return resources_validate(call->reserve_resources->resources,
					  call->reserve_resources->n_resources, err);
	case TYPE(UNRESERVE_RESOURCES):
		return resources_validate(call->unreserve_resources->resources,
					  call->unreserve_resources->n_resources, err);
	case TYPE(GROW_VOLUME):
		return need_agent(call->grow_volume->agent_id, err);
	case TYPE(SHRINK_VOLUME):
		return need_agent(call->shrink_volume->agent_id, err);
	default:
		return 0;
	}
}

void api_change_resources(const struct operator_call *c)
{
	struct err err = {{0}};

	if (api_operations_validate(c->call, &err))
		http_reply_text(c->request, 400,
				arena_printf(&c->request->arena,
					     "Failed to validate master::Call: %s", err.text));
	else
		shell_change(c->shell, c->request, c->call);
}
