#include "net/daemon/help.h"

#include <string.h>

#include "base/json/json.h"

/* "/master/state" is "/state" of "master"; an endpoint that is all of its process is "/". */
static struct slice process_of(const struct route *route)
{
	return (struct slice){route->path + 1, strcspn(route->path + 1, "/")};
}

static const char *endpoint_of(const struct route *route)
{
	const char *rest = route->path + 1 + process_of(route).len;

	return *rest ? rest : "/";
}

/* Whether the routes before it are of the same process: then it was shown with them. */
static bool shown_before(const struct router *router, const struct route *route)
{
	struct slice process = process_of(route);

	for (const struct route *r = router->routes; r < route; r++) {
		struct slice other = process_of(r);

		if (other.len == process.len && !memcmp(other.data, process.data, process.len))
			return true;
	}
	return false;
}

static bool same_process(const struct route *a, const struct route *b)
{
	struct slice one = process_of(a), other = process_of(b);

	return one.len == other.len && !memcmp(one.data, other.data, one.len);
}

static void write_json(const struct router *router, struct json_writer *w)
{
	jw_begin_object(w);
	jw_key(w, "processes");
	jw_begin_array(w);
	for (const struct route *first = router->routes; first->path; first++) {
		if (shown_before(router, first))
			continue;
		jw_begin_object(w);
		jw_key(w, "id");
		jw_string_n(w, process_of(first).data, process_of(first).len);
		jw_key(w, "endpoints");
		jw_begin_array(w);
		for (const struct route *r = first; r->path; r++) {
			if (!same_process(r, first))
				continue;
			jw_begin_object(w);
			jw_kv_string(w, "name", endpoint_of(r));
			jw_kv_string(w, "text", r->help);
			jw_end_object(w);
		}
		jw_end_array(w);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

/* Routes are our own texts: nothing in them is markup. */
static size_t write_page(const struct router *router, const char *below, struct buf *page)
{
	size_t len = strlen(below), count = 0;

	buf_puts(page,
		 "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Endpoints</title>"
		 "</head><body>\n<h1>Endpoints</h1>\n<dl>\n");
	for (const struct route *r = router->routes; r->path; r++) {
		if (strncmp(r->path, below, len) || (r->path[len] && r->path[len] != '/'))
			continue;
		buf_printf(page, "<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>\n", r->path, r->path,
			   r->help);
		count++;
	}
	buf_puts(page, "</dl>\n</body></html>\n");
	return count;
}

void help_reply(const struct router *router, struct http_request *request)
{
	const char *path = router_resolve(router, request), *below = path + strlen("/help");
	const char *format = http_query(request, "format");
	struct buf body = BUF_INIT;
	struct json_writer w;

	if (format && !strcmp(format, "json")) {
		jw_init(&w, &body);
		write_json(router, &w);
		http_reply_json(request, 200, &body);
	} else if (write_page(router, below, &body)) {
		http_reply(request, 200, "text/html; charset=utf-8", body.data, body.len, NULL);
	} else {
		http_reply_text(request, 404, NULL);
	}
	buf_free(&body);
}
