/* Archives of strangers: what comes out of them, and what does not. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/containers/archives/unpack.h"
#include "agent/containers/sandbox.h"
#include "base/memory/arena.h"

static struct arena arena;
static char top[] = "/tmp/mesita-unpack-XXXXXX";
static char *inside, *outside;
static int file;

/* ---- a tar, written by hand -------------------------------------------------------- */

#define BLOCK 512

static void begin(void)
{
	file = memfd_create("archive", MFD_CLOEXEC);
}

static void put_block(const char *data, size_t len)
{
	static const char zeros[BLOCK];

	cr_assert_eq(write(file, data, len), (ssize_t)len);
	if (len % BLOCK)
		cr_assert_eq(write(file, zeros, BLOCK - len % BLOCK), BLOCK - (ssize_t)len % BLOCK);
}

/* `type` as tar has it: '0' a file, '1' a hard link, '2' a symbolic one, '5' a directory, 'x'
 * attributes of the next. */
static void put(const char *path, char type, const char *link, const char *data)
{
	char header[BLOCK] = {0};
	unsigned sum = 0;

	cr_assert_lt(strlen(path), 100);
	strcpy(header, path);
	strcpy(header + 100, "0004755");
	strcpy(header + 108, "0000000");
	strcpy(header + 116, "0000000");
	snprintf(header + 124, 12, "%011o", (unsigned)strlen(data) & 0777777777U);
	strcpy(header + 136, "00000000000");
	memset(header + 148, ' ', 8);
	header[156] = type;
	strcpy(header + 157, link);
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum & 0777777U);
	put_block(header, BLOCK);
	put_block(data, strlen(data));
}

static void put_file(const char *path, const char *data)
{
	put(path, '0', "", data);
}

static void end(void)
{
	char last[2 * BLOCK] = {0};

	put_block(last, sizeof(last));
	lseek(file, 0, SEEK_SET);
}

static int unpack(enum unpack_kind kind, struct err *err)
{
	int rv;

	end();
	rv = unpack_archive(file, inside, kind, err);
	close(file);
	begin();
	return rv;
}

/* ---- the tests ------------------------------------------------------------------------ */

static void set_up(void)
{
	arena_init(&arena);
	cr_assert(mkdtemp(top));
	inside = arena_printf(&arena, "%s/in", top);
	outside = arena_printf(&arena, "%s/out", top);
	cr_assert(!mkdir(outside, 0755));
	begin();
}

static void tear_down(void)
{
	sandbox_remove(top, NULL, NULL);
	arena_free(&arena);
}

TestSuite(unpack, .init = set_up, .fini = tear_down, .timeout = 180);

static const char *content(const char *path)
{
	char data[256];
	int fd = open(arena_printf(&arena, "%s/%s", inside, path), O_RDONLY);
	ssize_t got = fd < 0 ? -1 : read(fd, data, sizeof(data) - 1);

	if (fd >= 0)
		close(fd);
	data[got > 0 ? got : 0] = 0;
	return got < 0 ? "(none)" : arena_strdup(&arena, data);
}

static bool is_empty(const char *directory)
{
	return rmdir(directory) == 0 && mkdir(directory, 0755) == 0;
}

Test(unpack, what_is_in_it_comes_out)
{
	struct stat info;
	struct err err = {""};

	put_file("./dotted/one", "1");
	put_file("two", "22");
	put("link", '2', "two", "");
	put("same", '1', "two", "");
	put_file("empty", "");
	cr_assert_eq(unpack(UNPACK_FILES, &err), 0, "%s", err.text);
	cr_expect_str_eq(content("dotted/one"), "1");
	cr_expect_str_eq(content("link"), "22");
	cr_expect_str_eq(content("same"), "22");
	cr_expect_str_eq(content("empty"), "");
	cr_assert(!stat(arena_printf(&arena, "%s/two", inside), &info));
	/* Without the rights of others. */
	cr_expect_eq(info.st_mode & 07777, 0755);
	cr_expect_eq(info.st_uid, geteuid());
}

Test(unpack, what_was_there_is_replaced)
{
	struct err err = {""};

	put_file("a", "old");
	cr_assert_eq(unpack(UNPACK_FILES, &err), 0);
	put_file("a", "new");
	cr_assert_eq(unpack(UNPACK_FILES, &err), 0, "%s", err.text);
	cr_expect_str_eq(content("a"), "new");
}

/* Each refused, or made harmless; never is anything written outside. */
Test(unpack, nothing_leads_out)
{
	static const enum unpack_kind kinds[] = {UNPACK_FILES, UNPACK_TREE, UNPACK_LAYER};
	struct err err = {""};

	for (size_t i = 0; i < 3; i++) {
		put_file("../out/x", "x");
		cr_expect_lt(unpack(kinds[i], &err), 0);
		put_file("a/../../out/x", "x");
		cr_expect_lt(unpack(kinds[i], &err), 0);
		put_file(arena_printf(&arena, "%s/x", outside), "x");
		unpack(kinds[i], &err);
		cr_expect(is_empty(outside));
		put("way", '2', outside, "");
		put_file("way/x", "x");
		unpack(kinds[i], &err);
		cr_expect(is_empty(outside));
		put("up", '2', "..", "");
		put("up/out/x", '5', "", "");
		unpack(kinds[i], &err);
		cr_expect(is_empty(outside));
		put("hard", '1', "../../etc/passwd", "");
		cr_expect_lt(unpack(kinds[i], &err), 0);
		sandbox_remove(inside, NULL, NULL);
	}
}

