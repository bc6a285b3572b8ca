/* The two stores behind the lines of the master's core. */
#ifndef MASTER_STORE_LINES_H
#define MASTER_STORE_LINES_H

#include "master/core/master.h"
#include "store/store.h"

/* Opens the store of each line. Masters of before kept both lines in the registry's: what belongs
 * to LINE_WARM moves there first. On failure nothing stays open. */
int store_lines_open(const struct store_options options[STORE_LINES],
		     struct store *out[STORE_LINES], struct err *err);

#endif
