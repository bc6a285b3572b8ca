#include "store/leveldb_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define BLOCK 32768
#define HEADER 7
#define SECTOR 512 /* what a disk writes at once, or not at all */

enum { ZERO, FULL, FIRST, MIDDLE, LAST };

/* ---- checksums ----------------------------------------------------------------------- */

static uint32_t crc_table[256];

/* CRC-32C, reflected polynomial 0x82f63b78 (RFC 3720, appendix B.4). */
static void make_crc_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		crc_table[i] = crc;
	}
}

static uint32_t crc32c(const uint8_t *data, size_t len)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++)
		crc = crc_table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

/* leveldb stores it rotated and shifted, for logs that hold checksums themselves. */
static uint32_t masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- one log --------------------------------------------------------------------------- */

struct log_view {
	const uint8_t *data;
	size_t size;
	size_t at;    /* of the record at hand */
	size_t whole; /* the end of the last whole record: what is before it is good */
	bool parts;   /* a first part is waiting for its last */
};

enum found { FOUND_RECORD, FOUND_END, FOUND_TORN, FOUND_DAMAGE };

static bool all_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i])
			return false;
	}
	return true;
}

/* Whether some whole sector from `from` to `to` is missing, that is, zero. */
static bool lacks_sector(const struct log_view *v, size_t from, size_t to)
{
	for (size_t at = (from + SECTOR - 1) / SECTOR * SECTOR; at < to; at += SECTOR) {
		size_t end = at + SECTOR < to ? at + SECTOR : to;

		if (all_zero(v->data + at, end - at))
			return true;
	}
	/* It may begin in a sector that was there and was not written anew. */
	return all_zero(v->data + from, to - from);
}

static bool fits_order(const struct log_view *v, int type)
{
	return type == MIDDLE || type == LAST ? v->parts
					      : (type == FULL || type == FIRST) && !v->parts;
}

static uint32_t stored_crc(const uint8_t *header)
{
	return header[0] | header[1] << 8 | header[2] << 16 | (uint32_t)header[3] << 24;
}

static size_t stored_length(const uint8_t *header)
{
	return header[4] | (size_t)header[5] << 8;
}

/* Of `length` bytes and their type, which lies before them. */
static bool crc_fits(const uint8_t *header, size_t length)
{
	return stored_crc(header) == masked(crc32c(header + 6, length + 1));
}

/* Whether a whole record begins anywhere behind v->at in what is left, the last block. */
static bool record_follows(const struct log_view *v)
{
	for (size_t at = v->at + 1; at + HEADER <= v->size; at++) {
		const uint8_t *header = v->data + at;
		size_t length = stored_length(header);

		if (header[6] >= FULL && header[6] <= LAST && at + HEADER + length <= v->size &&
		    crc_fits(header, length))
			return true;
	}
	return false;
}

/* The record says that it goes on behind the end of the file. Either it was being written, or its
 * length is wrong. */
static enum found cut_short(const struct log_view *v, size_t left)
{
	const uint8_t *header = v->data + v->at;
	bool fills = HEADER + stored_length(header) == left;

	if (!fits_order(v, header[6]) || ((header[6] == FIRST || header[6] == MIDDLE) && !fills))
		return FOUND_DAMAGE;
	return crc_fits(header, v->size - v->at - HEADER) || record_follows(v) ? FOUND_DAMAGE
									       : FOUND_TORN;
}

/* The record at v->at, which moves behind it if it is good. */
static enum found next_record(struct log_view *v)
{
	size_t left = BLOCK - v->at % BLOCK, length;
	const uint8_t *header;

	if (left < HEADER)
		v->at += left;
	if (v->at >= v->size)
		return FOUND_END;
	left = BLOCK - v->at % BLOCK;
	if (v->size - v->at < HEADER)
		return FOUND_TORN;
	header = v->data + v->at;
	length = stored_length(header);
	if (all_zero(header, HEADER))
		return FOUND_TORN;
	if (HEADER + length > left)
		return FOUND_DAMAGE;
	if (v->at + HEADER + length > v->size)
		return cut_short(v, left);
	if (!crc_fits(header, length) || !fits_order(v, header[6]))
		return lacks_sector(v, v->at, v->at + HEADER + length) ? FOUND_TORN : FOUND_DAMAGE;
	v->parts = header[6] == FIRST || header[6] == MIDDLE;
	v->at += HEADER + length;
	if (!v->parts)
		v->whole = v->at;
	return FOUND_RECORD;
}

