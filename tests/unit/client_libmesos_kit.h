/* A scheduler driver of libmesos, its callbacks in the trace, and the fake master that it has. */
#ifndef TESTS_UNIT_CLIENT_LIBMESOS_KIT_H
#define TESTS_UNIT_CLIENT_LIBMESOS_KIT_H

#include <stdatomic.h>

#include "client/libmesos/scheduler.h"
#include "client_trace.h"
#include "proto/wire/wire_write.h"

extern struct fake master;
extern struct libmesos_scheduler *driver;
extern atomic_int callbacks;   /* so many were made */
extern atomic_int fail_update; /* the callback for updates fails */
extern atomic_int stop_in_update;
extern char last_master[256];  /* "host:port", as the driver told it */
extern struct buf last_status; /* of the last update that it told */
extern const char *principal;  /* of the next driver's credential */

void kit_set_up(void);
void kit_tear_down(void); /* asserts that no two callbacks ran at the same time */

void make_with(const struct libmesos_scheduler_options *options);
void make(const char *address, const char *id, bool implicit);
void start(void); /* until it is registered */
void join(void);
void free_driver(void);
enum libmesos_status revive(void);

void say_subscribed(void);
void say_update(bool with_uuid); /* TASK_RUNNING of t1 on a1 */
/* How many calls of a type came. */
int came(Mesos__Scheduler__Call__Type type);

#endif
