/* Several masters of one cluster, and the ZooKeeper that they share. */
#ifndef LAB_ENSEMBLE_ENSEMBLE_H
#define LAB_ENSEMBLE_ENSEMBLE_H

#include "lab/ensemble/epochs.h"
#include "lab/keeper/keeper.h"
#include "master/core/master.h"

#define ENSEMBLE_URL "zk://keeper:2181/mesos"
#define ENSEMBLE_REGISTRY "/mesos.mesita/registry"

struct ensemble {
	struct world *world;
	struct keeper *keeper;
	struct epochs lines[STORE_LINES];
	uint64_t lives; /* of masters */
	/* The note of the registry that was asked for last, heap, and whether it is durable. */
	char *note;
	bool noted;
	/* Leaders that went on with a copy of what the one before knew, and those that did not; and
	 * those whose copy of the registry was good. */
	uint64_t kept, forgotten, cached;
};

#endif
