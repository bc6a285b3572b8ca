/* A fake master or agent in the loop of the driver under test: keeps what was called,
 * answers as told, and sends events on the streams it opened. */
#ifndef TESTS_UNIT_CLIENT_HARNESS_H
#define TESTS_UNIT_CLIENT_HARNESS_H

#include <criterion/criterion.h>
#include <uv.h>

#include "net/http_parts.h"
#include "proto/proto.h"

#define CALLS_MAX 64
#define GUARD_MS 20000 /* a condition that has not come true by then never will */

struct fake_call {
	char *path;
	char *stream_id;     /* "" if none */
	char *authorization; /* "" if none */
	struct buf body;
	bool subscribe;
	struct http_request *held; /* not answered yet */
};

struct fake {
	uv_loop_t loop;
	uv_timer_t guard;
	bool expired;
	struct http_server *server;
	bool server_closed;
	int port;
	char *address; /* "127.0.0.1:port" */
	/* Whether a body is a SUBSCRIBE. */
	bool (*is_subscribe)(struct slice body);
	int subscribe_status; /* 200 opens a stream */
	const char *location; /* sent with a status other than 200 */
	int call_status;      /* of other calls; 0 = hold them */
	int probe_status;     /* of GET; 0 = hold it */
	struct http_request *held_probe;
	int probe_count;
	struct fake_call calls[CALLS_MAX];
	int call_count;
	int subscribe_count;
	struct http_stream *stream; /* the newest; NULL when the client closed it */
	int streams_closed;
};

void fake_init(struct fake *fake, bool (*is_subscribe)(struct slice body));
void fake_start(struct fake *fake); /* again on the same port after fake_stop() */
void fake_stop(struct fake *fake);
/* Stops and asserts that the loop has no handle any more. */
void fake_finish(struct fake *fake);
void fake_send(struct fake *fake, const void *event); /* a message, as a record */
void fake_end_stream(struct fake *fake);
void fake_turn(struct fake *fake);
void fake_wait_ms(struct fake *fake, uint64_t ms);

#define until(fake, condition)                                                                     \
	do {                                                                                       \
		while (!(condition) && !(fake)->expired)                                           \
			fake_turn(fake);                                                           \
		cr_assert((condition), "never came true: %s", #condition);                         \
	} while (0)

#endif
