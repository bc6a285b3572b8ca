/* What the allocator remembers over a restart, and the pause before the first offers. */
#ifndef MASTER_CORE_STORE_OFFER_MEMORY_H
#define MASTER_CORE_STORE_OFFER_MEMORY_H

#include "master/core/objects.h"

struct registry_batch;

/* Adds what changed in the allocator's memory to the batch. */
void warm_allocator(struct master *m, struct registry_batch *batch);
/* Give a stored part back to the allocator, or delete it if it is of no use any more. `framework`
 * is NULL for a part of the role. */
void recover_given(struct master *m, const char *framework, const char *role,
		   const Mesita__StoredNumber *s);
void recover_arrival(struct master *m, const char *agent, const Mesita__StoredNumber *s);
void recover_filter(struct master *m, const char *number, const Mesita__StoredFilter *s);
/* After a restart the master offers nothing until the awaited frameworks are back, or time is
 * up. */
void master_await_framework(struct master *m, struct framework *f, bool awaited);
void master_settle_start(struct master *m);
void master_settle_check(struct master *m);
void master_settle_end(struct master *m);
/* Keeps back all offers until enough agents are back, for quota was recovered. */
void master_hold_offers(struct master *m);

#endif
