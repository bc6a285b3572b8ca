/* Scheduler driver over the v1 scheduler API: what `mesita run` is built on.
 *
 * Subscribes, keeps the subscription (reconnects with its framework id, follows
 * redirects to the leader), and sends calls. All on one libuv loop; callbacks run
 * from it.
 *
 * Failure modes: a lost connection, a call without an answer, or a master that is
 * silent (for five heartbeats, or for SUBSCRIBE_TIMEOUT_MS or CALL_TIMEOUT_MS when asked) is
 * followed by a new subscription, tried for ever with growing pauses up to five seconds
 * (`disconnected` is told once, `unreachable` for each try that failed); a refused subscription or
 * an ERROR event ends the driver (`failed`). What was in flight when a connection broke may or may
 * not have arrived: the owner reconciles when SUBSCRIBED comes again.
 */
#ifndef CLIENT_SCHEDULER_H
#define CLIENT_SCHEDULER_H

#include <uv.h>

#include "base/err.h"
#include "proto/proto.h"

struct scheduler_driver;

struct scheduler_options {
	const char *master; /* "host:port", or "zk://host:port/path" of several */
	const Mesos__FrameworkInfo *info;
	/* The rest may be left out. */
	char *const *suppressed_roles;
	size_t suppressed_role_count;
	const char *principal; /* said with `secret` by HTTP Basic, if not NULL */
	const char *secret;
};

struct scheduler_handlers {
	/* Any event but HEARTBEAT and ERROR. Valid inside the call. */
	void (*event)(void *context, const Mesos__Scheduler__Event *event);
	void (*disconnected)(void *context, const char *why);
	/* The driver does nothing more; close it. */
	void (*failed)(void *context, const char *why);
	/* A call was refused with an HTTP error. */
	void (*refused)(void *context, Mesos__Scheduler__Call__Type type, int status,
			const char *why);
	/* A try to subscribe failed, another will follow. May be NULL. */
	void (*unreachable)(void *context, const char *why);
	/* If not NULL, it is told of events in place of `event`, by their bytes. */
	void (*record)(void *context, Mesos__Scheduler__Event__Type type, struct slice bytes);
};

/* The options are copied. */
int scheduler_driver_create(uv_loop_t *loop, const struct scheduler_options *options,
			    const struct scheduler_handlers *handlers, void *context,
			    struct scheduler_driver **out, struct err *err);
/* No more callbacks, may be called inside one; frees itself from the loop. Does not tear the
 * framework down. */
void scheduler_driver_close(struct scheduler_driver *driver);

/* What the next subscription says of the framework; its id stays. */
void scheduler_driver_change(struct scheduler_driver *driver, const Mesos__FrameworkInfo *info,
			     char *const *suppressed_roles, size_t count,
			     const Mesos__Scheduler__OfferConstraints *constraints);

/* Where it is subscribed, or tries to be; `host` is heap, "" while no master is known. */
void scheduler_driver_master(const struct scheduler_driver *driver, char **host, int *port);
/* Whether calls can be made now. */
bool scheduler_driver_subscribed(const struct scheduler_driver *driver);
/* The framework's id, "" before the first SUBSCRIBED. */
const char *scheduler_driver_id(const struct scheduler_driver *driver);
/* Sends a call; its framework_id is filled in. Dropped while not subscribed. */
void scheduler_driver_call(struct scheduler_driver *driver, Mesos__Scheduler__Call *call);
/* The same for a call that is packed already, without its framework_id. */
void scheduler_driver_send(struct scheduler_driver *driver, Mesos__Scheduler__Call__Type type,
			   const void *bytes, size_t len);
/* Acknowledges an update that needs it (uuid and agent_id are there). */
void scheduler_driver_acknowledge(struct scheduler_driver *driver, const Mesos__TaskStatus *status);
/* TEARDOWN; `done` is called once, from the loop, when the master answered or cannot be
 * reached. The driver does nothing more then. */
void scheduler_driver_teardown(struct scheduler_driver *driver, void (*done)(void *context));
/* The same without TEARDOWN: when the calls that were made are answered. */
void scheduler_driver_finish(struct scheduler_driver *driver, void (*done)(void *context));

#endif
