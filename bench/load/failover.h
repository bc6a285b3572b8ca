/* A master that dies while tasks run, and a new one at the same address or at that of a standby.
 *
 * The run says "ready for failover" and waits. Once a connection breaks, it asks the addresses
 * until a master answers that has its registry. It says "a master answers", and the agents come
 * back with their tasks and the schedulers subscribe with their ids. When all have, each scheduler
 * asks for all of its tasks: the new master has to know each, once. */
#ifndef BENCH_LOAD_FAILOVER_H
#define BENCH_LOAD_FAILOVER_H

#include "bench/load/load.h"

struct failover *failover_create(struct load *load);
void failover_close(struct failover *failover); /* frees itself from the loop */

/* A line on standard error. */
void failover_announce(void);
/* A connection broke: the master is dead. */
void failover_begin(struct failover *failover, int64_t now);
/* Each tick: asks whether a master is there. */
void failover_look(struct failover *failover, int64_t now);
/* Whether one has answered. */
bool failover_found(const struct failover *failover);
/* Lets agents and schedulers come back, and those again that were turned away. */
void failover_return(struct failover *failover, int64_t now);
/* Whether all are back; then the figures are taken. */
bool failover_complete(struct failover *failover, int64_t now);
/* Whether the books agree with what the new master told. */
void failover_check(struct load *load);

#endif
