/* HTTP/1.1 server on libuv and http-parser.
 *
 * A whole request (head and body) is collected in bounded memory and handed to
 * the handler of the server (a body that the server wants in parts is not collected); the handler
 * answers at once or later through the request's handle. Requests of a connection may be pipelined;
 * answers leave in the order of the requests; the next request of a connection is handled only when
 * the one before was answered, except that requests behind a streaming answer are handled at once
 * and their answers wait.
 *
 * Limits: head 80 KiB, body `body_max`, a client that sends its head or body too
 * slowly or does not read its answer is closed (constants in net/limits.h).
 * A connection that is merely idle is kept.
 * Bodies with Content-Encoding gzip are inflated (bounded). Answers of 1 KiB and
 * more are gzipped when the client accepts it, streams never.
 *
 * All functions are for the loop thread. No callback runs inside the call that
 * caused it, except the handler, which runs from the loop.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

struct tls;
struct http_server;
struct http_request;

struct http_header {
	const char *name; /* as sent; compare without case */
	const char *value;
};

/* What the handler may read. Valid until the request is answered. */
struct http_request {
	struct arena arena; /* for the handler, too; freed after the answer */
	const char *method; /* "GET", "POST", ... */
	const char *target; /* raw: path and query as sent */
	const char *path;   /* percent-decoded, without query */
	const char *query;  /* raw, without '?'; "" if none */
	struct http_header *headers;
	size_t header_count;
	struct slice body;	   /* NUL follows */
	const char *principal;	   /* who was authenticated (net/daemon/realm.h), or NULL */
	const struct json *claims; /* or what of whom, as a token says; NULL */
	bool keep_alive;
	struct http_server *server;
	struct http_connection *connection; /* private */
	void *answer;			    /* private */
};

/* Exactly one http_reply* call, or one that opens a stream (net/http_parts.h), must follow, now or
 * later. */
typedef void http_handler(void *context, struct http_request *request);

struct http_server_options {
	uv_loop_t *loop;
	const char *ip;	 /* "0.0.0.0" = all */
	int port;	 /* 0 = any free one */
	bool later;	 /* clients wait for http_server_accept() */
	size_t body_max; /* bytes; larger bodies are answered 413 and closed */
	http_handler *handler;
	void *context;
	struct tls *tls; /* not owned; NULL: plain */
	/* Whether the request, of which the head is there, is handed to the handler now, and its
	 * body after that as it comes (net/http_parts.h). Asked for requests with a body; NULL =
	 * for none. */
	bool (*streams)(void *context, struct http_request *request);
	const char *streams_type; /* the Content-Type of those; NULL: they may have any */
	/* Overrides of net/limits.h, 0 = the constant there. */
	int head_timeout_ms;
	int body_timeout_ms;
	int write_timeout_ms;
	int linger_ms;
	size_t connections_max;
	size_t output_total_max;
};

int http_server_create(const struct http_server_options *options, struct http_server **out,
		       struct err *err);
/* Serves those who wait, and all who come. Needed if `later`, and only then. */
int http_server_accept(struct http_server *server, struct err *err);
int http_server_port(const struct http_server *server); /* the bound one */
/* Stops listening, ends every connection, then calls back from the loop; the
 * server is freed after that. */
void http_server_close(struct http_server *server, void (*closed)(void *), void *context);

/* -- what the request says -- */

/* NULL when absent. Names are compared without case. */
const char *http_header(const struct http_request *request, const char *name);
/* One whose value is a list, which may come in several lines: all of them, in the request's arena.
 */
const char *http_header_list(struct http_request *request, const char *name);
/* Value of a query (or form body) parameter, percent-decoded, in the request's
 * arena; NULL when absent. */
const char *http_query(struct http_request *request, const char *name);
const char *http_form(struct http_request *request, const char *name); /* of the body */
/* What is malformed in the form, or NULL. */
const char *http_form_error(struct http_request *request);
/* "ip:port" texts of both ends of the connection. */
const char *http_peer(const struct http_request *request);
const char *http_local(const struct http_request *request);
/* Whether the client has broken the connection off, and not only said that it sends no more. */
bool http_is_reset(const struct http_request *request);

/* -- senders -- */

/* Says who claims to be at the other end of the request's connection (copied). */
void http_note_sender(struct http_request *request, const char *sender);
/* It is proved to be the sender, which has a single connection at a time: others whose sender was
 * noted the same are of lives that are over, or of who only claimed it. They are ended, and what
 * the network still has of them is not handled. */
void http_sole_sender(struct http_request *request, const char *sender);

/* -- answers -- */

/* Body is copied. `content_type` NULL = none. Extra headers: pairs of name and
 * value, ended by NULL; or NULL. */
void http_reply(struct http_request *request, int status, const char *content_type,
		const void *body, size_t len, const char *const *extra);
/* Plain text with Mesos' "text/plain; charset=utf-8", without Content-Type if it is
 * empty. NULL text = Mesos' default for the status: "404 Not Found." for errors,
 * else empty. */
void http_reply_text(struct http_request *request, int status, const char *text);
void http_reply_json(struct http_request *request, int status, const struct buf *json);
/* 405 with Allow, in Mesos' words. `allowed` like "POST" or "GET, POST". */
void http_reply_not_allowed(struct http_request *request, const char *allowed);

/* -- helpers -- */

enum http_media { HTTP_MEDIA_NONE, HTTP_MEDIA_JSON, HTTP_MEDIA_PROTOBUF };
/* What an Accept header allows, JSON preferred; absent = JSON. */
enum http_media http_accept(struct http_request *request);
/* Exact compare of Content-Type; NONE for anything else or absent. */
enum http_media http_content_type(const struct http_request *request);
/* Whether the client takes an answer that is compressed by gzip. */
bool http_takes_gzip(struct http_request *request);
/* Appends text percent-encoded for a query or form. */
void http_encode(struct buf *out, const char *text);
const char *http_media_name(enum http_media media); /* "application/json", ... */
const char *http_status_text(int status);	    /* "Not Found" */

#endif
