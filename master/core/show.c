#include "master/core/show.h"

#include "master/core/objects.h"

void show_resources(struct arena *arena, const struct resources *r, size_t *count,
		    Mesos__Resource ***out)
{
	resources_to_messages(arena, r, count, out);
	for (size_t i = 0; i < *count; i++)
		resource_endpoint_format(arena, (*out)[i]);
}

Mesos__TimeInfo *show_time(struct arena *arena, int64_t time)
{
	Mesos__TimeInfo *message;

	if (!time)
		return NULL;
	message = PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	message->nanoseconds = time;
	return message;
}

static void put_seen(const struct view *v, struct arena *arena, const struct resources *all,
		     size_t *count, Mesos__Resource ***out)
{
	struct resources seen = RESOURCES_INIT;

	show_resources(arena, view_resources(v, all, &seen), count, out);
	resources_free(&seen);
}

Mesos__Master__Response__GetAgents__Agent *
master_show_agent(const struct view *v, const struct agent *a, struct arena *arena)
{
	Mesos__Master__Response__GetAgents__Agent *agent =
		PROTO_NEW(arena, Mesos__Master__Response__GetAgents__Agent,
			  mesos__master__response__get_agents__agent__descriptor);

	agent->agent_info = a->info;
	agent->active = agent_active(a);
	agent->has_deactivated = true;
	agent->deactivated = a->deactivated;
	agent->version = a->version;
	agent->pid = a->pid;
	agent->registered_time = show_time(arena, a->registered_time);
	agent->reregistered_time = show_time(arena, a->reregistered_time);
	put_seen(v, arena, &a->total, &agent->n_total_resources, &agent->total_resources);
	put_seen(v, arena, &a->used, &agent->n_allocated_resources, &agent->allocated_resources);
	put_seen(v, arena, &a->offered, &agent->n_offered_resources, &agent->offered_resources);
	agent->n_capabilities = a->capability_count;
	agent->capabilities = a->capabilities;
	agent->drain_info = a->drain_info;
	/* Whole seconds, as in Mesos. */
	if (a->drain_info)
		agent->estimated_drain_start_time =
			show_time(arena, a->drain_start / SECOND * SECOND);
	return agent;
}
