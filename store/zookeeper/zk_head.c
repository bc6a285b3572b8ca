/* The keys that are known to be there, and the node `head`: see store_zookeeper.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "store/format.h"
#include "store/zookeeper/zk_store.h"

#define FORMAT "mesita-" /* and STORE_FORMAT */

/* ---- keys ------------------------------------------------------------------------ */

struct known_key *known_find(struct zk_store *zs, struct slice key)
{
	struct known_key *known;

	HASH_FIND(hh, zs->known, key.data, key.len, known);
	return known;
}

void known_note(struct zk_store *zs, struct slice key, bool there)
{
	struct known_key *known = known_find(zs, key);

	if (there && !known) {
		known = xcalloc(1, sizeof(*known) + key.len + 1);
		known->len = key.len;
		if (key.len)
			memcpy(known->data, key.data, key.len);
		HASH_ADD_KEYPTR(hh, zs->known, known->data, known->len, known);
	} else if (!there && known) {
		HASH_DEL(zs->known, known);
		free(known);
	}
}

/* ---- head ------------------------------------------------------------------------- */

char *zk_head_text(const struct zk_store *zs, uint64_t written)
{
	return xprintf(FORMAT "%d %s %" PRIu64 " %s", STORE_FORMAT, zs->id, written, zs->note);
}

int zk_head_read(struct zk_store *zs, zhandle_t *handle, struct head_seen *seen)
{
	char text[STORE_NOTE_MAX + 256];
	int len = sizeof(text) - 1, code, end = 0;
	struct Stat stat;

	code = zk_link_sync(handle, zs->head);
	if (code == ZOK)
		code = zoo_get(handle, zs->head, 0, text, &len, &stat);
	if (code != ZOK)
		return code;
	text[len > 0 ? len : 0] = '\0';
	seen->version = stat.version;
	/* Of a later format only the number is known. */
	if (sscanf(text, FORMAT "%d", &seen->format) != 1)
		seen->format = 0;
	if (sscanf(text, FORMAT "%*d %255s %" SCNu64 " %n", seen->id, &seen->written, &end) != 2)
		seen->id[0] = '\0';
	snprintf(seen->note, sizeof(seen->note), "%s", text + end);
	if (!end)
		seen->note[0] = '\0';
	seen->ours = !strcmp(seen->id, zs->id);
	return ZOK;
}

int zk_refused(const struct zk_store *zs, int code, const char *what, struct err *err)
{
	return err_set(err, ERR_IO, "cannot %s '%s' in ZooKeeper: %s", what, zs->root,
		       zerror(code));
}

int zk_deposed(const struct zk_store *zs, struct err *err)
{
	return err_set(err, ERR_STATE, "another master has taken over the registry '%s'", zs->root);
}

void zk_mark_text(const char *id, int version, char mark[STORE_MARK_MAX])
{
	snprintf(mark, STORE_MARK_MAX, "%.*s %d", UUID_TEXT - 1, id, version);
}

bool zk_cache_good(const struct zk_store *zs, const struct head_seen *seen)
{
	char mark[STORE_MARK_MAX];

	if (!zs->cache.mark.data)
		return false;
	zk_mark_text(seen->id, seen->version, mark);
	return zs->cache.mark.len == strlen(mark) &&
	       !memcmp(zs->cache.mark.data, mark, strlen(mark));
}
