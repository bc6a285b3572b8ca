/* The life of a framework in the master: the states it goes through. */
#ifndef MASTER_CORE_FRAMEWORKS_FRAMEWORK_LIFE_H
#define MASTER_CORE_FRAMEWORKS_FRAMEWORK_LIFE_H

#include "master/core/objects.h"

const char *framework_life_name(enum framework_state state);
bool framework_may_become(enum framework_state from, enum framework_state to);
void framework_life_move(struct master *m, struct framework *f, enum framework_state to);

#endif
