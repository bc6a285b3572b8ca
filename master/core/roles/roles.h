/* What operators say of roles: quota and weights. */
#ifndef MASTER_CORE_ROLES_ROLES_H
#define MASTER_CORE_ROLES_ROLES_H

#include "master/core/objects.h"

struct operator_request;

#define MASTER_ROLES_CHANGED_MAX 20000 /* by one call: a tenth of a second */
/* Whether --roles allows it. */
bool master_role_allowed(const struct master *m, const char *role);
void master_update_quota(struct master *m, const struct operator_request *request);
void master_set_quota(struct master *m, const struct operator_request *request);
void master_remove_quota(struct master *m, const struct operator_request *request);
/* Takes over a configuration, and tells the allocator. */
void master_adopt_quota(struct master *m, const Mesos__Quota__QuotaConfig *config);
void master_free_quotas(struct master *m);
void master_update_weights(struct master *m, const struct operator_request *request);
struct weight *master_adopt_weight(struct master *m, const Mesos__WeightInfo *info);
void master_free_weights(struct master *m);
/* "role=weight,..." of --weights; in the arena. */
int master_parse_weights(struct arena *arena, const char *text, size_t *count,
			 Mesos__WeightInfo ***list, struct err *err);
int master_check_weights(const struct master *m, struct err *err);
struct registry_batch;
/* Takes over and stores the weights of the flag if the store has none. */
void master_start_weights(struct master *m, struct registry_batch *batch);

#endif
