/* --firewall_rules: endpoints that a daemon does not serve. */
#ifndef NET_FIREWALL_H
#define NET_FIREWALL_H

#include "base/json/json.h"
#include "net/http.h"

/* The paths of {"disabled_endpoints": {"paths": ["/files/browse"]}}, NULL-ended, in the arena.
 * ERR_INVALID. */
int firewall_parse(struct arena *arena, const struct json *rules, const char *const **paths,
		   struct err *err);
/* Answers 403 if the path is among them (`paths` NULL: none is). */
bool firewall_stops(const char *const *paths, struct http_request *request, const char *path);

#endif
