/* Finds the master that --master names: host:port, master@host:port, or a file that
 * holds one of them (read anew at each look). */
#ifndef AGENT_DETECTOR_H
#define AGENT_DETECTOR_H

#include <uv.h>

#include "base/err.h"

struct detector;

/* `detected` is called with the master's pid "master@<numeric ip>:<port>", at once from
 * inside of detector_look() or later from the loop. */
struct detector *detector_create(uv_loop_t *loop, const char *source,
				 void (*detected)(void *context, const char *pid), void *context);
void detector_close(struct detector *detector); /* frees itself from the loop */

/* Reads and parses, without looking names up: tells an operator's mistake early. */
int detector_check(const struct detector *detector, struct err *err);
/* Looks for the master; retries by itself until it was found. */
void detector_look(struct detector *detector);

#endif
