/* Formats of resources in messages: the core works on the newer format (reservations),
 * masters are told in the older one where that can say it, as Mesos' agents do. */
#include "agent/core/objects.h"

#include "agent/core/resources/total.h"

void agent_resources_downgrade(struct agent *agent, size_t count, Mesos__Resource **resources)
{
	for (size_t i = 0; i < count; i++)
		resource_downgrade(&agent->out->arena, resources[i]);
}

void agent_resources_upgrade(struct agent *agent, size_t count, Mesos__Resource **resources)
{
	for (size_t i = 0; i < count; i++)
		resource_upgrade(&agent->out->arena, resources[i]);
}
