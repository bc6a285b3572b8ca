/* A loop, a server with a few known handlers and raw sockets to talk to it, all in one
 * thread: tests turn the loop until something has come true. */
#ifndef TESTS_UNIT_NET_HARNESS_H
#define TESTS_UNIT_NET_HARNESS_H

#include <criterion/criterion.h>
#include <uv.h>

#include "net/http_parts.h"

#define KEPT_MAX 8
#define GUARD_MS 20000 /* a condition that has not come true by then never will */
/* What a timer makes come true is seen no later: a turn of the loop runs timers, then waits. */
#define GUARD_TURN_MS 10

/* Handlers by path: /echo answers the body, /hello "hello", /json a long JSON text,
 * /big `big_size` bytes, /later is kept in `kept`, /stream opens a stream kept in
 * `streams`; others get the default 404. Libprocess messages get 202 and are logged as
 * "from>to:name(body)\n" in `messages`. `log` gathers "METHOD target\n". */
struct fixture {
	uv_loop_t loop;
	uv_timer_t guard;
	int guarded; /* turns */
	bool expired;
	struct http_server *server;
	struct http_server_options options;
	bool server_closed;
	struct buf log;
	struct buf messages;
	struct http_request *kept[KEPT_MAX];
	int kept_count;
	struct http_stream *streams[KEPT_MAX];
	int stream_count;
	int closed_count;
	size_t stream_limit;
	size_t big_size;
	http_handler *handler; /* instead of the above */
};

void fixture_init(struct fixture *fixture); /* set options, then start */
void fixture_start(struct fixture *fixture);
void fixture_stop_server(struct fixture *fixture);
/* Stops what is left and asserts that the loop has no handle any more. */
void fixture_finish(struct fixture *fixture);

void fixture_turn(struct fixture *fixture);
#define until(fixture, condition)                                                                  \
	do {                                                                                       \
		while (!(condition) && !(fixture)->expired)                                        \
			fixture_turn(fixture);                                                     \
		cr_assert((condition), "never came true: %s", #condition);                         \
	} while (0)

struct raw {
	struct fixture *fixture;
	uv_poll_t poll;
	int fd;
	struct buf in;
	bool eof;
	bool deaf; /* does not read */
	bool closed;
};

void raw_open(struct raw *raw, struct fixture *fixture);
void raw_open_to(struct raw *raw, struct fixture *fixture, int port);
void raw_deafen(struct raw *raw);
void raw_hear(struct raw *raw);
void raw_send(struct raw *raw, const char *text);
void raw_write(struct raw *raw, const void *data, size_t len);
void raw_shutdown(struct raw *raw); /* no more input from us */
void raw_reset(struct raw *raw);    /* closes with RST */
void raw_close(struct raw *raw);
bool raw_has(const struct raw *raw, const char *text);
int raw_count(const struct raw *raw, const char *text);
/* Sends a text and waits for a part of the answer. */
void raw_expect(struct raw *raw, const char *text, const char *answer);

/* A port of this machine on which nobody listens. */
int unused_port(void);

#endif
