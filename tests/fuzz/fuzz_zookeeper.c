/* What ZooKeeper holds: members of a group of masters by the three kinds of their names, nodes of
 * the registry, and the URLs that lead there. */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/zk/zk_url.h"
#include "net/masters/member.h"
#include "store/zookeeper/zk_names.h"

/* Who is told of a master dials its pid. */
static void read_member(const char *name, struct slice data)
{
	Mesos__MasterInfo *info;
	struct in_addr address;
	struct arena arena;
	struct err err = {""};
	char *host;

	arena_init(&arena);
	info = member_decode(name, data, &arena, &err);
	if (!info && !err.text[0])
		abort();
	if (info) {
		host = arena_strdup(&arena, strchr(info->pid, '@') + 1);
		*strchr(host, ':') = '\0';
		if (inet_pton(AF_INET, host, &address) != 1)
			abort();
	}
	arena_free(&arena);
}

static void read_url(const char *text)
{
	struct zk_url url;

	if (zk_url_parse(text, &url, NULL) < 0)
		return;
	if (!*url.servers || url.path[0] != '/' || !url.path[1] ||
	    url.path[strlen(url.path) - 1] == '/')
		abort();
	zk_url_free(&url);
}

/* Every key has a name, and no other key has it. */
static void name_key(struct slice key)
{
	char *path = zk_key_path("", key);
	struct buf back = BUF_INIT;

	if (!zk_key_parse(strrchr(path, '/') + 1, &back) || back.len != key.len ||
	    (key.len && memcmp(back.data, key.data, key.len)))
		abort();
	buf_free(&back);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size), *names[3] = {text, text, text};
	struct slice bytes = {(const char *)data, size};
	struct buf key = BUF_INIT;

	read_member("json.info_0000000001", bytes);
	read_member("info_0000000001", bytes);
	read_member("0000000001", bytes);
	read_url(text);
	member_leader(names, 3);
	name_key(bytes);
	zk_key_parse(text, &key);
	buf_free(&key);
	free(text);
	return 0;
}
