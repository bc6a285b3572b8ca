/* /help: which endpoints a daemon has, made from its routes.
 *
 * A page of links, or JSON with ?format=json; /help/<process> shows those of one, and
 * /help/<process>/<endpoint> a single one. */
#ifndef NET_HELP_H
#define NET_HELP_H

#include "net/daemon/router.h"

/* Answers a request for "/help" or below it. */
void help_reply(const struct router *router, struct http_request *request);

#endif
