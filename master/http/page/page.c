/* The page and its files are part of the binary (webui/), or in --webui_dir: that of Mesos finds
 * there what it asks for, too.
 *
 * Ours runs scripts from here alone, talks to this master alone, and is shown in no frame. It may
 * also ask the other masters whether they are there, which is how it finds the next leader.
 */
#include "master/http/page/page.h"

#include <string.h>

#include "auth/digest.h"
#include "webui/assets.h"

#define PAGE_ROUTE "/master"

static bool is_get(struct http_request *request)
{
	if (!strcmp(request->method, "GET") || !strcmp(request->method, "HEAD"))
		return true;
	http_reply_not_allowed(request, "GET");
	return false;
}

static const char *policy_of(const struct shell *shell, struct arena *arena)
{
	const char *others[FOLLOWERS_MAX];
	size_t count =
		shell->followers ? followers_addresses(shell->followers, others, FOLLOWERS_MAX) : 0;
	struct buf policy = BUF_INIT;
	const char *text;

	buf_puts(&policy, "default-src 'none'; script-src 'self'; style-src 'self'; "
			  "img-src 'self'; worker-src 'self'; connect-src 'self'");
	for (size_t i = 0; i < count; i++)
		buf_printf(&policy, " %s://%s", shell->hangup.tls ? "https" : "http", others[i]);
	buf_puts(&policy, "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	text = arena_strndup(arena, policy.data, policy.len);
	buf_free(&policy);
	return text;
}

static void send_asset(const struct shell *shell, struct http_request *request, const char *name)
{
	const char *headers[] = {"ETag",
				 NULL,
				 "Content-Security-Policy",
				 policy_of(shell, &request->arena),
				 "Cache-Control",
				 "no-cache",
				 "X-Content-Type-Options",
				 "nosniff",
				 "X-Frame-Options",
				 "DENY",
				 "Referrer-Policy",
				 "no-referrer",
				 "Vary",
				 "Accept-Encoding",
				 NULL,
				 NULL,
				 NULL};
	const char *known = http_header(request, "If-None-Match");
	char digest[DIGEST_TEXT];
	struct asset asset;
	struct slice body;

	if (!webui_asset(name, &asset)) {
		http_reply_text(request, 404, NULL);
		return;
	}
	digest_text(asset.packed.data, asset.packed.len, digest);
	headers[1] = arena_printf(&request->arena, "\"%.32s\"", digest);
	if (known && strstr(known, headers[1])) {
		http_reply(request, 304, NULL, NULL, 0, headers);
		return;
	}
	body = asset.plain;
	if (http_takes_gzip(request)) {
		headers[14] = "Content-Encoding";
		headers[15] = "gzip";
		body = asset.packed;
	}
	http_reply(request, 200, asset.media, body.data, body.len, headers);
}

/* ---- routes ----------------------------------------------------------------------------- */

void page_root(void *context, struct http_request *request)
{
	struct shell *shell = context;
	const char *headers[] = {"Location", NULL, NULL};

	/* Whatever no other route is the beginning of comes here, too. */
	if (strcmp(router_resolve(&shell->router, request), PAGE_ROUTE)) {
		http_reply_text(request, 404, NULL);
		return;
	}
	if (!is_get(request))
		return;
	if (shell->standing == STANDING_CANDIDATE && leadership_leader(shell)) {
		headers[1] = arena_printf(&request->arena, "//%s/", leadership_leader(shell));
		http_reply(request, 307, NULL, NULL, 0, headers);
	} else if (shell->flags->webui_dir) {
		page_send_file(shell, request, "index.html");
	} else {
		send_asset(shell, request, "index.html");
	}
}

void page_file(void *context, struct http_request *request)
{
	struct shell *shell = context;
	const char *path = router_resolve(&shell->router, request) + strlen(PAGE_ROUTE "/");

	if (!is_get(request))
		return;
	if (shell->flags->webui_dir)
		page_send_file(shell, request, path);
	else if (str_has_prefix(path, "assets/"))
		send_asset(shell, request, path + strlen("assets/"));
	else
		http_reply_text(request, 404, NULL);
}

bool page_serves(const char *route)
{
	static const char *const routes[] = {PAGE_ROUTE, PAGE_ROUTE "/assets", PAGE_ROUTE "/app",
					     PAGE_ROUTE "/static"};

	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(route, routes[i]))
			return true;
	return false;
}
