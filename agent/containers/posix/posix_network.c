/* Containers that join networks wait for that after all else that their room needs. */
#include <string.h>

#include "agent/containers/network/network.h"
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"

bool posix_network_needed(const struct posix_container *container)
{
	return container->owner->options.networks && !container->networked &&
	       !strchr(container->id, '.') && network_wanted(container->start->launch.info);
}

static void joined(void *context, const char *failure, const Mesos__ContainerStatus *status)
{
	struct posix_container *container = context;
	struct containers *containers = container->owner->containers;

	container->network = NULL;
	if (failure) {
		containers_failed(containers, container->id, AGENT_STAGE_LAUNCH, failure);
		return;
	}
	containers_networked(containers, container->id, status);
	posix_prepare_on(container);
}

void posix_network_await(struct posix_container *container)
{
	container->networked = true;
	container->network = networks_join(container->owner->options.networks, container->id,
					   container->start->launch.info, joined, container);
}

bool posix_network_give_up(struct posix_container *container)
{
	if (!container->network)
		return false;
	network_want_cancel(container->network);
	container->network = NULL;
	return true;
}

void posix_network_drop(struct posix_container *container)
{
	if (container->networked)
		networks_leave(container->owner->options.networks, container->id);
}
