/* `mesita registry copy FROM TO`: moves what masters know for good from one place to another, a
 * master's work_dir or ZooKeeper, while no master is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/zk/zk_url.h"
#include "cli/cli.h"
#include "store/store.h"

#define USAGE                                                                                      \
	"Usage: mesita registry copy FROM TO   (each a master's work_dir, or zk://HOST:PORT/PATH)"
#define BATCH 500		  /* records that are written at once */
#define PATIENCE (10 * SECOND)	  /* for ZooKeeper */
#define LOOK (1500 * MILLISECOND) /* for a master that leads */

/* One end of a copy. */
struct place {
	struct store *store;
	const char *name;
	size_t count; /* records that were read from it, or written to it */
};

struct copy {
	struct place *to;
	struct store_op ops[BATCH];
	size_t count;
	uint64_t last; /* number of the last batch */
};

static int open_directory(struct place *place, bool exists, struct err *err)
{
	char *path = xprintf("%s/registry", place->name), *mark = xprintf("%s/CURRENT", path);
	const struct store_options options = {.backend = "leveldb", .path = path};
	int rv = 0;

	if (exists && access(mark, F_OK))
		rv = err_set(err, ERR_NOT_FOUND, "'%s' is no work_dir of a master", place->name);
	if (rv == 0)
		rv = store_open(&options, &place->store, err);
	free(mark);
	free(path);
	return rv;
}

/* Opening it there ends the master that leads. */
static int open_zookeeper(struct place *place, struct err *err)
{
	struct store_options options = {.backend = "zookeeper",
					.zookeeper_timeout_ms = (int)(PATIENCE / MILLISECOND),
					.patience = PATIENCE};
	char *leader, *path;
	struct zk_url url;
	int rv = zk_url_parse(place->name, &url, err);

	if (rv < 0)
		return err_wrap(err, rv, "'%s'", place->name);
	if (cli_find_leader(place->name, LOOK, &leader, NULL) == 0) {
		rv = err_set(err, ERR_STATE, "the master %s leads there: end all masters first",
			     leader);
		free(leader);
	} else {
		path = xprintf("%s.mesita/registry", url.path);
		options.path = path;
		options.zookeeper = &url;
		rv = store_open(&options, &place->store, err);
		free(path);
	}
	zk_url_free(&url);
	return rv;
}

static int place_open(struct place *place, bool exists, struct err *err)
{
	return zk_url_is(place->name) ? open_zookeeper(place, err)
				      : open_directory(place, exists, err);
}

static int count_record(void *context, struct slice key, struct slice value)
{
	struct place *place = context;

	(void)key;
	(void)value;
	place->count++;
	return 0;
}

static void write_batch(struct copy *copy)
{
	if (copy->count)
		copy->last = store_write(copy->to->store, STORE_SYNCED, copy->ops, copy->count);
	for (size_t i = 0; i < copy->count; i++) {
		free((void *)copy->ops[i].key.data);
		free((void *)copy->ops[i].value.data);
	}
	copy->to->count += copy->count;
	copy->count = 0;
}

static int copy_record(void *context, struct slice key, struct slice value)
{
	struct copy *copy = context;

	copy->ops[copy->count++] = (struct store_op){
		.key = {xmemdup(key.data, key.len), key.len},
		.value = {xmemdup(value.data, value.len), value.len},
	};
	if (copy->count == BATCH)
		write_batch(copy);
	return 0;
}

static int copy_all(struct place *from, struct place *to, struct err *err)
{
	struct copy copy = {.to = to};
	int rv = store_load(to->store, "", count_record, to, err);

	if (rv == 0 && to->count)
		rv = err_set(err, ERR_EXISTS, "'%s' holds %zu records already", to->name,
			     to->count);
	if (rv == 0)
		rv = store_load(from->store, "", copy_record, &copy, err);
	write_batch(&copy);
	if (rv == 0 && copy.last)
		rv = store_wait(to->store, copy.last, err);
	return rv;
}

static int registry_copy(const char *source, const char *target)
{
	struct place from = {.name = source}, to = {.name = target};
	struct err err = {""};
	int rv = place_open(&from, true, &err);

	if (rv == 0)
		rv = place_open(&to, false, &err);
	if (rv == 0)
		rv = copy_all(&from, &to, &err);
	if (rv == 0)
		printf("%zu records copied from %s to %s\n", to.count, from.name, to.name);
	else
		fprintf(stderr, "mesita registry: %s\n", err.text);
	store_close(from.store);
	store_close(to.store);
	return rv < 0;
}

static const struct flag registry_table[] = {
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

int cmd_registry(int argc, char **argv)
{
	struct flags flags;
	int status;

	if (cli_flags(&flags, registry_table, 1, NULL, USAGE, argc, argv, &status))
		return status;
	log_set_level(LOG_LEVEL_ERROR);
	status = 1;
	if (flags.positional_count != 3 || strcmp(flags.positional[0], "copy"))
		fprintf(stderr, "%s\n", USAGE);
	else
		status = registry_copy(flags.positional[1], flags.positional[2]);
	cli_flags_free(&flags);
	return status;
}
