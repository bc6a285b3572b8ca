/* Agent records and their (re)registration. */
#ifndef MASTER_CORE_AGENTS_AGENTS_H
#define MASTER_CORE_AGENTS_AGENTS_H

#include "master/core/objects.h"

void master_register_agent(struct master *m, const char *from,
			   const Mesos__Internal__RegisterSlaveMessage *message);
void master_reregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__ReregisterSlaveMessage *message);
int master_validate_reregistration(struct master *m, const char *from,
				   const Mesos__Internal__ReregisterSlaveMessage *message,
				   struct err *err);
void master_update_agent(struct master *m, struct agent *a,
			 const Mesos__Internal__UpdateSlaveMessage *message);
int master_validate_agent_info(Mesos__AgentInfo *info, struct err *err);
int master_validate_agent_version(const struct master *m, const Mesos__AgentInfo *info,
				  const char *version, struct err *err);
/* Makes an agent and adds it to the tables. It is RECOVERED and has no pid. `info` has an id. */
struct agent *master_add_agent(struct master *m, const Mesos__AgentInfo *info);
void master_free_agent(struct master *m, struct agent *a);
/* What a (re)registration says of an agent. */
struct agent_facts {
	const char *pid;
	const char *version;
	Mesos__AgentInfo__Capability *const *capabilities;
	size_t capability_count;
	Mesos__Resource *const *checkpointed;
	size_t checkpointed_count;
	const uint8_t *resource_version;
	size_t resource_version_len;
};
void master_learn_agent(struct master *m, struct agent *a, const Mesos__AgentInfo *info,
			const struct agent_facts *facts);
/* Tells the allocator the agent's total, region and capabilities, whether it knows the agent or
 * not. */
void master_tell_allocator_agent(struct master *m, struct agent *a);
/* Makes a RECOVERED or new agent REGISTERED: adds it to the index by pid and to the allocator,
 * links to it, and begins to ping. */
void master_admit_agent(struct master *m, struct agent *a);
/* Whether the agent's total has all of this, which is without allocation roles; but for copies of
 * shared volumes, and what is oversubscribed and may be gone any time. */
bool master_agent_holds(const struct agent *a, const struct resources *plain);
/* Tells the allocator what tasks and executors hold on the agent. */
void master_restore_allocations(struct master *m, struct agent *a);
Mesos__Internal__MasterSlaveConnection *master_connection(struct master *m);
void master_add_departed(struct departed **table, const char *id, int64_t time);
void master_remove_departed(struct departed **table, const char *id);
void master_remember_removed(struct master *m, const char *id);

#endif
