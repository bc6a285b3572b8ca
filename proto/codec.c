/* Decoding of protobuf bytes, driven by the descriptors.
 *
 * A decoder of our own, since protobuf_c_message_unpack() knows no depth limit, keeps
 * enum values that the schema does not have, and replaces where protobuf merges. Fails on
 * truncated or contradictory bytes, on missing required fields, on nesting deeper than
 * PROTO_DEPTH_MAX, and on input made to take much more memory than it is long.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
#include "proto/reflect.h"
#include "proto/wire/wire.h"

/* A message may take this many times its encoded size, plus the slack. What clients send
 * takes up to 20 times; empty messages repeated without end take hundreds. */
#define MEMORY_FACTOR 64
#define MEMORY_SLACK ((size_t)1 << 20)
#define NEAR 4 /* fields: beyond, a search is faster */
#define TOO_MUCH "takes too much memory"
#define TOO_MANY "too many values"

struct decoder {
	struct proto_mem mem;
	size_t limit;				/* of mem.used */
	size_t max, left;			/* values that it may have, and of them still */
	const ProtobufCMessageDescriptor *type; /* where it failed; NULL = it did not */
	const ProtobufCFieldDescriptor *field;
};

static const char *decode_message(struct decoder *d, ProtobufCMessage *message, struct wire in,
				  int depth, bool merge);

static void keep_unknown(struct decoder *d, ProtobufCMessage *message, uint32_t number,
			 enum wire_type type, const uint8_t *data, size_t len)
{
	ProtobufCMessageUnknownField *field;

	message->unknown_fields = mem_grow(&d->mem, message->unknown_fields,
					   message->n_unknown_fields, sizeof(*field));
	field = &message->unknown_fields[message->n_unknown_fields];
	*field = (ProtobufCMessageUnknownField){.tag = number,
						.wire_type = (ProtobufCWireType)type,
						.len = len,
						.data = mem_bytes(&d->mem, data, len)};
	message->n_unknown_fields++;
}

static int32_t unzigzag32(uint32_t value)
{
	return (int32_t)((value >> 1) ^ -(value & 1));
}

static int64_t unzigzag64(uint64_t value)
{
	return (int64_t)((value >> 1) ^ -(value & 1));
}

/* A number into its place in memory. *known is false for enum values that the schema does
 * not have; then nothing is stored. */
static const char *decode_number(const ProtobufCFieldDescriptor *field, struct wire *in, void *at,
				 bool *known)
{
	enum wire_type type = field_wire_types[field->type];
	uint64_t value;
	const char *why = type == WIRE_VARINT ? wire_varint(in, &value)
					      : wire_fixed(in, type == WIRE_64 ? 8 : 4, &value);

	*known = true;
	if (why)
		return why;
	switch (field->type) {
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)at = value != 0;
		break;
	case PROTOBUF_C_TYPE_ENUM:
		*known = protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value);
		if (*known)
			*(int *)at = (int)value;
		break;
	case PROTOBUF_C_TYPE_SINT32:
		*(int32_t *)at = unzigzag32((uint32_t)value);
		break;
	case PROTOBUF_C_TYPE_SINT64:
		*(int64_t *)at = unzigzag64(value);
		break;
	default:
		memcpy(at, &value, field_size(field->type)); /* little endian, as the wire is */
	}
	return NULL;
}

/* A string, bytes or message into its place. `merge`: there is a message already. */
static const char *decode_bytes(struct decoder *d, const ProtobufCFieldDescriptor *field,
				struct wire *in, void *at, int depth, bool merge)
{
	struct wire bytes;
	const char *why = wire_bytes(in, &bytes);
	size_t len;

	if (why)
		return why;
	len = (size_t)(bytes.end - bytes.at);
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		*(char **)at = mem_string(&d->mem, bytes.at, len);
	} else if (field->type == PROTOBUF_C_TYPE_BYTES) {
		((ProtobufCBinaryData *)at)->data = mem_bytes(&d->mem, bytes.at, len);
		((ProtobufCBinaryData *)at)->len = len;
	} else {
		if (!merge)
			*(ProtobufCMessage **)at = mem_message(&d->mem, field->descriptor);
		return decode_message(d, *(ProtobufCMessage **)at, bytes, depth + 1, merge);
	}
	return NULL;
}

/* The place of the next element of a repeated field, zeroed but not counted yet. */
static void *next_element(struct decoder *d, ProtobufCMessage *message,
			  const ProtobufCFieldDescriptor *field)
{
	size_t size = field_size(field->type), count = *field_count(message, field);
	void **items = field_at(message, field);
	void *at;

	*items = mem_grow(&d->mem, *items, count, size);
	at = (char *)*items + count * size;
	return memset(at, 0, size);
}

