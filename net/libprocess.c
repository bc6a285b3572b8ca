/* Pids and inbound messages of libprocess, see libprocess.h.
 *
 * A pid is "id@host:port". Ids with blanks or control characters are no pids here:
 * they would end up in the request lines that we send. */
#include "net/libprocess.h"

#include <stdlib.h>
#include <string.h>

#include "net/http/http_internal.h"

#define AGENT_PREFIX "libprocess/"

static bool parse_port(const char *text, int *port)
{
	int value = 0;

	if (*text == '\0')
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (*text - '0');
		if (value > UINT16_MAX)
			return false;
	}
	*port = value;
	return true;
}

bool pid_parse(const char *pid, char *id, char *host, int *port)
{
	size_t len = pid ? strnlen(pid, PID_MAX) : 0;
	int number;

	if (len == 0 || len == PID_MAX || memchr(pid, ' ', len) || str_printable(pid, len) != len)
		return false;
	const char *at = memchr(pid, '@', len);
	const char *colon = at ? strchr(at, ':') : NULL;
	if (!colon || colon == at + 1 || !parse_port(colon + 1, &number))
		return false;
	if (id) {
		memcpy(id, pid, (size_t)(at - pid));
		id[at - pid] = '\0';
	}
	if (host) {
		memcpy(host, at + 1, (size_t)(colon - at - 1));
		host[colon - at - 1] = '\0';
	}
	if (port)
		*port = number;
	return true;
}

bool libprocess_is_message(const struct http_request *request)
{
	if (strcmp(request->method, "POST") != 0)
		return false;
	if (http_header(request, "Libprocess-From"))
		return true;
	const char *agent = http_header(request, "User-Agent");
	return agent && str_has_prefix(agent, AGENT_PREFIX);
}

/* The sender as it calls itself, without blanks around. */
static const char *sender_of(struct http_request *request)
{
	const char *from = http_header(request, "Libprocess-From");

	if (!from) {
		from = http_header(request, "User-Agent");
		from = from && str_has_prefix(from, AGENT_PREFIX) ? from + strlen(AGENT_PREFIX)
								  : "";
	}
	from += strspn(from, " \t");
	size_t len = strlen(from);
	while (len > 0 && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	from = arena_strndup(&request->arena, from, len);
	return pid_parse(from, NULL, NULL, NULL) ? from : "@0.0.0.0:0";
}

bool libprocess_parse(struct http_request *request, struct libprocess_message *out)
{
	/* The id is decoded, the name is not; so look at the raw path. */
	const char *path = request->target;
	size_t len = strcspn(path, "?#");

	if (len == 0 || path[0] != '/')
		return false;
	const char *slash = memchr(path + 1, '/', len - 1);
	size_t id_len = slash ? (size_t)(slash - path - 1) : len - 1;
	char *id = arena_alloc(&request->arena, id_len + 1);
	if (!http_decode(path + 1, id_len, false, id))
		return false;
	out->from = sender_of(request);
	out->to = id;
	out->name =
		slash ? arena_strndup(&request->arena, slash + 1, len - (size_t)(slash + 1 - path))
		      : "";
	out->body = request->body;
	return true;
}
