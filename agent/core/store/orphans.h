/* Containers of an identity that was given up, or that was being given up when the agent was
 * killed: nobody is told of what was in them, but they are destroyed, and known until they are. */
#ifndef AGENT_CORE_STORE_ORPHANS_H
#define AGENT_CORE_STORE_ORPHANS_H

#include "agent/core/objects.h"

/* The stored pair `orphan/<container>`; ERR_INVALID if it cannot be read. */
int agent_load_orphan(struct agent *agent, const char *container, const char *text,
		      struct err *err);
/* The executor is about to be forgotten: its container stays known. */
void agent_leave_orphan(struct agent *agent, const struct executor *executor);
/* Destroys them all; after a reboot they are gone already. */
void agent_destroy_orphans(struct agent *agent, bool rebooted);
/* A container ended that is no executor's. */
void agent_orphan_exited(struct agent *agent, const char *container);
void agent_free_orphans(struct agent *agent);

#endif
