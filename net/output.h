/* Output side of a connection: bytes gathered during a loop turn, then written
 * at once; what the kernel does not take goes on in the background.
 *
 * The owner calls output_flush() once a turn. Failures: a write error is the
 * return value of output_flush() or the status given to `written`. */
#ifndef NET_OUTPUT_H
#define NET_OUTPUT_H

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"

struct output {
	uv_stream_t *stream;
	struct buf queued;  /* not handed to libuv yet */
	struct buf writing; /* in the hands of libuv while `active` */
	uv_write_t request;
	bool active;
	/* A background write ended; further bytes may be queued. Not called while
	 * the handle is closing. */
	void (*written)(struct output *output, int status);
};

void output_init(struct output *output, uv_stream_t *stream,
		 void (*written)(struct output *output, int status));
/* Only after the handle was closed. */
void output_free(struct output *output);
/* Writes what is queued unless a write is under way. 0 or a libuv error. */
int output_flush(struct output *output);
/* Bytes not yet taken by the kernel. */
size_t output_waiting(const struct output *output);
/* Nothing queued, nothing under way. */
bool output_idle(const struct output *output);

#endif
