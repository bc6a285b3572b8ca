/* Sessions: debug containers that a client of the operator API talks with, and containers with a
 * terminal of their own. Their output goes to clients as records of ProcessIO; their input comes
 * from who attaches to that.
 *
 * A debug container is killed when the client that launched it leaves. No more is read of its
 * output than the slowest client takes, no more of a client's input than the container takes. */
#ifndef AGENT_HTTP_SESSIONS_H
#define AGENT_HTTP_SESSIONS_H

#include <stdbool.h>

#include "base/list.h"
#include "net/http.h"

#define SESSION_INPUT_TYPE "application/recordio" /* Content-Type of input */

struct agent_shell;
struct session;

/* Answers the request that launched it with its output. */
void session_begin(struct agent_shell *shell, struct http_request *request, const char *container);
/* ATTACH_CONTAINER_OUTPUT: answers with its output from now on, or 404. */
void session_attach_output(struct agent_shell *shell, struct http_request *request,
			   const char *container);
/* Whether the request is a stream of ATTACH_CONTAINER_INPUT, as its head tells. */
bool session_is_input(const struct http_request *request);
/* Such a request: reads it to its end. */
void session_attach_input(struct agent_shell *shell, struct http_request *request);
/* The agent ends. Frees them from the loop. */
void sessions_close(struct agent_shell *shell);

/* -- for session_input.c -- */

/* Somebody who gives input. */
struct session_input {
	struct list link;
	struct session *session; /* NULL: it is over, or was left */
};

/* False: there is no such session. */
bool session_attach(struct agent_shell *shell, const char *container, struct session_input *input);
void session_detach(struct session_input *input); /* also when it is over */
/* Writes to its input; `written` follows from the loop, once, also when the container is gone.
 * False: it takes none any more. */
bool session_write(struct session *session, const void *data, size_t len,
		   void (*written)(void *context), void *context);
void session_end_input(struct session *session);
void session_resize(struct session *session, unsigned rows, unsigned columns);

#endif
