/* See zk_handle.h. */
#include "base/zk/zk_handle.h"

#include <string.h>

#define PERM_READ 1 /* ZOO_PERM_READ and ZOO_PERM_ALL, which are no constants for C */
#define PERM_ALL 0x1f

/* Otherwise libzookeeper looks the names of the servers up at each turn of its loop. */
#define NAMES_GOOD_MS 1000

static void silent(const char *line)
{
	(void)line; /* what matters is told by the watcher and by codes */
}

zhandle_t *zk_handle_open(const struct zk_url *url, watcher_fn watcher, int timeout_ms,
			  void *context)
{
	zhandle_t *handle =
		zookeeper_init2(url->servers, watcher, timeout_ms, NULL, context, 0, silent);

	if (!handle)
		return NULL;
	zoo_set_servers_resolution_delay(handle, NAMES_GOOD_MS);
	if (url->credentials)
		zoo_add_auth(handle, "digest", url->credentials, (int)strlen(url->credentials),
			     NULL, NULL);
	return handle;
}

const struct ACL_vector *zk_handle_acl(const struct zk_url *url)
{
	static struct ACL guarded[] = {
		{.perms = PERM_READ, .id = {.scheme = (char *)"world", .id = (char *)"anyone"}},
		{.perms = PERM_ALL, .id = {.scheme = (char *)"auth", .id = (char *)""}},
	};
	static const struct ACL_vector list = {2, guarded};

	return url->credentials ? &list : &ZOO_OPEN_ACL_UNSAFE;
}

bool zk_is_passing(int code)
{
	switch (code) {
	case ZCONNECTIONLOSS:
	case ZOPERATIONTIMEOUT:
	case ZSESSIONEXPIRED:
	case ZSESSIONMOVED:
	case ZINVALIDSTATE:
	case ZCLOSING:
	case ZTHROTTLEDOP:
		return true;
	default:
		return false;
	}
}
