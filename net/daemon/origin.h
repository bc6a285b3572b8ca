/* Requests that a page of another site makes a browser send. Anybody's page can post forms and JSON
 * to daemons that its reader can reach, and one whose name leads to 127.0.0.1 can read the answers.
 */
#ifndef NET_ORIGIN_H
#define NET_ORIGIN_H

#include <stdbool.h>

#include "net/http.h"

/* Whether the request is one of another site: its Origin is not the host that it is sent to, or
 * that Host is neither an IP address nor "localhost" nor `hostname` (may be NULL). Programs send no
 * Origin, and the Host that they were given. */
bool origin_is_foreign(const struct http_request *request, const char *hostname);

/* What it is answered. */
#define ORIGIN_REFUSED                                                                             \
	"This request seems to come from a web page of another site (see --check_origin).\n"

#endif
