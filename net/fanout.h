/* One stream of records to many readers: each record is written down once, and each reader goes
 * through what is written at its own pace. Who falls behind by more than a bound is cut off.
 *
 * Readers are served in slices of a share of the loop's time, so that those who do not only watch
 * never wait for them. Memory: what the slowest reader has not taken, FANOUT_BYTES_MAX at most; the
 * starts that are still being read, FANOUT_STARTS_MAX at most and one; a block for each reader. */
#ifndef NET_FANOUT_H
#define NET_FANOUT_H

#include "net/http_parts.h"

#define FANOUT_BYTES_MAX ((size_t)16 << 20) /* of a line */
#define FANOUT_STARTS_MAX ((size_t)256 << 20)
#define FANOUT_BLOCK ((size_t)64 << 10) /* what is handed to a reader at a time */
#define FANOUT_SLICE_US 150		/* of the loop at a time */
#define FANOUT_PAUSE 5			/* slices that the loop is left alone after one */
#define FANOUT_STUCK_MS 10 /* after which readers that took nothing are looked at again */

struct fanout;
struct fanout_line;
struct fanout_reader;
struct fanout_start;

struct fanout *fanout_create(uv_loop_t *loop);
/* Lines are gone, or go with it, and so are readers. Frees itself from the loop. */
void fanout_close(struct fanout *fanout);

struct fanout_line *fanout_line_create(struct fanout *fanout);
/* It has no readers. */
void fanout_line_free(struct fanout_line *line);
/* One record for all who read the line now. */
void fanout_write(struct fanout_line *line, const void *record, size_t len);

/* What readers get before the line: records that say how things are at one moment, from which the
 * line goes on. Many may begin with it, also later, while the line holds what came since. This
 * call is that moment; the records may come later. */
struct fanout_start *fanout_start_create(struct fanout_line *line);
/* `records` as by http_chunk_record(); takes them. Once, and before anybody begins with it. */
void fanout_start_fill(struct fanout_start *start, struct buf *records);
/* Whether one may still begin with it. */
bool fanout_start_good(const struct fanout_start *start);
/* The readers who began with it keep what they need. NULL is fine. */
void fanout_start_free(struct fanout_start *start);

/* From now on the stream gets the start, and what was written to its line since and is written from
 * now on. It is cut off (its `closed` is called) when it takes too little. Nobody else writes to
 * it. */
struct fanout_reader *fanout_join(struct fanout_start *start, struct http_stream *stream);
/* False: the stream has got a part of a record, and can only be cut off. */
bool fanout_leave(struct fanout_reader *reader);

#endif
