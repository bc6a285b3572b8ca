/* Random messages of all that the APIs exchange: packed as protobuf-c packs them, and the same
 * after a copy and a way over the wire. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/random.h"
#include "proto/proto.h"

#define ROUNDS 300
#define DEPTH 6

static struct arena arena;
static struct rng rng;

static size_t below(size_t end)
{
	return (size_t)(rng_unit(&rng) * (double)end);
}

/* Small ones, large ones, and those at the edges of lengths on the wire. */
static uint64_t some_number(void)
{
	return rng_next(&rng) >> below(64);
}

static char *some_bytes(size_t *len)
{
	static const size_t lengths[] = {0, 1, 3, 16, 127, 128, 300, 5000};
	char *text;

	*len = lengths[below(below(8) ? 5 : 8)];
	text = arena_alloc(&arena, *len + 1);
	for (size_t i = 0; i < *len; i++)
		text[i] = (char)('!' + below(90));
	return text;
}

static ProtobufCMessage *some_message(const ProtobufCMessageDescriptor *type, int depth);

static void fill_value(const ProtobufCFieldDescriptor *field, void *at, int depth)
{
	const ProtobufCEnumDescriptor *numbers = field->descriptor;
	ProtobufCBinaryData *bytes = at;
	size_t len;

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		*(char **)at = some_bytes(&len);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		bytes->data = (uint8_t *)some_bytes(&bytes->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)at = some_message(field->descriptor, depth + 1);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		*(int *)at = numbers->values[below(numbers->n_values)].value;
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)at = below(2) == 1;
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_SINT64:
		*(uint64_t *)at = below(2) ? some_number() : -some_number();
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)at = rng_unit(&rng) * 1000;
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		*(float *)at = (float)rng_unit(&rng);
		break;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_SINT32:
		*(uint32_t *)at = (uint32_t)(below(2) ? some_number() : -some_number());
		break;
	default:
		cr_assert_fail("%s is of a type that the schema has not", field->name);
	}
}

static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
	case PROTOBUF_C_TYPE_BOOL:
	case PROTOBUF_C_TYPE_FLOAT:
		return 4;
	default:
		return 8;
	}
}

static void fill_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, int depth)
{
	char *at = (char *)message + field->offset;
	char *quantifier = (char *)message + field->quantifier_offset;
	size_t count = below(4), size = size_of(field->type);

	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		fill_value(field, at, depth);
		if (field->label == PROTOBUF_C_LABEL_OPTIONAL &&
		    field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
			*(protobuf_c_boolean *)quantifier = true;
		return;
	}
	*(size_t *)quantifier = count;
	*(void **)at = arena_alloc(&arena, count * size);
	for (size_t i = 0; i < count; i++)
		fill_value(field, *(char **)at + i * size, depth);
}

static void add_unknown(ProtobufCMessage *message)
{
	ProtobufCMessageUnknownField *field = arena_alloc(&arena, sizeof(*field));

	*field = (ProtobufCMessageUnknownField){
		.tag = 99999, .wire_type = 0, .len = 2, .data = (uint8_t *)"\x80\x01"};
	message->n_unknown_fields = 1;
	message->unknown_fields = field;
}

static ProtobufCMessage *some_message(const ProtobufCMessageDescriptor *type, int depth)
{
	ProtobufCMessage *message = proto_make(&arena, type);
	bool entry = str_has_suffix(type->short_name, "Entry"); /* of a map: all there */

	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];

		if (field->label == PROTOBUF_C_LABEL_REQUIRED || entry ||
		    (depth < DEPTH && !below(2 + (size_t)depth)))
			fill_field(message, field, depth);
	}
	if (!below(10))
		add_unknown(message);
	return message;
}

static void check(const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *message = some_message(type, 0);
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *expected = arena_alloc(&arena, size);
	struct buf packed = BUF_INIT;
	struct err err = {""};
	void *copy, *heap;

	protobuf_c_message_pack(message, expected);
	buf_puts(&packed, "before");
	proto_pack(message, &packed);
	cr_assert_eq(packed.len, 6 + size, "%s: %zu bytes instead of %zu", type->name,
		     packed.len - 6, size);
	cr_assert_arr_eq(packed.data, "before", 6);
	cr_assert_arr_eq(packed.data + 6, expected, size, "%s", type->name);
	copy = proto_copy_to(&arena, message);
	heap = proto_copy(message);
	cr_assert(proto_equal(copy, message) && proto_equal(heap, message), "%s", type->name);
	proto_free(heap);
	copy = proto_unpack(type, &arena, packed.data + 6, size, &err);
	heap = proto_unpack_heap(type, packed.data + 6, size);
	cr_assert(copy, "%s", err.text);
	cr_assert(proto_equal(copy, heap), "%s", type->name);
	proto_free(heap);
	buf_free(&packed);
	arena_reset(&arena);
}

Test(proto_pack, is_that_of_protobuf)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		&mesos__scheduler__call__descriptor,
		&mesos__scheduler__event__descriptor,
		&mesos__executor__call__descriptor,
		&mesos__executor__event__descriptor,
		&mesos__agent__call__descriptor,
		&mesos__internal__run_task_message__descriptor,
		&mesos__internal__status_update_message__descriptor,
		&mesos__internal__reregister_slave_message__descriptor,
	};

	rng_seed(&rng, 4);
	arena_init(&arena);
	for (int i = 0; i < ROUNDS; i++)
		check(types[i % (int)(sizeof(types) / sizeof(*types))]);
	arena_free(&arena);
}
