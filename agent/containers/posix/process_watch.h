/* Tells when a process ends, whether it is our child or not.
 *
 * By a pidfd, which cannot mistake another process for it; kernels without one are
 * asked every PROCESS_POLL_MS. */
#ifndef AGENT_CONTAINERS_POSIX_PROCESS_WATCH_H
#define AGENT_CONTAINERS_POSIX_PROCESS_WATCH_H

#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#define PROCESS_POLL_MS 100

struct process_watch;

/* `ended` is called once from the loop; the watch is gone then. NULL: there is no such
 * process with that start time (0 = any) any more. A child must not have been reaped,
 * and must not be before `ended`. */
struct process_watch *process_watch_start(uv_loop_t *loop, pid_t pid, uint64_t start_ticks,
					  void (*ended)(void *context), void *context);
/* Forgets it, without the call. */
void process_watch_stop(struct process_watch *watch);

#endif
