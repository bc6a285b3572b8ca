#include "net/fanout.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/memory/arena.h"

/* Whole records, as chunks of HTTP. */
struct block {
	struct list link;    /* of the line, oldest first */
	struct list readers; /* that are in it */
	struct buf bytes;
};

struct fanout_line {
	struct fanout *fanout;
	struct list blocks;  /* never empty */
	size_t size;	     /* of them all */
	struct list current; /* readers who have got everything */
};

/* Chunks that many send, and that go with the last of them. */
struct shared {
	struct fanout *fanout;
	struct list link;    /* in fanout.starts */
	struct list readers; /* who have not got all of it */
	struct buf bytes;
	size_t users; /* those, and a start */
};

/* A place in a line that is kept. */
struct fanout_start {
	struct fanout_reader *pin; /* without a stream */
	struct shared *first;	   /* NULL: to be filled */
};

struct fanout_reader {
	struct list turn;  /* in line.current or in fanout.behind; of a pin, in none */
	struct list place; /* in block.readers; none: it is cut off */
	struct fanout_line *line;
	struct block *block;
	size_t at;	      /* in the block: a record begins there, or it is the end */
	struct shared *first; /* what it gets before; NULL: it has it */
	struct list reading;  /* in first.readers */
	size_t first_at;
	struct http_stream *stream; /* NULL: a pin */
};

struct fanout {
	uv_loop_t *loop;
	uv_timer_t timer;   /* the next slice */
	struct list behind; /* readers who have something to get, in turns */
	struct list starts; /* oldest first */
	size_t start_bytes; /* of them all */
};

/* ---- lines ------------------------------------------------------------------------------ */

static struct block *add_block(struct fanout_line *line)
{
	struct block *block = xcalloc(1, sizeof(*block));

	list_init(&block->readers);
	list_append(&line->blocks, &block->link);
	return block;
}

static struct block *last_block(struct fanout_line *line)
{
	return list_entry(line->blocks.prev, struct block, link);
}

static void drop_block(struct fanout_line *line, struct block *block)
{
	line->size -= block->bytes.len;
	list_remove(&block->link);
	buf_free(&block->bytes);
	free(block);
}

/* What nobody needs any more. */
static void trim(struct fanout_line *line)
{
	struct block *block;

	while ((block = list_first(&line->blocks, struct block, link)) != last_block(line) &&
	       list_empty(&block->readers))
		drop_block(line, block);
}

static void cut_off(struct fanout_reader *reader)
{
	list_remove(&reader->turn);
	list_remove(&reader->place);
	list_remove(&reader->reading);
	reader->block = NULL;
	if (reader->stream)
		http_stream_cut(reader->stream);
}

static void cut_slowest(struct fanout_line *line)
{
	struct block *block = list_first(&line->blocks, struct block, link);
	struct fanout_reader *reader, *next;

	list_for_each (reader, next, &block->readers, place)
		cut_off(reader);
	trim(line);
}

struct fanout_line *fanout_line_create(struct fanout *fanout)
{
	struct fanout_line *line = xcalloc(1, sizeof(*line));

	line->fanout = fanout;
	list_init(&line->blocks);
	list_init(&line->current);
	add_block(line);
	return line;
}

void fanout_line_free(struct fanout_line *line)
{
	struct block *block, *next;

	list_for_each (block, next, &line->blocks, link)
		drop_block(line, block);
	free(line);
}

/* ---- slices -------------------------------------------------------------------------------- */

static void wake_in(struct fanout *fanout, uint64_t ms);

static void release(struct shared *shared)
{
	if (shared && --shared->users == 0) {
		shared->fanout->start_bytes -= shared->bytes.len;
		list_remove(&shared->link);
		buf_free(&shared->bytes);
		free(shared);
	}
}

/* Some of what the reader gets first; it stays behind. */
static void serve_first(struct fanout *fanout, struct fanout_reader *reader)
{
	const struct buf *bytes = &reader->first->bytes;
	size_t len = bytes->len - reader->first_at;

	if (len > FANOUT_BLOCK)
		len = FANOUT_BLOCK;
	http_stream_pass(reader->stream, bytes->data + reader->first_at, len);
	reader->first_at += len;
	if (reader->first_at == bytes->len) {
		list_remove(&reader->reading);
		release(reader->first);
		reader->first = NULL;
	}
	list_append(&fanout->behind, &reader->turn);
}

/* Hands over the rest of the reader's block. */
static void serve(struct fanout *fanout, struct fanout_reader *reader)
{
	struct fanout_line *line = reader->line;
	struct block *block = reader->block, *next;

	http_stream_pass(reader->stream, block->bytes.data + reader->at,
			 block->bytes.len - reader->at);
	reader->at = block->bytes.len;
	if (block == last_block(line)) {
		list_append(&line->current, &reader->turn);
		return;
	}
	next = list_entry(block->link.next, struct block, link);
	list_remove(&reader->place);
	list_append(&next->readers, &reader->place);
	reader->block = next;
	reader->at = 0;
	list_append(&fanout->behind, &reader->turn);
	trim(line);
}

static uint64_t spent_us(uint64_t since)
{
	return (uv_hrtime() - since) / 1000;
}

