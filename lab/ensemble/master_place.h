/* A master's place among several: its candidacy, the registry in ZooKeeper, and who follows it, by
 * production code. What master/leadership.c and master/shell_store.c do between them, which serve
 * the real ones, is here once more. Belongs to one life of a process. */
#ifndef LAB_ENSEMBLE_MASTER_PLACE_H
#define LAB_ENSEMBLE_MASTER_PLACE_H

#include "lab/ensemble/ensemble.h"
#include "lab/seams/seams.h"

struct master_place;

struct place_handlers {
	/* It leads, and this is in the stores; on a thread for the registry's. */
	int (*pair)(void *context, struct slice key, struct slice value);
	/* That was all: it begins to act. */
	void (*leads)(void *context);
	/* A line got further. */
	void (*stored)(void *context, int line, uint64_t durable);
	/* The process must end; a supervisor starts it again. */
	void (*over)(void *context, const char *why);
};

struct master_place *place_begin(struct ensemble *ensemble, struct sim_loop *loop, struct rng *rng,
				 const Mesos__MasterInfo *info,
				 const struct place_handlers *handlers, void *context);
void place_end(struct master_place *place);
bool place_leads(const struct master_place *place);
uint64_t place_store(struct master_place *place, int line, enum store_class class,
		     const struct store_op *ops, size_t count);
/* What of calls is not for the core. False: it is. */
bool place_receive(struct master_place *place, struct conn *conn, const struct letter *letter);

#endif
