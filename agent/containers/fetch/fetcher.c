/* The rules of fetching, and `mesita fetch`; see fetcher.h.
 *
 * Runs with the rights of the task's user and may block as it likes. The first URI
 * that cannot be fetched ends it with status 1. */
#include "agent/containers/fetch/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/fetch/fetch_internal.h"
#include "base/files.h"
#include "base/flags/flags.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"

#define INPUT_MAX (64 * 1024 * 1024) /* as much as a request may hold */

/* ---- rules --------------------------------------------------------------- */

int fetch_basename(const char *uri, const char **name, struct err *err)
{
	const char *scheme = strstr(uri, "://");
	const char *slash;

	if (strpbrk(uri, "\\'"))
		return err_set(err, ERR_INVALID, "Illegal characters in URI");
	if (scheme && scheme - uri > 1) {
		slash = strchr(scheme + 3, '/');
		if (!slash || !slash[1])
			return err_set(err, ERR_INVALID, "Malformed URI (missing path): %s", uri);
	}
	slash = strrchr(uri, '/');
	*name = slash ? slash + 1 : uri;
	return 0;
}

int fetch_validate(const Mesos__CommandInfo *command, struct err *err)
{
	const char *name;

	for (size_t i = 0; i < command->n_uris; i++) {
		const char *output = command->uris[i]->output_file;
		int rv = fetch_basename(command->uris[i]->value, &name, err);

		if (rv < 0)
			return rv;
		if (output && !*output)
			return err_set(err, ERR_INVALID, "URI output file path is empty");
		if (output && (*output == '/' || path_climbs(output)))
			return err_set(err, ERR_INVALID,
				       "URI output file must be within the sandbox directory");
	}
	return 0;
}

int fetch_local_path(struct arena *arena, const char *uri, const char *home, const char **path,
		     struct err *err)
{
	bool is_file = str_has_prefix(uri, "file://");

	*path = NULL;
	if (!is_file && strstr(uri, "://"))
		return 0;
	if (is_file)
		uri += strlen("file://");
	if (str_has_prefix(uri, "localhost"))
		uri += strlen("localhost");
	if (*uri == '/')
		*path = arena_strdup(arena, uri);
	else if (is_file)
		return err_set(err, ERR_INVALID, "File URI only supports absolute paths");
	else if (!home || !*home)
		return err_set(
			err, ERR_INVALID,
			"A relative path was passed for the resource but the Mesos framework "
			"home was not specified. Please either provide this config option or "
			"avoid using a relative path");
	else
		*path = arena_printf(arena, "%s/%s", home, uri);
	return 0;
}

/* ---- one URI ------------------------------------------------------------- */

/* The file in the cache that stands for the URI of that number, in the arena, as the agent said:
 * "NUMBER:get:NAME" or "NUMBER:fill:NAME", with commas between; NULL: none. */
static char *cached_file(struct fetch *fetch, size_t number, bool *fill)
{
	char *list = fetch->cache ? arena_strdup(&fetch->arena, fetch->cache) : NULL, *save = NULL;

	for (char *item = list ? strtok_r(list, ",", &save) : NULL; item;
	     item = strtok_r(NULL, ",", &save)) {
		char *what = strchr(item, ':'), *name = what ? strchr(what + 1, ':') : NULL;

		if (!name || strtoul(item, NULL, 10) != number)
			continue;
		*fill = !strncmp(what, ":fill:", 6);
		return arena_printf(&fetch->arena, "%s/%s", fetch->cache_directory, name + 1);
	}
	return NULL;
}

/* It is there when it is whole: others wait for that. */
static int fill_cache(struct fetch *fetch, const char *uri, const char *file, struct err *err)
{
	char *part = arena_printf(&fetch->arena, "%s.part", file);
	struct stat info;
	int rv = fetch_download(fetch, uri, part, fetch->cache_space, err);

	if (rv == 0 &&
	    (stat(part, &info) || !info.st_size || (uint64_t)info.st_size > fetch->cache_space))
		rv = err_set(err, ERR_LIMIT, "'%s' is not for the cache, by its size", uri);
	if (rv == 0 && rename(part, file))
		rv = err_set(err, ERR_IO, "Failed to rename '%s': %s", part, strerror(errno));
	if (rv < 0)
		unlink(part);
	return rv;
}

/* The file in the cache, or NULL: whatever is the trouble, the URI is fetched without it. */
static char *from_cache(struct fetch *fetch, size_t number, const char *uri)
{
	struct err err = {""};
	bool fill = false;
	char *file = cached_file(fetch, number, &fill);

	if (!file)
		return NULL;
	if (fill && fill_cache(fetch, uri, file, &err) < 0)
		log_warning("Cannot fetch '%s' into the cache: %s", uri, err.text);
	if (access(file, R_OK)) {
		log_info("Fetching '%s' without the cache", uri);
		return NULL;
	}
	log_info("Fetching '%s' %s the cache", uri, fill ? "through" : "from");
	return file;
}

static char *target_of(struct fetch *fetch, const Mesos__CommandInfo__URI *uri, const char *value,
		       struct err *err)
{
	const char *name;
	char *path, *slash;
	int rv = fetch_basename(value, &name, err);

