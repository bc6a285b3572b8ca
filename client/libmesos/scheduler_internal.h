/* The scheduler driver's parts: scheduler.c (the contract), scheduler_tell.c (the callback thread),
 * scheduler_link.c (the master, on the loop's thread), scheduler_calls.c (calls, from any thread
 * to the loop's). */
#ifndef CLIENT_LIBMESOS_SCHEDULER_INTERNAL_H
#define CLIENT_LIBMESOS_SCHEDULER_INTERNAL_H

#include "client/libmesos/driver_internal.h"
#include "client/libmesos/local.h"
#include "client/libmesos/scheduler.h"
#include "client/scheduler.h"

/* What the callback thread is told, beside events by their types. */
enum { KIND_DISCONNECTED = 1000, KIND_REREGISTERED, KIND_LOCAL_UPDATE };

struct libmesos_scheduler {
	struct driver driver;
	struct libmesos_scheduler_handlers handlers;
	void *context;
	char *master;		     /* as given */
	char *address;		     /* "host:port" or "local"; since start */
	pthread_mutex_t start_mutex; /* of setting it */
	Mesos__FrameworkInfo *info;  /* heap; the id is set once known */
	char **suppressed_roles;
	size_t suppressed_role_count;
	bool implicit;
	char *principal, *secret;
	bool tear_down; /* at the end */
	/* On the loop's thread: */
	struct scheduler_driver *session;
	struct local_cluster *local;
	uv_timer_t *last_wait; /* of a subscription that is only to say TEARDOWN */
	bool was_registered;
	bool unwanted; /* the master ended it, maybe because another one took the framework over */
};

static inline struct libmesos_scheduler *scheduler_of(struct driver *driver)
{
	return container_of(driver, struct libmesos_scheduler, driver);
}

/* The driver's methods. */
int scheduler_tell(struct driver *driver, struct callback *callback);
void scheduler_tell_error(struct driver *driver, const char *why);
void scheduler_begin(struct driver *driver);
void scheduler_end(struct driver *driver);

/* On the loop's thread: has something told. */
void scheduler_push(struct libmesos_scheduler *scheduler, int kind, struct slice bytes);
/* On the loop's thread, for driver_again(): subscribes once more to say TEARDOWN. */
void scheduler_tear_down(struct loop_task *task);
/* A copy with what libmesos fills in: who runs this, and where. Heap. */
Mesos__FrameworkInfo *scheduler_complete_info(const Mesos__FrameworkInfo *info);

#endif
