#include "net/daemon/origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define HOST_MAX 256

/* The host of "host:port", "[ipv6]:port" or either without a port. False: none of these. */
static bool cut_port(const char *text, char host[HOST_MAX])
{
	size_t len = *text == '[' ? strcspn(text, "]") : strcspn(text, ":");
	bool bracketed = *text == '[';
	const char *port = text + len + bracketed;

	if (len <= bracketed || len >= HOST_MAX || (bracketed && text[len] != ']'))
		return false;
	memcpy(host, text + bracketed, len - bracketed);
	host[len - bracketed] = '\0';
	return !*port || (*port == ':' && strspn(port + 1, "0123456789") == strlen(port + 1));
}

static bool is_address(const char *host)
{
	struct in6_addr bytes;

	return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1;
}

static bool knows_host(const char *text, const char *hostname)
{
	char host[HOST_MAX];

	return cut_port(text, host) && (is_address(host) || !strcasecmp(host, "localhost") ||
					(hostname && !strcasecmp(host, hostname)));
}

bool origin_is_foreign(const struct http_request *request, const char *hostname)
{
	const char *host = http_header(request, "Host");
	const char *origin = http_header(request, "Origin");

	if (host && !knows_host(host, hostname))
		return true;
	if (!origin)
		return false;
	if (!host || !str_has_prefix(origin, "http"))
		return true;
	origin += strlen("http") + (origin[4] == 's');
	return !str_has_prefix(origin, "://") || strcasecmp(origin + 3, host) != 0;
}
