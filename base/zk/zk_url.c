/* See zk_url.h. */
#include "base/zk/zk_url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

static const char *after_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

bool zk_url_is(const char *text)
{
	return !strncmp(after_blanks(text), ZK_URL_PREFIX, strlen(ZK_URL_PREFIX));
}

/* ZooKeeper takes no other paths: "/a//b", "/a/./b". */
static bool path_is_whole(const char *path)
{
	for (const char *part = path; *part;) {
		size_t len = strcspn(part + 1, "/");

		if (!len || (len == 1 && part[1] == '.') ||
		    (len == 2 && !strncmp(part + 1, "..", 2)))
			return false;
		part += 1 + len;
	}
	return true;
}

static int check_parts(const struct zk_url *url, struct err *err)
{
	if (!*url->servers || strpbrk(url->servers, " \t\r\n"))
		return err_set(err, ERR_INVALID, "Expecting ZooKeeper servers as host:port,...");
	if (!path_is_whole(url->path))
		return err_set(err, ERR_INVALID, "'%s' is no path of ZooKeeper", url->path);
	return 0;
}

int zk_url_parse(const char *text, struct zk_url *out, struct err *err)
{
	const char *servers, *path, *end, *at = NULL;
	int rv;

	*out = (struct zk_url){NULL, NULL, NULL};
	if (!zk_url_is(text))
		return err_set(err, ERR_INVALID, "Expecting 'zk://' at the beginning of the URL");
	servers = after_blanks(text) + strlen(ZK_URL_PREFIX);
	for (end = servers + strlen(servers); end > servers && isspace((unsigned char)end[-1]);)
		end--;
	path = memchr(servers, '/', (size_t)(end - servers));
	while (path && end > path && end[-1] == '/')
		end--;
	if (!path || end == path)
		return err_set(err, ERR_INVALID,
			       "Expecting a (chroot) path for ZooKeeper ('/' is not supported)");
	for (const char *c = servers; c < path; c++)
		at = *c == '@' ? c : at;
	if (at) {
		out->credentials = xstrndup(servers, (size_t)(at - servers));
		servers = at + 1;
	}
	out->servers = xstrndup(servers, (size_t)(path - servers));
	out->path = xstrndup(path, (size_t)(end - path));
	rv = check_parts(out, err);
	if (rv < 0)
		zk_url_free(out);
	return rv;
}

void zk_url_free(struct zk_url *url)
{
	free(url->servers);
	free(url->credentials);
	free(url->path);
	*url = (struct zk_url){NULL, NULL, NULL};
}
