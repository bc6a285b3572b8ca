/* What is written behind. */
#ifndef MASTER_CORE_STORE_WARM_H
#define MASTER_CORE_STORE_WARM_H

#include "master/core/journal.h"

void warm_note(struct master *m, const struct change *change); /* of the journal */
/* Deletes the record of the key kind '/' a ['/' b ['/' c]]. */
void warm_delete(struct master *m, const char *kind, const char *a, const char *b, const char *c);
/* Writes what changed since the last time: everything, or what must not wait longer. */
void warm_flush(struct master *m, bool all);
/* Writes now if something cannot wait, or starts the timer. */
void warm_end_step(struct master *m);
/* Sees to it that everything that changed so far is synced; returns the ticket of LINE_WARM with
 * which that is done. */
uint64_t warm_secure(struct master *m);

#endif
