/* Keys in a leveldb directory.
 *
 * leveldb hands each write to the kernel at once, so a killed process loses nothing
 * that was applied; a machine that loses power loses at most what was written after
 * the last sync, and its torn tail is skipped on opening. The LOCK file keeps other
 * processes out; the path is made canonical first, because leveldb tells a second
 * opening in this process by the spelling of the path.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <leveldb/c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "store/backend.h"
#include "store/format.h"
#include "store/leveldb_log.h"

/* The state is a few MB and is read once, at start-up: small buffers keep an idle
 * daemon small. */
#define WRITE_BUFFER_BYTES (1024 * 1024)
#define CACHE_BYTES (256 * 1024)
#define OPEN_FILES_MAX 64

#define REPAIR_HINT                                                                                \
	". Restore the directory from a copy, or start with --repair_store to go on with what "    \
	"can be read"

struct ldb {
	struct store_backend backend;
	char *path;
	leveldb_t *db;
	leveldb_cache_t *cache;
	leveldb_options_t *options;
	leveldb_writeoptions_t *lazy;
	leveldb_writeoptions_t *synced;
	leveldb_readoptions_t *read;
};

/* The new name in its parent must survive a power loss as what is in it does. */
static void sync_parent(const char *path)
{
	char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');

	if (slash)
		slash[slash == parent] = '\0';
	int fd = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(parent);
}

/* Makes the directory and its parents. */
static int make_directories(const char *path, struct err *err)
{
	char *copy = xstrdup(path);
	int rv = 0;

	for (char *at = copy + 1; rv == 0; at++) {
		char c = *at;

		if (c != '/' && c != '\0')
			continue;
		*at = '\0';
		if (mkdir(copy, 0700) == 0)
			sync_parent(copy);
		else if (errno != EEXIST)
			rv = err_set(err, ERR_IO, "Failed to make the directory '%s': %s", copy,
				     strerror(errno));
		*at = c;
		if (c == '\0')
			break;
	}
	free(copy);
	return rv;
}

/* Says what leveldb said, or better. Frees `text`. */
static int explain(struct err *err, const char *path, char *text)
{
	int rv;

	if (strstr(text, "already held by process"))
		rv = err_set(err, ERR_EXISTS, "The store '%s' is already open in this process",
			     path);
	else if (strstr(text, "/LOCK: ") &&
		 (strstr(text, strerror(EAGAIN)) || strstr(text, strerror(EACCES))) &&
		 strstr(text, "lock "))
		rv = err_set(err, ERR_EXISTS, "The store '%s' is in use by another process", path);
	else if (strstr(text, "Corruption"))
		rv = err_set(err, ERR_CORRUPT, "The store '%s' is damaged: %s%s", path, text,
			     REPAIR_HINT);
	else
		rv = err_set(err, ERR_IO, "Failed to open the store '%s': %s", path, text);
	leveldb_free(text);
	return rv;
}

static long log_number(const char *name)
{
	return str_has_suffix(name, ".log") ? strtol(name, NULL, 10) : -1;
}

/* leveldb syncs the log that it writes to. When that is full it begins another, and what is in the
 * old one stays with the kernel until a table is made of it. */
