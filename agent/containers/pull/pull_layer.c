/* Layers in the store, and files below a directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/containers/archives/unpack.h"
#include "agent/containers/pull/pull_internal.h"

int pull_open_below(const char *directory, const char *path, struct err *err)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int top = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (top >= 0)
		fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	if (fd < 0)
		err_set(err, ERR_NOT_FOUND, "Cannot open '%s/%s': %s", directory, path,
			strerror(errno));
	if (top >= 0)
		close(top);
	return fd < 0 ? ERR_NOT_FOUND : fd;
}

/* ---- layers ----------------------------------------------------------------------------- */

/* Half of the digest is enough of a name, and many of them fit into the options of a mount. */
static char *layer_path(const struct pull *pull, const char *hex)
{
	return xprintf("%s/layers/%.32s", pull->store, hex);
}

bool pull_has_layer(const struct pull *pull, const char *hex)
{
	char *path = layer_path(pull, hex);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

int pull_unpack_layer(const struct pull *pull, int archive, const char *hex, struct err *err)
{
	char *path = layer_path(pull, hex), *fresh = xprintf("%s/%.32s.layer", pull->staging, hex);
	int rv = unpack_archive(archive, fresh, UNPACK_LAYER, err);

	/* Another process may have had the same. */
	if (rv == 0 && rename(fresh, path) && errno != EEXIST && errno != ENOTEMPTY)
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", path, strerror(errno));
	free(fresh);
	free(path);
	return rv;
}
