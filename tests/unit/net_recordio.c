/* RecordIO: framing, splitting, limits. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/recordio.h"

static struct buf seen;

static void on_record(void *context, struct slice record)
{
	buf_putc(&seen, '[');
	buf_append(&seen, record.data, record.len);
	buf_putc(&seen, ']');
}

static void tear_down(void)
{
	buf_free(&seen);
}

TestSuite(recordio, .fini = tear_down, .timeout = 60);

Test(recordio, encodes)
{
	struct buf out = BUF_INIT;

	recordio_encode(&out, "hello", 5);
	recordio_encode(&out, NULL, 0);
	cr_assert_str_eq(out.data, "5\nhello0\n");
	buf_free(&out);
}

Test(recordio, decodes_however_it_is_split)
{
	static const char text[] = "5\nhello0\n1\n\n12\n12\nabc\n12\n3\n02\nok";
	size_t len = sizeof(text) - 1;

	for (size_t first = 0; first <= len; first++) {
		for (size_t second = first; second <= len; second++) {
			struct recordio_decoder decoder;
			struct err err;
			recordio_init(&decoder, 100);
			buf_clear(&seen);
			cr_assert_eq(recordio_feed(&decoder, text, first, on_record, NULL, &err),
				     0);
			cr_assert_eq(recordio_feed(&decoder, text + first, second - first,
						   on_record, NULL, &err),
				     0);
			cr_assert_eq(recordio_feed(&decoder, text + second, len - second, on_record,
						   NULL, &err),
				     0);
			cr_assert_str_eq(seen.data, "[hello][][\n][12\nabc\n12\n3\n][ok]");
			recordio_free(&decoder);
		}
	}
}

Test(recordio, decodes_byte_by_byte)
{
	static const char text[] = "5\nhello0\n2\nok";
	struct recordio_decoder decoder;

	recordio_init(&decoder, 5);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		cr_assert_eq(recordio_feed(&decoder, text + i, 1, on_record, NULL, NULL), 0);
	cr_assert_str_eq(seen.data, "[hello][][ok]");
	recordio_free(&decoder);
}

Test(recordio, is_poisoned_by_a_bad_header)
{
	static const char *const bad[] = {"x\n{}",
					  "-1\n{}",
					  "+1\na",
					  " 1\na",
					  "1 \na",
					  "\n\n\n",
					  "1\r\na",
					  "0x1\na",
					  "1.0\na",
					  "999999999999999999999999\n{}",
					  "18446744073709551616\n",
					  "101\n",
					  "{}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct recordio_decoder decoder;
		struct err err;
		buf_clear(&seen);
		recordio_init(&decoder, 100);
		cr_expect_lt(recordio_feed(&decoder, bad[i], strlen(bad[i]), on_record, NULL, &err),
			     0, "%s", bad[i]);
		cr_expect(strlen(err.text) > 0);
		cr_expect_lt(recordio_feed(&decoder, "2\nok", 4, on_record, NULL, &err), 0);
		cr_expect_eq(seen.len, 0);
		recordio_free(&decoder);
	}
}

Test(recordio, keeps_records_before_the_bad_one)
{
	struct recordio_decoder decoder;

	recordio_init(&decoder, 100);
	cr_assert_lt(recordio_feed(&decoder, "2\nokx\n", 6, on_record, NULL, NULL), 0);
	cr_assert_str_eq(seen.data, "[ok]");
	recordio_free(&decoder);
}

static size_t sizes[8];
static size_t size_count;

static void note_size(void *context, struct slice record)
{
	const char *first = context;

	cr_assert_lt(size_count, sizeof(sizes) / sizeof(*sizes));
	cr_expect(record.len == 0 || record.data[0] == *first);
	cr_expect(record.len == 0 || record.data[record.len - 1] == *first);
	sizes[size_count++] = record.len;
}

/* Lengths of one to eight digits, in pieces as sockets bring them. */
Test(recordio, of_many_lengths)
{
	static const size_t lengths[] = {9, 10, 99, 1000, 65535, 1048576, 12345678, 1};
	struct recordio_decoder decoder;
	struct buf text = BUF_INIT;
	char *filled = malloc(12345678);

	memset(filled, 'x', 12345678);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		recordio_encode(&text, filled, lengths[i]);
	recordio_init(&decoder, 12345678);
	size_count = 0;
	for (size_t at = 0, piece; at < text.len; at += piece) {
		piece = text.len - at < 65521 ? text.len - at : 65521;
		cr_assert_eq(
			recordio_feed(&decoder, text.data + at, piece, note_size, filled, NULL), 0);
	}
	cr_assert_eq(size_count, sizeof(lengths) / sizeof(*lengths));
	cr_expect_arr_eq(sizes, lengths, sizeof(lengths));
	recordio_free(&decoder);
	free(filled);
	buf_free(&text);
}
