#include "net/daemon/realm.h"

#include <string.h>
#include <strings.h>

#include "auth/jwt.h"
#include "base/base64.h"
#include "base/log/log.h"
#include "base/time/clock.h"

/* "Basic " and the base64 of "principal:secret", which has one colon: as in Mesos, a secret that
 * holds one never matches. NULL: it is none. */
static char *basic_pair(struct http_request *request)
{
	const char *header = http_header(request, "Authorization");
	size_t len;
	long size;
	char *pair;

	if (!header || strncmp(header, "Basic ", 6) || strchr(header + 6, ' '))
		return NULL;
	len = strlen(header + 6);
	pair = arena_alloc(&request->arena, len / 4 * 3 + 4);
	size = base64_decode(header + 6, len, pair);
	if (size < 0 || memchr(pair, '\0', (size_t)size))
		return NULL;
	pair[size] = '\0';
	return pair;
}

static bool realm_knows(const struct realm_guard *guard, struct http_request *request)
{
	char *pair = basic_pair(request), *secret = pair ? strchr(pair, ':') : NULL;

	if (!secret || strchr(secret + 1, ':'))
		return false;
	*secret++ = '\0';
	if (!credentials_match(guard->credentials, pair, secret))
		return false;
	request->principal = pair;
	return true;
}

static void refuse(struct http_request *request, const char *challenge)
{
	static const char text[] = "401 Unauthorized.";

	log_info_limited("Refused %s %s from %s, who did not prove who it is", request->method,
			 request->path, http_peer(request));
	http_reply(request, 401, "text/plain; charset=utf-8", text, strlen(text),
		   (const char *const[]){"WWW-Authenticate", challenge, NULL});
}

static const char *bearer_token(const struct http_request *request)
{
	const char *header = http_header(request, "Authorization");

	return header && !strncmp(header, "Bearer ", 7) ? header + 7 : NULL;
}

static bool admit_token(const struct realm_guard *guard, struct http_request *request)
{
	const char *token = bearer_token(request);
	const char *challenge = arena_printf(&request->arena, "Bearer realm=\"%s\"", guard->name);
	struct err err;

	if (!token) {
		refuse(request, challenge);
		return false;
	}
	if (jwt_read(&request->arena, guard->secret, token, clock_now(), &request->claims, &err) ==
	    0)
		return true;
	refuse(request,
	       arena_printf(&request->arena,
			    "%s, error=\"invalid_token\", error_description=\"Invalid JWT: "
			    "%s\"",
			    challenge, err.text));
	return false;
}

bool realm_admits(const struct realm_guard *guard, struct http_request *request)
{
	if (guard->secret.len && (!guard->credentials || bearer_token(request)))
		return admit_token(guard, request);
	if (!guard->credentials || realm_knows(guard, request))
		return true;
	refuse(request, arena_printf(&request->arena, "Basic realm=\"%s\"", guard->name));
	return false;
}
