/* Who changed what: one line of the log for each change that was asked for over HTTP, granted or
 * not, with the fields principal, call, object, from and answer. Secrets are in none of them. */
#ifndef NET_AUDIT_H
#define NET_AUDIT_H

#include "base/memory/arena.h"
#include "net/http.h"

#include <protobuf-c/protobuf-c.h>

#define AUDIT_OBJECT_MAX 500 /* bytes; what is longer is cut */

/* What a call is about, in the arena: the ids, roles, principals and machines in it, as
 * "framework_id=..,role=..", "" if there are none. */
const char *audit_object(struct arena *arena, const ProtobufCMessage *call);
/* Writes the line. `call` is the name of the call, or the path; `answer` the HTTP status. */
void audit_change(const struct http_request *request, const char *call, const char *object,
		  int answer);

#endif
