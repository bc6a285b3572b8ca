/* An archive becomes a directory: of a layer, as overlayfs wants it: what the layer removes is a
 * device 0:0 there, and a directory that hides those below it is marked as opaque.
 *
 * The archive is a stranger's: nothing is written outside of the directory, nothing goes through a
 * link, and it has bounds. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/containers/libraries/archive_library.h"
#include "agent/containers/pull/pull_internal.h"
#include "agent/containers/sandbox.h"

#define BLOCK_SIZE (64 * 1024)
#define ENTRIES_MAX 4000000
#define BYTES_MAX (64LL << 30) /* unpacked */
#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

struct unpacking {
	const struct archive_library *library;
	struct archive *from, *to;
	bool layer;
	int64_t bytes;
	int64_t entries;
};

static int unpack_failed(const struct unpacking *u, struct archive *archive, struct err *err)
{
	const char *why = u->library->archive_error_string(archive);

	return err_set(err, ERR_INVALID, "Failed to unpack an archive: %s", why ? why : "unknown");
}

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

/* ---- entries ----------------------------------------------------------------------- */

static const char *without_root(const char *path)
{
	while (*path == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	return path;
}

static bool climbs(const char *path)
{
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && !memcmp(path, "..", 2))
			return true;
	}
	return false;
}

/* Directory that it is in: the working one is the layer's. */
static int make_opaque(const char *path, struct err *err)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	const char *slash = strrchr(path, '/');
	char *directory = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	int fd, rv = 0;

	mkdir(directory, 0755);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, directory, &how, sizeof(how));
	if (fd < 0 || fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0))
		rv = err_set(err, ERR_IO, "Cannot mark '%s' as opaque: %s", directory,
			     strerror(errno));
	if (fd >= 0)
		close(fd);
	free(directory);
	return rv;
}

static void make_whiteout(const struct unpacking *u, struct archive_entry *entry, const char *path,
			  const char *base)
{
	const struct archive_library *l = u->library;
	char *target = xprintf("%.*s%s", (int)(base - path), path, base + strlen(WHITEOUT));

	l->archive_entry_set_pathname(entry, target);
	l->archive_entry_set_hardlink(entry, NULL);
	l->archive_entry_set_filetype(entry, AE_IFCHR);
	l->archive_entry_set_perm(entry, 0);
	l->archive_entry_set_rdevmajor(entry, 0);
	l->archive_entry_set_rdevminor(entry, 0);
	l->archive_entry_set_size(entry, 0);
	free(target);
}

/* The kernel would believe them: only what we write ourselves may be there. */
static void drop_trusted(const struct unpacking *u, struct archive_entry *entry)
{
	const struct archive_library *l = u->library;
	struct archive_entry *copy;
	const char *name;
	const void *value;
	size_t size;

	if (!l->archive_entry_xattr_reset(entry))
		return;
	copy = l->archive_entry_clone(entry);
	l->archive_entry_xattr_clear(entry);
	l->archive_entry_xattr_reset(copy);
	while (l->archive_entry_xattr_next(copy, &name, &value, &size) == ARCHIVE_OK)
		if (strncmp(name, "trusted.", 8) != 0)
			l->archive_entry_xattr_add_entry(entry, name, value, size);
	l->archive_entry_free(copy);
}

static int copy_data(struct unpacking *u, struct err *err)
{
	const struct archive_library *l = u->library;
	const void *block;
	size_t size;
	la_int64_t offset;
	int rv;

	while ((rv = l->archive_read_data_block(u->from, &block, &size, &offset)) == ARCHIVE_OK) {
		u->bytes += (int64_t)size;
		if (u->bytes > BYTES_MAX)
			return err_set(err, ERR_LIMIT, "The archive is too large");
		if (l->archive_write_data_block(u->to, block, size, offset) < ARCHIVE_OK)
			return unpack_failed(u, u->to, err);
	}
	return rv == ARCHIVE_EOF ? 0 : unpack_failed(u, u->from, err);
}

