/* Calls of schedulers, SUBSCRIBE the first of them. */
#ifndef MASTER_CORE_FRAMEWORKS_SUBSCRIBE_H
#define MASTER_CORE_FRAMEWORKS_SUBSCRIBE_H

#include "master/core/objects.h"

int master_validate_call(const Mesos__Scheduler__Call *call, const char *principal,
			 struct err *err);
/* Carries out a valid call other than SUBSCRIBE. Whoever sent it speaks for the framework. */
void master_carry_out_call(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call *call);
void master_subscribe(struct master *m, const struct master_event *event);
/* A subscription that is being made, by HTTP or by a driver. */
struct subscription {
	const Mesos__Scheduler__Call__Subscribe *call;
	Mesos__FrameworkInfo *info; /* the step's own; without an id if that is empty */
	struct framework *f;	    /* of that id; NULL: none yet */
};
/* `principal` is who asks, or NULL; `pid` where the driver is, NULL for HTTP. */
int master_check_subscription(struct master *m, const Mesos__Scheduler__Call__Subscribe *call,
			      const char *principal, const char *pid, struct subscription *out,
			      struct err *err);
/* The framework of the subscription, new or with what it says now; nobody speaks for it
 * yet, or somebody else does. Offers that are out stay. */
struct framework *master_admit_framework(struct master *m, struct subscription *s);
/* Tells whoever speaks for the framework that another one takes over. */
void master_supplant(struct master *m, struct framework *f);
/* Connects the framework, whose new stream or pid is set already. */
void master_connect_framework(struct master *m, struct framework *f);
/* The first checks the info by itself, the second in the present state of the master. */
int framework_info_validate(const Mesos__FrameworkInfo *info, struct err *err);
int master_validate_framework_info(const struct master *m, const Mesos__FrameworkInfo *info,
				   struct err *err);
bool framework_info_has(const Mesos__FrameworkInfo *info,
			Mesos__FrameworkInfo__Capability__Type capability);
int master_validate_suppressed(const Mesos__FrameworkInfo *info, char *const *suppressed,
			       size_t count, const Mesos__Scheduler__OfferConstraints *constraints,
			       struct err *err);
/* Makes an UpdateFrameworkMessage. */
void *master_update_framework_message(struct master *m, const struct framework *f);
void master_kill(struct master *m, struct framework *f, const char *task_id, const char *agent_id,
		 const Mesos__KillPolicy *policy);

#endif
