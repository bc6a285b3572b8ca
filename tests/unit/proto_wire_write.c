/* Packed parts: put together, and found again, as the parser sees them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "proto/proto.h"
#include "proto/wire/wire_write.h"

static struct slice slice_over(const struct buf *buf)
{
	return (struct slice){buf->data ? buf->data : "", buf->len};
}

Test(wire_write, what_is_put_is_found)
{
	struct buf out = BUF_INIT;
	struct slice part, at;
	uint64_t number;

	wire_put_number(&out, 1, 0);
	wire_put_number(&out, 1, UINT64_MAX);
	wire_put_bytes(&out, 2, SLICE("first"));
	wire_put_bytes(&out, 536870911, SLICE("")); /* the largest field number */
	wire_put_bytes(&out, 2, SLICE("second"));
	cr_assert(wire_number(slice_over(&out), 1, &number));
	cr_assert_eq(number, UINT64_MAX, "the last one counts");
	cr_assert(wire_part(slice_over(&out), 2, &part) && slice_eq(part, "second"));
	cr_assert(wire_part(slice_over(&out), 536870911, &part) && part.len == 0);
	cr_assert_not(wire_part(slice_over(&out), 1, &part), "a number is no part");
	cr_assert_not(wire_number(slice_over(&out), 2, &number));
	at = slice_over(&out);
	cr_assert(wire_next(&at, 2, &part) && slice_eq(part, "first"));
	cr_assert(wire_next(&at, 2, &part) && slice_eq(part, "second"));
	cr_assert_not(wire_next(&at, 2, &part));
	buf_free(&out);
}

Test(wire_write, a_head_and_what_follows_is_a_field)
{
	static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384, 3000000};
	uint8_t head[WIRE_HEAD_MAX];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct buf whole = BUF_INIT, parts = BUF_INIT;
		char *bytes = calloc(1, lengths[i] + 1);

		wire_put_bytes(&whole, 300, (struct slice){bytes, lengths[i]});
		wire_put_head(&parts, 300, lengths[i]);
		cr_expect_eq(wire_head(head, 300, lengths[i]), parts.len);
		cr_expect_arr_eq(head, parts.data, parts.len);
		buf_append(&parts, bytes, lengths[i]);
		cr_expect_eq(whole.len, parts.len);
		cr_expect_arr_eq(whole.data, parts.data, whole.len);
		cr_expect_eq(wire_only_part(slice_over(&whole), 300).len, lengths[i]);
		wire_put_bytes(&whole, 300, SLICE("again"));
		cr_expect_null(wire_only_part(slice_over(&whole), 300).data);
		cr_expect_null(wire_only_part(slice_over(&whole), 299).data);
		buf_free(&whole);
		buf_free(&parts);
		free(bytes);
	}
}

Test(wire_write, nothing_has_no_parts)
{
	struct slice nothing = {NULL, 0}, part;
	uint64_t number;

	cr_assert_not(wire_number(nothing, 1, &number));
	cr_assert_not(wire_part(nothing, 1, &part));
	cr_assert_eq(wire_part_of(nothing, 1).len, 0);
}

Test(wire_write, the_parser_reads_the_same)
{
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	struct buf out = BUF_INIT;
	struct arena arena;
	struct err err;
	Mesos__TaskStatus *status;
	char text[300];

	memset(text, 'x', sizeof(text)); /* a length of two bytes */
	text[sizeof(text) - 1] = '\0';
	id.value = text;
	wire_put_number(&out, 2, MESOS__TASK_STATE__TASK_LOST);
	wire_put_bytes(&out, 4, SLICE("message"));
	wire_put_message(&out, 1, &id);
	arena_init(&arena);
	status = proto_unpack(&mesos__task_status__descriptor, &arena, out.data, out.len, &err);
	cr_assert_not_null(status, "%s", err.text);
	cr_assert_str_eq(status->task_id->value, text);
	cr_assert_str_eq(status->message, "message");
	cr_assert_eq(status->state, MESOS__TASK_STATE__TASK_LOST);
	arena_free(&arena);
	buf_free(&out);
}

/* Bytes that are no message at all, and messages that are cut: nothing is read beyond. */
Test(wire_write, any_bytes)
{
	struct rng rng;
	char bytes[64];

	rng_seed(&rng, 7);
	for (int i = 0; i < 100000; i++) {
		size_t len = rng_next(&rng) % sizeof(bytes);
		char *exact = xmalloc(len + 1); /* a sanitizer sees a byte too far */
		struct slice at = {exact, len}, part;
		uint64_t number;

		for (size_t j = 0; j < len; j++)
			bytes[j] = (char)(rng_next(&rng) % (i % 2 ? 256 : 32));
		memcpy(exact, bytes, len);
		for (uint32_t field = 1; field < 5; field++) {
			wire_number(at, field, &number);
			if (wire_part(at, field, &part))
				cr_assert(part.data >= exact &&
					  part.data + part.len <= exact + len);
		}
		while (wire_next(&at, 1, &part))
			cr_assert(at.data + at.len == exact + len && part.data <= at.data);
		free(exact);
	}
}
