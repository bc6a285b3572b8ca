/* See unpack.h. */
#include "agent/containers/archives/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory/arena.h"

#define BLOCK_SIZE (64 * 1024)
#define ENTRIES_MAX 4000000
#define BYTES_MAX (64LL << 30) /* unpacked */
/* More than this, and so many times as large as the archive, is nothing but zeros. */
#define BOMB_BYTES (1LL << 30)
#define BOMB_RATIO 500
#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

struct unpacking {
	struct archive *from, *to;
	enum unpack_kind kind;
	int64_t packed; /* bytes of the archive; 0: nobody knows */
	int64_t bytes;
	int64_t entries;
};

static int unpack_failed(struct archive *archive, struct err *err)
{
	const char *why = archive_error_string(archive);

	return err_set(err, ERR_INVALID, "%s", why ? why : "It is no archive");
}

static int count_bytes(struct unpacking *u, size_t size, struct err *err)
{
	u->bytes += (int64_t)size;
	if (u->bytes > BYTES_MAX ||
	    (u->bytes > BOMB_BYTES && u->packed && u->bytes / BOMB_RATIO > u->packed))
		return err_set(err, ERR_LIMIT,
			       "Too much comes out of the archive: more than %lld MB",
			       (long long)(u->bytes >> 20));
	return 0;
}

/* ---- entries ----------------------------------------------------------------------- */

