/* RecordIO decoder: "<decimal length>\n<bytes>" repeated. Incremental; bounded
 * by `max`; a bad header poisons the decoder for good. */
#ifndef NET_RECORDIO_H
#define NET_RECORDIO_H

#include <stddef.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct recordio_decoder {
	size_t max; /* longest record taken, bytes */
	struct buf pending;
	size_t length; /* of the record being read, when in_record */
	int in_record;
	int failed;
};

void recordio_init(struct recordio_decoder *decoder, size_t max);
void recordio_free(struct recordio_decoder *decoder);
/* Feeds bytes; calls `record` for each whole one (valid inside the call). */
int recordio_feed(struct recordio_decoder *decoder, const void *data, size_t len,
		  void (*record)(void *context, struct slice record), void *context,
		  struct err *err);
/* Appends one record to a buffer. */
void recordio_encode(struct buf *out, const void *data, size_t len);

#endif
