/* What the files of `mesita pull` share. Nobody else includes this.
 *
 *	pull.c		flags, and one step after the other
 *	pull_directory.c	images in archives and layouts
 *	pull_registry.c	images in registries
 *	pull_http.c	requests to those
 *	pull_manifest.c	what an image is made of
 *	pull_layer.c	layers in the store */
#ifndef AGENT_CONTAINERS_PULL_PULL_INTERNAL_H
#define AGENT_CONTAINERS_PULL_PULL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/containers/image/image_name.h"
#include "base/json/json.h"

struct pull {
	const char *store;
	const char *registry;
	const char *image;
	int64_t stall_timeout;	   /* ns */
	const struct json *access; /* docker's configuration; NULL: there is none */
	struct image_name name;
	struct arena arena;
	char *staging; /* a directory of our own */
	/* What was got: names of layers, lowest first, and the image's configuration. */
	char **layers;
	size_t layer_count;
	const struct json *config;
};

/* ---- pull_directory.c, pull_registry.c: fill layers and config in ------------------- */

int pull_from_directory(struct pull *pull, const char *directory, struct err *err);
int pull_from_registry(struct pull *pull, struct err *err);

/* ---- pull_manifest.c ------------------------------------------------------------------ */

#define PULL_HEX 64
#define PULL_LAYERS_MAX 500

struct blob {
	char hex[PULL_HEX + 1]; /* of its SHA-256 */
	int64_t size;
};

struct manifest {
	bool is_list;
	struct blob next; /* of a list: the manifest for this machine */
	struct blob config;
	struct blob *layers; /* lowest first */
	size_t count;
};

/* A manifest or a list of them, as OCI and docker's version 2 have it. `wanted` (or NULL): which
 * one of a list, by the name that an annotation gives it. */
int manifest_parse(struct arena *arena, const char *data, size_t len, const char *wanted,
		   struct manifest *out, struct err *err);
/* Takes the configuration of an image. */
int pull_take_config(struct pull *pull, const char *data, size_t len, struct err *err);
void pull_take_layer(struct pull *pull, const char *hex);
/* ERR_CORRUPT: the bytes are not what the digest says. */
int pull_check_digest(const char *what, const char *expected, const char *got, struct err *err);

/* ---- pull_layer.c ---------------------------------------------------------------------- */

/* Whether the layer was unpacked before. */
bool pull_has_layer(const struct pull *pull, const char *hex);
/* Unpacks the archive (of which any compression is known) as the layer. */
int pull_unpack_layer(const struct pull *pull, int archive, const char *hex, struct err *err);
/* Opens a file below a directory; links do not lead out of that. */
int pull_open_below(const char *directory, const char *path, struct err *err);

/* ---- pull_http.c ------------------------------------------------------------------------ */

struct registry; /* one repository of one */

/* `base`: SCHEME://HOST. It lives as long as the pull. NULL: without libcurl. */
struct registry *registry_open(struct pull *pull, const char *base, const char *host,
			       const char *repository, struct err *err);
/* GETs /v2/REPOSITORY/manifests/REFERENCE. ERR_NOT_FOUND: nobody listens there. */
int registry_manifest(struct registry *registry, const char *reference, struct buf *body,
		      struct err *err);
/* Gets blobs into files of the staging directory, named by their digests, several at a time. */
int registry_blobs(struct registry *registry, const struct blob *blobs, size_t count,
		   struct err *err);

#endif
