/* gzip of whole bodies, see gzip.h. */
#include "net/gzip.h"

#include <limits.h>
#include <zlib.h>

#include "base/err.h"

#define GZIP_WINDOW (15 + 16) /* the largest window, gzip framing */
#define INFLATE_STEP (16 * 1024)

int gzip_compress(struct buf *out, const void *data, size_t len)
{
	z_stream zip = {0};

	if (len > UINT_MAX / 2)
		return ERR_LIMIT;
	if (deflateInit2(&zip, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return ERR_STATE;

	size_t bound = deflateBound(&zip, len);
	buf_reserve(out, bound);
	zip.next_in = (Bytef *)data;
	zip.avail_in = (uInt)len;
	zip.next_out = (Bytef *)out->data + out->len;
	zip.avail_out = (uInt)bound;
	int rv = deflate(&zip, Z_FINISH);
	if (rv == Z_STREAM_END) {
		out->len += zip.total_out;
		out->data[out->len] = '\0';
	}
	deflateEnd(&zip);
	return rv == Z_STREAM_END ? 0 : ERR_STATE;
}

int gzip_inflate(struct buf *out, const void *data, size_t len, size_t max)
{
	z_stream zip = {0};
	char step[INFLATE_STEP];
	size_t total = 0;
	int rv;

	if (len > UINT_MAX)
		return ERR_LIMIT;
	if (inflateInit2(&zip, GZIP_WINDOW) != Z_OK)
		return ERR_STATE;
	zip.next_in = (Bytef *)data;
	zip.avail_in = (uInt)len;
	do {
		zip.next_out = (Bytef *)step;
		zip.avail_out = sizeof(step);
		rv = inflate(&zip, Z_NO_FLUSH);
		size_t got = sizeof(step) - zip.avail_out;
		total += got;
		if (total > max)
			break;
		buf_append(out, step, got);
	} while (rv == Z_OK);
	int result = 0;
	if (total > max)
		result = ERR_LIMIT;
	else if (rv != Z_STREAM_END || zip.avail_in > 0)
		result = ERR_INVALID;
	inflateEnd(&zip);
	return result;
}