static int sync_old_logs(struct ldb *ldb, struct err *err)
{
	DIR *dir = opendir(ldb->path);
	long newest = -1, number;
	struct dirent *entry;
	int rv = 0, fd;

	if (!dir)
		return err_set(err, ERR_IO, "Failed to open '%s': %s", ldb->path, strerror(errno));
	while ((entry = readdir(dir))) {
		number = log_number(entry->d_name);
		newest = number > newest ? number : newest;
	}
	rewinddir(dir);
	while (rv == 0 && (entry = readdir(dir))) {
		number = log_number(entry->d_name);
		if (number < 0 || number == newest)
			continue;
		/* One that is not there any more is in a table, which was synced. */
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && fsync(fd) < 0)
			rv = err_set(err, ERR_IO, "Failed to sync '%s/%s': %s", ldb->path,
				     entry->d_name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	return rv;
}

static int ldb_write(struct store_backend *backend, const struct store_op *ops, size_t count,
		     bool sync, struct err *err)
{
	struct ldb *ldb = (struct ldb *)backend;
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	char *text = NULL;

	for (size_t i = 0; i < count; i++) {
		if (ops[i].value.data)
			leveldb_writebatch_put(batch, ops[i].key.data, ops[i].key.len,
					       ops[i].value.data, ops[i].value.len);
		else
			leveldb_writebatch_delete(batch, ops[i].key.data, ops[i].key.len);
	}
	leveldb_write(ldb->db, sync ? ldb->synced : ldb->lazy, batch, &text);
	leveldb_writebatch_destroy(batch);
	if (text) {
		err_set(err, ERR_IO, "Failed to write to the store: %s", text);
		leveldb_free(text);
		return ERR_IO;
	}
	return sync ? sync_old_logs(ldb, err) : 0;
}

static int ldb_load(struct store_backend *backend, const char *prefix,
		    int (*each)(void *context, struct slice key, struct slice value), void *context,
		    struct err *err)
{
	struct ldb *ldb = (struct ldb *)backend;
	leveldb_iterator_t *iterator = leveldb_create_iterator(ldb->db, ldb->read);
	size_t length = strlen(prefix);
	char *text = NULL;
	int rv = 0;

	for (leveldb_iter_seek(iterator, prefix, length); rv == 0 && leveldb_iter_valid(iterator);
	     leveldb_iter_next(iterator)) {
		struct slice key, value;

		key.data = leveldb_iter_key(iterator, &key.len);
		if (key.len < length || memcmp(key.data, prefix, length) != 0)
			break;
		value.data = leveldb_iter_value(iterator, &value.len);
		rv = each(context, key, value);
	}
	leveldb_iter_get_error(iterator, &text);
	leveldb_iter_destroy(iterator);
	if (text) {
		if (rv == 0)
			rv = err_set(err, strstr(text, "Corruption") ? ERR_CORRUPT : ERR_IO,
				     "Failed to read the store '%s': %s%s", ldb->path, text,
				     strstr(text, "Corruption") ? REPAIR_HINT : "");
		leveldb_free(text);
	}
	return rv;
}

static uint64_t ldb_size(struct store_backend *backend)
{
	DIR *dir = opendir(((struct ldb *)backend)->path);
	struct dirent *entry;
	struct stat st;
	uint64_t sum = 0;

	while (dir && (entry = readdir(dir))) {
		if (!fstatat(dirfd(dir), entry->d_name, &st, 0) && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static void ldb_close(struct store_backend *backend)
{
	struct ldb *ldb = (struct ldb *)backend;

	if (ldb->db)
		leveldb_close(ldb->db);
	leveldb_cache_destroy(ldb->cache);
	leveldb_options_destroy(ldb->options);
	leveldb_writeoptions_destroy(ldb->lazy);
	leveldb_writeoptions_destroy(ldb->synced);
	leveldb_readoptions_destroy(ldb->read);
	free(ldb->path);
	free(ldb);
}

static const struct store_backend_ops ldb_ops = {
	.write = ldb_write,
	.load = ldb_load,
	.size = ldb_size,
	.close = ldb_close,
};

static struct ldb *ldb_new(size_t buffer)
{
	struct ldb *ldb = xcalloc(1, sizeof(*ldb));

	ldb->backend.ops = &ldb_ops;
	ldb->cache = leveldb_cache_create_lru(CACHE_BYTES);
	ldb->options = leveldb_options_create();
	leveldb_options_set_create_if_missing(ldb->options, 1);
	leveldb_options_set_write_buffer_size(ldb->options, buffer ? buffer : WRITE_BUFFER_BYTES);
	leveldb_options_set_max_open_files(ldb->options, OPEN_FILES_MAX);
	leveldb_options_set_cache(ldb->options, ldb->cache);
	leveldb_options_set_compression(ldb->options, leveldb_no_compression);
	ldb->lazy = leveldb_writeoptions_create();
	ldb->synced = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(ldb->synced, 1);
	ldb->read = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(ldb->read, 1);
	return ldb;
}

/* Everything is read once, for its checksums. */
static int nothing(void *context, struct slice key, struct slice value)
{
	(void)context;
	(void)key;
	(void)value;
	return 0;
}

/* Opens it, after a repair by leveldb if it cannot be opened or read without. */
static int open_repaired(struct ldb *ldb, const char *path, struct err *err)
{
	char *text = NULL;

	leveldb_options_set_create_if_missing(ldb->options, 0);
	ldb->db = leveldb_open(ldb->options, path, &text);
	leveldb_options_set_create_if_missing(ldb->options, 1);
	if (ldb->db && ldb_load(&ldb->backend, "", nothing, NULL, err) == 0)
		return 0;
	if (ldb->db)
		leveldb_close(ldb->db);
	leveldb_free(text);
	text = NULL;
	leveldb_repair_db(ldb->options, path, &text);
	if (!text)
		ldb->db = leveldb_open(ldb->options, path, &text);
	else
		ldb->db = NULL;
	return ldb->db ? 0 : explain(err, path, text);
}

static int open_sound(struct ldb *ldb, const char *path, struct err *err)
{
	char *text = NULL;

	ldb->db = leveldb_open(ldb->options, path, &text);
	return ldb->db ? 0 : explain(err, path, text);
}

int store_leveldb_open(const struct store_options *options, struct store_backend **out,
		       struct err *err)
{
	struct ldb *ldb;
	char *canonical;
	int rv;

	if (!options->path || !*options->path)
		return err_set(err, ERR_INVALID, "The store 'leveldb' needs a path");
	rv = make_directories(options->path, err);
	if (rv < 0)
		return rv;
	canonical = realpath(options->path, NULL);
	if (!canonical)
		return err_set(err, ERR_IO, "Failed to find '%s': %s", options->path,
			       strerror(errno));
	ldb = ldb_new(options->buffer);
	ldb->path = canonical;
	rv = format_check(canonical, err);
	/* A number that is damaged is written anew. */
	if (rv == ERR_CORRUPT && options->repair)
		rv = 0;
	if (rv == 0)
		rv = leveldb_logs_check(canonical, options->repair, err);
	if (rv == 0)
		rv = options->repair ? open_repaired(ldb, canonical, err)
				     : open_sound(ldb, canonical, err);
	if (rv == 0)
		rv = format_note(canonical, err);
	if (rv < 0) {
		ldb_close(&ldb->backend);
		return rv;
	}
	*out = &ldb->backend;
	return 0;
}
