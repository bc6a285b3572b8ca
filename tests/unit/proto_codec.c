/* Decoding, copying, packing and checking of messages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "proto/proto.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena);
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(proto_codec, .init = set_up, .fini = tear_down);

struct bytes {
	const char *data;
	size_t len;
};
#define BYTES(literal)                                                                             \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* ---- what is refused ------------------------------------------------------------------ */

static const struct {
	const ProtobufCMessageDescriptor *type;
	struct bytes in;
	const char *error; /* after "Failed to decode " */
} refused[] = {
	{&mesos__framework_id__descriptor, BYTES(""),
	 "mesos.FrameworkID: mesos.FrameworkID.value: required field is missing"},
	{&mesos__framework_id__descriptor, BYTES("\x0a"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: truncated number"},
	{&mesos__framework_id__descriptor,
	 BYTES("\x0a\x05"
	       "abcd"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: length beyond the end"},
	{&mesos__framework_id__descriptor, BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: length beyond the end"},
	{&mesos__framework_id__descriptor,
	 BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: number of more than ten bytes"},
	{&mesos__framework_id__descriptor, BYTES("\x02\x00"),
	 "mesos.FrameworkID: mesos.FrameworkID: invalid field number"},
	{&mesos__framework_id__descriptor, BYTES("\x0e\x00"),
	 "mesos.FrameworkID: mesos.FrameworkID: invalid wire type"},
	{&mesos__framework_id__descriptor, BYTES("\x0c"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: group ends that did not begin"},
	{&mesos__framework_id__descriptor, BYTES("\x13\x08\x01\x1c"),
	 "mesos.FrameworkID: mesos.FrameworkID: group ends wrongly"},
	{&mesos__value__scalar__descriptor,
	 BYTES("\x09"
	       "1234567"),
	 "mesos.Value.Scalar: mesos.Value.Scalar.value: truncated number"},
	/* A string where the schema has a number, and the other way round. */
	{&mesos__value__scalar__descriptor, BYTES("\x0a\x01x"),
	 "mesos.Value.Scalar: mesos.Value.Scalar.value: required field is missing"},
	{&mesos__framework_id__descriptor, BYTES("\x08\x01"),
	 "mesos.FrameworkID: mesos.FrameworkID.value: required field is missing"},
	/* An unknown value of a required enum. */
	{&mesos__image__descriptor, BYTES("\x08\x63"),
	 "mesos.Image: mesos.Image.type: required field is missing"},
	/* Inside another message. */
	{&mesos__scheduler__call__descriptor, BYTES("\x0a\x00"),
	 "mesos.scheduler.Call: mesos.FrameworkID.value: required field is missing"},
	/* A map entry without its value, of which a part is required. */
	{&mesos__quota__quota_config__descriptor,
	 BYTES("\x0a\x01r\x12\x06\x0a\x04"
	       "cpus"),
	 "mesos.quota.QuotaConfig: mesos.Value.Scalar.value: required field is missing"},
};

Test(proto_codec, refuses_bad_bytes)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct err err = {""};
		char expected[512];

		cr_assert_null(proto_unpack(refused[i].type, &arena, refused[i].in.data,
					    refused[i].in.len, &err),
			       "case %zu", i);
		snprintf(expected, sizeof(expected), "Failed to decode %s", refused[i].error);
		cr_expect_str_eq(err.text, expected, "case %zu: %s", i, err.text);
		cr_expect_null(
			proto_unpack_heap(refused[i].type, refused[i].in.data, refused[i].in.len));
	}
}

/* ContainerID in ContainerID in ... */
static void nest(struct buf *out, int levels)
{
	struct buf inner = BUF_INIT;

	if (levels > 1)
		nest(&inner, levels - 1);
	buf_puts(out, "\x0a\x01x");
	if (levels > 1) {
		buf_putc(out, 0x12);
		for (size_t len = inner.len;; len >>= 7) {
			buf_putc(out, (char)((len & 0x7f) | (len > 0x7f ? 0x80 : 0)));
			if (len <= 0x7f)
				break;
		}
		buf_append(out, inner.data, inner.len);
	}
	buf_free(&inner);
}

Test(proto_codec, bounds_the_depth)
{
	struct buf bytes = BUF_INIT;
	struct err err;

	nest(&bytes, PROTO_DEPTH_MAX);
	cr_assert(proto_unpack(&mesos__container_id__descriptor, &arena, bytes.data, bytes.len,
			       &err));
	buf_clear(&bytes);
	nest(&bytes, PROTO_DEPTH_MAX + 1);
	cr_assert_null(proto_unpack(&mesos__container_id__descriptor, &arena, bytes.data, bytes.len,
				    &err));
	cr_assert(strstr(err.text, "nested too deeply"));
	cr_assert_null(proto_unpack_heap(&mesos__container_id__descriptor, bytes.data, bytes.len));
	buf_clear(&bytes);
	for (int i = 0; i < 5000; i++)
		buf_putc(&bytes, 0x7b); /* groups of an unknown field */
	cr_assert_null(proto_unpack(&mesos__container_id__descriptor, &arena, bytes.data, bytes.len,
				    &err));
	cr_assert(strstr(err.text, "nested too deeply"));
	buf_free(&bytes);
}

Test(proto_codec, bounds_the_memory)
{
	struct buf bytes = BUF_INIT;
	struct err err;

	for (int i = 0; i < 1000000; i++)
		buf_append(&bytes, "\x12\x00", 2); /* empty operations */
	cr_assert_null(proto_unpack(&mesos__scheduler__call__accept__descriptor, &arena, bytes.data,
				    bytes.len, &err));
	cr_assert(strstr(err.text, "takes too much memory"), "%s", err.text);
	cr_assert_lt(arena.used, 300u << 20);
	buf_free(&bytes);
}

Test(proto_codec, bounds_the_memory_within_a_packed_field)
{
	struct buf bytes = BUF_INIT;
	const size_t count = 4 << 20;
	struct err err;

	buf_append(&bytes, "\x0a\x80\x80\x80\x02", 5);
	buf_reserve(&bytes, count);
	memset(bytes.data + bytes.len, 1, count); /* no capability has this number */
	bytes.len += count;
	cr_assert_null(proto_unpack(&mesos__capability_info__descriptor, &arena, bytes.data,
				    bytes.len, &err));
	cr_assert(strstr(err.text, "takes too much memory"), "%s", err.text);
	cr_assert_lt(arena.used, 400u << 20);
	buf_free(&bytes);
}

/* ---- what comes out ------------------------------------------------------------------- */

Test(proto_codec, decodes_and_packs_the_same_bytes)
{
	static const struct {
		const ProtobufCMessageDescriptor *type;
		struct bytes in;
	} cases[] = {
		{&mesos__internal__pong_slave_message__descriptor, BYTES("")},
		{&mesos__framework_id__descriptor, BYTES("\x0a\x00")},
		{&mesos__framework_id__descriptor, BYTES("\x0a\x03"
							 "abc")},
		{&mesos__scheduler__event__descriptor, BYTES("\x08\x08")},
		{&mesos__value__range__descriptor,
		 BYTES("\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
		{&mesos__time_info__descriptor,
		 BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
		/* Unknown fields of each wire type, and a group. */
		{&mesos__framework_id__descriptor, BYTES("\x0a\x01x\xf8\x07\x05\xf9\x07"
							 "12345678\xfa\x07\x02hi\xfd\x07"
							 "1234\xfb\x07\x08\x01\xfc\x07")},
		/* An enum value that the schema does not know. */
		{&mesos__scheduler__call__descriptor, BYTES("\x10\xe7\x07")},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = {""};
		struct buf out = BUF_INIT;
		void *message = proto_unpack(cases[i].type, &arena, cases[i].in.data,
					     cases[i].in.len, &err);
		void *heap, *copy;

		cr_assert(message, "case %zu: %s", i, err.text);
		proto_pack(message, &out);
		cr_expect(out.len == cases[i].in.len &&
				  (!out.len || !memcmp(out.data, cases[i].in.data, out.len)),
			  "case %zu", i);
		heap = proto_unpack_heap(cases[i].type, cases[i].in.data, cases[i].in.len);
		copy = proto_copy(heap);
		cr_expect(proto_equal(message, heap) && proto_equal(heap, copy));
		proto_free(heap);
		cr_expect(proto_equal(message, copy));
		cr_expect(proto_equal(message, proto_copy_to(&arena, copy)));
		proto_free(copy);
		buf_free(&out);
	}
}

Test(proto_codec, an_unknown_enum_value_is_as_absent)
{
	Mesos__Scheduler__Call *call =
		proto_unpack(&mesos__scheduler__call__descriptor, &arena, "\x10\xe7\x07", 3, NULL);

	cr_assert(call);
	cr_assert_not(call->has_type);
	cr_assert_eq(call->base.n_unknown_fields, 1);
}

Test(proto_codec, the_last_value_counts_and_messages_merge)
{
	/* user "a", user "b"; id {value "x"} twice, the second with unknown field 15. */
	static const char bytes[] = "\x0a\x01"
				    "a\x0a\x01"
				    "b\x12\x01n\x1a\x03\x0a\x01x\x1a\x05\x0a\x01y\x78\x01";
	Mesos__FrameworkInfo *info = proto_unpack(&mesos__framework_info__descriptor, &arena, bytes,
						  sizeof(bytes) - 1, NULL);
	Mesos__FrameworkInfo *heap =
		proto_unpack_heap(&mesos__framework_info__descriptor, bytes, sizeof(bytes) - 1);

	cr_assert(info && heap);
	cr_assert_str_eq(info->user, "b");
	cr_assert_str_eq(info->id->value, "y");
	cr_assert_eq(info->id->base.n_unknown_fields, 1);
	cr_assert(proto_equal(info, heap));
	proto_free(heap);
}

Test(proto_codec, takes_packed_numbers)
{
	Mesos__HealthCheck__HTTPCheckInfo *http =
		proto_unpack(&mesos__health_check__httpcheck_info__descriptor, &arena,
			     "\x08\x50\x20\x07\x22\x04\x01\x02\xac\x02", 10, NULL);
	/* 1000, 99 which the schema does not know, 1001 */
	Mesos__CapabilityInfo *info = proto_unpack(&mesos__capability_info__descriptor, &arena,
						   "\x0a\x05\xe8\x07\x63\xe9\x07", 7, NULL);

	cr_assert(http && info);
	cr_assert_eq(http->n_statuses, 4);
	cr_assert_eq(http->statuses[0], 7);
	cr_assert_eq(http->statuses[3], 300);
	cr_assert_eq(info->n_capabilities, 2);
	cr_assert_eq(info->capabilities[1], 1001);
	cr_assert_eq(info->base.n_unknown_fields, 1);
	cr_assert_null(proto_unpack(&mesos__capability_info__descriptor, &arena, "\x0a\x02\xe8\x87",
				    4, NULL));
}

Test(proto_codec, strings_hold_no_nul)
{
	Mesos__FrameworkID *id = proto_unpack(&mesos__framework_id__descriptor, &arena,
					      "\x0a\x04"
					      "a\0b\0",
					      6, NULL);

	cr_assert(id);
	cr_assert_str_eq(id->value, "a\x01"
				    "b\x01");
}

Test(proto_codec, defaults_are_pointed_to)
{
	Mesos__Resource *resource = proto_unpack(&mesos__resource__descriptor, &arena,
						 "\x0a\x04"
						 "cpus\x10\x00",
						 8, NULL);
	Mesos__Resource *copy = proto_copy(resource);

	cr_assert_str_eq(resource->role, "*");
	cr_assert_not(PROTO_HAS(resource, role, mesos__resource__role__default_value));
	cr_assert_not(PROTO_HAS(copy, role, mesos__resource__role__default_value));
	proto_free(copy);
	resource = proto_unpack(&mesos__resource__descriptor, &arena,
				"\x0a\x04"
				"cpus\x10\x00\x32\x01*",
				11, NULL);
	cr_assert(PROTO_HAS(resource, role, mesos__resource__role__default_value));
	copy = proto_copy(resource);
	cr_assert(PROTO_HAS(copy, role, mesos__resource__role__default_value));
	proto_free(copy);
}

Test(proto_codec, the_last_of_equal_map_keys_counts)
{
	static const char bytes[] = "\x0a\x01r"
				    "\x1a\x0f\x0a\x02zz\x12\x09\x09\0\0\0\0\0\0\xf0\x3f"
				    "\x1a\x0e\x0a\x01"
				    "a\x12\x09\x09\0\0\0\0\0\0\xf0\x3f"
				    "\x1a\x0f\x0a\x02zz\x12\x09\x09\0\0\0\0\0\0\x00\x40";
	Mesos__Quota__QuotaConfig *quota = proto_unpack(&mesos__quota__quota_config__descriptor,
							&arena, bytes, sizeof(bytes) - 1, NULL);
	void *heap = proto_unpack_heap(&mesos__quota__quota_config__descriptor, bytes,
				       sizeof(bytes) - 1);

	cr_assert(quota && heap);
	cr_assert_eq(quota->n_limits, 2);
	cr_assert_str_eq(quota->limits[0]->key, "a");
	cr_assert_str_eq(quota->limits[1]->key, "zz");
	cr_assert_eq(quota->limits[1]->value->value, 2.0);
	cr_assert(proto_equal(quota, heap));
	proto_free(heap);
}

Test(proto_codec, lists_can_be_pushed_to_wherever_they_come_from)
{
	struct buf bytes = BUF_INIT;

	for (size_t n = 0; n < 20; n++) {
		Mesos__Scheduler__Call__Decline *decline, *copy;

		decline = proto_unpack(&mesos__scheduler__call__decline__descriptor, &arena,
				       bytes.data, bytes.len, NULL);
		copy = proto_copy_to(&arena, decline);
		for (size_t i = 0; i < 9; i++) {
			Mesos__OfferID *id =
				PROTO_NEW(&arena, Mesos__OfferID, mesos__offer_id__descriptor);

			id->value = arena_printf(&arena, "%zu", i);
			proto_push(&arena, decline->n_offer_ids, decline->offer_ids, id);
			proto_push(&arena, copy->n_offer_ids, copy->offer_ids, id);
		}
		cr_assert_eq(decline->n_offer_ids, n + 9);
		for (size_t i = 0; i < n; i++)
			cr_assert_str_eq(copy->offer_ids[i]->value, "o");
		for (size_t i = 0; i < 9; i++)
			cr_assert_eq(decline->offer_ids[n + i]->value[0], '0' + (char)i);
		cr_assert(proto_equal(decline, copy));
		buf_append(&bytes, "\x0a\x03\x0a\x01o", 5);
	}
	buf_free(&bytes);
}

Test(proto_codec, names_missing_required_fields)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Subscribe subscribe = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__Label label = MESOS__LABEL__INIT, *list[] = {&label, &label};
	Mesos__Labels labels = MESOS__LABELS__INIT;
	struct buf missing = BUF_INIT;

	cr_assert(proto_check_required(&call, &missing));
	call.subscribe = &subscribe;
	cr_assert_not(proto_check_required(&call, &missing));
	cr_assert_str_eq(missing.data, "subscribe.framework_info");
	buf_clear(&missing);
	subscribe.framework_info = &info;
	info.labels = &labels;
	labels.n_labels = 2;
	labels.labels = list;
	cr_assert_not(proto_check_required(&call, &missing));
	cr_assert_str_eq(missing.data,
			 "subscribe.framework_info.user, subscribe.framework_info.name, "
			 "subscribe.framework_info.labels.labels[0].key, "
			 "subscribe.framework_info.labels.labels[1].key");
	buf_free(&missing);
}

/* ---- v0 ------------------------------------------------------------------------------- */

Test(proto_codec, reads_the_v0_subscribe)
{
	static const char head[] = "\x10\x01";			/* SUBSCRIBE */
	static const char body[] = "\x0a\x06\x0a\x01u\x12\x01n" /* framework_info */
				   "\x10\x01"			/* force */
				   "\x1a\x01r"			/* suppressed_roles */
				   "\x22\x00";			/* offer_constraints */
	struct buf bytes = BUF_INIT;
	struct err err = {""};
	Mesos__Scheduler__Call *call;
	bool force = false;

	buf_append(&bytes, head, sizeof(head) - 1);
	buf_putc(&bytes, 0x1a);
	buf_putc(&bytes, sizeof(body) - 1);
	buf_append(&bytes, body, sizeof(body) - 1);
	call = proto_call_from_v0(&arena, bytes.data, bytes.len, &force, &err);
	cr_assert(call, "%s", err.text);
	cr_assert(force);
	cr_assert_eq(call->type, MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE);
	cr_assert_str_eq(call->subscribe->framework_info->user, "u");
	cr_assert_eq(call->subscribe->n_suppressed_roles, 1);
	cr_assert_str_eq(call->subscribe->suppressed_roles[0], "r");
	cr_assert(call->subscribe->offer_constraints);
	for (size_t len = 3; len < bytes.len; len++)
		cr_assert_null(proto_call_from_v0(&arena, bytes.data, len, &force, &err));
	buf_free(&bytes);
	call = proto_call_from_v0(&arena, "\x10\x02", 2, &force, &err);
	cr_assert(call && !force && !call->subscribe);
}

/* ---- anything ------------------------------------------------------------------------- */

/* Whatever the bytes, decoding ends well, and what it gives survives another turn. */
Test(proto_codec, survives_random_bytes)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		&mesos__scheduler__call__descriptor,
		&mesos__executor__call__descriptor,
		&mesos__internal__status_update_message__descriptor,
		&mesos__framework_info__descriptor,
		&mesos__scheduler__event__descriptor,
	};
	struct rng rng;
	size_t decoded = 0;

	rng_seed(&rng, 42);
	for (int turn = 0; turn < 20000; turn++) {
		const ProtobufCMessageDescriptor *type = types[rng_next(&rng) % 5];
		uint8_t bytes[48];
		size_t len = rng_next(&rng) % sizeof(bytes);
		void *message;

		for (size_t i = 0; i < len; i++) /* small numbers make plausible tags and lengths */
			bytes[i] = (uint8_t)(rng_next(&rng) % (rng_next(&rng) % 4 ? 32 : 256));
		message = proto_unpack_heap(type, bytes, len);
		if (message) {
			struct buf out = BUF_INIT;
			void *again;

			decoded++;
			proto_pack(message, &out);
			again = proto_unpack(type, &arena, out.data, out.len, NULL);
			cr_assert(again && proto_equal(message, again), "turn %d", turn);
			buf_free(&out);
			proto_free(message);
		}
		arena_free(&arena);
	}
	cr_assert_gt(decoded, 100);
}

/* Messages are values, too; and what the schema does not have. */
Test(proto_codec, counts_values)
{
	static const struct {
		const ProtobufCMessageDescriptor *type;
		struct bytes in;
		size_t values;
	} messages[] = {
		{&mesos__framework_id__descriptor, BYTES("\x0a\x01x"), 1},
		{&mesos__value__ranges__descriptor,
		 BYTES("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04"), 6},
		{&mesos__framework_id__descriptor, BYTES("\x0a\x01x\xa0\x06\x01\xa0\x06\x02"), 3},
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct err err = {""};

		cr_expect(proto_unpack_up_to(messages[i].values, messages[i].type, &arena,
					     messages[i].in.data, messages[i].in.len, &err),
			  "%zu: %s", i, err.text);
		cr_expect_not(proto_unpack_up_to(messages[i].values - 1, messages[i].type, &arena,
						 messages[i].in.data, messages[i].in.len, &err));
		cr_expect(str_has_prefix(err.text, PROTO_TOO_MANY), "%s", err.text);
	}
}
