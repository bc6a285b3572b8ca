/* What an image is made of, as OCI's and docker's documents tell. They are a stranger's. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/containers/pull/pull_internal.h"

#define DIGEST_PREFIX "sha256:"
#define VALUES_MAX 100000 /* of a document */

/* Architectures as images name them. */
static const char *own_architecture(void)
{
	static struct utsname machine;

	uname(&machine);
	if (!strcmp(machine.machine, "x86_64"))
		return "amd64";
	return strcmp(machine.machine, "aarch64") ? machine.machine : "arm64";
}

static int read_blob(const struct json *json, struct blob *out, struct err *err)
{
	const char *digest = json_get_string(json, "digest");
	const struct json *size = json_get(json, "size");

	if (strncmp(digest, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) != 0 ||
	    strlen(digest) != strlen(DIGEST_PREFIX) + PULL_HEX ||
	    strspn(digest + strlen(DIGEST_PREFIX), "0123456789abcdef") != PULL_HEX)
		return err_set(err, ERR_INVALID, "The manifest has a digest that is none: '%s'",
			       digest);
	snprintf(out->hex, sizeof(out->hex), "%s", digest + strlen(DIGEST_PREFIX));
	out->size = -1;
	if (size)
		json_integer(size, &out->size);
	return 0;
}

static bool suits(const struct json *entry, const char *wanted)
{
	const struct json *platform = json_get(entry, "platform");
	const char *name = json_get_string(json_get(entry, "annotations"),
					   "org.opencontainers.image.ref.name");
	const char *architecture = json_get_string(platform, "architecture");
	const char *system = json_get_string(platform, "os");

	if (wanted && *name)
		return !strcmp(name, wanted);
	return (!*architecture || !strcmp(architecture, own_architecture())) &&
	       (!*system || !strcmp(system, "linux"));
}

static int read_list(const struct json *list, const char *wanted, struct manifest *out,
		     struct err *err)
{
	out->is_list = true;
	for (size_t i = 0; i < list->count; i++)
		if (suits(&list->items[i], wanted))
			return read_blob(&list->items[i], &out->next, err);
	return err_set(err, ERR_NOT_FOUND, "There is no image for linux/%s", own_architecture());
}

int manifest_parse(struct arena *arena, const char *data, size_t len, const char *wanted,
		   struct manifest *out, struct err *err)
{
	const struct json *list, *layers;
	struct json *document;
	int rv = json_parse_up_to(VALUES_MAX, arena, data, len, &document, err);

	*out = (struct manifest){0};
	if (rv < 0)
		return err_wrap(err, rv, "The manifest is no JSON");
	list = json_get(document, "manifests");
	if (list && list->type == JSON_ARRAY)
		return read_list(list, wanted, out, err);
	layers = json_get(document, "layers");
	if (!layers || layers->type != JSON_ARRAY || !layers->count ||
	    layers->count > PULL_LAYERS_MAX)
		return err_set(err, ERR_INVALID,
			       "The manifest is of an old version, or none: it names no layers");
	out->layers = arena_alloc(arena, layers->count * sizeof(*out->layers));
	out->count = layers->count;
	for (size_t i = 0; i < layers->count && rv == 0; i++)
		rv = read_blob(&layers->items[i], &out->layers[i], err);
	return rv == 0 ? read_blob(json_get(document, "config"), &out->config, err) : rv;
}

int pull_take_config(struct pull *pull, const char *data, size_t len, struct err *err)
{
	struct json *document;
	int rv = json_parse_up_to(VALUES_MAX, &pull->arena, data, len, &document, err);

	if (rv < 0)
		return err_wrap(err, rv, "The configuration of the image is no JSON");
	pull->config = json_get(document, "config");
	return 0;
}

void pull_take_layer(struct pull *pull, const char *hex)
{
	char **more = arena_alloc(&pull->arena, (pull->layer_count + 1) * sizeof(*more));

	if (pull->layer_count)
		memcpy(more, pull->layers, pull->layer_count * sizeof(*more));
	more[pull->layer_count++] = arena_printf(&pull->arena, "%.32s", hex);
	pull->layers = more;
}

int pull_check_digest(const char *what, const char *expected, const char *got, struct err *err)
{
	return strcmp(expected, got)
		       ? err_set(err, ERR_CORRUPT, "%s is not what was asked for: its digest is %s",
				 what, got)
		       : 0;
}
