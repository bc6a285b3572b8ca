/* Quota of roles: what quota.c, quota_validate.c and those that show it share. */
#ifndef MASTER_CORE_ROLES_QUOTA_H
#define MASTER_CORE_ROLES_QUOTA_H

#include "master/core/objects.h"
#include "master/core/roles/amounts.h"
#include "master/core/roles/roles_view.h"

#define QUOTA_NAMES_MAX 256 /* of one role's resources */

/* Names point into the config. A guarantee of nothing is none; a limit of nothing is one. */
struct amount *quota_guarantees(const Mesos__Quota__QuotaConfig *config, struct arena *arena);
struct amount *quota_limits(const Mesos__Quota__QuotaConfig *config, struct arena *arena);

/* What is wrong with the configuration itself, as the end of an answer. */
int quota_check_config(const Mesos__Quota__QuotaConfig *config, struct arena *arena,
		       struct err *err);
/* Texts are whole answers. */
int quota_validate_config(struct master *m, const Mesos__Quota__QuotaConfig *config,
			  struct err *err);
/* Brings the guarantee to the new format. */
int quota_validate_request(struct master *m, Mesos__Quota__QuotaRequest *request, struct err *err);

/* What operators see: of all roles with quota, in the arena. */
Mesos__Quota__QuotaStatus *master_quota_status(const struct master *m, struct arena *arena);

/* The guarantees as the old API tells them. */
Mesos__Quota__QuotaInfo *quota_old_info(const Mesos__Quota__QuotaConfig *config,
					struct arena *arena);

/* First the role's own offers, until it keeps its limits; then others', until its guarantees
 * could be met from them. What is rescinded leaves the view, too. */
void quota_rescind(struct master *m, struct roles_view *view,
		   const Mesos__Quota__QuotaConfig *config);
/* As the old calls have it: whole agents, until their offers held what the role is guaranteed
 * and there is an agent for each of its frameworks. */
void quota_rescind_agents(struct master *m, const Mesos__Quota__QuotaConfig *config);

#endif
