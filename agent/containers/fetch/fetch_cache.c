/* Entries, claims and their order of use; see fetch_cache.h. */
#include "agent/containers/fetch/fetch_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/fetch/fetcher.h"
#include "agent/containers/sandbox.h"
#include "agent/containers/slow.h"
#include "base/list.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/table.h"

#define NAME_PART 10   /* characters of a name's beginning and end that a file has in its own */
#define SERIAL_BITS 24 /* of a file's number, below the process that made it */
#define OURS "self"    /* directory of the user that we are, if it has no other name */

struct entry {
	UT_hash_handle hh;   /* by key: user, '@', URI */
	struct list recent;  /* in cache->recent, while nobody claims it; newest last */
	struct list waiting; /* struct item.link, while it is being filled */
	struct fetch_cache *cache;
	char *key, *user, *name;
	bool filled;
	unsigned claims;
	uint64_t size;
};

/* A URI of a claim. */
struct item {
	struct list link; /* in entry->waiting, or alone */
	struct fetch_claim *claim;
	struct entry *entry; /* NULL: fetched without the cache */
	size_t number;
	bool fills;
};

struct fetch_claim {
	struct fetch_cache *cache;
	char *directory;
	void (*ready)(void *context);
	void *context;
	size_t waits; /* items that wait */
	size_t count;
	struct item items[];
};

struct fetch_cache {
	struct slow_pool *pool;
	char *directory;
	uint64_t size, used;
	uint64_t serial;
	bool ours; /* the directory; else nothing is kept */
	struct entry *table;
	struct list recent;
};

/* ---- slow work ------------------------------------------------------------------ */

struct removal {
	struct slow_job slow;
	char path[];
};

static void removal_work(struct slow_job *job)
{
	struct removal *removal = container_of(job, struct removal, slow);
	struct err err = {""};

	if (sandbox_remove(removal->path, NULL, &err) < 0)
		log_warning("Cannot remove '%s': %s", removal->path, err.text);
}

static void removal_done(struct slow_job *job, bool canceled)
{
	free(container_of(job, struct removal, slow));
}

static void remove_later(struct fetch_cache *cache, const char *path)
{
	struct removal *removal = xcalloc(1, sizeof(*removal) + strlen(path) + 1);

	removal->slow.work = removal_work;
	removal->slow.done = removal_done;
	strcpy(removal->path, path);
	slow_add(cache->pool, NULL, &removal->slow);
}

/* ---- entries ---------------------------------------------------------------------- */

/* Of a URI's name what may be in a file's, in a list and in a shell. */
static char *short_name(const char *uri)
{
	const char *name;
	struct buf text = BUF_INIT;
	struct err err;
	size_t len;

	if (fetch_basename(uri, &name, &err) < 0)
		name = "";
	len = strlen(name);
	for (size_t i = 0; i < len; i++) {
		if (len > 2 * NAME_PART + 1 && i == NAME_PART) {
			buf_putc(&text, '_');
			i = len - NAME_PART;
		}
		buf_putc(&text,
			 isalnum((unsigned char)name[i]) || strchr(".-", name[i]) ? name[i] : '_');
	}
	buf_putc(&text, '\0');
	return text.data;
}

static char *entry_path(const struct entry *entry)
{
	return xprintf("%s/%s/%s", entry->cache->directory, entry->user, entry->name);
}

static struct entry *entry_add(struct fetch_cache *cache, const char *user, const char *key,
			       const char *uri)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));
	char *name = short_name(uri);

	entry->cache = cache;
	entry->key = xstrdup(key);
	entry->user = xstrdup(user);
	entry->name = xprintf("c%05llu-%s", (unsigned long long)++cache->serial, name);
	free(name);
	list_init(&entry->recent);
	list_init(&entry->waiting);
	HASH_ADD_KEYPTR(hh, cache->table, entry->key, strlen(entry->key), entry);
	return entry;
}

static void entry_free(struct entry *entry)
{
	free(entry->key);
	free(entry->user);
	free(entry->name);
	free(entry);
}

/* Nobody claims it. */
static void entry_remove(struct entry *entry)
{
	struct fetch_cache *cache = entry->cache;
	char *path = entry_path(entry);

	if (entry->filled)
		remove_later(cache, path);
	free(path);
	cache->used -= entry->size;
	list_remove(&entry->recent);
	HASH_DEL(cache->table, entry);
	entry_free(entry);
}

