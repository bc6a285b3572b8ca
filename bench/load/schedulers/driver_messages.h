/* Messages between the master and a v0 driver, and the calls and events that say the same. */
#ifndef BENCH_LOAD_DRIVER_MESSAGES_H
#define BENCH_LOAD_DRIVER_MESSAGES_H

#include "proto/proto.h"

/* SUBSCRIBE, whose fields have other numbers than in v1. */
void driver_message_subscribe(const Mesos__Scheduler__Call *call, struct buf *out);

enum driver_message {
	DRIVER_EVENT,	/* `out` is what it says */
	DRIVER_IGNORED, /* nothing that a driver would do something about */
	DRIVER_BAD,	/* malformed, or the end of libmesos */
};
/* What the event points at is in the arena, or static. */
enum driver_message driver_message_parse(const char *name, struct slice body, struct arena *arena,
					 Mesos__Scheduler__Event *out, struct err *err);

#endif
