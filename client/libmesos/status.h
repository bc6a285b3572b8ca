/* What libmesos' drivers and ours have in common: the four statuses, and how memory that runs
 * out ends a driver but not the process it lives in. */
#ifndef CLIENT_LIBMESOS_STATUS_H
#define CLIENT_LIBMESOS_STATUS_H

#include <setjmp.h>

/* Numbers of mesos.Status. */
enum libmesos_status {
	DRIVER_NOT_STARTED = 1,
	DRIVER_RUNNING = 2,
	DRIVER_ABORTED = 3,
	DRIVER_STOPPED = 4,
};

/* Runs `work` so that it may run out of memory: false means that it did, and that what it was
 * about is lost. Guards nest; each thread has its own. Without one the process aborts.
 * `work` must hold no lock while it asks for memory. */
int libmesos_guard(void (*work)(void *context), void *context);
/* Called by whoever loads the library, once. */
void libmesos_init(void);
/* Waits, a second at most, for drivers that are being stopped to say so to their masters: for
 * the end of the process. Any thread. */
void libmesos_wait_for_stops(void);

#endif
