/* Rules for tasks, executors and what they share. Texts are Mesos' own. */
#ifndef MASTER_CORE_TASKS_TASK_VALIDATE_H
#define MASTER_CORE_TASKS_TASK_VALIDATE_H

#include "master/core/objects.h"

int master_validate_id(const char *id, struct err *err);
/* A task launched by itself. `available` is what is left of the offers. */
int master_validate_task(struct master *m, const struct framework *f, const struct agent *a,
			 const Mesos__TaskInfo *task, const struct resources *available,
			 struct err *err);
/* The rules that single tasks and tasks of groups share. */
int master_validate_task_alone(struct master *m, const struct framework *f, const struct agent *a,
			       const Mesos__TaskInfo *task, struct err *err);
int master_validate_group(struct master *m, const struct framework *f, const struct agent *a,
			  const Mesos__Offer__Operation__LaunchGroup *group,
			  const struct resources *available, struct err *err);
int master_validate_check(const Mesos__CheckInfo *check, struct err *err);
int master_validate_health_check(const Mesos__HealthCheck *check, struct err *err);
/* The ExecutorInfo by itself. */
int master_validate_executor_alone(const Mesos__ExecutorInfo *executor, struct err *err);
/* It, and whether it fits what runs on the agent. */
int master_validate_executor(struct master *m, const struct framework *f, const struct agent *a,
			     const Mesos__ExecutorInfo *executor, struct err *err);
bool master_executor_share_cgroups(const Mesos__ContainerInfo *container);
int master_validate_command(const Mesos__CommandInfo *command, struct err *err);
int master_validate_container(const Mesos__ContainerInfo *container, struct err *err);
/* The common part of all resource rules. */
int master_validate_resources(Mesos__Resource *const *list, size_t count, struct err *err);
int master_validate_persistence(const struct resources *r, struct err *err);
int master_validate_single_role(const struct resources *r, struct err *err);
int master_validate_revocable(const struct resources *r, struct err *err);
/* Ranges or sets of a in b. */
bool master_resources_overlap(const struct resources *a, const struct resources *b);
/* The resources of a message (validated, new format). */
void master_resources(struct master *m, Mesos__Resource *const *list, size_t count,
		      struct resources *out);
/* Whether two infos are the same executor. */
bool master_same_executor(struct master *m, const Mesos__ExecutorInfo *a,
			  const Mesos__ExecutorInfo *b);

#endif
