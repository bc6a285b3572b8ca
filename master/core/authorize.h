/* What somebody may do to the master's objects, by the access control lists of its options; without
 * any, everybody may do everything. What they may see: view.h. */
#ifndef MASTER_CORE_AUTHORIZE_H
#define MASTER_CORE_AUTHORIZE_H

#include "auth/acls.h"
#include "master/core/objects.h"

struct operator_request;

/* `principal` NULL: nobody was asked who they are; `object` as in auth/acls.h. */
bool authorize(const struct master *m, enum acl_action action, const char *principal,
	       const char *object);
/* Whether the framework may have its roles; `err` says what clients are told. */
int authorize_roles(const struct master *m, const Mesos__FrameworkInfo *info, struct err *err);
/* The framework may run the task as the user it names; likewise. */
int authorize_task(const struct master *m, const struct framework *f, const Mesos__TaskInfo *task,
		   struct err *err);
/* The operation on resources, normalised; likewise. */
int authorize_operation(const struct master *m, const char *principal,
			const Mesos__Offer__Operation *operation, struct err *err);
/* The operator's call, but for its operation on resources: that is looked at when it is known which
 * it is. */
bool authorize_request(const struct master *m, const struct operator_request *request);

#endif
