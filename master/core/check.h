/* The invariants of objects.h. */
#ifndef MASTER_CORE_CHECK_H
#define MASTER_CORE_CHECK_H

#include "master/core/objects.h"

/* Whether the invariants of objects.h hold; `why` says which does not. */
bool master_check(const struct master *m, struct err *why);

#endif
