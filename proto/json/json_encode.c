/* Messages to JSON, by their descriptors, as Mesos writes them. */
#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "proto/json/spelling.h"
#include "proto/proto.h"
#include "proto/reflect.h"

static void write_message(const ProtobufCMessage *message, enum proto_spelling spelling,
			  struct json_writer *w);

static void write_bytes(const ProtobufCBinaryData *bytes, struct json_writer *w)
{
	/* No byte of it needs an escape. */
	if (w->comma)
		buf_putc(w->out, ',');
	buf_putc(w->out, '"');
	base64_encode(w->out, bytes->data, bytes->len);
	buf_putc(w->out, '"');
	w->comma = true;
}

/* JSON has no numbers for these; Mesos reads the strings. */
static void write_double(double value, struct json_writer *w)
{
	if (isfinite(value))
		jw_double(w, value);
	else if (isnan(value))
		jw_string(w, "NaN");
	else
		jw_string(w, value > 0 ? "Infinity" : "-Infinity");
}

static void write_value(const ProtobufCFieldDescriptor *field, const void *at,
			enum proto_spelling spelling, struct json_writer *w)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		jw_int(w, *(const int32_t *)at);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		jw_int(w, *(const int64_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		jw_uint(w, *(const uint32_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		jw_uint(w, *(const uint64_t *)at);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		write_double(*(const float *)at, w);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		write_double(*(const double *)at, w);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		jw_bool(w, *(const protobuf_c_boolean *)at);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		jw_string(w, proto_enum_name(field->descriptor, *(const int *)at, spelling));
		break;
	case PROTOBUF_C_TYPE_STRING:
		jw_string(w, *(char *const *)at);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		write_bytes(at, w);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		write_message(*(ProtobufCMessage *const *)at, spelling, w);
		break;
	}
}

static void write_map(const ProtobufCFieldDescriptor *field, ProtobufCMessage **entries,
		      size_t count, enum proto_spelling spelling, struct json_writer *w)
{
	const ProtobufCMessageDescriptor *type = field->descriptor;

	jw_begin_object(w);
	for (size_t i = 0; i < count; i++) {
		const char *key = *(char **)field_at(entries[i], &type->fields[0]);

		jw_key(w, key ? key : "");
		write_value(&type->fields[1], field_at(entries[i], &type->fields[1]), spelling, w);
	}
	jw_end_object(w);
}

static void json_encode_write_list(const ProtobufCFieldDescriptor *field,
				   const ProtobufCMessage *message, enum proto_spelling spelling,
				   struct json_writer *w)
{
	size_t count = *field_count(message, field), size = field_size(field->type);
	char *items = *(char **)field_at(message, field);

	if (field_is_map(field)) {
		write_map(field, (ProtobufCMessage **)(void *)items, count, spelling, w);
		return;
	}
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++)
		write_value(field, items + i * size, spelling, w);
	jw_end_array(w);
}

/* The default that an unset field shows: a deprecated one shows nothing. NULL for none. */
static const void *shown_default(const ProtobufCFieldDescriptor *field)
{
	if (field->flags & PROTOBUF_C_FIELD_FLAG_DEPRECATED)
		return NULL;
	return field->default_value;
}

static void write_singular(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message,
			   const char *name, enum proto_spelling spelling, struct json_writer *w)
{
	const void *at = field_at(message, field);

	if (!field_is_set(message, field)) {
		const void *value = shown_default(field);

		if (!value)
			return;
		/* A string's default is the text itself, another's a pointer to the value. */
		at = field->type == PROTOBUF_C_TYPE_STRING ? (const void *)&value : value;
		jw_key(w, name);
		write_value(field, at, spelling, w);
	} else if (field->type == PROTOBUF_C_TYPE_ENUM) {
		const char *value = proto_enum_name(field->descriptor, *(const int *)at, spelling);

		/* One that the schema does not know is left out. */
		if (*value)
			jw_kv_string(w, name, value);
	} else {
		jw_key(w, name);
		write_value(field, at, spelling, w);
	}
}

static void write_message(const ProtobufCMessage *message, enum proto_spelling spelling,
			  struct json_writer *w)
{
	jw_begin_object(w);
	for (unsigned i = 0; message && i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const char *name = field_name(message->descriptor, field, spelling);

		if (field_hidden(message->descriptor, field, spelling))
			continue;
		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			write_singular(field, message, name, spelling, w);
		} else if (*field_count(message, field)) {
			jw_key(w, name);
			json_encode_write_list(field, message, spelling, w);
		}
	}
	jw_end_object(w);
}

void proto_write_json(const void *message, enum proto_spelling spelling, struct json_writer *w)
{
	write_message(message, spelling, w);
}

void proto_to_json(const void *message, enum proto_spelling spelling, struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out);
	write_message(message, spelling, &w);
}