/* What was not used for longest goes first. What is in use stays, even if it is too much. */
static void make_room(struct fetch_cache *cache)
{
	while (cache->used > cache->size && !list_empty(&cache->recent))
		entry_remove(list_first(&cache->recent, struct entry, recent));
}

static void entry_unclaim(struct entry *entry)
{
	if (--entry->claims)
		return;
	list_append(&entry->cache->recent, &entry->recent);
	if (!entry->filled)
		entry_remove(entry);
}

/* ---- waiting ------------------------------------------------------------------------ */

/* The other's download is over. */
static void item_ready(struct item *item)
{
	struct fetch_claim *claim = item->claim;

	list_remove(&item->link);
	if (!item->entry->filled) {
		entry_unclaim(item->entry);
		item->entry = NULL;
	}
	if (!--claim->waits)
		claim->ready(claim->context);
}

static void entry_settle(struct entry *entry)
{
	char *path = entry_path(entry);
	struct item *item;
	struct stat info;

	/* It is renamed to this when it is whole. */
	entry->filled = stat(path, &info) == 0 && info.st_size > 0;
	free(path);
	if (entry->filled) {
		entry->size = (uint64_t)info.st_size;
		entry->cache->used += entry->size;
		log_info("The fetcher keeps '%s' (%llu bytes)", entry->key,
			 (unsigned long long)entry->size);
	}
	while ((item = list_first(&entry->waiting, struct item, link)))
		item_ready(item);
}

/* Who cleans directories of temporary files may have taken it. */
static void entry_check(struct entry *entry)
{
	char *path = entry_path(entry);

	if (access(path, F_OK)) {
		entry->filled = false;
		entry->cache->used -= entry->size;
		entry->size = 0;
	}
	free(path);
}

/* ---- claims --------------------------------------------------------------------------- */

bool fetch_cache_wanted(const Mesos__CommandInfo *command)
{
	for (size_t i = 0; i < command->n_uris; i++)
		if (command->uris[i]->has_cache && command->uris[i]->cache)
			return true;
	return false;
}

static struct entry *find_entry(struct fetch_cache *cache, const char *user, const char *uri,
				bool *fills)
{
	char *key = xprintf("%s@%s", user, uri);
	struct entry *entry;

	HASH_FIND_STR(cache->table, key, entry);
	*fills = !entry;
	if (!entry)
		entry = entry_add(cache, user, key, uri);
	free(key);
	return entry;
}

static void claim_uri(struct fetch_claim *claim, const char *user, const char *uri, size_t number)
{
	struct item *item = &claim->items[claim->count++];

	item->claim = claim;
	item->number = number;
	list_init(&item->link);
	item->entry = find_entry(claim->cache, user, uri, &item->fills);
	list_remove(&item->entry->recent);
	item->entry->claims++;
	/* The same URI twice in one command: the second time it is there. */
	for (size_t i = 0; i + 1 < claim->count; i++)
		if (claim->items[i].fills && claim->items[i].entry == item->entry)
			return;
	if (item->fills || item->entry->filled)
		return;
	list_append(&item->entry->waiting, &item->link);
	claim->waits++;
}

struct fetch_claim *fetch_cache_claim(struct fetch_cache *cache, const char *user_name,
				      const Mesos__CommandInfo *command,
				      void (*ready)(void *context), void *context)
{
	const char *user = user_name ? user_name : OURS;
	struct fetch_claim *claim;

	if (!cache->ours)
		return NULL;
	claim = xcalloc(1, sizeof(*claim) + command->n_uris * sizeof(claim->items[0]));
	claim->cache = cache;
	claim->directory = xprintf("%s/%s", cache->directory, user);
	claim->ready = ready;
	claim->context = context;
	for (size_t i = 0; i < command->n_uris; i++) {
		const Mesos__CommandInfo__URI *uri = command->uris[i];

		if (uri->has_cache && uri->cache)
			claim_uri(claim, user, uri->value, i);
	}
	return claim;
}

bool fetch_claim_waits(const struct fetch_claim *claim)
{
	return claim->waits > 0;
}

const char *fetch_claim_directory(const struct fetch_claim *claim)
{
	return claim->directory;
}

