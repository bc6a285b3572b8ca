/* Calls of one scheduler: a connection on which requests follow one another without waiting
 * for answers, as the C++ client of Mesos sends them, or wait for them, as most others do. Written
 * at the end of a loop turn. */
#ifndef BENCH_LOAD_CALLS_H
#define BENCH_LOAD_CALLS_H

#include <uv.h>

#include "base/memory/buf.h"
#include "proto/proto.h"

struct calls;
struct tls;

struct calls_handlers {
	/* `sent` is when the call was handed in, or when it was sent if it had to wait. */
	void (*answered)(void *context, Mesos__Scheduler__Call__Type type, int status,
			 struct slice why, int64_t sent);
	/* Calls under way have no answer; close it. */
	void (*broken)(void *context, const char *why);
};

/* `tls` NULL: plain. `head`: the header lines that all calls have, each with its line end.
 * `waiting`: each is sent when the one before has been answered. */
struct calls *calls_create(uv_loop_t *loop, struct tls *tls, const char *host, int port,
			   const char *head, bool waiting, const struct calls_handlers *handlers,
			   void *context);
void calls_send(struct calls *calls, Mesos__Scheduler__Call__Type type, const void *body,
		size_t len, int64_t now);
void calls_close(struct calls *calls); /* no more callbacks, frees itself from the loop */

#endif
