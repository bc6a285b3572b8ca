/* Images that lie in a directory: archives of `docker save` or `podman save`, the same unpacked,
 * and OCI layouts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/archives/unpack.h"
#include "agent/containers/pull/pull_internal.h"
#include "auth/digest.h"
#include "base/log/log.h"

#define DOCUMENT_MAX (8 * 1024 * 1024)
#define READ_SIZE (256 * 1024)
#define LISTS_MAX 4 /* inside of one another */

/* ---- files ------------------------------------------------------------------------- */

static int digest_file(int fd, char hex[DIGEST_TEXT], struct err *err)
{
	struct digest *digest = digest_begin();
	char *data = xmalloc(READ_SIZE);
	ssize_t got;

	while ((got = read(fd, data, READ_SIZE)) > 0)
		digest_add(digest, data, (size_t)got);
	free(data);
	digest_end(digest, hex);
	return got < 0 || lseek(fd, 0, SEEK_SET)
		       ? err_set(err, ERR_IO, "Cannot read an image: %s", strerror(errno))
		       : 0;
}

static int read_document(const char *directory, const char *path, struct buf *out, struct err *err)
{
	int fd = pull_open_below(directory, path, err);
	char *data;
	ssize_t got;

	if (fd < 0)
		return fd;
	data = xmalloc(READ_SIZE);
	while ((got = read(fd, data, READ_SIZE)) > 0 && out->len < DOCUMENT_MAX)
		buf_append(out, data, (size_t)got);
	free(data);
	close(fd);
	return got ? err_set(err, ERR_INVALID, "'%s/%s' cannot be read, or is too long", directory,
			     path)
		   : 0;
}

/* ---- layers ------------------------------------------------------------------------- */

/* `hex`: what it must be, or NULL. */
static int take_layer(struct pull *pull, const char *directory, const char *path, const char *hex,
		      struct err *err)
{
	char got[DIGEST_TEXT];
	int fd = pull_open_below(directory, path, err), rv;

	if (fd < 0)
		return fd;
	rv = digest_file(fd, got, err);
	if (rv == 0 && hex)
		rv = pull_check_digest("A layer", hex, got, err);
	if (rv == 0 && !pull_has_layer(pull, got))
		rv = pull_unpack_layer(pull, fd, got, err);
	if (rv == 0)
		pull_take_layer(pull, got);
	close(fd);
	return rv;
}

/* ---- docker save --------------------------------------------------------------------- */

static bool has_tag(const struct pull *pull, const struct json *entry)
{
	const struct json *tags = json_get(entry, "RepoTags");
	char *wanted = xprintf("%s:%s", pull->name.repository, pull->name.tag);
	bool found = false;

	for (size_t i = 0; tags && tags->type == JSON_ARRAY && i < tags->count && !found; i++) {
		const char *tag =
			tags->items[i].type == JSON_STRING ? tags->items[i].text.data : "";
		size_t len = strlen(tag), size = strlen(wanted);

		found = len >= size && !strcmp(tag + len - size, wanted) &&
			(len == size || tag[len - size - 1] == '/');
	}
	free(wanted);
	return found;
}

static const struct json *choose_entry(const struct pull *pull, const struct json *list)
{
	if (list->type != JSON_ARRAY)
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		if (has_tag(pull, &list->items[i]))
			return &list->items[i];
	return list->count == 1 ? &list->items[0] : NULL;
}

static int take_saved(struct pull *pull, const char *directory, const struct buf *manifest,
		      struct err *err)
{
	const struct json *entry, *layers;
	struct buf config = BUF_INIT;
	struct json *list;
	int rv = json_parse(&pull->arena, manifest->data, manifest->len, &list, err);

	if (rv < 0)
		return err_wrap(err, rv, "manifest.json");
	entry = choose_entry(pull, list);
	layers = json_get(entry, "Layers");
	if (!layers || layers->type != JSON_ARRAY || layers->count > PULL_LAYERS_MAX)
		return err_set(err, ERR_NOT_FOUND, "'%s' has no image of this name", directory);
	rv = read_document(directory, json_get_string(entry, "Config"), &config, err);
	if (rv == 0)
		rv = pull_take_config(pull, config.data ? config.data : "", config.len, err);
	buf_free(&config);
	for (size_t i = 0; i < layers->count && rv == 0; i++) {
		if (layers->items[i].type != JSON_STRING)
			return err_set(err, ERR_INVALID, "manifest.json names a layer badly");
		log_info("Layer %zu of %zu", i + 1, layers->count);
		rv = take_layer(pull, directory, layers->items[i].text.data, NULL, err);
	}
	return rv;
}