static int write_entry(struct unpacking *u, struct archive_entry *entry, struct err *err)
{
	const struct archive_library *l = u->library;

	drop_trusted(u, entry);
	if (l->archive_write_header(u->to, entry) < ARCHIVE_WARN)
		return unpack_failed(u, u->to, err);
	if (l->archive_entry_size(entry) > 0 && copy_data(u, err) < 0)
		return ERR_INVALID;
	return l->archive_write_finish_entry(u->to) < ARCHIVE_WARN ? unpack_failed(u, u->to, err)
								   : 0;
}

static int take_entry(struct unpacking *u, struct archive_entry *entry, struct err *err)
{
	const struct archive_library *l = u->library;
	const char *name = l->archive_entry_pathname(entry), *link, *base;
	char *path;
	int rv = 0;

	if (++u->entries > ENTRIES_MAX)
		return err_set(err, ERR_LIMIT, "The archive has too many entries");
	if (!name || climbs(name))
		return err_set(err, ERR_INVALID, "'%s' leads out of the archive", name ? name : "");
	path = xstrdup(without_root(name));
	link = l->archive_entry_hardlink(entry);
	base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (link && climbs(link)) {
		rv = err_set(err, ERR_INVALID, "'%s' leads out of the archive", link);
	} else if (u->layer && !strcmp(base, OPAQUE)) {
		rv = make_opaque(path, err);
	} else if (*path && strcmp(path, ".") != 0) {
		l->archive_entry_set_pathname(entry, path);
		if (link)
			l->archive_entry_set_hardlink(entry, without_root(link));
		if (u->layer && !strncmp(base, WHITEOUT, strlen(WHITEOUT)))
			make_whiteout(u, entry, path, base);
		rv = write_entry(u, entry, err);
	}
	free(path);
	return rv;
}

/* ---- archives ------------------------------------------------------------------------ */

static int take_entries(struct unpacking *u, int archive, struct err *err)
{
	const struct archive_library *l = u->library;
	struct archive_entry *entry;
	int rv;

	l->archive_read_support_filter_all(u->from);
	l->archive_read_support_format_tar(u->from);
	l->archive_write_disk_set_options(
		u->to, ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
			       ARCHIVE_EXTRACT_ACL | ARCHIVE_EXTRACT_XATTR |
			       ARCHIVE_EXTRACT_UNLINK | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
			       ARCHIVE_EXTRACT_SECURE_NODOTDOT |
			       ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
	if (l->archive_read_open_fd(u->from, archive, BLOCK_SIZE) != ARCHIVE_OK)
		return unpack_failed(u, u->from, err);
	while ((rv = l->archive_read_next_header(u->from, &entry)) == ARCHIVE_OK ||
	       rv == ARCHIVE_WARN)
		if (take_entry(u, entry, err) < 0)
			return ERR_INVALID;
	if (rv != ARCHIVE_EOF)
		return unpack_failed(u, u->from, err);
	return l->archive_write_close(u->to) < ARCHIVE_WARN ? unpack_failed(u, u->to, err) : 0;
}

int pull_unpack(int archive, const char *directory, bool layer, struct err *err)
{
	struct unpacking u = {.library = archive_library(err), .layer = layer};
	int rv;

	if (!u.library)
		return ERR_NOT_FOUND;
	if ((mkdir(directory, 0755) && errno != EEXIST) || chdir(directory))
		return err_set(err, ERR_IO, "Cannot make '%s': %s", directory, strerror(errno));
	umask(0);
	u.from = u.library->archive_read_new();
	u.to = u.library->archive_write_disk_new();
	rv = take_entries(&u, archive, err);
	u.library->archive_write_free(u.to);
	u.library->archive_read_free(u.from);
	umask(022);
	return chdir("/") ? err_set(err, ERR_IO, "Cannot leave '%s'", directory) : rv;
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
	int rv = pull_unpack(archive, fresh, true, err);

	/* Another process may have had the same. */
	if (rv == 0 && rename(fresh, path) && errno != EEXIST && errno != ENOTEMPTY)
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", path, strerror(errno));
	free(fresh);
	free(path);
	return rv;
}
