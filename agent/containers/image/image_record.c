#include "agent/containers/image/image_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auth/digest.h"
#include "base/files.h"

#define RECORD_MAX (4 * 1024 * 1024)

char *image_record_path(struct arena *arena, const char *store, const char *name)
{
	char digest[DIGEST_TEXT];

	digest_text(name, strlen(name), digest);
	return arena_printf(arena, "%s/images/%s", store, digest);
}

/* ---- reading ------------------------------------------------------------------ */

static size_t read_texts(struct arena *arena, const struct json *list, char ***out)
{
	size_t count = list && list->type == JSON_ARRAY ? list->count : 0, taken = 0;

	*out = arena_alloc(arena, (count + 1) * sizeof(**out));
	for (size_t i = 0; i < count; i++)
		if (list->items[i].type == JSON_STRING)
			(*out)[taken++] = arena_strdup(arena, list->items[i].text.data);
	return taken;
}

int image_record_read(struct arena *arena, const char *path, const char **name, struct image *out,
		      struct err *err)
{
	const struct json *config;
	struct buf text = BUF_INIT;
	struct json *record;
	int rv;

	if (access(path, F_OK))
		return err_set(err, ERR_NOT_FOUND, "The image is not there");
	rv = file_read(path, RECORD_MAX, &text, err);
	if (rv == 0)
		rv = json_parse(arena, text.data ? text.data : "", text.len, &record, err);
	buf_free(&text);
	if (rv < 0)
		return err_wrap(err, ERR_CORRUPT, "Cannot read '%s'", path);
	*out = (struct image){0};
	out->layer_count = read_texts(arena, json_get(record, "layers"), &out->layers);
	config = json_get(record, "config");
	out->environment_count = read_texts(arena, json_get(config, "Env"), &out->environment);
	out->entrypoint_count = read_texts(arena, json_get(config, "Entrypoint"), &out->entrypoint);
	out->argument_count = read_texts(arena, json_get(config, "Cmd"), &out->arguments);
	out->user = arena_strdup(arena, json_get_string(config, "User"));
	out->directory = arena_strdup(arena, json_get_string(config, "WorkingDir"));
	if (name)
		*name = arena_strdup(arena, json_get_string(record, "name"));
	return out->layer_count ? 0 : err_set(err, ERR_CORRUPT, "'%s' names no layers", path);
}

/* ---- writing ------------------------------------------------------------------- */

static void write_texts(struct json_writer *w, const struct json *config, const char *key)
{
	const struct json *list = json_get(config, key);

	jw_key(w, key);
	jw_begin_array(w);
	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->count; i++)
		if (list->items[i].type == JSON_STRING)
			jw_string(w, list->items[i].text.data);
	jw_end_array(w);
}

static void write_json(struct buf *out, const char *name, char *const *layers, size_t count,
		       const struct json *config)
{
	struct json_writer w;

	jw_init(&w, out);
	jw_begin_object(&w);
	jw_kv_string(&w, "name", name);
	jw_key(&w, "layers");
	jw_begin_array(&w);
	for (size_t i = 0; i < count; i++)
		jw_string(&w, layers[i]);
	jw_end_array(&w);
	jw_key(&w, "config");
	jw_begin_object(&w);
	write_texts(&w, config, "Env");
	write_texts(&w, config, "Entrypoint");
	write_texts(&w, config, "Cmd");
	jw_kv_string(&w, "User", json_get_string(config, "User"));
	jw_kv_string(&w, "WorkingDir", json_get_string(config, "WorkingDir"));
	jw_end_object(&w);
	jw_end_object(&w);
}

int image_record_write(const char *store, const char *name, char *const *layers, size_t count,
		       const struct json *config, struct err *err)
{
	struct buf text = BUF_INIT;
	struct arena arena;
	char *path, *fresh;
	int fd, rv = 0;

	arena_init(&arena);
	path = image_record_path(&arena, store, name);
	fresh = arena_printf(&arena, "%s.%d", path, (int)getpid());
	write_json(&text, name, layers, count, config);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len || fsync(fd) ||
	    rename(fresh, path)) {
		rv = err_set(err, ERR_IO, "Cannot write '%s': %s", path, strerror(errno));
		unlink(fresh);
	}
	if (fd >= 0)
		close(fd);
	buf_free(&text);
	arena_free(&arena);
	return rv;
}
