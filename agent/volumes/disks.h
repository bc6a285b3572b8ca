/* Disks of their own in --resources (DiskInfo.source). Blocks; used at start-up only. */
#ifndef AGENT_VOLUMES_DISKS_H
#define AGENT_VOLUMES_DISKS_H

#include "proto/resources.h"

/* Makes the roots of PATH disks; those of MOUNT disks must be mounted. Relative roots are
 * below `work_dir`. Errors in Mesos' words. */
int disks_prepare(const struct resources *resources, const char *work_dir, struct err *err);

#endif
