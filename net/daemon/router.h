/* Routes of a daemon: which handler serves a path.
 *
 * "/<process>/<route>": a first component that names no process is looked up below
 * the delegate ("/state" is "/master/state"). The longest registered path that is
 * a prefix (at a '/') wins; a trailing '/' is ignored; "<path>.json" is an alias of
 * a path that exists without it (tools written for Mesos before 1.8).
 */
#ifndef NET_ROUTER_H
#define NET_ROUTER_H

#include "net/daemon/realm.h"

struct route {
	const char *path; /* "/master/state"; ends the table when NULL */
	void (*handle)(void *context, struct http_request *request);
	enum realm realm;
	const char *help; /* what it is for, in a line */
};

#define ROUTER_LAST_PATH 64 /* longer ones are not kept */

struct router {
	const char *delegate;	      /* "master" or "slave(1)" */
	const char *const *processes; /* ids of the other processes: "metrics", ...; NULL-ended */
	const struct route *routes;
	void *context;
	const char *const
		*disabled; /* paths that are not served (net/daemon/firewall.h), or NULL */
	struct realm_guard guards[REALMS]; /* those without credentials let everybody in */
	/* Asked before a route's handler, after its realm; false: it was answered. May be NULL. */
	bool (*admits)(void *context, struct http_request *request, const struct route *route);
	/* What was asked for last: clients ask for the same again and again. */
	char last_path[ROUTER_LAST_PATH];
	const struct route *last_route; /* or NULL */
};

/* Calls the route's handler if its realm admits the caller, or answers 404. */
void router_dispatch(struct router *router, struct http_request *request);
/* The path as the routes see it (in the request's arena): delegated, without a
 * trailing '/'. */
const char *router_resolve(const struct router *router, struct http_request *request);
/* Around what writes a JSON body: it is `fn(...)` of type text/javascript if the query has
 * jsonp=fn. */
void router_begin_json(struct http_request *request, struct buf *body, const char **content_type);
void router_end_json(struct http_request *request, struct buf *body);
/* Answers a JSON body, wrapped as `fn(...)` when the query has jsonp=fn. */
void router_reply_json(struct http_request *request, const struct buf *json);

#endif
