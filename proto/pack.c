/* Encoding of messages into protobuf bytes.
 *
 * From the end to the beginning: the length of a message within another is known when it is
 * written, and each is looked at once only. The bytes are those of protobuf_c_message_pack(),
 * for the proto2 without packed fields and oneofs that our schema is.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
#include "proto/reflect.h"
#include "proto/wire/wire.h"

#define SCRATCH 4096  /* bytes on the stack; most messages fit */
#define VARINT_MAX 10 /* bytes of a number */

/* What was written is from `at` to `end`. */
struct packer {
	uint8_t *start, *at, *end;
	uint8_t *heap; /* or NULL: `start` is the caller's */
};

static void pack_message(struct packer *p, const ProtobufCMessage *message);

static void grow(struct packer *p, size_t size)
{
	size_t used = (size_t)(p->end - p->at), room = (size_t)(p->end - p->start);
	uint8_t *heap;

	while (room < used + size)
		room *= 2;
	heap = xmalloc(room);
	memcpy(heap + room - used, p->at, used);
	free(p->heap);
	p->heap = p->start = heap;
	p->end = heap + room;
	p->at = p->end - used;
}

/* Room for so much in front of what is there. */
static inline uint8_t *pack_take(struct packer *p, size_t size)
{
	if ((size_t)(p->at - p->start) < size)
		grow(p, size);
	return p->at -= size;
}

static void put_long_varint(struct packer *p, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	memcpy(pack_take(p, len), bytes, len);
}

static inline void put_varint(struct packer *p, uint64_t value)
{
	if (value < 0x80)
		*pack_take(p, 1) = (uint8_t)value;
	else
		put_long_varint(p, value);
}

static void put_bytes(struct packer *p, const void *data, size_t len)
{
	if (len)
		memcpy(pack_take(p, len), data, len);
	put_varint(p, len);
}

static uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* The value of a number as it goes into a varint. */
static uint64_t varint_of(ProtobufCType type, const void *at)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BOOL:
		return *(const protobuf_c_boolean *)at != 0;
	case PROTOBUF_C_TYPE_UINT32:
		return *(const uint32_t *)at;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_ENUM:
		return (uint64_t)(int64_t) * (const int32_t *)at;
	case PROTOBUF_C_TYPE_SINT32:
		return zigzag(*(const int32_t *)at);
	case PROTOBUF_C_TYPE_SINT64:
		return zigzag(*(const int64_t *)at);
	default:
		return *(const uint64_t *)at;
	}
}

static void pack_value(struct packer *p, const ProtobufCFieldDescriptor *field, const void *at)
{
	const ProtobufCBinaryData *bytes = at;
	const char *text;
	size_t len;

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		text = *(char *const *)at;
		put_bytes(p, text, text ? strlen(text) : 0);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		put_bytes(p, bytes->data, bytes->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		len = (size_t)(p->end - p->at);
		if (*(void *const *)at)
			pack_message(p, *(ProtobufCMessage *const *)at);
		put_varint(p, (size_t)(p->end - p->at) - len);
		break;
	default:
		len = field_size(field->type);
		if (field_wire_types[field->type] == WIRE_VARINT)
			put_varint(p, varint_of(field->type, at));
		else
			memcpy(pack_take(p, len), at, len); /* little endian, as the wire is */
	}
	put_varint(p, (uint64_t)field->id << 3 | field_wire_types[field->type]);
}

static void pack_list(struct packer *p, const ProtobufCFieldDescriptor *field, const char *items,
		      size_t count)
{
	size_t size = field_size(field->type);

	while (count--)
		pack_value(p, field, items + count * size);
}

static void pack_message(struct packer *p, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	for (unsigned i = message->n_unknown_fields; i--;) {
		const ProtobufCMessageUnknownField *field = &message->unknown_fields[i];

		if (field->len)
			memcpy(pack_take(p, field->len), field->data, field->len);
		put_varint(p, (uint64_t)field->tag << 3 | field->wire_type);
	}
	for (unsigned i = type->n_fields; i--;) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];
		const void *at = field_at(message, field);

		if (field->label == PROTOBUF_C_LABEL_REPEATED)
			pack_list(p, field, *(char *const *)at, *field_count(message, field));
		else if (field->label == PROTOBUF_C_LABEL_REQUIRED || field_is_set(message, field))
			pack_value(p, field, at);
	}
}

void proto_pack(const void *message, struct buf *out)
{
	uint8_t scratch[SCRATCH];
	struct packer p = {scratch, scratch + SCRATCH, scratch + SCRATCH, NULL};

	pack_message(&p, message);
	buf_append(out, p.at, (size_t)(p.end - p.at));
	free(p.heap);
}

struct slice proto_pack_to(struct arena *arena, const void *message)
{
	uint8_t scratch[SCRATCH];
	struct packer p = {scratch, scratch + SCRATCH, scratch + SCRATCH, NULL};
	size_t len;
	char *data;

	pack_message(&p, message);
	len = (size_t)(p.end - p.at);
	data = arena_memdup(arena, p.at, len);
	free(p.heap);
	return (struct slice){data, len};
}
