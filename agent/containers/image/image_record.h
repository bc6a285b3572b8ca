/* What the store remembers of an image: a file of JSON, written when all of it is there.
 *
 *	STORE/images/<digest of the name>	{"name": ..., "layers": [...], "config": {...}}
 *	STORE/layers/<name of a layer>/		topmost first in the record
 *	STORE/staging/				what is under way, or to be removed */
#ifndef AGENT_CONTAINERS_IMAGE_IMAGE_RECORD_H
#define AGENT_CONTAINERS_IMAGE_IMAGE_RECORD_H

#include "agent/containers/image/image.h"
#include "base/json/json.h"

char *image_record_path(struct arena *arena, const char *store, const char *name);
/* ERR_NOT_FOUND: there is none; ERR_CORRUPT: it cannot be read. `name` may be NULL. */
int image_record_read(struct arena *arena, const char *path, const char **name, struct image *out,
		      struct err *err);
/* `config`: the image's own, of which what counts for running it is kept. */
int image_record_write(const char *store, const char *name, char *const *layers, size_t count,
		       const struct json *config, struct err *err);

#endif