/* Of several values of a singular field the last wins; the heap needs the former back. */
static void drop_former(struct decoder *d, const ProtobufCFieldDescriptor *field, void *at)
{
	if (d->mem.arena)
		return;
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		free(((ProtobufCBinaryData *)at)->data);
		memset(at, 0, sizeof(ProtobufCBinaryData));
	} else if (field->type == PROTOBUF_C_TYPE_STRING &&
		   *(const void **)at != field->default_value) {
		free(*(char **)at);
		*(char **)at = NULL;
	}
}

/* A value of the wire type that the schema says. *known as decode_number(). */
static inline const char *decode_value(struct decoder *d, ProtobufCMessage *message,
				       const ProtobufCFieldDescriptor *field, struct wire *in,
				       int depth, bool *known)
{
	bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	enum wire_type type = field_wire_types[field->type];
	void *at = repeated ? next_element(d, message, field) : field_at(message, field);
	const uint8_t *start = in->at;
	const char *why;

	*known = true;
	if (type == WIRE_BYTES) {
		bool merge = field->type == PROTOBUF_C_TYPE_MESSAGE && *(void **)at;

		drop_former(d, field, at);
		why = decode_bytes(d, field, in, at, depth, merge);
	} else {
		why = decode_number(field, in, at, known);
	}
	if (!*known) {
		keep_unknown(d, message, field->id, type, start, (size_t)(in->at - start));
	} else if (repeated) {
		/* A message that failed half-way is counted so that it is freed. */
		if (!why || (field->type == PROTOBUF_C_TYPE_MESSAGE && *(void **)at))
			++*field_count(message, field);
	} else if (!why && field->label == PROTOBUF_C_LABEL_OPTIONAL &&
		   field->type != PROTOBUF_C_TYPE_STRING &&
		   field->type != PROTOBUF_C_TYPE_MESSAGE) {
		*field_has(message, field) = true;
	}
	return why;
}

/* After each value. */
static inline const char *check_bounds(struct decoder *d)
{
	if (!d->left--) {
		d->left = 0;
		return TOO_MANY;
	}
	return d->mem.used > d->limit ? TOO_MUCH : NULL;
}

/* Of numbers one behind the other in one value. */
static const char *decode_packed(struct decoder *d, ProtobufCMessage *message,
				 const ProtobufCFieldDescriptor *field, struct wire *in, int depth)
{
	struct wire packed;
	const char *why = wire_bytes(in, &packed);
	bool known;

	while (!why && packed.at < packed.end) {
		why = decode_value(d, message, field, &packed, depth, &known);
		if (!why)
			why = check_bounds(d);
	}
	return why;
}

/* Of a field that the schema does not have, or has with another type. */
static const char *decode_other(struct decoder *d, ProtobufCMessage *message,
				const ProtobufCFieldDescriptor *field, uint32_t number,
				enum wire_type type, struct wire *in, int depth)
{
	const uint8_t *start = in->at;
	const char *why;

	if (field && type == WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED)
		return decode_packed(d, message, field, in, depth);
	why = wire_skip(in, number, type, depth);
	if (!why)
		keep_unknown(d, message, number, type, start, (size_t)(in->at - start));
	return why;
}

/* Says where it failed, if nothing further inside did. */
static const char *codec_fail(struct decoder *d, const ProtobufCMessageDescriptor *type,
			      const ProtobufCFieldDescriptor *field, const char *why)
{
	if (!d->type) {
		d->type = type;
		d->field = field;
	}
	return why;
}

static const char *is_missing(struct decoder *d, const ProtobufCMessageDescriptor *type,
			      const ProtobufCFieldDescriptor *field)
{
	return codec_fail(d, type, field, "required field is missing");
}

/* A map entry without a value stands for the value's default, which may not be one. */
static const char *check_map(struct decoder *d, ProtobufCMessage *message,
			     const ProtobufCFieldDescriptor *field)
{
	const ProtobufCFieldDescriptor *value =
		&((const ProtobufCMessageDescriptor *)field->descriptor)->fields[1];
	const ProtobufCMessageDescriptor *type = value->descriptor;
	ProtobufCMessage **items = *(ProtobufCMessage ***)field_at(message, field);

	for (size_t i = 0; i < *field_count(message, field); i++) {
		if (value->type != PROTOBUF_C_TYPE_MESSAGE || *(void **)field_at(items[i], value))
			continue;
		for (unsigned k = 0; k < type->n_fields; k++) {
			if (type->fields[k].label == PROTOBUF_C_LABEL_REQUIRED)
				return is_missing(d, type, &type->fields[k]);
		}
	}
	map_finish(&d->mem, message, field);
	return NULL;
}