/* ---- OCI layouts ------------------------------------------------------------------------ */

static char *blob_path(struct pull *pull, const char *hex)
{
	return arena_printf(&pull->arena, "blobs/sha256/%s", hex);
}

static int read_blob_document(struct pull *pull, const char *directory, const char *hex,
			      struct buf *out, struct err *err)
{
	char got[DIGEST_TEXT];
	int rv;

	out->len = 0;
	rv = read_document(directory, blob_path(pull, hex), out, err);
	if (rv < 0)
		return rv;
	digest_text(out->data ? out->data : "", out->len, got);
	return pull_check_digest("A document of the image", hex, got, err);
}

static int take_manifest(struct pull *pull, const char *directory, const struct manifest *manifest,
			 struct err *err)
{
	struct buf config = BUF_INIT;
	int rv = read_blob_document(pull, directory, manifest->config.hex, &config, err);

	if (rv == 0)
		rv = pull_take_config(pull, config.data ? config.data : "", config.len, err);
	buf_free(&config);
	for (size_t i = 0; i < manifest->count && rv == 0; i++) {
		log_info("Layer %zu of %zu", i + 1, manifest->count);
		rv = take_layer(pull, directory, blob_path(pull, manifest->layers[i].hex),
				manifest->layers[i].hex, err);
	}
	return rv;
}

static int take_layout(struct pull *pull, const char *directory, struct buf *index, struct err *err)
{
	struct manifest manifest = {.is_list = true};
	const char *wanted = pull->name.tag;
	int rv = 0;

	for (int depth = 0; rv == 0 && manifest.is_list && depth < LISTS_MAX; depth++) {
		rv = manifest_parse(&pull->arena, index->data ? index->data : "", index->len,
				    wanted, &manifest, err);
		if (rv == 0 && manifest.is_list)
			rv = read_blob_document(pull, directory, manifest.next.hex, index, err);
		wanted = NULL;
	}
	if (rv == 0 && manifest.is_list)
		rv = err_set(err, ERR_INVALID, "The lists of images never end");
	return rv < 0 ? rv : take_manifest(pull, directory, &manifest, err);
}

/* ---- either ------------------------------------------------------------------------------- */

static int take_unpacked(struct pull *pull, const char *directory, struct err *err)
{
	struct buf document = BUF_INIT;
	int rv = read_document(directory, "manifest.json", &document, NULL);

	if (rv == 0) {
		rv = take_saved(pull, directory, &document, err);
	} else {
		document.len = 0;
		rv = read_document(directory, "index.json", &document, err);
		if (rv == 0)
			rv = take_layout(pull, directory, &document, err);
	}
	buf_free(&document);
	return rv;
}

static int take_archive(struct pull *pull, const char *path, struct err *err)
{
	char *directory = arena_printf(&pull->arena, "%s/archive", pull->staging);
	int fd = open(path, O_RDONLY | O_CLOEXEC), rv;

	if (fd < 0)
		return err_set(err, ERR_IO, "Cannot open '%s': %s", path, strerror(errno));
	log_info("Unpacking '%s'", path);
	rv = unpack_archive(fd, directory, UNPACK_TREE, err);
	close(fd);
	return rv < 0 ? err_wrap(err, rv, "'%s'", path) : take_unpacked(pull, directory, err);
}

static bool is_image_directory(struct pull *pull, const char *path)
{
	return !access(arena_printf(&pull->arena, "%s/manifest.json", path), R_OK) ||
	       !access(arena_printf(&pull->arena, "%s/index.json", path), R_OK);
}

int pull_from_directory(struct pull *pull, const char *directory, struct err *err)
{
	const struct image_name *name = &pull->name;
	struct arena *arena = &pull->arena;
	const char *candidates[] = {
		arena_printf(arena, "%s/%s", directory, pull->image),
		arena_printf(arena, "%s/%s:%s", directory, name->repository, name->tag),
		arena_printf(arena, "%s/%s", directory, name->repository),
		directory,
	};

	for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		char *archive = arena_printf(arena, "%s.tar", candidates[i]);

		if (i < 3 && !access(archive, R_OK))
			return take_archive(pull, archive, err);
		if (is_image_directory(pull, candidates[i]))
			return take_unpacked(pull, candidates[i], err);
	}
	return err_set(err, ERR_NOT_FOUND,
		       "There is neither an archive '%s.tar' nor a directory of it, and '%s' is no "
		       "OCI layout",
		       candidates[0], directory);
}