static void fanout_slice(uv_timer_t *timer)
{
	struct fanout *fanout = timer->data;
	uint64_t begin = uv_hrtime(), pause;
	struct list stuck;
	bool served = false;

	list_init(&stuck);
	while (!list_empty(&fanout->behind) && spent_us(begin) < FANOUT_SLICE_US) {
		struct fanout_reader *reader =
			list_first(&fanout->behind, struct fanout_reader, turn);

		list_remove(&reader->turn);
		if (http_stream_waiting(reader->stream) > 0) {
			list_append(&stuck, &reader->turn);
			continue;
		}
		if (reader->first)
			serve_first(fanout, reader);
		else
			serve(fanout, reader);
		served = true;
	}
	while (!list_empty(&stuck)) {
		struct list *first = stuck.next;

		list_remove(first);
		list_append(&fanout->behind, first);
	}
	pause = served ? (spent_us(begin) * FANOUT_PAUSE + 999) / 1000 : FANOUT_STUCK_MS;
	if (!list_empty(&fanout->behind))
		wake_in(fanout, pause);
}

static void wake_in(struct fanout *fanout, uint64_t ms)
{
	if (!uv_is_active((uv_handle_t *)&fanout->timer))
		uv_timer_start(&fanout->timer, fanout_slice, ms, 0);
}

struct fanout *fanout_create(uv_loop_t *loop)
{
	struct fanout *fanout = xcalloc(1, sizeof(*fanout));

	fanout->loop = loop;
	list_init(&fanout->behind);
	list_init(&fanout->starts);
	uv_timer_init(loop, &fanout->timer);
	fanout->timer.data = fanout;
	return fanout;
}

static void fanout_closed(uv_handle_t *timer)
{
	free(timer->data);
}

void fanout_close(struct fanout *fanout)
{
	uv_close((uv_handle_t *)&fanout->timer, fanout_closed);
}

/* ---- records and readers ----------------------------------------------------------------------
 */

void fanout_write(struct fanout_line *line, const void *record, size_t len)
{
	struct block *block = last_block(line);
	size_t before;

	if (block->bytes.len && block->bytes.len + len > FANOUT_BLOCK)
		block = add_block(line);
	before = block->bytes.len;
	http_chunk_record(&block->bytes, record, len);
	line->size += block->bytes.len - before;
	while (!list_empty(&line->current)) {
		struct list *first = line->current.next;

		list_remove(first);
		list_append(&line->fanout->behind, first);
	}
	trim(line);
	while (line->size > FANOUT_BYTES_MAX && !list_empty(&line->blocks) &&
	       list_first(&line->blocks, struct block, link) != last_block(line))
		cut_slowest(line);
	if (!list_empty(&line->fanout->behind))
		wake_in(line->fanout, 0);
}

static struct fanout_reader *stand_at(struct fanout_line *line, struct block *block, size_t at)
{
	struct fanout_reader *reader = xcalloc(1, sizeof(*reader));

	reader->line = line;
	reader->block = block;
	reader->at = at;
	list_init(&reader->turn);
	list_init(&reader->reading);
	list_append(&block->readers, &reader->place);
	return reader;
}

/* Who does not even read how it began makes room for those who come. */
static void bound_starts(struct fanout *fanout)
{
	size_t bytes = fanout->start_bytes;
	struct shared *shared, *next;
	struct fanout_reader *reader, *other;

	list_for_each (shared, next, &fanout->starts, link) {
		if (bytes <= FANOUT_STARTS_MAX || shared->link.next == &fanout->starts)
			return;
		bytes -= shared->bytes.len;
		list_for_each (reader, other, &shared->readers, reading)
			cut_off(reader);
	}
}

struct fanout_start *fanout_start_create(struct fanout_line *line)
{
	struct fanout_start *start = xcalloc(1, sizeof(*start));
	struct block *last = last_block(line);

	start->pin = stand_at(line, last, last->bytes.len);
	return start;
}

void fanout_start_fill(struct fanout_start *start, struct buf *records)
{
	struct fanout *fanout = start->pin->line->fanout;
	struct shared *first = xcalloc(1, sizeof(*first));

	first->users = 1;
	first->fanout = fanout;
	list_init(&first->readers);
	list_append(&fanout->starts, &first->link);
	first->bytes = *records;
	*records = BUF_INIT;
	fanout->start_bytes += first->bytes.len;
	bound_starts(fanout);
	start->first = first;
}

bool fanout_start_good(const struct fanout_start *start)
{
	return start->pin->block != NULL;
}

void fanout_start_free(struct fanout_start *start)
{
	if (!start)
		return;
	release(start->first);
	fanout_leave(start->pin);
	free(start);
}

struct fanout_reader *fanout_join(struct fanout_start *start, struct http_stream *stream)
{
	struct fanout_line *line = start->pin->line;
	struct fanout_reader *reader = stand_at(line, start->pin->block, start->pin->at);

	reader->stream = stream;
	reader->first = start->first;
	reader->first->users++;
	list_append(&reader->first->readers, &reader->reading);
	list_append(&line->fanout->behind, &reader->turn);
	wake_in(line->fanout, 0);
	return reader;
}

bool fanout_leave(struct fanout_reader *reader)
{
	struct fanout_line *line = reader->line;
	bool whole = reader->block && !(reader->first && reader->first_at > 0);

	if (reader->block) {
		list_remove(&reader->turn);
		list_remove(&reader->place);
		trim(line);
	}
	list_remove(&reader->reading);
	release(reader->first);
	free(reader);
	return whole;
}
