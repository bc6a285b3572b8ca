/* Splitting host and port; see address.h. */
#include "client/address.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"

int address_parse(const char *text, int default_port, char **host, int *port, struct err *err)
{
	const char *start = text, *colon;
	size_t len;
	char *end;
	long value;

	if (str_has_prefix(start, "http:"))
		start += 5;
	if (str_has_prefix(start, "//"))
		start += 2;
	if (str_has_prefix(start, "master@"))
		start += 7;
	len = strcspn(start, "/");
	colon = memchr(start, ':', len);
	if (len == 0 || colon == start)
		return err_set(err, ERR_INVALID, "'%s' is no address: expected host:port", text);
	*port = default_port;
	if (colon) {
		value = strtol(colon + 1, &end, 10);
		if (end == colon + 1 || end != start + len || value < 1 || value > 65535)
			return err_set(err, ERR_INVALID, "'%s' is no address: bad port", text);
		*port = (int)value;
		len = (size_t)(colon - start);
	}
	*host = xstrndup(start, len);
	return 0;
}
