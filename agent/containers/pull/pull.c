/* See pull.h. */
#include "agent/containers/pull/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/image/image_files.h"
#include "agent/containers/image/image_record.h"
#include "agent/containers/pull/pull_internal.h"
#include "agent/containers/sandbox.h"
#include "base/flags/flags.h"
#include "base/log/log.h"
#include "base/time/clock.h"

#define ACCESS_MAX (1024 * 1024)
#define LOCK_SECONDS 60 /* a removal is done by then */

static int parse_flags(struct pull *pull, struct flags *flags, int argc, char **argv,
		       struct err *err)
{
#define AT(member) offsetof(struct pull, member)
	static const struct flag table[] = {
		{"store", NULL, FLAG_PATH, AT(store), NULL, "Where images are kept.", NULL, NULL},
		{"registry", NULL, FLAG_STRING, AT(registry), "https://registry-1.docker.io",
		 "Where the image comes from, if it does not say: a URL, or a directory.", NULL,
		 NULL},
		{"image", NULL, FLAG_STRING, AT(image), NULL, "Its name.", NULL, NULL},
		{"stall_timeout", NULL, FLAG_DURATION, AT(stall_timeout), "1mins",
		 "A download this long without a byte is given up.", NULL, NULL},
		{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
	};
#undef AT
	struct buf warnings = BUF_INIT;
	int rv;

	flags->table = xmemdup(table, sizeof(table));
	flags->target = pull;
	flags->usage = "Usage: mesita pull --store=DIR --image=NAME [flags] < config.json";
	rv = flags_parse(flags, argc, argv, NULL, &warnings, err);
	buf_free(&warnings);
	if (rv == 0 && (!pull->store || !pull->image))
		rv = err_set(err, ERR_INVALID, "--store and --image are needed");
	return rv;
}

static int read_access(struct pull *pull, struct err *err)
{
	struct buf text = BUF_INIT;
	char data[16384];
	struct json *json;
	ssize_t got;
	int rv = 0;

	while ((got = read(STDIN_FILENO, data, sizeof(data))) > 0 && text.len < ACCESS_MAX)
		buf_append(&text, data, (size_t)got);
	if (text.len) {
		rv = json_parse(&pull->arena, text.data, text.len, &json, err);
		pull->access = rv == 0 ? json : NULL;
	}
	buf_free(&text);
	return rv < 0 ? err_wrap(err, rv, "--docker_config") : 0;
}

static int make_staging(struct pull *pull, struct err *err)
{
	static const char *const rooms[] = {"images", "layers", "staging"};
	int rv = 0;

	for (size_t i = 0; i < 3 && rv == 0; i++)
		rv = sandbox_make_directories(
			arena_printf(&pull->arena, "%s/%s", pull->store, rooms[i]), err);
	/* The layers hold what belongs to root, some of it with its rights. */
	if (rv == 0 && chmod(pull->store, 0700))
		rv = err_set(err, ERR_IO, "Cannot chmod '%s': %s", pull->store, strerror(errno));
	pull->staging =
		arena_printf(&pull->arena, "%s/staging/pull-%d", pull->store, (int)getpid());
	if (rv == 0 &&
	    (sandbox_remove(pull->staging, NULL, err) < 0 ||
	     (mkdir(pull->staging, 0700) &&
	      (rv = err_set(err, ERR_IO, "Cannot make '%s': %s", pull->staging, strerror(errno))))))
		rv = ERR_IO;
	return rv;
}

static const char *directory_of(const char *registry)
{
	if (str_has_prefix(registry, "file://"))
		registry += strlen("file://");
	return *registry == '/' ? registry : NULL;
}

/* The record must not be there without what it names. */
static int write_record(struct pull *pull, struct err *err)
{
	size_t count = pull->layer_count;
	char **topmost_first = arena_alloc(&pull->arena, (count + 1) * sizeof(*topmost_first));
	int fd = open(pull->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < count; i++)
		topmost_first[i] = pull->layers[count - 1 - i];
	if (fd >= 0) {
		syncfs(fd);
		close(fd);
	}
	return image_record_write(pull->store, pull->image, topmost_first, count, pull->config,
				  err);
}

static int pull_image(struct pull *pull, struct err *err)
{
	const char *directory = directory_of(pull->registry);
	int rv = image_name_parse(&pull->arena, pull->image, &pull->name, err), lock = -1;

	/* Until the record names its layers nobody else knows that they are wanted. */
	if (rv == 0)
		rv = lock = image_lock(pull->store, false, LOCK_SECONDS, err);
	if (rv >= 0)
		rv = make_staging(pull, err);
	if (rv < 0)
		return rv;
	rv = directory && !pull->name.registry ? pull_from_directory(pull, directory, err)
					       : pull_from_registry(pull, err);
	if (rv == 0 && !pull->layer_count)
		rv = err_set(err, ERR_INVALID, "The image has no layers");
	if (rv == 0)
		rv = write_record(pull, err);
	close(lock);
	sandbox_remove(pull->staging, NULL, NULL);
	return rv;
}

int pull_main(int argc, char **argv)
{
	struct pull pull = {0};
	struct flags flags = {0};
	struct err err = {""};
	int rv;

	arena_init(&pull.arena);
	rv = parse_flags(&pull, &flags, argc, argv, &err);
	if (rv == 0)
		rv = read_access(&pull, &err);
	if (rv == 0)
		rv = pull_image(&pull, &err);
	if (rv < 0)
		log_error("%s", err.text);
	else
		log_info("Pulled image '%s': %zu layers", pull.image, pull.layer_count);
	flags_free(&flags);
	free(flags.table);
	arena_free(&pull.arena);
	return rv < 0 ? 1 : 0;
}
