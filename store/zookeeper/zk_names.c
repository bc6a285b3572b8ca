/* See zk_names.h. */
#include "store/zookeeper/zk_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define EMPTY_KEY "%" /* no other key has a name that ends so */

/* FNV-1a: which bucket a key is in does not change from one version to the next. */
unsigned zk_bucket(struct slice key)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < key.len; i++)
		hash = (hash ^ (unsigned char)key.data[i]) * 16777619u;
	return (hash ^ hash >> 16) % ZK_BUCKETS;
}

char *zk_bucket_path(const char *root, unsigned bucket)
{
	return xprintf("%s/%02x", root, bucket);
}

/* ZooKeeper takes no '/', no control characters and no "." or ".." as names. */
static bool stands_for_itself(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == ':' ||
	       byte == '@';
}

char *zk_key_path(const char *root, struct slice key)
{
	struct buf path = BUF_INIT;

	buf_printf(&path, "%s/%02x/", root, zk_bucket(key));
	for (size_t i = 0; i < key.len; i++) {
		unsigned char byte = (unsigned char)key.data[i];

		if (stands_for_itself(byte))
			buf_putc(&path, (char)byte);
		else
			buf_printf(&path, "%%%02X", byte);
	}
	if (!key.len)
		buf_append(&path, EMPTY_KEY, 1);
	return path.data;
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool zk_key_parse(const char *name, struct buf *key)
{
	if (!strcmp(name, EMPTY_KEY))
		return true;
	for (; *name; name++) {
		if (stands_for_itself((unsigned char)*name)) {
			buf_putc(key, *name);
		} else if (*name == '%' && hex_digit(name[1]) >= 0 && hex_digit(name[2]) >= 0) {
			buf_putc(key, (char)(hex_digit(name[1]) * 16 + hex_digit(name[2])));
			name += 2;
		} else {
			return false;
		}
	}
	return true;
}
