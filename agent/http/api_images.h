/* The operator API's call about images. */
#ifndef AGENT_HTTP_API_IMAGES_H
#define AGENT_HTTP_API_IMAGES_H

#include "net/http.h"
#include "proto/proto.h"

struct agent_shell;

/* PRUNE_IMAGES: answers when all is removed that nobody uses. */
void agent_api_prune(struct agent_shell *shell, struct http_request *request,
		     const Mesos__Agent__Call *call);

#endif
