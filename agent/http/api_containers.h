/* Calls of the operator API about containers inside of executors', some of which are answered much
 * later. */
#ifndef AGENT_HTTP_API_CONTAINERS_H
#define AGENT_HTTP_API_CONTAINERS_H

#include "base/table.h"
#include "net/http.h"
#include "proto/proto.h"

struct agent_shell;
struct agent_action;
struct container_request;

/* Requests that the core has not answered. */
struct container_requests {
	struct container_request *table; /* by number */
	uint64_t last;
};

/* Hands the call to the core, if the caller may make it. */
void agent_container_call(struct agent_shell *shell, struct http_request *request,
			  const Mesos__Agent__Call *call);
/* Whether the caller may make the call, which must have a container's id. */
bool agent_container_allowed(struct agent_shell *shell, const struct http_request *request,
			     const Mesos__Agent__Call *call);
/* AGENT_ANSWER of the core. */
void agent_container_answer(struct agent_shell *shell, const struct agent_action *action);
/* The server is about to end, and the requests with it. */
void container_requests_free(struct container_requests *requests);

#endif
