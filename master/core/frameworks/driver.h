/* Scheduler drivers of v0: what they say and what they are told. */
#ifndef MASTER_CORE_FRAMEWORKS_DRIVER_H
#define MASTER_CORE_FRAMEWORKS_DRIVER_H

#include "master/core/objects.h"

/* Whether the message is one that drivers send; it is handled then. */
bool master_driver_message(struct master *m, const struct master_event *event);
/* The link to the pid, of a driver or not, broke. */
void master_driver_exited(struct master *m, const char *pid);
/* Any event to a connected driver, in the words of v0. */
void driver_tell(struct master *m, struct framework *f, const Mesos__Scheduler__Event *event);
/* An agent's update. */
void driver_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			Mesos__TaskState latest);
/* FrameworkRegisteredMessage, or FrameworkReregisteredMessage. */
void driver_tell_registered(struct master *m, struct framework *f, bool again);
/* FrameworkErrorMessage, at which a driver aborts. To whoever is at the pid, reached at
 * `local` (NULL: as advertised). */
void driver_tell_error(struct master *m, const char *pid, const char *local, const char *text);

#endif
