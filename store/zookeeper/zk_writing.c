/* Writing what is kept in ZooKeeper: see store_zookeeper.c. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "store/zookeeper/zk_names.h"
#include "store/zookeeper/zk_store.h"

#define PART_BYTES_MAX (768 * 1024) /* ZooKeeper takes no request of more than 1 MiB */
#define PART_OPS_MAX 2000
#define NODE_BYTES 64 /* around a key and its value in a request */

/* One multi operation. Paths are heap. */
struct part {
	zoo_op_t *ops;
	zoo_op_result_t *results;
	char **paths;
	int count;
	struct Stat head;
};

static void part_init(struct part *part, size_t room)
{
	part->ops = xcalloc(room + 1, sizeof(*part->ops));
	part->results = xcalloc(room + 1, sizeof(*part->results));
	part->paths = xcalloc(room + 1, sizeof(*part->paths));
	part->count = 1; /* that of `head` */
}

static void part_free(struct part *part)
{
	for (int i = 1; i < part->count; i++)
		free(part->paths[i]);
	free(part->paths);
	free(part->results);
	free(part->ops);
}

static void part_add(struct zk_store *zs, struct part *part, const struct store_op *op)
{
	bool there = known_find(zs, op->key) != NULL;
	char *path;

	if (!op->value.data && !there)
		return;
	path = part->paths[part->count] = zk_key_path(zs->root, op->key);
	if (!op->value.data)
		zoo_delete_op_init(&part->ops[part->count], path, -1);
	else if (there)
		zoo_set_op_init(&part->ops[part->count], path, op->value.data, (int)op->value.len,
				-1, NULL);
	else
		zoo_create_op_init(&part->ops[part->count], path, op->value.data,
				   (int)op->value.len, zk_handle_acl(&zs->url), 0, NULL, 0);
	part->count++;
}

static int part_send(struct zk_store *zs, zhandle_t *handle, struct part *part)
{
	char *text = zk_head_text(zs, zs->written + 1);
	int code;

	zoo_set_op_init(&part->ops[0], zs->head, text, (int)strlen(text), zs->version, &part->head);
	code = zoo_multi(handle, part->count, part->ops, part->results);
	free(text);
	return code;
}

/* Whether the part whose answer was lost was written. False: send it again; or it failed. */
static bool was_written(struct zk_store *zs, const struct head_seen *seen)
{
	if (seen->written != zs->written + 1)
		return false;
	zs->written++;
	zs->version = seen->version;
	return true;
}

static int part_write(struct zk_store *zs, struct part *part, struct err *err)
{
	int64_t deadline = clock_steady() + zs->patience;
	bool undecided = false;
	struct head_seen seen;
	zhandle_t *handle;
	int code;

	while ((handle = zk_link_reach(zs->link, deadline, err))) {
		code = undecided ? zk_head_read(zs, handle, &seen) : ZOK;
		if (code == ZOK && undecided) {
			if (!seen.ours)
				return zk_deposed(zs, err);
			if (was_written(zs, &seen))
				return 0;
		}
		if (code == ZOK)
			code = part_send(zs, handle, part);
		if (code == ZOK) {
			zs->written++;
			zs->version = part->head.version;
			return 0;
		}
		if (code == ZBADVERSION && !undecided)
			return zk_deposed(zs, err);
		/* Otherwise it may be the first try that set the version, late. */
		if (code != ZBADVERSION && !zk_is_passing(code))
			return zk_refused(zs, code, "write to", err);
		undecided = true;
		if (clock_steady() >= deadline)
			break;
	}
	return err_set(err, ERR_IO, "ZooKeeper at %s did not take a write in time",
		       zs->url.servers);
}

/* How many of the operations go into one part. */
static size_t part_length(const struct store_op *ops, size_t count)
{
	size_t bytes = 0, i;

	for (i = 0; i < count && i < PART_OPS_MAX; i++) {
		bytes += 3 * ops[i].key.len + ops[i].value.len + NODE_BYTES;
		if (i && bytes > PART_BYTES_MAX)
			break;
	}
	return i;
}

int zk_write(struct store_backend *backend, const struct store_op *ops, size_t count, bool sync,
	     struct err *err)
{
	struct zk_store *zs = (struct zk_store *)backend;
	int rv = 0;

	(void)sync; /* what ZooKeeper acknowledges is on disks */
	while (count > 0 && rv == 0) {
		size_t length = part_length(ops, count);
		struct part part;

		part_init(&part, length);
		pthread_mutex_lock(&zs->lock);
		zs->cache_counts = false;
		for (size_t i = 0; i < length; i++)
			part_add(zs, &part, &ops[i]);
		pthread_mutex_unlock(&zs->lock);
		if (part.count > 1)
			rv = part_write(zs, &part, err);
		part_free(&part);
		pthread_mutex_lock(&zs->lock);
		for (size_t i = 0; i < length && rv == 0; i++)
			known_note(zs, ops[i].key, ops[i].value.data != NULL);
		pthread_mutex_unlock(&zs->lock);
		ops += length;
		count -= length;
	}
	return rv;
}

int zk_note(struct store_backend *backend, const char *text, struct err *err)
{
	struct zk_store *zs = (struct zk_store *)backend;
	struct part part;
	int rv;

	snprintf(zs->note, sizeof(zs->note), "%s", text);
	part_init(&part, 0);
	rv = part_write(zs, &part, err);
	part_free(&part);
	return rv;
}