uint64_t fetch_claim_space(const struct fetch_claim *claim)
{
	return claim->cache->size;
}

void fetch_claim_list(const struct fetch_claim *claim, struct buf *out)
{
	for (size_t i = 0; i < claim->count; i++) {
		const struct item *item = &claim->items[i];

		if (item->entry)
			buf_printf(out, "%s%zu:%s:%s", out->len ? "," : "", item->number,
				   item->fills ? "fill" : "get", item->entry->name);
	}
}

void fetch_claim_release(struct fetch_claim *claim)
{
	struct fetch_cache *cache;

	if (!claim)
		return;
	cache = claim->cache;
	for (size_t i = 0; i < claim->count; i++) {
		struct item *item = &claim->items[i];

		list_remove(&item->link);
		if (item->entry && item->fills)
			entry_settle(item->entry);
		else if (item->entry && item->entry->filled)
			entry_check(item->entry);
	}
	for (size_t i = 0; i < claim->count; i++)
		if (claim->items[i].entry)
			entry_unclaim(claim->items[i].entry);
	make_room(cache);
	free(claim->directory);
	free(claim);
}

/* ---- life ------------------------------------------------------------------------------ */

int fetch_cache_prepare(const struct fetch_cache *cache, const char *user_name,
			const struct user *user, struct err *err)
{
	char *path;
	int rv;

	if (!cache->ours)
		return 0;
	path = xprintf("%s/%s", cache->directory, user_name ? user_name : OURS);
	rv = sandbox_make_directories(cache->directory, err);
	if (rv == 0 && mkdir(path, 0700) && errno != EEXIST)
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", path, strerror(errno));
	if (rv == 0 && user && lchown(path, user->uid, user->gid))
		rv = err_set(err, ERR_IO, "Cannot chown '%s': %s", path, strerror(errno));
	free(path);
	return rv;
}

/* What is there is put aside at once, for what comes may have the same names. */
static void empty_directory(struct fetch_cache *cache)
{
	char *aside = xprintf("%s/.old-%d", cache->directory, (int)getpid());
	const char *own = strrchr(aside, '/') + 1;
	DIR *directory = opendir(cache->directory);
	struct dirent *entry;

	mkdir(aside, 0700);
	while (directory && (entry = readdir(directory))) {
		char *from, *to;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !strcmp(entry->d_name, own))
			continue;
		from = xprintf("%s/%s", cache->directory, entry->d_name);
		to = xprintf("%s/%s", aside, entry->d_name);
		if (rename(from, to))
			log_warning("Cannot put '%s' aside: %s", from, strerror(errno));
		free(from);
		free(to);
	}
	if (directory)
		closedir(directory);
	remove_later(cache, aside);
	free(aside);
}

/* The default is in a directory that everybody may write to. Whoever else could put a link there
 * would have us empty what it leads to. */
static bool is_ours(const char *directory)
{
	struct err err = {""};
	bool ours = sandbox_make_directories(directory, &err) == 0 && sandbox_is_ours(directory);

	if (!ours)
		log_warning("--fetcher_cache_dir=%s is not ours alone: nothing is kept there",
			    directory);
	return ours;
}

struct fetch_cache *fetch_cache_create(struct slow_pool *pool, const char *directory, uint64_t size)
{
	struct fetch_cache *cache = xcalloc(1, sizeof(*cache));

	cache->pool = pool;
	cache->directory = xstrdup(directory);
	/* Agents of one machine may share the directory, and must not take others' files for
	 * their own. */
	cache->serial = (uint64_t)getpid() << SERIAL_BITS;
	cache->size = size;
	list_init(&cache->recent);
	cache->ours = is_ours(directory);
	if (cache->ours)
		empty_directory(cache);
	return cache;
}

void fetch_cache_close(struct fetch_cache *cache)
{
	struct entry *entry, *next;

	if (!cache)
		return;
	HASH_ITER (hh, cache->table, entry, next) {
		HASH_DEL(cache->table, entry);
		entry_free(entry);
	}
	free(cache->directory);
	free(cache);
}

void fetch_cache_sizes(const struct fetch_cache *cache, uint64_t *total, uint64_t *used)
{
	*total = cache->size;
	*used = cache->used;
}
