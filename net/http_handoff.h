/* Answers that a child process writes (net/offload.h). */
#ifndef NET_HTTP_HANDOFF_H
#define NET_HTTP_HANDOFF_H

#include "net/http.h"

/* READY: a child made now can write the answer to `*fd`, and nobody else will. BUSY: not
 * yet. RELAY: the loop alone can write there. NEVER: it stands behind a stream. GONE: there is no
 * client any more. */
enum http_handoff {
	HTTP_HANDOFF_READY,
	HTTP_HANDOFF_BUSY,
	HTTP_HANDOFF_RELAY,
	HTTP_HANDOFF_NEVER,
	HTTP_HANDOFF_GONE,
};
enum http_handoff http_handoff(struct http_request *request, int *fd);
/* Instead of http_reply*: the answer was written, or cannot be (which ends the connection). */
void http_handoff_done(struct http_request *request, bool written);
/* In the child: the Date of answers stays what it is, since asking for the time of day may take
 * a lock that nobody will release here. */
void http_keep_date(struct http_request *request);
/* Appends the head of the answer that http_reply would give. `*body` becomes what has to follow:
 * nothing, the same, or `packed`, to which it is compressed if that is empty. */
void http_compose(struct http_request *request, int status, const char *content_type,
		  const char *const *extra, struct slice *body, struct buf *packed,
		  struct buf *head);

#endif
