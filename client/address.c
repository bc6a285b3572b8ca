/* Splitting host and port; see address.h. */
#include "client/address.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/zk/zk_url.h"

#define HOST_MAX 300 /* a name has at most 253 characters, a port 5 */

/* Digits only: strtol() takes blanks and signs, too. */
static bool port_parse(const char *text, const char *end, int *port)
{
	int value = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = 10 * value + (*text - '0');
		if (value > 65535)
			return false;
	}
	*port = value;
	return value > 0;
}

int address_parse(const char *text, int default_port, char **host, int *port, struct err *err)
{
	const char *start = text, *end, *colon;

	if (zk_url_is(text))
		return err_set(err, ERR_INVALID, "'%s' is not the address of one master", text);
	if (str_has_prefix(start, "https:"))
		start += 6;
	else if (str_has_prefix(start, "http:"))
		start += 5;
	if (str_has_prefix(start, "//"))
		start += 2;
	if (str_has_prefix(start, "master@"))
		start += 7;
	end = start + strcspn(start, "/");
	colon = memchr(start, ':', (size_t)(end - start));
	if (end == start || colon == start || end - start > HOST_MAX)
		return err_set(err, ERR_INVALID, "'%s' is no address: expected host:port", text);
	*port = default_port;
	if (colon && !port_parse(colon + 1, end, port))
		return err_set(err, ERR_INVALID,
			       "'%s' is no address: the port must be a number from 1 to 65535",
			       text);
	*host = xstrndup(start, (size_t)((colon ? colon : end) - start));
	return 0;
}