static int leveldb_log_read_file(int fd, uint8_t **data, size_t *size)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -1;
	*data = xmalloc((size_t)st.st_size + 1);
	for (*size = 0; *size < (size_t)st.st_size; *size += (size_t)n) {
		n = pread(fd, *data + *size, (size_t)st.st_size - *size, (off_t)*size);
		if (n <= 0)
			return -1;
	}
	return 0;
}

/* A copy beside the log. */
static int keep_damaged(const char *path, const uint8_t *data, size_t size)
{
	char *copy = xprintf("%s.damaged", path);
	int fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rv = fd < 0 ? -1 : 0;
	ssize_t n;

	for (size_t done = 0; rv == 0 && done < size; done += (size_t)n) {
		n = write(fd, data + done, size - done);
		rv = n <= 0 ? -1 : 0;
	}
	if (fd >= 0 && (fsync(fd) < 0 || close(fd) < 0))
		rv = -1;
	free(copy);
	return rv;
}

static int cut_off(int fd, const struct log_view *v)
{
	return ftruncate(fd, (off_t)v->whole) < 0 || fsync(fd) < 0 ? -1 : 0;
}

static int leveldb_log_judge(int fd, const char *path, const struct log_view *v, enum found found,
			     bool repair, struct err *err)
{
	if (found == FOUND_DAMAGE && !repair)
		return err_set(err, ERR_CORRUPT,
			       "the log '%s' is damaged at byte %zu of %zu: what was acknowledged "
			       "would be lost. Restore the directory from a copy, or start with "
			       "--repair_store to go on without what is behind that byte",
			       path, v->at, v->size);
	if (found == FOUND_DAMAGE && keep_damaged(path, v->data, v->size) < 0)
		return err_set(err, ERR_IO, "Failed to keep '%s.damaged': %s", path,
			       strerror(errno));
	if (v->whole == v->size || found == FOUND_END)
		return 0;
	log_warning("the log '%s' ends at byte %zu of %zu: %s", path, v->whole, v->size,
		    found == FOUND_DAMAGE ? "it was damaged there (a copy is beside it)"
					  : "the rest was being written when the machine stopped");
	if (cut_off(fd, v) < 0)
		return err_set(err, ERR_IO, "Failed to shorten '%s': %s", path, strerror(errno));
	return 0;
}

static int check_log(const char *path, bool repair, struct err *err)
{
	struct log_view v = {0};
	uint8_t *data = NULL;
	enum found found;
	int fd = open(path, O_RDWR | O_CLOEXEC), rv;

	if (fd < 0 || leveldb_log_read_file(fd, &data, &v.size) < 0) {
		rv = err_set(err, ERR_IO, "Failed to read '%s': %s", path, strerror(errno));
	} else {
		v.data = data;
		do
			found = next_record(&v);
		while (found == FOUND_RECORD);
		if (found == FOUND_END && v.parts)
			found = FOUND_TORN;
		rv = leveldb_log_judge(fd, path, &v, found, repair, err);
	}
	free(data);
	if (fd >= 0)
		close(fd);
	return rv;
}

/* ---- all of them -------------------------------------------------------------------------- */

int leveldb_logs_check(const char *directory, bool repair, struct err *err)
{
	DIR *dir = opendir(directory);
	bool named = false, files = false;
	struct dirent *entry;
	int rv = 0;

	if (!dir)
		return err_set(err, ERR_IO, "Failed to open '%s': %s", directory, strerror(errno));
	make_crc_table();
	while (rv == 0 && (entry = readdir(dir))) {
		char *path = xprintf("%s/%s", directory, entry->d_name);

		named = named || !strcmp(entry->d_name, "CURRENT");
		files = files || str_has_suffix(entry->d_name, ".ldb");
		if (str_has_suffix(entry->d_name, ".log"))
			rv = check_log(path, repair, err);
		free(path);
	}
	closedir(dir);
	if (rv == 0 && files && !named && !repair)
		return err_set(err, ERR_CORRUPT,
			       "the store '%s' has lost its file CURRENT: what is in it would be "
			       "lost. Restore the directory from a copy, or start with "
			       "--repair_store to go on with what can be found",
			       directory);
	return rv;
}
