#include "net/realm.h"

#include <string.h>
#include <strings.h>

#include "base/base64.h"

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

bool realm_admits(const struct realm_guard *guard, struct http_request *request)
{
	static const char text[] = "401 Unauthorized.";
	const char *challenge;

	if (!guard->credentials || realm_knows(guard, request))
		return true;
	challenge = arena_printf(&request->arena, "Basic realm=\"%s\"", guard->name);
	http_reply(request, 401, "text/plain; charset=utf-8", text, strlen(text),
		   (const char *const[]){"WWW-Authenticate", challenge, NULL});
	return false;
}
