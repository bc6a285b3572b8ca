/* Parts of a libprocess pid, "name@ip:port". */
#ifndef MASTER_CORE_AGENTS_PID_H
#define MASTER_CORE_AGENTS_PID_H

#include "master/core/objects.h"

/* The pid's "ip" part; "" if it has none. */
void pid_ip(const char *pid, char *out, size_t size);
/* The pid's port, 0 if it has none. */
int pid_port(const char *pid);
/* A pid with a name, a numeric ip and a port. */
bool pid_valid(const char *pid);

#endif
