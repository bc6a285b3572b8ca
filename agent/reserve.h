/* Room on the disk for an agent that has to clean it: tasks may fill what the agent's database is
 * on, and an agent that cannot open that cannot remove their sandboxes. */
#ifndef AGENT_RESERVE_H
#define AGENT_RESERVE_H

#include <stdint.h>

#define RESERVE_BYTES (8 * 1024 * 1024) /* opening rewrites the database's log, some MiB */

/* Bytes that we may write on the disk of the directory; INT64_MAX if that is not known. */
int64_t reserve_available(const char *directory);
/* Before the database is opened: frees the reserve if less than it is available. */
void reserve_release(const char *directory, int64_t available);
/* When the agent runs: takes the room, unless it is taken or would be a tenth of what there is. */
void reserve_keep(const char *directory, int64_t available);

#endif
