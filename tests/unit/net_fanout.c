/* One stream of records for many readers: all of it, in order, from where each began; and those who
 * do not read. */
#include <stdlib.h>
#include <string.h>

#include "net/fanout.h"
#include "net_harness.h"

#define READERS 20

static struct fixture fixture;
static struct fanout *fanout;
static struct fanout_line *line;
static struct fanout_start *start;
static struct fanout_reader *readers[READERS];
static struct http_stream *streams[READERS];
static struct raw raws[READERS];
static int joined, cut;

static void on_cut(void *context, struct http_stream *stream)
{
	(void)stream;
	fanout_leave(*(struct fanout_reader **)context);
	*(struct fanout_reader **)context = NULL;
	cut++;
}

static void join(void *context, struct http_request *request)
{
	(void)context;
	streams[joined] =
		http_stream_open(request, "x/y", NULL, FANOUT_BYTES_MAX, on_cut, &readers[joined]);
	readers[joined] = fanout_join(start, streams[joined]);
	joined++;
}

static void fill(const char *state, size_t len)
{
	struct buf records = BUF_INIT;

	http_chunk_record(&records, state, len);
	http_chunk_record(&records, "beat", 4);
	fanout_start_fill(start, &records);
}

static void begin_with(const char *state, size_t len)
{
	fanout_start_free(start);
	start = fanout_start_create(line);
	fill(state, len);
}

static void begin(const char *state)
{
	begin_with(state, strlen(state));
}

static void set_up(void)
{
	fixture_init(&fixture);
	fixture.handler = join;
	fixture_start(&fixture);
	fanout = fanout_create(&fixture.loop);
	line = fanout_line_create(fanout);
	begin("state");
	joined = cut = 0;
}

static void tear_down(void)
{
	fixture_stop_server(&fixture);
	until(&fixture, cut == joined);
	fanout_start_free(start);
	start = NULL;
	fanout_line_free(line);
	fanout_close(fanout);
	fixture_finish(&fixture);
}

TestSuite(fanout, .init = set_up, .fini = tear_down, .timeout = 60);

