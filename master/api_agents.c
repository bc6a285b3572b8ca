/* GET_AGENTS of the operator API. */
#include "master/api_operator.h"

/* A list of resources as endpoints show them. */
static void put_resources(struct arena *arena, const struct resources *r, size_t *count,
			  Mesos__Resource ***out)
{
	resources_to_messages(arena, r, count, out);
	for (size_t i = 0; i < *count; i++)
		resource_endpoint_format(arena, (*out)[i]);
}

/* NULL for 0, which is unset. */
static Mesos__TimeInfo *time_message(struct arena *arena, int64_t time)
{
	Mesos__TimeInfo *message;

	if (!time)
		return NULL;
	message = PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	message->nanoseconds = time;
	return message;
}

static Mesos__Master__Response__GetAgents__Agent *agent_message(const struct agent *a,
								struct arena *arena)
{
	Mesos__Master__Response__GetAgents__Agent *agent =
		PROTO_NEW(arena, Mesos__Master__Response__GetAgents__Agent,
			  mesos__master__response__get_agents__agent__descriptor);

	agent->agent_info = a->info;
	agent->active = a->active;
	agent->has_deactivated = true;
	agent->deactivated = a->deactivated;
	agent->version = a->version;
	agent->pid = a->pid;
	agent->registered_time = time_message(arena, a->registered_time);
	agent->reregistered_time = time_message(arena, a->reregistered_time);
	put_resources(arena, &a->total, &agent->n_total_resources, &agent->total_resources);
	put_resources(arena, &a->used, &agent->n_allocated_resources, &agent->allocated_resources);
	put_resources(arena, &a->offered, &agent->n_offered_resources, &agent->offered_resources);
	agent->n_capabilities = a->capability_count;
	agent->capabilities = a->capabilities;
	agent->drain_info = a->drain_info;
	/* Whole seconds, as in Mesos. */
	if (a->drain_info)
		agent->estimated_drain_start_time =
			time_message(arena, a->drain_start / SECOND * SECOND);
	return agent;
}

static Mesos__Master__Response__GetAgents *collect(const struct master *m, struct arena *arena)
{
	Mesos__Master__Response__GetAgents *get =
		PROTO_NEW(arena, Mesos__Master__Response__GetAgents,
			  mesos__master__response__get_agents__descriptor);

	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (a->state == AGENT_REGISTERED)
			proto_push(arena, get->n_agents, get->agents, agent_message(a, arena));
		else
			proto_push(arena, get->n_recovered_agents, get->recovered_agents, a->info);
	}
	return get;
}

/* Both lists are there though they be empty, and so is what only v0 knows of an agent. */
static void respond_json(const struct operator_call *c,
			 const Mesos__Master__Response__GetAgents *get)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &body);
	jw_begin_object(&w);
	jw_kv_string(&w, "type", "GET_AGENTS");
	jw_key(&w, "get_agents");
	jw_begin_object(&w);
	jw_key(&w, "agents");
	jw_begin_array(&w);
	for (size_t i = 0; i < get->n_agents; i++)
		proto_write_json(get->agents[i], SPELL_V1_ALL, &w);
	jw_end_array(&w);
	jw_key(&w, "recovered_agents");
	jw_begin_array(&w);
	for (size_t i = 0; i < get->n_recovered_agents; i++)
		proto_write_json(get->recovered_agents[i], SPELL_V1_ALL, &w);
	jw_end_array(&w);
	jw_end_object(&w);
	jw_end_object(&w);
	http_reply(c->request, 200, http_media_name(c->media), body.data, body.len, NULL);
	buf_free(&body);
}

void api_get_agents(const struct operator_call *c)
{
	Mesos__Master__Response *response;
	Mesos__Master__Response__GetAgents *get = collect(c->shell->core, &c->request->arena);

	if (c->media == HTTP_MEDIA_JSON) {
		respond_json(c, get);
		return;
	}
	response = api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_AGENTS);
	response->get_agents = get;
	api_respond(c, response);
}
