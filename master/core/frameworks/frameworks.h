/* Framework records: making, changing, connecting and removing them. */
#ifndef MASTER_CORE_FRAMEWORKS_FRAMEWORKS_H
#define MASTER_CORE_FRAMEWORKS_FRAMEWORKS_H

#include "master/core/objects.h"

/* Makes a framework of a copy of `info`, whose id is set. It is in no table. */
struct framework *master_make_framework(const Mesos__FrameworkInfo *info);
/* Makes a framework likewise and adds it to the tables and the allocator. It is RECOVERED and
 * inactive. */
struct framework *master_add_framework(struct master *m, const Mesos__FrameworkInfo *info);
/* Replaces the info but for what may not change and tells the allocator.
 * Offers of dropped roles are rescinded. */
void master_update_framework(struct master *m, struct framework *f,
			     const Mesos__FrameworkInfo *info, char *const *suppressed,
			     size_t suppressed_count,
			     const Mesos__Scheduler__OfferConstraints *constraints);
void master_activate_framework(struct master *m, struct framework *f, bool active);
/* Takes back its offers and inverse offers. The framework is not told. */
void master_discard_offers(struct master *m, struct framework *f);
/* Ends its tasks and its stream, and moves it to the completed ones. */
void master_remove_framework(struct master *m, struct framework *f);
/* Its stream or link broke: it waits for the failover timeout. */
void master_disconnect_framework(struct master *m, struct framework *f);
void master_framework_failover_expired(struct master *m, struct framework *f);
/* Forgets its stream or link: nobody speaks for it any more. */
void master_detach_framework(struct master *m, struct framework *f);
void master_free_framework(struct framework *f);
/* Fills in what follows from f->info: roles and capabilities. */
void framework_derive(struct framework *f);
void framework_set_suppressed(struct framework *f, char *const *roles, size_t count);
/* Takes over constraints that master_validate_suppressed() accepted, or none (NULL). */
void framework_set_constraints(struct framework *f,
			       const Mesos__Scheduler__OfferConstraints *constraints);
/* What it uses and is offered, copied into the two, which are uninitialised. If ranges or sets
 * were among it this counts anew: work in proportion to its tasks. */
void framework_held(const struct framework *f, struct resources *used, struct resources *offered);
/* The same from its tasks, executors and offers alone, added to the two. */
void framework_count_held(const struct framework *f, struct resources *used,
			  struct resources *offered);
/* Adds to f->used or f->offered. */
void framework_add_held(struct framework *f, struct resources *sum, const struct resources *more);
bool framework_has_role(const struct framework *f, const char *role);
/* Puts the framework among the completed ones, evicting the oldest. */
void master_keep_completed(struct master *m, struct framework *f);
void master_tell_allocator(struct master *m, struct framework *f);

#endif
