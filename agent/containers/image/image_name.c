#include "agent/containers/image/image_name.h"

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_BYTES 1024
#define DIGEST_PREFIX "sha256:"
#define DIGEST_HEX 64

/* What may name a host has a dot, a port, or is the well-known one; everything else is a part of
 * the repository. */
static bool is_registry(const char *text, size_t len)
{
	return memchr(text, '.', len) || memchr(text, ':', len) ||
	       (len == 9 && !memcmp(text, "localhost", 9));
}

static bool is_digest(const char *text)
{
	return !strncmp(text, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) &&
	       strlen(text) == strlen(DIGEST_PREFIX) + DIGEST_HEX &&
	       strspn(text + strlen(DIGEST_PREFIX), "0123456789abcdef") == DIGEST_HEX;
}

/* It becomes part of paths and URLs. */
static bool is_safe(const char *text, const char *allowed)
{
	static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_";

	if (!*text || *text == '.' || *text == '/' || *text == '-' || strstr(text, "..") ||
	    strstr(text, "//") || strstr(text, "/.") || text[strlen(text) - 1] == '/')
		return false;
	for (; *text; text++)
		if (!strchr(letters, *text) && !strchr(allowed, *text))
			return false;
	return true;
}

int image_name_parse(struct arena *arena, const char *text, struct image_name *out, struct err *err)
{
	char *rest = arena_strdup(arena, text), *at, *slash, *colon;

	*out = (struct image_name){.tag = "latest"};
	at = strchr(rest, '@');
	if (at) {
		*at = 0;
		out->digest = at + 1;
	}
	slash = strchr(rest, '/');
	if (slash && is_registry(rest, (size_t)(slash - rest))) {
		*slash = 0;
		out->registry = rest;
		rest = slash + 1;
	}
	colon = strrchr(rest, ':');
	if (colon) {
		*colon = 0;
		out->tag = colon + 1;
	}
	out->repository = rest;
	if (strlen(text) > NAME_MAX_BYTES || !is_safe(rest, "-./") || !is_safe(out->tag, "-.") ||
	    (out->registry && !is_safe(out->registry, "-.:")) ||
	    (out->digest && !is_digest(out->digest)))
		return err_set(err, ERR_INVALID, "'%s' is no name of an image", text);
	return 0;
}
