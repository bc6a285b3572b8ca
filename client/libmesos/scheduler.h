/* A scheduler driver with the contract of libmesos' MesosSchedulerDriver, over the v1 HTTP API.
 *
 * Threads: every function may be called from any thread, callbacks included, and none but
 * join() and free() waits. Callbacks come one at a time, in order, on a thread of the driver's
 * own; after stop or abort only `error` may follow. Messages go in and out as protobuf bytes
 * (v0 and v1 are the same there).
 *
 * Statuses: start() makes RUNNING of NOT_STARTED; stop() and abort() make STOPPED and ABORTED of
 * it; calls do something while RUNNING only. All return the status after the call, stop() of an
 * aborted driver ABORTED. Calls made while no master is connected are dropped, as libmesos does,
 * and tasks launched meanwhile are answered by a TASK_LOST of the driver's own. Unlike libmesos
 * the driver looks again for a master at a fixed address (client/scheduler.h tells how).
 *
 * Failures: a master string that says nothing, a refused subscription, an ERROR event and memory
 * that runs out abort the driver, and are then told by `error`. */
#ifndef CLIENT_LIBMESOS_SCHEDULER_H
#define CLIENT_LIBMESOS_SCHEDULER_H

#include <stdbool.h>

#include "base/memory/buf.h"
#include "client/libmesos/status.h"
#include "proto/proto.h"

struct libmesos_scheduler;

/* Slices are valid inside the call. Each returns 0, or a negative number if the program's code
 * failed: the driver aborts then. */
struct libmesos_scheduler_handlers {
	int (*registered)(void *context, struct slice framework_id, struct slice master_info);
	int (*reregistered)(void *context, struct slice master_info);
	int (*disconnected)(void *context);
	/* The message Event.Offers: its field 1 repeats the offers. */
	int (*offers)(void *context, struct slice offers);
	int (*rescinded)(void *context, struct slice offer_id);
	int (*update)(void *context, struct slice status);
	int (*message)(void *context, struct slice executor_id, struct slice agent_id,
		       struct slice data);
	int (*agent_lost)(void *context, struct slice agent_id);
	int (*executor_lost)(void *context, struct slice executor_id, struct slice agent_id,
			     int status);
	void (*error)(void *context, const char *why);
	/* Around the life of the callback thread; may be NULL. */
	void (*thread_begins)(void *context);
	void (*thread_ends)(void *context);
};

struct libmesos_scheduler_options {
	const char *master;
	const Mesos__FrameworkInfo *info; /* an empty user or host name is filled in */
	char *const *suppressed_roles;
	size_t suppressed_role_count;
	bool implicit_acknowledgements; /* after `update` returned */
	const char *principal;		/* of the credential; NULL: none */
	const char *secret;
};

/* The options are copied. NULL when there is no memory. */
struct libmesos_scheduler *
libmesos_scheduler_new(const struct libmesos_scheduler_options *options,
		       const struct libmesos_scheduler_handlers *handlers, void *context);
/* Aborts if it runs; returns when no callback runs and none will. Not in a callback. */
void libmesos_scheduler_free(struct libmesos_scheduler *driver);

enum libmesos_status libmesos_scheduler_start(struct libmesos_scheduler *driver);
/* With `failover` the framework stays with its tasks; without, it is torn down. */
enum libmesos_status libmesos_scheduler_stop(struct libmesos_scheduler *driver, bool failover);
enum libmesos_status libmesos_scheduler_abort(struct libmesos_scheduler *driver);
/* Waits until the driver was stopped or aborted, the running callback has returned and the
 * master was told. In a callback it waits for the first only. */
enum libmesos_status libmesos_scheduler_join(struct libmesos_scheduler *driver);
enum libmesos_status libmesos_scheduler_status(struct libmesos_scheduler *driver);

/* Any call but SUBSCRIBE, TEARDOWN and UPDATE_FRAMEWORK; `call` are the bytes of a Call without
 * type and framework_id, which the driver takes. */
enum libmesos_status libmesos_scheduler_call(struct libmesos_scheduler *driver,
					     Mesos__Scheduler__Call__Type type, struct buf *call);
/* UPDATE_FRAMEWORK; what it says is also said by later subscriptions. An id, user or host name
 * that is missing is filled in. */
enum libmesos_status
libmesos_scheduler_update_framework(struct libmesos_scheduler *driver,
				    const Mesos__Scheduler__Call__UpdateFramework *update);
/* Acknowledges a TaskStatus; nothing if it has no uuid. For drivers without implicit
 * acknowledgements. */
enum libmesos_status libmesos_scheduler_acknowledge(struct libmesos_scheduler *driver,
						    struct slice status);
bool libmesos_scheduler_acknowledges(const struct libmesos_scheduler *driver);

#endif
