/* Machines and their maintenance windows. */
#ifndef MASTER_CORE_MAINTENANCE_MAINTENANCE_H
#define MASTER_CORE_MAINTENANCE_MAINTENANCE_H

#include "master/core/objects.h"

struct operator_request;

/* Compares equal for the same machine; heap. NULL parts are absent. */
char *machine_key(const char *hostname, const char *ip);
struct machine *master_find_machine(const struct master *m, const Mesos__MachineID *id);
/* Finds the machine of an agent by its pid and hostname. */
struct machine *master_machine_at(const struct master *m, const char *pid, const char *hostname);
bool machine_down(const struct machine *machine);
/* Shuts down an agent of a machine that is DOWN. Returns false if the machine is not. */
bool master_refuse_down(struct master *m, const char *pid, const Mesos__AgentInfo *info);
/* Shuts down and removes an agent whose machine went DOWN. */
void master_expel_agent(struct master *m, struct agent *a);
/* Gives a new agent the window of its machine, which its offers carry. */
void master_place_agent(struct master *m, struct agent *a);
/* Replaces the schedule and the machines. The caller sees to what follows for agents. */
void master_set_machines(struct master *m, const Mesita__StoredMaintenance *stored);
void machines_free(struct machine **table);
void master_update_schedule(struct master *m, const struct operator_request *request);
void master_start_maintenance(struct master *m, const struct operator_request *request);
void master_stop_maintenance(struct master *m, const struct operator_request *request);

#endif
