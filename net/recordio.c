/* RecordIO: "<decimal length>\n<bytes>", see recordio.h. A header that is not an
 * unsigned decimal number, or names more than `max` bytes, poisons the decoder. */
#include "net/recordio.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Digits of the largest 64-bit number: a longer header is no length. */
#define HEADER_MAX 20

void recordio_init(struct recordio_decoder *decoder, size_t max)
{
	*decoder = (struct recordio_decoder){.max = max};
}

void recordio_free(struct recordio_decoder *decoder)
{
	buf_free(&decoder->pending);
}

static int recordio_fail(struct recordio_decoder *decoder, int code, struct err *err,
			 const char *why)
{
	decoder->failed = 1;
	buf_free(&decoder->pending);
	return err_set(err, code, "Failed to decode RecordIO: %s", why);
}

/* Reads the digits in `pending` as the length of the next record. */
static int read_length(struct recordio_decoder *decoder, struct err *err)
{
	size_t length = 0;

	if (decoder->pending.len == 0)
		return recordio_fail(decoder, ERR_INVALID, err, "a record has no length");
	for (size_t i = 0; i < decoder->pending.len; i++) {
		unsigned digit = (unsigned)(decoder->pending.data[i] - '0');
		if (__builtin_mul_overflow(length, 10, &length) ||
		    __builtin_add_overflow(length, digit, &length))
			length = SIZE_MAX;
		if (length > decoder->max)
			return recordio_fail(decoder, ERR_LIMIT, err,
					     "a record is longer than allowed");
	}
	decoder->length = length;
	decoder->in_record = 1;
	buf_clear(&decoder->pending);
	return 0;
}

/* Takes bytes of a header. Returns how many, or a negative code. */
static long take_header(struct recordio_decoder *decoder, const char *data, size_t len,
			struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n') {
			int rv = read_length(decoder, err);
			return rv < 0 ? rv : (long)i + 1;
		}
		if (data[i] < '0' || data[i] > '9')
			return recordio_fail(decoder, ERR_INVALID, err,
					     "a record's length is not a decimal number");
		if (decoder->pending.len == HEADER_MAX)
			return recordio_fail(decoder, ERR_INVALID, err,
					     "a record's length has too many digits");
		buf_putc(&decoder->pending, data[i]);
	}
	return (long)len;
}

/* Takes bytes of a record; a record that is whole in `data` is not copied. */
static size_t recordio_take_record(struct recordio_decoder *decoder, const char *data, size_t len,
				   void (*record)(void *, struct slice), void *context)
{
	size_t missing = decoder->length - decoder->pending.len;
	size_t take = missing < len ? missing : len;

	if (take < missing) {
		buf_append(&decoder->pending, data, take);
		return take;
	}
	decoder->in_record = 0;
	if (decoder->pending.len == 0) {
		record(context, (struct slice){take ? data : "", take});
		return take;
	}
	buf_append(&decoder->pending, data, take);
	struct buf whole = decoder->pending;
	decoder->pending = BUF_INIT;
	record(context, (struct slice){whole.data, whole.len});
	buf_free(&whole);
	return take;
}

int recordio_feed(struct recordio_decoder *decoder, const void *data, size_t len,
		  void (*record)(void *context, struct slice record), void *context,
		  struct err *err)
{
	const char *bytes = data;

	if (decoder->failed)
		return err_set(err, ERR_STATE, "Decoder is in a FAILED state");
	while (len > 0 || (decoder->in_record && decoder->length == 0)) {
		long taken;
		if (decoder->in_record)
			taken = (long)recordio_take_record(decoder, bytes, len, record, context);
		else
			taken = take_header(decoder, bytes, len, err);
		if (taken < 0)
			return (int)taken;
		bytes += taken;
		len -= (size_t)taken;
	}
	return 0;
}

void recordio_encode(struct buf *out, const void *data, size_t len)
{
	char header[HEADER_MAX + 2];
	int digits = snprintf(header, sizeof(header), "%zu\n", len);

	buf_reserve(out, (size_t)digits + len);
	buf_append(out, header, (size_t)digits);
	if (len > 0)
		buf_append(out, data, len);
}
