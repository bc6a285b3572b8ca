/* Makes directories of persistent volumes and their links in sandboxes, in the order in which
 * that was asked for, in a lane of the pool for slow work. */
#ifndef AGENT_VOLUMES_VOLUME_WORKER_H
#define AGENT_VOLUMES_VOLUME_WORKER_H

#include "agent/containers/slow.h"
#include "agent/core/agent.h"

struct volume_worker;

/* `report` gets AGENT_VOLUMES_MADE and AGENT_VOLUMES_LINKED, never inside of what asks. */
struct volume_worker *
volume_worker_create(struct slow_pool *pool,
		     void (*report)(void *context, const struct agent_event *event), void *context);
/* Those of AGENT_MAKE_VOLUMES or AGENT_LINK_VOLUMES. */
void volume_worker_add(struct volume_worker *worker, const struct agent_action *action);
/* What is under way is finished, the rest is not done; frees itself from the loop. */
void volume_worker_close(struct volume_worker *worker);

#endif
