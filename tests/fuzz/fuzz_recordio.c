/* RecordIO decoder: the first byte says how to split the rest; however it is split, the
 * same records come out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/recordio.h"

#define RECORD_MAX 1000

static void on_record(void *context, struct slice record)
{
	if (record.len > RECORD_MAX)
		abort();
	recordio_encode(context, record.data, record.len);
}

static int decode(const uint8_t *data, size_t size, size_t step, struct buf *out)
{
	struct recordio_decoder decoder;
	int rv = 0;

	recordio_init(&decoder, RECORD_MAX);
	for (size_t at = 0; at < size && rv == 0; at += step)
		rv = recordio_feed(&decoder, data + at, size - at < step ? size - at : step,
				   on_record, out, NULL);
	recordio_free(&decoder);
	return rv;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, split = BUF_INIT;

	if (size < 2)
		return 0;
	int first = decode(data + 1, size - 1, size, &whole);
	int second = decode(data + 1, size - 1, data[0] % 16 + 1, &split);
	if (first != second || whole.len != split.len ||
	    (whole.len > 0 && memcmp(whole.data, split.data, whole.len) != 0))
		abort();
	buf_free(&whole);
	buf_free(&split);
	return 0;
}
