/* An image as it lies in the store: its layers, and what it says of running it. */
#ifndef AGENT_CONTAINERS_IMAGE_IMAGE_H
#define AGENT_CONTAINERS_IMAGE_IMAGE_H

#include <stddef.h>

#include "base/err.h"
#include "base/memory/arena.h"

struct image {
	const char *layers_directory; /* set when it was taken */
	char **layers;		      /* topmost first; directories in it */
	size_t layer_count;
	char **environment; /* NAME=VALUE */
	size_t environment_count;
	char **entrypoint;
	size_t entrypoint_count;
	char **arguments; /* the default ones ("Cmd") */
	size_t argument_count;
	const char *user;      /* "" = root */
	const char *directory; /* to work in; "" = it does not say */
};

#endif