static void ask(int index)
{
	raw_open(&raws[index], &fixture);
	raw_send(&raws[index], "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
	until(&fixture, joined == index + 1);
}

static void leave(int index)
{
	raw_close(&raws[index]);
}

static struct buf text;

/* The records that came so far; each is one chunk. */
static const char *heard(const struct raw *raw)
{
	const char *at = strstr(raw->in.data ? raw->in.data : "", "\r\n\r\n");

	buf_clear(&text);
	buf_puts(&text, "");
	for (at = at ? at + 4 : NULL; at && *at;) {
		char *end, *record;
		size_t len = strtoul(at, &end, 16), inner;

		if ((size_t)(raw->in.data + raw->in.len - end) < len + 4)
			break;
		cr_assert_eq(strncmp(end, "\r\n", 2), 0);
		inner = strtoul(end + 2, &record, 10);
		cr_assert_eq(*record, '\n');
		cr_assert_eq((size_t)(record + 1 - (end + 2)) + inner, len);
		buf_append(&text, record + 1, inner);
		buf_putc(&text, '|');
		at = end + 4 + len;
	}
	return text.data;
}

static void write_text(const char *record)
{
	fanout_write(line, record, strlen(record));
}

#define expect(index, records)                                                                     \
	do {                                                                                       \
		until(&fixture, strlen(heard(&raws[index])) >= strlen(records));                   \
		cr_assert_str_eq(heard(&raws[index]), records);                                    \
	} while (0)

Test(fanout, each_gets_all_from_where_it_began)
{
	ask(0);
	expect(0, "state|beat|");
	write_text("one");
	write_text("two");
	expect(0, "state|beat|one|two|");
	/* With the state of a while ago, and all since. */
	ask(1);
	expect(1, "state|beat|one|two|");
	write_text("three");
	begin("new state");
	ask(2);
	write_text("four");
	expect(0, "state|beat|one|two|three|four|");
	expect(1, "state|beat|one|two|three|four|");
	expect(2, "new state|beat|four|");
	for (int i = 0; i < 3; i++)
		leave(i);
}

Test(fanout, many_records_of_many_sizes)
{
	struct buf record = BUF_INIT, all = BUF_INIT;

	for (int i = 0; i < READERS; i++)
		ask(i);
	buf_puts(&all, "state|beat|");
	for (int i = 0; i < 300; i++) {
		buf_clear(&record);
		for (int j = 0; j < i * i / 50 + 1; j++)
			buf_putc(&record, (char)('a' + (i + j) % 26));
		fanout_write(line, record.data, record.len);
		buf_append(&all, record.data, record.len);
		buf_putc(&all, '|');
		if (i % 7 == 0)
			fixture_turn(&fixture);
	}
	for (int i = 0; i < READERS; i++) {
		expect(i, all.data);
		leave(i);
	}
	buf_free(&record);
	buf_free(&all);
}

static void write_megabytes(int count)
{
	char *record = malloc(1 << 16);

	memset(record, 'x', 1 << 16);
	for (int i = 0; i < 16 * count; i++)
		fanout_write(line, record, 1 << 16);
	free(record);
}

Test(fanout, who_does_not_read_is_cut_off)
{
	ask(0);
	ask(1);
	raw_deafen(&raws[0]);
	for (int i = 0; i < 40; i++) {
		size_t before = raws[1].in.len;

		write_megabytes(1);
		/* The other one keeps up. */
		until(&fixture, raws[1].in.len >= before + (1 << 20));
		buf_clear(&raws[1].in);
	}
	until(&fixture, cut == 1);
	cr_assert_null(readers[0]);
	cr_assert_not_null(readers[1]);
	/* Nobody can begin where nothing is kept any more. */
	cr_assert_not(fanout_start_good(start));
	begin("again");
	cr_assert(fanout_start_good(start));
	leave(0);
	leave(1);
}

/* The beginning is of the moment of its creation, however late it is written down. */
Test(fanout, a_start_that_is_filled_later)
{
	fanout_start_free(start);
	fanout_write(line, "before", 6);
	start = fanout_start_create(line);
	fanout_write(line, "between", 7);
	cr_assert(fanout_start_good(start));
	fill("late state", 10);
	fanout_write(line, "after", 5);
	ask(0);
	expect(0, "late state|beat|between|after|");
	leave(0);
}

/* It is no longer good when more was written meanwhile than a line holds. */
Test(fanout, a_start_that_is_filled_too_late)
{
	char *big = calloc(1, 1 << 20);

	fanout_start_free(start);
	start = fanout_start_create(line);
	for (int i = 0; i < 20; i++)
		fanout_write(line, big, 1 << 20);
	cr_expect_not(fanout_start_good(start));
	fanout_start_free(start);
	start = NULL;
	free(big);
}

Test(fanout, leaving_tells_whether_a_record_is_cut_in_two)
{
	char *big = malloc(8 << 20);

	memset(big, 's', 8 << 20);
	ask(0);
	expect(0, "state|beat|");
	cr_assert(fanout_leave(readers[0]));
	begin_with(big, 8 << 20);
	raw_deafen(&raws[0]);
	readers[0] = fanout_join(start, streams[0]);
	until(&fixture, http_stream_waiting(streams[0]) > 0);
	cr_assert_not(fanout_leave(readers[0]));
	readers[0] = fanout_join(start, streams[0]);
	leave(0);
	free(big);
}

/* Each comes when what the one before began with is no longer used for others. */
Test(fanout, who_does_not_read_the_beginning_makes_room)
{
	size_t size = FANOUT_STARTS_MAX / 8;
	char *big = malloc(size);

	memset(big, 's', size);
	for (int i = 0; i < 12; i++) {
		begin_with(big, size);
		ask(i);
		raw_deafen(&raws[i]);
		until(&fixture, !readers[i] || http_stream_waiting(streams[i]) > 0);
	}
	/* Eight fit, a little less with their heads, and the last one in any case. */
	until(&fixture, cut >= 5);
	cr_expect_eq(cut, 5);
	for (int i = 0; i < 12; i++)
		cr_expect_eq(readers[i] == NULL, i < 5, "%d", i);
	for (int i = 0; i < 12; i++)
		leave(i);
	free(big);
}
