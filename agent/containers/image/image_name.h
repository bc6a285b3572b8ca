/* Names of images, as docker writes them: [REGISTRY/]REPOSITORY[:TAG][@DIGEST]. */
#ifndef AGENT_CONTAINERS_IMAGE_IMAGE_NAME_H
#define AGENT_CONTAINERS_IMAGE_IMAGE_NAME_H

#include "base/err.h"
#include "base/memory/arena.h"

struct image_name {
	const char *registry; /* HOST[:PORT]; NULL: the default one */
	const char *repository;
	const char *tag;    /* "latest" if none is said */
	const char *digest; /* "sha256:..."; or NULL: it counts more than the tag */
};

/* ERR_INVALID: it is none. The parts are in the arena. */
int image_name_parse(struct arena *arena, const char *text, struct image_name *out,
		     struct err *err);

#endif