	if (rv < 0)
		return NULL;
	if (uri->output_file)
		name = uri->output_file;
	path = arena_printf(&fetch->arena, "%s/%s", fetch->directory, name);
	slash = strrchr(path, '/');
	if (strchr(name, '/')) {
		*slash = '\0';
		rv = fetch_make_inside(fetch, path, err);
		*slash = '/';
	}
	if (rv < 0)
		err_wrap(err, rv, "Unable to create the directory of '%s' in sandbox", name);
	return rv < 0 || fetch_check_target(fetch, path, err) < 0 ? NULL : path;
}

static int fetch_one(struct fetch *fetch, size_t number, const Mesos__CommandInfo__URI *uri,
		     struct err *err)
{
	const char *value = uri->value + strspn(uri->value, " \t\n\v\f\r");
	bool executable = uri->has_executable && uri->executable;
	bool extract = !executable && (!uri->has_extract || uri->extract);
	char *path = target_of(fetch, uri, value, err), *cached;
	int rv = 0;

	if (!path)
		return ERR_INVALID;
	cached = from_cache(fetch, number, value);
	if (!cached)
		log_info("Fetching '%s' directly into the sandbox directory", value);
	/* What is unpacked from the cache has no copy in the sandbox. */
	if (!cached)
		rv = fetch_download(fetch, value, path, 0, err);
	else if (!extract || !fetch_is_archive(path))
		rv = fetch_copy_file(cached, path, 0, err);
	if (rv < 0)
		return rv;
	if (executable && chmod(path, 0755))
		return err_set(err, ERR_IO, "Failed to chmod executable '%s': %s", path,
			       strerror(errno));
	if (extract && !fetch_is_archive(path))
		log_warning("Copying instead of extracting resource from URI with 'extract' flag, "
			    "because it does not seem to be an archive: %s",
			    value);
	else if (extract)
		rv = fetch_unpack(fetch, cached ? cached : path, path, err);
	if (rv == 0)
		log_info("Fetched '%s' to '%s'", value, path);
	return rv;
}

/* ---- main ---------------------------------------------------------------- */

static int read_command(struct arena *arena, Mesos__CommandInfo **command, struct err *err)
{
	struct buf input = BUF_INIT;
	char piece[16384];
	ssize_t got;

	while ((got = read(STDIN_FILENO, piece, sizeof(piece))) > 0 && input.len < INPUT_MAX)
		buf_append(&input, piece, (size_t)got);
	*command = proto_unpack(&mesos__command_info__descriptor, arena,
				input.data ? input.data : "", input.len, err);
	buf_free(&input);
	return *command ? fetch_validate(*command, err) : ERR_INVALID;
}

static int parse_flags(struct fetch *fetch, struct flags *flags, int argc, char **argv,
		       struct err *err)
{
#define AT(member) offsetof(struct fetch, member)
	static const struct flag table[] = {
		{"directory", NULL, FLAG_PATH, AT(directory), NULL, "Where to fetch to.", NULL,
		 NULL},
		{"frameworks_home", NULL, FLAG_PATH, AT(frameworks_home), NULL,
		 "Directory of URIs that are relative paths.", NULL, NULL},
		{"hadoop_home", NULL, FLAG_PATH, AT(hadoop_home), NULL,
		 "Where hadoop is installed.", NULL, NULL},
		{"stall_timeout", NULL, FLAG_DURATION, AT(stall_timeout), "1mins",
		 "A download this long without a byte is given up.", NULL, NULL},
		{"cache_directory", NULL, FLAG_PATH, AT(cache_directory), NULL,
		 "Where files are kept that others need, too.", NULL, NULL},
		{"cache", NULL, FLAG_STRING, AT(cache), NULL,
		 "Which URIs are files there: NUMBER:get:NAME or NUMBER:fill:NAME, with commas "
		 "between.",
		 NULL, NULL},
		{"cache_space", NULL, FLAG_BYTES, AT(cache_space), "0B",
		 "How large a file there may be.", NULL, NULL},
		{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
	};
#undef AT
	struct buf warnings = BUF_INIT;
	int rv;

	flags->table = xmemdup(table, sizeof(table));
	flags->target = fetch;
	flags->usage = "Usage: mesita fetch --directory=DIR [flags] < packed CommandInfo";
	rv = flags_parse(flags, argc, argv, NULL, &warnings, err);
	buf_free(&warnings);
	if (rv == 0 && !fetch->directory)
		rv = err_set(err, ERR_INVALID, "Missing required option --directory");
	return rv;
}

int fetch_main(int argc, char **argv)
{
	struct fetch fetch = {0};
	struct flags flags = {0};
	Mesos__CommandInfo *command = NULL;
	struct err err = {""};
	int rv;

	arena_init(&fetch.arena);
	rv = parse_flags(&fetch, &flags, argc, argv, &err);
	if (rv == 0)
		rv = read_command(&fetch.arena, &command, &err);
	if (rv < 0)
		log_error("%s", err.text);
	for (size_t i = 0; rv == 0 && i < command->n_uris; i++) {
		rv = fetch_one(&fetch, i, command->uris[i], &err);
		if (rv < 0)
			log_error("Failed to fetch '%s': %s", command->uris[i]->value, err.text);
	}
	if (rv == 0)
		log_info("Successfully fetched all URIs into '%s'", fetch.directory);
	flags_free(&flags);
	free(flags.table);
	arena_free(&fetch.arena);
	return rv < 0 ? 1 : 0;
}
