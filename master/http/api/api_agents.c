/* Agents as the operator API shows them. */
#include "master/core/show.h"
#include "master/http/api/api_objects.h"

Mesos__Master__Response__GetAgents *api_collect_agents(const struct view *v, struct arena *arena)
{
	Mesos__Master__Response__GetAgents *get =
		PROTO_NEW(arena, Mesos__Master__Response__GetAgents,
			  mesos__master__response__get_agents__descriptor);

	const struct agent *a = NULL;

	while ((a = view_next_agent(v, a))) {
		if (agent_registered(a))
			proto_push(arena, get->n_agents, get->agents,
				   master_show_agent(v, a, arena));
		else
			proto_push(arena, get->n_recovered_agents, get->recovered_agents, a->info);
	}
	return get;
}
