/* The store's files, as they are used and removed. Agents may share a store: who uses a layer is
 * written down in it, and a lock keeps one from removing what another is about to use.
 *
 *	STORE/lock		shared while images are pulled or taken, alone while they are
 *removed STORE/used/<container>	its directory, then its layers, a line each
 *
 * All of these may be slow. */
#ifndef AGENT_CONTAINERS_IMAGE_IMAGE_FILES_H
#define AGENT_CONTAINERS_IMAGE_IMAGE_FILES_H

#include <stdbool.h>

#include "agent/containers/image/image.h"

/* A descriptor that holds the lock until it is closed. `seconds`: how long to wait for it. */
int image_lock(const char *store, bool alone, int seconds, struct err *err);

/* With all of its layers. */
bool image_is_there(const char *store, const char *name);
/* Takes the image for a container, whose directory is `home`: its layers stay until
 * image_release(), or until that directory is gone. ERR_NOT_FOUND: the image, or a part of it, is
 * not there. */
int image_take(const char *store, const char *name, const char *container, const char *home,
	       struct arena *arena, struct image *out, struct err *err);
void image_release(const char *store, const char *container);
/* Removes all that is neither used nor named in `excluded` (NULL-ended). Returns how many images
 * that were. */
int image_prune(const char *store, char *const *excluded, struct err *err);
/* Removes what processes that are no more left half done. */
void image_sweep(const char *store);

#endif
