/* What the files of the HTTP server share; private to net/ and its tests.
 *
 * Life of a request: bytes -> http-parser -> `head` and `body` of the connection ->
 * a `struct exchange` with the request (plain ones are made from the bytes at once) ->
 * handler -> answer -> `output`. At most one exchange of a connection waits for its
 * answer (`current`); input behind it is kept unparsed. Open streams stand in `streams`;
 * answers that are due behind them are kept in the last stream's `after`. */
#ifndef NET_HTTP_HTTP_INTERNAL_H
#define NET_HTTP_HTTP_INTERNAL_H

#include <http_parser.h>
#include <time.h>

#include "base/list.h"
#include "net/http_handoff.h"
#include "net/http_parts.h"
#include "net/limits.h"
#include "net/transport/transport.h"

#define HTTP_DATE_MAX 40

struct http_server {
	struct http_server_options options; /* overrides filled in */
	uv_tcp_t listener;
	uv_idle_t flusher; /* runs while `dirty` is not empty */
	uv_timer_t ticker; /* runs while `timed` is not empty */
	int handles;	   /* of the three, not closed yet */
	int tick_ms;
	int port;
	bool closing;
	void (*closed)(void *);
	void *closed_context;
	struct list connections;
	struct list dirty;
	struct list timed;
	size_t connection_count;
	uint64_t refused_logged; /* loop time of the last line about a refused client */
	time_t date_second;
	char date[HTTP_DATE_MAX];
	bool date_kept;	   /* in a child: as it is */
	struct buf answer; /* how answers of `answer_status` begin in this second */
	int answer_status; /* or 0 */
	char *read_buffer;
	struct exchange *spare; /* to be used again, or NULL */
};

/* A request handed out. Outlives its connection until it is answered. */
struct exchange {
	struct http_request request;
	struct http_connection *connection; /* NULL: gone, the answer is dropped */
	struct buf body;
	int refused;			       /* by the server: with this status, ... */
	const char *refusal;		       /* and this text */
	bool streams;			       /* its body comes in parts ... */
	bool whole;			       /* and all of them came */
	bool paused;			       /* by the handler */
	const struct http_body_reader *reader; /* or NULL until there is one */
	void *reader_context;
	/* Set when the connection is gone. */
	uv_loop_t *loop;
	char *peer;
	char *local;
};

struct http_stream {
	struct list link;
	struct http_connection *connection;
	size_t limit;
	bool ended;
	bool sized;    /* not chunked */
	bool composed; /* sized, but nobody knows how long: the head is in its bytes */
	bool hungry;   /* drained is to be called */
	uint64_t left; /* sized: bytes to come */
	void (*drained)(void *context, struct http_stream *stream);
	struct buf pending; /* its bytes while another stream is in front */
	struct buf after;   /* answers that follow it */
	void (*closed)(void *context, struct http_stream *stream);
	void *context;
};

enum head_part { HEAD_NONE, HEAD_URL, HEAD_NAME, HEAD_VALUE };

struct http_connection {
	struct transport transport;
	uv_loop_t *loop;
	struct http_server *server;
	struct list link;
	struct list dirty;
	struct list timed;

	http_parser parser;
	bool receiving; /* a request has begun and is not whole */
	bool head_done;
	enum head_part part;
	size_t header_count;
	struct buf head; /* url NUL, then name NUL value NUL ... */
	struct buf body;
	size_t trailers; /* bytes of them, which are ignored */
	bool asks;	 /* whether the body is wanted in parts: the parser waits for that */
	bool expects;	 /* the client waits for "100 Continue" before it sends the body */
	int refuse;	 /* status with which the request in progress is refused */
	uint64_t since;	 /* when the head, or the present span of the body, began */
	size_t progress; /* length of the body then */

	struct buf input; /* received, not parsed */
	bool parsing;	  /* inside the parse loop */
	bool reading;
	bool in_done; /* no further request will be taken */
	bool eof;     /* the client will send no more */
	bool broken;  /* writing failed */
	bool closing;
	bool lingering;
	bool detached; /* no socket behind it (fuzzing) */
	uint64_t linger_since;
	uint64_t write_since;
	size_t write_seen; /* bytes in the kernel's way at write_since */

	struct exchange *begun; /* its body is being collected, after the server was asked */
	struct exchange *current;
	struct list streams;
	size_t stream_count;
	size_t held;  /* bytes in pending and after of all streams */
	char *sender; /* http_sole_sender, or NULL */
	char peer[TRANSPORT_ADDRESS_MAX];
	char local[TRANSPORT_ADDRESS_MAX];
};

