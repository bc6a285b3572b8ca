/* Executor driver over the v1 executor API: what `mesita executor` is built on.
 *
 * Subscribes at the agent that the environment names, sends updates and keeps them
 * until the agent acknowledged them, and comes back after a lost connection with
 * what is unacknowledged. Without checkpointing a lost agent means SHUTDOWN at once;
 * with it, after MESOS_RECOVERY_TIMEOUT. An agent that never takes the subscription
 * means SHUTDOWN after a minute (or the recovery timeout if that is longer).
 */
#ifndef CLIENT_EXECUTOR_H
#define CLIENT_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/err.h"
#include "base/random.h"
#include "proto/proto.h"

struct executor_driver;

struct executor_handlers {
	/* SUBSCRIBED, LAUNCH, LAUNCH_GROUP, KILL, MESSAGE, SHUTDOWN (from the agent or
	 * because it is lost), and ACKNOWLEDGED. Valid inside the call. */
	void (*event)(void *context, const Mesos__Executor__Event *event);
	/* The agent refused us for good; the driver does nothing more. */
	void (*failed)(void *context, const char *why);
	/* The connection broke and the driver waits for the agent: SUBSCRIBED or SHUTDOWN
	 * follows. May be NULL. */
	void (*disconnected)(void *context);
};

/* Reads MESOS_AGENT_ENDPOINT (or MESOS_SLAVE_PID), MESOS_FRAMEWORK_ID, MESOS_EXECUTOR_ID,
 * MESOS_CHECKPOINT, MESOS_RECOVERY_TIMEOUT, MESOS_SUBSCRIPTION_BACKOFF_MAX and
 * MESOS_EXECUTOR_AUTHENTICATION_TOKEN. ERR_INVALID names what is missing. */
int executor_driver_create(uv_loop_t *loop, struct rng *rng,
			   const struct executor_handlers *handlers, void *context,
			   struct executor_driver **out, struct err *err);
/* Whether driver_create() would find what it needs. */
int executor_environment_check(struct err *err);
/* No more callbacks, may be called inside one; frees itself from the loop. */
void executor_driver_close(struct executor_driver *driver);

/* Fills in uuid, timestamp, source and executor_id; sends; remembers. */
void executor_driver_update(struct executor_driver *driver, const Mesos__TaskStatus *status);
void executor_driver_message(struct executor_driver *driver, const void *data, size_t len);
/* Whether there is a subscription now, so that acknowledgements can come. */
bool executor_driver_connected(const struct executor_driver *driver);
/* Whether calls are on their way to the agent that it has not answered. */
bool executor_driver_waiting(const struct executor_driver *driver);
/* Updates that the agent has not acknowledged. */
size_t executor_driver_unacknowledged(const struct executor_driver *driver);

#endif
