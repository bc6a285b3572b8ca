/* What the files of the HTTP client share. Nobody else includes this.
 *
 *	client.c		the queue, the connection, time
 *	client_answer.c	what comes back */
#ifndef NET_CLIENT_INTERNAL_H
#define NET_CLIENT_INTERNAL_H

#include <http_parser.h>

#include "base/list.h"
#include "net/client.h"
#include "net/recordio.h"
#include "net/transport/transport.h"

struct operation {
	struct list link;
	struct buf bytes; /* the request */
	bool head_only;	  /* an answer to HEAD has no body */
	bool streaming;
	bool opened;	   /* `opened` of the stream, or `head` of the relay, was called */
	uint64_t deadline; /* loop time, 0 = none */
	void (*answered)(void *context, const struct http_answer *answer);
	void (*drained)(void *context); /* of an upload */
	bool uploading;			/* its body is not whole yet */
	struct http_stream_handlers handlers;
	const struct http_relay_handlers *relay; /* NULL: its answer is not passed on */
	void *context;
};

#define OPEN_BODY SIZE_MAX /* length of a body that comes in pieces */

enum field {
	FIELD_OTHER,
	FIELD_TYPE,
	FIELD_STREAM_ID,
	FIELD_LOCATION,
	FIELD_DISPOSITION,
	FIELD_COUNT,
};

/* One TCP connection. Outlives the client while its handle is closing. */
struct wire {
	struct http_client *client; /* NULL: forgotten */
	struct transport transport;
	http_parser parser;
	bool open;
	uint64_t deadline; /* of connecting, loop time */
	int sent;	   /* operations that are on their way */
	bool in_value;
	struct buf name; /* of the header being read */
	struct buf fields[FIELD_COUNT];
	enum field field;
	struct buf body;
	struct recordio_decoder records;
	char read_buffer[16 * 1024];
};

struct http_client {
	uv_loop_t *loop;
	char *host;
	int port;
	struct wire *wire;
	struct list operations;
	struct list failed; /* to be told at the next timer call */
	uv_timer_t timer;   /* deadlines, and work that must not run inside a call */
	bool drops_bodies;
	uint64_t received;
	size_t count;	    /* of `operations` */
	int depth;	    /* most operations on their way at a time */
	uint64_t wake_time; /* when the timer fires, loop time; UINT64_MAX: not set */
	bool closing;
	struct err why; /* of the last broken connection */
};

/* ---- client.c ------------------------------------------------------------------ */

/* Sends what waits, as far as the connection may take it. */
void client_proceed(struct http_client *client);
void client_free_operation(struct operation *operation);
/* `opened` if it was not called yet, then `ended`, unless the owner closes meanwhile. */
void client_end_stream(struct http_client *client, struct operation *operation,
		       const struct http_answer *answer, const char *why);
void client_forget_wire(struct wire *wire);
/* The connection broke. The operation on it (or the one it was opened for) fails, from
 * the loop. */
void client_break_wire(struct wire *wire, const char *why);

/* ---- client_answer.c ------------------------------------------------------------- */

extern const http_parser_settings client_answer_settings;
/* The one that is being answered. */
struct operation *client_operation_of(struct wire *wire);

#endif