/* -- http_server.c -- */
void http_server_forget(struct http_connection *connection); /* it is closed */
const char *http_server_date(struct http_server *server);
/* Has the connection resumed and flushed when the loop turn ends. */
void http_server_touch(struct http_connection *connection);
/* Has the connection looked at each tick. */
void http_server_watch(struct http_connection *connection);

/* -- http_connection.c -- */
/* The listener has a client for it. Frees itself when closed. */
void http_connection_accept(struct http_server *server);
/* Bytes from the client; the way in for fuzzing, too. */
void http_connection_received(struct http_connection *connection, const char *data, size_t len);
void http_connection_eof(struct http_connection *connection);
void http_connection_close(struct http_connection *connection);
void http_connection_turn(struct http_connection *connection); /* end of a loop turn */
/* Offers the kernel what is queued; a write error ends streams at once. */
void http_connection_flush(struct http_connection *connection);
/* Bytes for the client that it has not taken. */
size_t http_connection_waiting(const struct http_connection *connection);
void http_connection_tick(struct http_connection *connection, uint64_t now);
/* Where the bytes of an answer go that is complete now. */
struct buf *http_connection_sink(struct http_connection *connection);
/* Bytes went into the sink. */
void http_connection_answered(struct http_connection *connection);
/* The current exchange is answered, or cannot be. */
void http_connection_let_go(struct http_connection *connection);
/* One that is closing already, of no server: for a stream that is opened after its
 * client has gone. */
struct http_connection *http_connection_ghost(uv_loop_t *loop);
/* A connection without socket, whose output stays in `transport.out`. */
struct http_connection *http_connection_detached(struct http_server *server);

/* -- http_parse.c -- */
void http_parse_init(struct http_connection *connection);
/* Parses until the bytes end or a request is whole; `*used` is how many were taken.
 * HTTP_PARSE_FAILED: nothing more can be read from this client. */
enum http_parse {
	HTTP_PARSE_MORE,
	HTTP_PARSE_HEAD, /* of a request with a body, if the server may want that in parts */
	HTTP_PARSE_REQUEST,
	HTTP_PARSE_REFUSED,
	HTTP_PARSE_FAILED
};
enum http_parse http_parse(struct http_connection *connection, const char *data, size_t len,
			   size_t *used);

/* Whether the body of which the length was said is not longer than allowed; else it is refused. */
bool http_parse_fits(struct http_connection *connection);

/* -- http_request.c -- */
/* Makes the exchange of the request of which the head was received, without its body. 0, or the
 * status with which the server itself answers it, with *text; -1: it cannot be read at all. */
int http_request_begin(struct http_connection *connection, struct exchange **out,
		       const char **text);
/* Gives it the body that was collected. 0, or a status as above. */
int http_request_finish(struct http_connection *connection, struct exchange *exchange,
			const char **text);
struct exchange *http_exchange_make(struct http_connection *connection);
void http_exchange_free(struct exchange *exchange);
/* Nothing in it to be split or decoded, and no step up: most are so. A byte follows it. */
bool http_plain_path(const char *path, size_t len);
/* Percent-decodes into `out` (len + 1 bytes). False: malformed, or holds a NUL. */
bool http_decode(const char *text, size_t len, bool plus_is_space, char *out);

/* -- http_quick.c -- */
/* Makes the exchange of a request at the beginning of the bytes if it is of the usual form and
 * whole. How many bytes it takes, or 0: it is http_parse()'s. */
size_t http_quick(struct http_connection *connection, const char *data, size_t len,
		  struct exchange **out);

/* -- http_accept.c -- */
/* Whether a list like "text/html, gzip;q=0.5" takes `name`: by itself, by `class` (may be
 * NULL) or by `any`. */
bool http_accepts(const char *list, const char *name, const char *class, const char *any);

/* -- http_body.c -- */
/* Whether bytes of the body can be handed over now. */
bool http_body_flows(const struct exchange *exchange);
/* Hands over a part. False: nobody wants it any more. */
bool http_body_give(struct http_connection *connection, struct slice part);
/* The body of the current exchange is whole, or the client is gone. */
void http_body_end(struct http_connection *connection, bool whole);

/* -- http_reply.c -- */
/* Appends a status line and the headers that all answers have. */
void http_reply_head(struct http_server *server, struct buf *out, int status);
void http_reply_headers(struct buf *out, const char *const *extra);

/* -- http_stream.c -- */
void http_stream_abandon(struct http_connection *connection); /* it is closed */
/* Asks the stream in front for more, if it is one of known length and little of it waits. */
void http_stream_drained(struct http_connection *connection);
/* Whether a stream is open that ends by its client's end alone. */
bool http_stream_lasts(const struct http_connection *connection);

#endif
