/* Status updates, acknowledgements and reconciliation. */
#ifndef MASTER_CORE_TASKS_UPDATES_H
#define MASTER_CORE_TASKS_UPDATES_H

#include "master/core/objects.h"

void master_status_update(struct master *m, const char *from,
			  const Mesos__Internal__StatusUpdateMessage *message);
void master_acknowledge(struct master *m, struct framework *f,
			const Mesos__Scheduler__Call__Acknowledge *acknowledge);
/* Makes the acknowledgements that were held since the last store action wait for this ticket. */
void master_time_acknowledgements(struct master *m, uint64_t ticket);
/* Whether acknowledgements are held that wait for no ticket yet. */
bool master_untimed_acknowledgements(const struct master *m);
void master_send_acknowledgements(struct master *m, uint64_t stored);
/* Sends a held acknowledgement at once: the task's id is used again, and the agent must know
 * before. */
void master_hurry_acknowledgement(struct master *m, const char *framework_id, const char *task_id);
void master_free_acknowledgements(struct master *m);
void master_reconcile(struct master *m, struct framework *f,
		      const Mesos__Scheduler__Call__Reconcile *reconcile);
void master_reconcile_task(struct master *m, struct framework *f, const char *task_id,
			   const char *agent_id);
/* Health and addresses as last heard of the task, in its last status, or NULL. */
void master_copy_last_known(struct master *m, const Mesos__TaskStatus *last,
			    Mesos__TaskStatus *status);
void master_reconcile_operations(struct master *m, struct framework *f,
				 const Mesos__Scheduler__Call__ReconcileOperations *reconcile);

#endif