static const char *without_root(const char *path)
{
	while (*path == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	return path;
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
	char *target = xprintf("%.*s%s", (int)(base - path), path, base + strlen(WHITEOUT));

	archive_entry_set_pathname(entry, target);
	archive_entry_set_hardlink(entry, NULL);
	archive_entry_set_filetype(entry, AE_IFCHR);
	archive_entry_set_perm(entry, 0);
	archive_entry_set_rdevmajor(entry, 0);
	archive_entry_set_rdevminor(entry, 0);
	archive_entry_set_size(entry, 0);
	free(target);
}

/* The kernel would believe them: only what we write ourselves may be there. */
static void drop_trusted(const struct unpacking *u, struct archive_entry *entry)
{
	struct archive_entry *copy;
	const char *name;
	const void *value;
	size_t size;

	if (!archive_entry_xattr_reset(entry))
		return;
	copy = archive_entry_clone(entry);
	archive_entry_xattr_clear(entry);
	archive_entry_xattr_reset(copy);
	while (archive_entry_xattr_next(copy, &name, &value, &size) == ARCHIVE_OK)
		if (strncmp(name, "trusted.", 8) != 0)
			archive_entry_xattr_add_entry(entry, name, value, size);
	archive_entry_free(copy);
}

static int copy_data(struct unpacking *u, struct err *err)
{
	const void *block;
	size_t size;
	la_int64_t offset;
	int rv;

	while ((rv = archive_read_data_block(u->from, &block, &size, &offset)) == ARCHIVE_OK) {
		if (count_bytes(u, size, err) < 0)
			return ERR_LIMIT;
		if (archive_write_data_block(u->to, block, size, offset) < ARCHIVE_OK)
			return unpack_failed(u->to, err);
	}
	return rv == ARCHIVE_EOF ? 0 : unpack_failed(u->from, err);
}

static int write_entry(struct unpacking *u, struct archive_entry *entry, struct err *err)
{
	int rv;

	drop_trusted(u, entry);
	/* No rights come with them. */
	if (u->kind == UNPACK_FILES)
		archive_entry_set_perm(entry, archive_entry_perm(entry) & 01777);
	if (archive_write_header(u->to, entry) < ARCHIVE_WARN)
		return unpack_failed(u->to, err);
	if ((!archive_entry_size_is_set(entry) || archive_entry_size(entry) > 0) &&
	    (rv = copy_data(u, err)) < 0)
		return rv;
	return archive_write_finish_entry(u->to) < ARCHIVE_WARN ? unpack_failed(u->to, err) : 0;
}

static int take_entry(struct unpacking *u, struct archive_entry *entry, struct err *err)
{
	const char *name = archive_entry_pathname(entry), *link, *base;
	char *path;
	int rv = 0;

	if (++u->entries > ENTRIES_MAX)
		return err_set(err, ERR_LIMIT, "The archive has too many entries");
	if (!name || path_climbs(name))
		return err_set(err, ERR_INVALID, "'%s' leads out of the archive", name ? name : "");
	path = xstrdup(without_root(name));
	link = archive_entry_hardlink(entry);
	base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (link && path_climbs(link)) {
		rv = err_set(err, ERR_INVALID, "'%s' leads out of the archive", link);
	} else if (u->kind == UNPACK_LAYER && !strcmp(base, OPAQUE)) {
		rv = make_opaque(path, err);
	} else if (*path && strcmp(path, ".") != 0) {
		archive_entry_set_pathname(entry, path);
		if (link)
			archive_entry_set_hardlink(entry, without_root(link));
		if (u->kind == UNPACK_LAYER && !strncmp(base, WHITEOUT, strlen(WHITEOUT)))
			make_whiteout(u, entry, path, base);
		rv = write_entry(u, entry, err);
	}
	free(path);
	return rv;
}

/* ---- archives ------------------------------------------------------------------------ */

static int flags_of(enum unpack_kind kind)
{
	int flags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
		    ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;

	return kind == UNPACK_FILES ? flags
				    : flags | ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_ACL |
					      ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_UNLINK;
}

static int take_entries(struct unpacking *u, int archive, struct err *err)
{
	struct archive_entry *entry;
	int rv, taken;

	archive_read_support_filter_all(u->from);
	archive_read_support_format_tar(u->from);
	archive_read_support_format_zip(u->from);
	archive_write_disk_set_options(u->to, flags_of(u->kind));
	if (archive_read_open_fd(u->from, archive, BLOCK_SIZE) != ARCHIVE_OK)
		return unpack_failed(u->from, err);
	while ((rv = archive_read_next_header(u->from, &entry)) == ARCHIVE_OK || rv == ARCHIVE_WARN)
		if ((taken = take_entry(u, entry, err)) < 0)
			return taken;
	if (rv != ARCHIVE_EOF)
		return unpack_failed(u->from, err);
	return archive_write_close(u->to) < ARCHIVE_WARN ? unpack_failed(u->to, err) : 0;
}

static int64_t size_of(int fd)
{
	struct stat info;

	return fstat(fd, &info) || !S_ISREG(info.st_mode) ? 0 : info.st_size;
}

int unpack_archive(int archive, const char *directory, enum unpack_kind kind, struct err *err)
{
	struct unpacking u = {.kind = kind, .packed = size_of(archive)};
	int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv;
	mode_t mask = umask(kind == UNPACK_FILES ? 022 : 0);

	if ((mkdir(directory, 0755) && errno != EEXIST) || chdir(directory)) {
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", directory, strerror(errno));
	} else {
		u.from = archive_read_new();
		u.to = archive_write_disk_new();
		rv = take_entries(&u, archive, err);
		archive_write_free(u.to);
		archive_read_free(u.from);
	}
	umask(mask);
	if (before >= 0) {
		if (fchdir(before) && rv == 0)
			rv = err_set(err, ERR_IO, "Cannot leave '%s'", directory);
		close(before);
	}
	return rv;
}

/* ---- what is only compressed --------------------------------------------------------- */

static int copy_stream(struct unpacking *u, int target, struct err *err)
{
	char *data = xmalloc(BLOCK_SIZE);
	la_ssize_t got;
	int rv = 0;

	while (rv == 0 && (got = archive_read_data(u->from, data, BLOCK_SIZE)) != 0) {
		if (got < 0)
			rv = unpack_failed(u->from, err);
		else if (write(target, data, (size_t)got) != got)
			rv = err_set(err, ERR_IO, "Cannot write: %s", strerror(errno));
		else
			rv = count_bytes(u, (size_t)got, err);
	}
	free(data);
	return rv;
}

int unpack_stream(int compressed, int target, struct err *err)
{
	struct unpacking u = {.packed = size_of(compressed), .from = archive_read_new()};
	struct archive_entry *entry;
	int rv;

	archive_read_support_filter_all(u.from);
	archive_read_support_format_raw(u.from);
	archive_read_support_format_empty(u.from);
	if (archive_read_open_fd(u.from, compressed, BLOCK_SIZE) != ARCHIVE_OK)
		rv = unpack_failed(u.from, err);
	else if ((rv = archive_read_next_header(u.from, &entry)) == ARCHIVE_EOF)
		rv = 0;
	else
		rv = rv == ARCHIVE_OK ? copy_stream(&u, target, err) : unpack_failed(u.from, err);
	archive_read_free(u.from);
	return rv;
}
