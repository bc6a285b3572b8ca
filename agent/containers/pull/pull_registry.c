/* An image of a registry: its manifest, its configuration, and the layers that are not there
 * yet. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/pull/pull_internal.h"
#include "auth/digest.h"
#include "base/files.h"
#include "base/log/log.h"

#define CONFIG_MAX (8 * 1024 * 1024)
#define LISTS_MAX 4 /* inside of one another */
#define DOCKER_HUB "registry-1.docker.io"

static bool is_of_this_machine(const char *host)
{
	return !strncmp(host, "localhost", 9) || !strncmp(host, "127.", 4);
}

/* "sha256:..." of what came must be what was asked for, if that says it. */
static int check_reference(const char *reference, const struct buf *body, struct err *err)
{
	char hex[DIGEST_TEXT];

	if (strncmp(reference, "sha256:", 7) != 0)
		return 0;
	digest_text(body->data ? body->data : "", body->len, hex);
	return pull_check_digest("The manifest", reference + 7, hex, err);
}

static int get_manifest(struct pull *pull, struct registry *registry, struct manifest *out,
			struct err *err)
{
	const char *reference = pull->name.digest ? pull->name.digest : pull->name.tag;
	struct buf body = BUF_INIT;
	int rv = 0;

	out->is_list = true;
	for (int depth = 0; rv == 0 && out->is_list && depth < LISTS_MAX; depth++) {
		rv = registry_manifest(registry, reference, &body, err);
		if (rv == 0)
			rv = check_reference(reference, &body, err);
		if (rv == 0)
			rv = manifest_parse(&pull->arena, body.data ? body.data : "", body.len,
					    NULL, out, err);
		if (rv == 0 && out->is_list)
			reference = arena_printf(&pull->arena, "sha256:%s", out->next.hex);
	}
	buf_free(&body);
	if (rv == 0 && out->is_list)
		rv = err_set(err, ERR_INVALID, "The lists of images never end");
	return rv;
}

/* The same layer may be there twice. */
static bool is_listed(const struct blob *list, size_t count, const char *hex)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].hex, hex))
			return true;
	return false;
}

static int get_blobs(struct pull *pull, struct registry *registry, const struct manifest *manifest,
		     struct err *err)
{
	struct blob *missing = arena_alloc(&pull->arena, (manifest->count + 1) * sizeof(*missing));
	size_t count = 0;
	int64_t bytes = 0;

	missing[count++] = manifest->config;
	for (size_t i = 0; i < manifest->count; i++) {
		const struct blob *layer = &manifest->layers[i];

		if (pull_has_layer(pull, layer->hex) || is_listed(missing, count, layer->hex))
			continue;
		missing[count++] = *layer;
		bytes += layer->size > 0 ? layer->size : 0;
	}
	log_info("%zu of %zu layers are to be downloaded: %lld MB", count - 1, manifest->count,
		 (long long)(bytes >> 20));
	return registry_blobs(registry, missing, count, err);
}

static int unpack_layers(struct pull *pull, const struct manifest *manifest, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < manifest->count && rv == 0; i++) {
		const char *hex = manifest->layers[i].hex;
		char *path = arena_printf(&pull->arena, "%s/%s", pull->staging, hex);
		int fd = -1;

		if (!pull_has_layer(pull, hex)) {
			fd = open(path, O_RDONLY | O_CLOEXEC);
			rv = pull_unpack_layer(pull, fd, hex, err);
			close(fd);
			unlink(path);
			log_info("Layer %zu of %zu is unpacked", i + 1, manifest->count);
		}
		pull_take_layer(pull, hex);
	}
	return rv;
}

static int take_image(struct pull *pull, struct registry *registry, struct err *err)
{
	struct manifest manifest;
	struct buf config = BUF_INIT;
	int rv = get_manifest(pull, registry, &manifest, err);

	if (rv == 0)
		rv = get_blobs(pull, registry, &manifest, err);
	if (rv == 0)
		rv = file_read(
			arena_printf(&pull->arena, "%s/%s", pull->staging, manifest.config.hex),
			CONFIG_MAX, &config, err);
	if (rv == 0)
		rv = pull_take_config(pull, config.data ? config.data : "", config.len, err);
	buf_free(&config);
	return rv < 0 ? rv : unpack_layers(pull, &manifest, err);
}

/* SCHEME://HOST of a flag or of an image's name. */
static const char *scheme_end(const char *url)
{
	const char *end = strstr(url, "://");

	return end ? end + 3 : url;
}

int pull_from_registry(struct pull *pull, struct err *err)
{
	const char *place = pull->name.registry ? pull->name.registry : pull->registry;
	const char *host = scheme_end(place), *repository = pull->name.repository;
	struct arena *arena = &pull->arena;
	struct registry *registry;
	int rv;

	host = arena_strndup(arena, host, strcspn(host, "/"));
	/* What docker itself publishes is named without a part for who did. */
	if (!strcmp(host, DOCKER_HUB) && !strchr(repository, '/'))
		repository = arena_printf(arena, "library/%s", repository);
	if (strstr(place, "://"))
		place = arena_strndup(arena, place,
				      (size_t)(scheme_end(place) - place) + strlen(host));
	else
		place = arena_printf(arena, "https://%s", host);
	registry = registry_open(pull, place, host, repository, err);
	if (!registry)
		return ERR_NOT_FOUND;
	rv = take_image(pull, registry, err);
	/* As docker does: a registry on this machine needs no TLS. */
	if (rv != ERR_NOT_FOUND || !is_of_this_machine(host) || strncmp(place, "https:", 6) != 0)
		return rv;
	registry =
		registry_open(pull, arena_printf(arena, "http://%s", host), host, repository, err);
	return take_image(pull, registry, err);
}
