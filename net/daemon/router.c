/* Path resolution and dispatch; see router.h. */
#include "net/daemon/router.h"
#include "net/daemon/firewall.h"

#include <string.h>

static bool is_process(const struct router *router, const char *name, size_t len)
{
	if (strlen(router->delegate) == len && !memcmp(router->delegate, name, len))
		return true;
	for (size_t i = 0; router->processes[i]; i++)
		if (strlen(router->processes[i]) == len && !memcmp(router->processes[i], name, len))
			return true;
	return false;
}

/* '/' process path */
static const char *join(struct arena *arena, const char *process, const char *path, size_t len)
{
	size_t first = strlen(process);
	char *joined = arena_alloc(arena, first + len + 2);

	joined[0] = '/';
	memcpy(joined + 1, process, first);
	memcpy(joined + 1 + first, path, len);
	return joined;
}

const char *router_resolve(const struct router *router, struct http_request *request)
{
	const char *path = request->path;
	size_t len = strlen(path), first;

	while (len > 1 && path[len - 1] == '/')
		len--;
	first = strcspn(path + 1, "/");
	if (is_process(router, path + 1, first))
		return arena_strndup(&request->arena, path, len);
	return join(&request->arena, router->delegate, path, len == 1 ? 0 : len);
}

static const struct route *longest_match(const struct router *router, const char *path)
{
	const struct route *best = NULL;
	size_t best_len = 0;

	for (const struct route *r = router->routes; r->path; r++) {
		size_t len = strlen(r->path);

		if (strncmp(path, r->path, len) || (path[len] && path[len] != '/'))
			continue;
		if (!best || len > best_len) {
			best = r;
			best_len = len;
		}
	}
	return best;
}

static const struct route *find_route(const struct router *router, struct http_request *request)
{
	const char *path = router_resolve(router, request);
	const struct route *route = longest_match(router, path);
	size_t len = strlen(path);

	if (len > 5 && !strcmp(path + len - 5, ".json")) {
		const char *plain = arena_strndup(&request->arena, path, len - 5);
		const struct route *aliased = longest_match(router, plain);

		/* Only an exact name has the alias, and a real ".json" route goes first. */
		if (aliased && !strcmp(aliased->path, plain) &&
		    (!route || strlen(route->path) < strlen(aliased->path)))
			route = aliased;
	}
	return route;
}

void router_dispatch(struct router *router, struct http_request *request)
{
	const struct route *route = router->last_route;
	size_t len;

	if (router->disabled &&
	    firewall_stops(router->disabled, request, router_resolve(router, request)))
		return;
	if (!route || strcmp(router->last_path, request->path)) {
		route = find_route(router, request);
		len = strlen(request->path);
		if (route && len < ROUTER_LAST_PATH) {
			memcpy(router->last_path, request->path, len + 1);
			router->last_route = route;
		}
	}
	if (!route)
		http_reply_text(request, 404, NULL);
	else if (realm_admits(&router->guards[route->realm], request) &&
		 (!router->admits || router->admits(router->context, request, route)))
		route->handle(router->context, request);
}

static const char *router_jsonp(struct http_request *request)
{
	return http_query(request, "jsonp");
}

void router_begin_json(struct http_request *request, struct buf *body, const char **content_type)
{
	const char *function = router_jsonp(request);

	if (!function)
		return;
	*content_type = "text/javascript";
	buf_printf(body, "%s(", function);
}

void router_end_json(struct http_request *request, struct buf *body)
{
	if (router_jsonp(request))
		buf_putc(body, ')');
}

void router_reply_json(struct http_request *request, const struct buf *json)
{
	const char *content_type;
	struct buf body = BUF_INIT;

	if (!router_jsonp(request)) {
		http_reply_json(request, 200, json);
		return;
	}
	router_begin_json(request, &body, &content_type);
	buf_append(&body, json->data, json->len);
	router_end_json(request, &body);
	http_reply(request, 200, content_type, body.data, body.len, NULL);
	buf_free(&body);
}
