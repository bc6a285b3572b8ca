/* What registries and images say: names, manifests, lists of them, configurations, records. What is
 * taken as a name or a digest must be safe in a path. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/image/image_name.h"
#include "agent/containers/pull/pull_internal.h"

static void check_part(const char *text)
{
	if (!*text || *text == '/' || *text == '.' || strstr(text, "..") ||
	    strpbrk(text, " %?#\n\\"))
		abort();
}

static void check_blob(const struct blob *blob)
{
	if (strspn(blob->hex, "0123456789abcdef") != PULL_HEX || blob->hex[PULL_HEX])
		abort();
}

static void read_name(struct arena *arena, const char *text)
{
	struct image_name name;

	if (image_name_parse(arena, text, &name, NULL))
		return;
	check_part(name.repository);
	check_part(name.tag);
	if (name.registry)
		check_part(name.registry);
}

static void read_manifest(struct arena *arena, const char *text, size_t len, const char *wanted)
{
	struct manifest manifest;
	struct err err = {""};

	if (manifest_parse(arena, text, len, wanted, &manifest, &err)) {
		if (!err.text[0])
			abort();
		return;
	}
	if (manifest.is_list) {
		check_blob(&manifest.next);
		return;
	}
	check_blob(&manifest.config);
	for (size_t i = 0; i < manifest.count; i++)
		check_blob(&manifest.layers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pull pull = {0};
	char *text;

	arena_init(&pull.arena);
	text = arena_strndup(&pull.arena, (const char *)data, size);
	read_name(&pull.arena, text);
	read_manifest(&pull.arena, text, size, NULL);
	read_manifest(&pull.arena, text, size, "latest");
	pull_take_config(&pull, text, size, NULL);
	arena_free(&pull.arena);
	return 0;
}