/* At the end of a message. */
static const char *check_fields(struct decoder *d, ProtobufCMessage *message, const uint64_t *seen,
				bool merge)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	const ProtobufCFieldDescriptor *field = type->fields;

	for (unsigned i = 0; i < type->n_fields; i++, field++) {
		const char *why = NULL;

		if (field->label == PROTOBUF_C_LABEL_OPTIONAL)
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			if (*field_count(message, field) && field_is_map(field))
				why = check_map(d, message, field);
		} else if (!merge && !bit_get(seen, i)) {
			why = is_missing(d, type, field);
		}
		if (why)
			return why;
	}
	return NULL;
}

/* The field of a number, and in *next the one that probably follows: fields come in the order
 * of their numbers, mostly. */
static inline const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
							 const ProtobufCFieldDescriptor **next,
							 uint32_t number)
{
	/* Of a message without fields the list is NULL. */
	const ProtobufCFieldDescriptor *end = type->n_fields ? type->fields + type->n_fields : NULL;
	const ProtobufCFieldDescriptor *field = *next;

	for (int i = 0; i < NEAR && field < end && field->id < number; i++)
		field++;
	if (field >= end || field->id != number)
		field = protobuf_c_message_descriptor_get_field(type, number);
	if (field)
		*next = field + (field->label != PROTOBUF_C_LABEL_REPEATED);
	return field;
}

/* `merge`: the message was decoded before, and its required fields with it. */
static const char *decode_message(struct decoder *d, ProtobufCMessage *message, struct wire in,
				  int depth, bool merge)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	const ProtobufCFieldDescriptor *field, *next = type->fields;
	uint64_t seen[FIELDS_MAX / 64] = {0};

	if (depth > PROTO_DEPTH_MAX)
		return codec_fail(d, type, NULL, "nested too deeply");
	while (in.at < in.end) {
		enum wire_type wire_type;
		uint32_t number;
		bool known = false;
		const char *why = wire_tag(&in, &number, &wire_type);

		if (why)
			return codec_fail(d, type, NULL, why);
		field = find_field(type, &next, number);
		if (field && wire_type == field_wire_types[field->type])
			why = decode_value(d, message, field, &in, depth, &known);
		else
			why = decode_other(d, message, field, number, wire_type, &in, depth);
		if (!why)
			why = check_bounds(d);
		if (why)
			return codec_fail(d, type, field, why);
		if (known)
			bit_set(seen, (size_t)(field - type->fields));
	}
	return check_fields(d, message, seen, merge);
}

static ProtobufCMessage *codec_unpack(size_t max, const ProtobufCMessageDescriptor *type,
				      struct arena *arena, const void *data, size_t len,
				      struct err *err)
{
	struct decoder d = {.mem = {.arena = arena},
			    .limit = len * MEMORY_FACTOR + MEMORY_SLACK,
			    .max = max,
			    .left = max};
	/* An empty buffer has no memory; arithmetic needs some. */
	const uint8_t *start = data ? data : (const uint8_t *)"";
	struct wire in = {start, start + len};
	ProtobufCMessage *message = mem_message(&d.mem, type);
	const char *why = decode_message(&d, message, in, 1, false);

	if (!why)
		return message;
	if (!strcmp(why, TOO_MANY))
		err_set(err, ERR_LIMIT, PROTO_TOO_MANY "%zu values", max);
	else
		err_set(err, ERR_INVALID, "Failed to decode %s: %s%s%s: %s", type->name,
			d.type->name, d.field ? "." : "", d.field ? d.field->name : "", why);
	if (!arena)
		protobuf_c_message_free_unpacked(message, NULL);
	return NULL;
}

void *proto_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena, const void *data,
		   size_t len, struct err *err)
{
	return codec_unpack(SIZE_MAX, type, arena, data, len, err);
}

void *proto_unpack_up_to(size_t max, const ProtobufCMessageDescriptor *type, struct arena *arena,
			 const void *data, size_t len, struct err *err)
{
	return codec_unpack(max, type, arena, data, len, err);
}

void *proto_unpack_heap(const ProtobufCMessageDescriptor *type, const void *data, size_t len)
{
	return codec_unpack(SIZE_MAX, type, NULL, data, len, NULL);
}
