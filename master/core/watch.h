/* What those hear who watch the master by SUBSCRIBE of the operator API: an event for each change
 * that matters to them, made of the journal. Nothing is made while nobody watches.
 *
 * Who watches, the shell knows; it also leaves out what somebody may not see (struct
 * master_action.tell_watchers says by what). */
#ifndef MASTER_CORE_WATCH_H
#define MASTER_CORE_WATCH_H

#include "master/core/journal.h"

/* Consumer of the journal. */
void watch_note(struct master *m, const struct change *change);

#endif
