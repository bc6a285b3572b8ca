/* What the files of rooms share. Nobody else includes this.
 *
 *	room.c		namespaces, the root, the sandbox
 *	room_volumes.c	volumes of a ContainerInfo
 *	room_command.c	what is run in it */
#ifndef AGENT_CONTAINERS_LINUX_ROOM_INTERNAL_H
#define AGENT_CONTAINERS_LINUX_ROOM_INTERNAL_H

#include "agent/containers/linux/room.h"

Mesita__ContainerLaunch__Mount *room_add_mount(Mesita__ContainerLaunch *out, struct arena *arena,
					       const char *target);
int room_add_volumes(const struct room_options *options, struct arena *arena,
		     const struct agent_launch *launch, Mesita__ContainerLaunch *out,
		     struct err *err);

#endif
