/* How many descriptors this process may have open.
 *
 * Each agent or driver takes a master two of them, each executor takes an agent about three. The
 * usual soft limit of 1,024 is for programs that use select(); a daemon raises its own to the
 * hard one, and gives the old one back to the programs that it starts. */
#ifndef BASE_OPEN_FILES_H
#define BASE_OPEN_FILES_H

#include <stddef.h>
#include <sys/resource.h>

/* Raises the limit as far as is allowed, and the hard one, too, if it is small and that is
 * permitted. *before is what it was. Warns if it stays small, and says what to do. */
void open_files_raise(struct rlimit *before);
/* Connections from outside that fit: half of the limit, for most are answered by one of ours, less
 * a reserve for files, pipes and threads. At least 16. */
size_t open_files_connections(void);

#endif