Test(unpack, links_that_are_there_already)
{
	struct err err = {""};

	cr_assert(!mkdir(inside, 0755));
	cr_assert(!symlink(outside, arena_printf(&arena, "%s/way", inside)));
	put_file("way/x", "x");
	unpack(UNPACK_FILES, &err);
	cr_expect(is_empty(outside));
}

Test(unpack, layers)
{
	struct stat info;
	struct err err = {""};
	char value[8];

	if (geteuid())
		return;
	put_file("dir/.wh.gone", "");
	put_file(".wh.top", "");
	put_file("hidden/.wh..wh..opq", "");
	put_file("hidden/new", "new");
	cr_assert_eq(unpack(UNPACK_LAYER, &err), 0, "%s", err.text);
	cr_assert(!lstat(arena_printf(&arena, "%s/dir/gone", inside), &info));
	cr_expect(S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0));
	cr_assert(!lstat(arena_printf(&arena, "%s/top", inside), &info));
	cr_expect(S_ISCHR(info.st_mode));
	cr_expect_eq(getxattr(arena_printf(&arena, "%s/hidden", inside), "trusted.overlay.opaque",
			      value, sizeof(value)),
		     1);
	cr_expect_eq(access(arena_printf(&arena, "%s/hidden/.wh..wh..opq", inside), F_OK), -1);
	/* In other archives these are names as any. */
	sandbox_remove(inside, NULL, NULL);
	put_file(".wh.top", "kept");
	cr_assert_eq(unpack(UNPACK_TREE, &err), 0);
	cr_expect_str_eq(content(".wh.top"), "kept");
}

Test(unpack, attributes_that_the_kernel_would_believe)
{
	struct err err = {""};
	char value[8], *path = arena_printf(&arena, "%s/dir", inside);

	if (geteuid())
		return;
	put("attributes", 'x', "",
	    "41 SCHILY.xattr.trusted.overlay.opaque=y\n"
	    "28 SCHILY.xattr.user.kept=z\n");
	put("dir", '5', "", "");
	cr_assert_eq(unpack(UNPACK_LAYER, &err), 0, "%s", err.text);
	cr_expect_lt(getxattr(path, "trusted.overlay.opaque", value, sizeof(value)), 0);
	/* Not every file system has those. */
	if (!setxattr(path, "user.probe", "p", 1, 0))
		cr_expect_eq(getxattr(path, "user.kept", value, sizeof(value)), 1);
}

Test(unpack, what_is_no_archive)
{
	struct err err = {""};

	file = memfd_create("noise", MFD_CLOEXEC);
	for (int i = 0; i < 4096; i++)
		cr_assert_eq(write(file, &i, 1), 1);
	lseek(file, 0, SEEK_SET);
	cr_expect_lt(unpack_archive(file, inside, UNPACK_FILES, &err), 0);
	cr_expect(err.text[0]);
}

Test(unpack, one_that_is_cut_off)
{
	struct err err = {""};
	char *data = xmalloc(100001);

	memset(data, 'x', 100000);
	data[100000] = 0;
	put_file("long", data);
	cr_assert(!ftruncate(file, 50000));
	lseek(file, 0, SEEK_SET);
	cr_expect_lt(unpack_archive(file, inside, UNPACK_FILES, &err), 0);
	free(data);
}

/* ---- streams -------------------------------------------------------------------------- */

/* `members` times so many zeros, compressed. */
static int zeros(int members, size_t size)
{
	char *data = xcalloc(1, size);
	unsigned char *packed = xmalloc(size);
	z_stream z = {0};
	int fd = memfd_create("zeros", MFD_CLOEXEC);

	cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)data;
	z.avail_in = (unsigned)size;
	z.next_out = packed;
	z.avail_out = (unsigned)size;
	cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	for (int i = 0; i < members; i++)
		cr_assert_eq(write(fd, packed, z.total_out), (ssize_t)z.total_out);
	deflateEnd(&z);
	lseek(fd, 0, SEEK_SET);
	free(packed);
	free(data);
	return fd;
}

Test(unpack, streams)
{
	int target = memfd_create("target", MFD_CLOEXEC);
	struct err err = {""};

	cr_assert_eq(unpack_stream(zeros(2, 5000), target, &err), 0, "%s", err.text);
	cr_expect_eq(lseek(target, 0, SEEK_END), 10000);
}

Test(unpack, bombs)
{
	int target = open("/dev/null", O_WRONLY);
	struct err err = {""};

	cr_expect_eq(unpack_stream(zeros(80, 16 << 20), target, &err), ERR_LIMIT);
	cr_expect(strstr(err.text, "Too much comes out"));
	/* Less of it is only much. */
	cr_expect_eq(unpack_stream(zeros(40, 16 << 20), target, &err), 0);
}
