/* The one way to read: what a principal may see of the master, by its access control lists.
 *
 * Everything that shows objects to clients (REST, the operator API, metrics) goes through a view,
 * so a filter cannot be forgotten: none of it walks the master's own tables.
 */
#ifndef MASTER_CORE_VIEW_H
#define MASTER_CORE_VIEW_H

#include "auth/acls.h"
#include "master/core/master.h"
#include "proto/resources.h"
#include "proto/task_record.h"

/* What they are, those know who include master/core/objects.h. */
struct agent;
struct executor;
struct framework;
struct inverse_offer;
struct offer;
struct operation;
struct quota;

struct view {
	const struct master *m;
	const char *principal;	 /* NULL: nobody was asked who they are */
	const struct acls *acls; /* NULL: all may see all */
};

/* -- what there is: the first after `after` (NULL: of all) that may be seen, or NULL -- */

const struct framework *view_next_framework(const struct view *v, const struct framework *after);
const struct framework *view_next_completed(const struct view *v, const struct framework *after);
/* Registered ones and recovered ones. Agents hide from nobody; what they have may. */
const struct agent *view_next_agent(const struct view *v, const struct agent *after);
const struct executor *view_next_executor(const struct view *v, const struct framework *f,
					  const struct executor *after);
/* Who sees a framework sees its offers. */
const struct offer *view_next_offer(const struct view *v, const struct framework *f,
				    const struct offer *after);
const struct inverse_offer *view_next_inverse(const struct view *v, const struct framework *f,
					      const struct inverse_offer *after);
/* Of the roles that have a quota. */
const struct quota *view_next_quota(const struct view *v, const struct quota *after);
/* Operations on what is reserved for roles that may be seen. */
const struct operation *view_next_operation(const struct view *v, const struct agent *a,
					    const struct operation *after);

/* Live or completed, NULL if there is none that may be seen. */
const struct framework *view_find_framework(const struct view *v, const char *id);
bool view_sees_role(const struct view *v, const char *role);
bool view_sees_task(const struct view *v, const struct framework *f,
		    const struct task_record *record);
/* Whether the sandbox of that executor may be read; of a command task it is named after the task.
 */
bool view_opens_sandbox(const struct view *v, const char *framework_id, const char *executor_id);
/* Of resources, those that are reserved for roles, and allocated to roles, that may be seen: `all`
 * itself, or `scratch`, which is initialised and the caller's to free. */
const struct resources *view_resources(const struct view *v, const struct resources *all,
				       struct resources *scratch);
/* Whether an action without an object is allowed: ACL_VIEW_FLAGS and the like. */
bool view_allows(const struct view *v, enum acl_action action, const char *object);

/* -- what operators set; in the arena, or the master's own -- */

Mesos__Quota__QuotaStatus *view_quota_status(const struct view *v, struct arena *arena);
size_t view_weight_infos(const struct view *v, struct arena *arena, Mesos__WeightInfo ***list);
Mesos__Maintenance__Schedule *view_maintenance_schedule(const struct view *v, struct arena *arena);
Mesos__Maintenance__ClusterStatus *view_maintenance_status(const struct view *v,
							   struct arena *arena);

/* -- tasks, which are many: gone through -- */

enum view_tasks { VIEW_TASKS = 1, VIEW_UNREACHABLE_TASKS = 2, VIEW_COMPLETED_TASKS = 4 };
#define VIEW_ALL_TASKS (VIEW_TASKS | VIEW_UNREACHABLE_TASKS | VIEW_COMPLETED_TASKS)

/* Those of the lists (bits of enum view_tasks), one list after the other. `id` NULL: all. */
void view_each_task(const struct view *v, const struct framework *f, unsigned lists, const char *id,
		    void (*each)(void *context, const struct task_record *record), void *context);

/* -- how much there is to look at, whoever looks -- */

size_t view_count_framework_tasks(const struct framework *f);
size_t view_count_tasks(const struct view *v);
/* Quotas, weights, and machines of the schedule: what operators have set. */
size_t view_count_settings(const struct view *v);

#endif
