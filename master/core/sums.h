/* Sums over all agents, frameworks and tasks, for metrics and the like: kept as the journal tells
 * what changed, so that a look at them costs what changed since the last one. */
#ifndef MASTER_CORE_SUMS_H
#define MASTER_CORE_SUMS_H

#include "master/core/journal.h"

/* Names of the resources that are summed: SUMS_NAMES of them. */
extern const char *const sums_names[SUMS_NAMES];

void sums_init(struct master *m);
void sums_note(struct master *m, const struct change *change);
/* The sums as of now; valid until something changes. */
const struct master_sums *sums_now(struct master *m);
/* Whether they are what a look at everything gives. */
bool sums_check(const struct master *m, struct err *why);

#endif
