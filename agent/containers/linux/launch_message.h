/* How a container's launch is handed to the process that becomes its first: one message in a file
 * in memory, open as LAUNCH_FD when the program begins. */
#ifndef AGENT_CONTAINERS_LINUX_LAUNCH_MESSAGE_H
#define AGENT_CONTAINERS_LINUX_LAUNCH_MESSAGE_H

#include "base/err.h"
#include "proto/proto.h"

#define LAUNCH_FD 3

/* The file, to be closed by the caller. ERR_IO. */
int launch_message_pack(const Mesita__ContainerLaunch *launch, struct err *err);
/* Reads the message and closes LAUNCH_FD. Free with proto_free(). NULL: there is none. */
Mesita__ContainerLaunch *launch_message_read(struct err *err);

#endif
