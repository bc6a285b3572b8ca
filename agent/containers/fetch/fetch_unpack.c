/* A file becomes what is in it, by the programs that know the format. */
#include "agent/containers/fetch/fetch_internal.h"

#include <string.h>

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

static int unpack_archive(struct fetch *fetch, char *path, const char *kind, struct err *err)
{
	char *directory = (char *)fetch->directory;
	char *tar[] = {"tar", "--no-same-owner", "-x", "-f", path, "-C", directory, NULL};
	char *zip[] = {"unzip", "-o", "-q", path, "-d", directory, NULL};
	char *bsdtar[] = {"bsdtar", "-x", "-f", path, "-C", directory, NULL};
	int rv;

	if (is_tar(kind)) {
		rv = fetch_run_program(tar, NULL, NULL, NULL, err);
	} else {
		rv = fetch_run_program(zip, NULL, NULL, NULL, err);
		if (rv == ERR_NOT_FOUND && !fetch_run_program(bsdtar, NULL, NULL, NULL, NULL))
			rv = 0;
	}
	if (rv < 0)
		return err_wrap(err, rv, "Failed to extract archive '%s' to '%s'", path, directory);
	return 0;
}

static int unpack_gz(struct fetch *fetch, char *path, const char *kind, struct err *err)
{
	char *gzip[] = {"gzip", "-d", "-c", NULL};
	const char *name = strrchr(kind, '/') ? strrchr(kind, '/') + 1 : kind;
	char *target = arena_printf(&fetch->arena, "%s/%.*s", fetch->directory,
				    (int)strlen(name) - 3, name);
	int rv = fetch_check_target(fetch, target, err);

	if (rv == 0)
		rv = fetch_run_program(gzip, path, target, NULL, err);
	return rv < 0 ? err_wrap(err, rv, "Failed to extract '%s'", path) : 0;
}

bool fetch_is_archive(const char *name)
{
	return is_tar(name) || str_has_suffix(name, ".zip") || str_has_suffix(name, ".gz");
}

int fetch_unpack(struct fetch *fetch, char *path, const char *name, struct err *err)
{
	int rv = is_tar(name) || str_has_suffix(name, ".zip")
			 ? unpack_archive(fetch, path, name, err)
			 : unpack_gz(fetch, path, name, err);

	if (rv == 0)
		log_info("Extracted '%s' into '%s'", path, fetch->directory);
	return rv;
}
