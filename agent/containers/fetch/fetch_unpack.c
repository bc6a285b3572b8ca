/* A file becomes what is in it. */
#include "agent/containers/fetch/fetch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/archives/unpack.h"
#include "base/log/log.h"

/* ---- unpacking ----------------------------------------------------------- */

static bool is_tar(const char *path)
{
	static const char *const names[] = {".tar",	".tgz", ".tar.gz", ".tbz2",
					    ".tar.bz2", ".txz", ".tar.xz"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_has_suffix(path, names[i]))
			return true;
	return false;
}

static int unpack_files(struct fetch *fetch, const char *path, struct err *err)
{
	int archive = open(path, O_RDONLY | O_CLOEXEC), rv;

	if (archive < 0)
		rv = err_set(err, ERR_IO, "%s", strerror(errno));
	else
		rv = unpack_archive(archive, fetch->directory, UNPACK_FILES, err);
	if (archive >= 0)
		close(archive);
	return rv < 0 ? err_wrap(err, rv, "Failed to extract archive '%s' to '%s'", path,
				 fetch->directory)
		      : 0;
}

static int unpack_gz(struct fetch *fetch, const char *path, const char *kind, struct err *err)
{
	const char *name = strrchr(kind, '/') ? strrchr(kind, '/') + 1 : kind;
	char *target = arena_printf(&fetch->arena, "%s/%.*s", fetch->directory,
				    (int)strlen(name) - 3, name);
	int from = open(path, O_RDONLY | O_CLOEXEC), to = -1;
	int rv = fetch_check_target(fetch, target, err);

	if (rv == 0) {
		to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		rv = from < 0 || to < 0 ? err_set(err, ERR_IO, "%s", strerror(errno))
					: unpack_stream(from, to, err);
	}
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && rv == 0)
		rv = err_set(err, ERR_IO, "%s", strerror(errno));
	return rv < 0 ? err_wrap(err, rv, "Failed to extract '%s'", path) : 0;
}

bool fetch_is_archive(const char *name)
{
	return is_tar(name) || str_has_suffix(name, ".zip") || str_has_suffix(name, ".gz");
}

int fetch_unpack(struct fetch *fetch, char *path, const char *name, struct err *err)
{
	int rv = is_tar(name) || str_has_suffix(name, ".zip") ? unpack_files(fetch, path, err)
							      : unpack_gz(fetch, path, name, err);

	if (rv == 0)
		log_info("Extracted '%s' into '%s'", path, fetch->directory);
	return rv;
}
