/* What was recovered, freed. */
#ifndef MASTER_CORE_STORE_RECOVER_H
#define MASTER_CORE_STORE_RECOVER_H

#include "master/core/objects.h"

void recover_free(struct master *m);

#endif
