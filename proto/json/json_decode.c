/* JSON to messages, by their descriptors, as leniently as Mesos reads it.
 *
 * A string holding a number or boolean is taken for it, a single value for a list of one,
 * null for absent; unknown names and unknown names of enum values are dropped. Everything
 * else that does not fit is an error in Mesos' words. Fields are read in the order of the
 * schema, whatever the order of the JSON; of equal names the last one counts.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "proto/json/spelling.h"
#include "proto/proto.h"
#include "proto/reflect.h"

struct reader {
	struct proto_mem mem;
	enum proto_spelling spelling;
	struct err *err;
	int depth;
};

static int read_message(struct reader *r, ProtobufCMessage *message, const struct json *json);
static int read_field(struct reader *r, ProtobufCMessage *message,
		      const ProtobufCFieldDescriptor *field, const struct json *json, bool *found);

static int unexpected(struct reader *r, const char *what, const char *name)
{
	return err_set(r->err, ERR_INVALID, "Not expecting a JSON %s for field '%s'", what, name);
}

static const char *name_of(struct reader *r, const ProtobufCMessage *message,
			   const ProtobufCFieldDescriptor *field)
{
	return field_name(message->descriptor, field, r->spelling);
}

/* ---- numbers -------------------------------------------------------------------------- */

static int read_signed(const struct json *json, int64_t min, int64_t max, int64_t *out)
{
	double value;

	if (!json_integer(json, out)) {
		value = trunc(json_number(json));
		if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
			return -1;
		*out = (int64_t)value;
	}
	return *out >= min && *out <= max ? 0 : -1;
}

/* A natural number that may be above INT64_MAX, told by digits alone. */
static bool read_natural(const char *text, uint64_t *out)
{
	const char *at = text;
	char *end;

	/* Most are short: too many digits to be wrong take the long way. */
	for (*out = 0; *at >= '0' && *at <= '9' && at - text < 19; at++)
		*out = *out * 10 + (uint64_t)(*at - '0');
	if (!*at && at > text)
		return true;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static int read_unsigned(const struct json *json, uint64_t max, uint64_t *out)
{
	double value;

	if (!read_natural(json->text.data, out)) {
		value = trunc(json_number(json));
		if (!(value >= 0 && value < 18446744073709551616.0))
			return -1;
		*out = (uint64_t)value;
	}
	return *out <= max ? 0 : -1;
}

static int read_number(struct reader *r, const char *name, const ProtobufCFieldDescriptor *field,
		       const struct json *json, void *at)
{
	uint64_t natural = 0;
	int64_t integer = 0;
	int rv = 0;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		rv = read_signed(json, INT32_MIN, INT32_MAX, &integer);
		*(int32_t *)at = (int32_t)integer;
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		rv = read_signed(json, INT64_MIN, INT64_MAX, &integer);
		*(int64_t *)at = integer;
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		rv = read_unsigned(json, UINT32_MAX, &natural);
		*(uint32_t *)at = (uint32_t)natural;
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		rv = read_unsigned(json, UINT64_MAX, &natural);
		*(uint64_t *)at = natural;
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		*(float *)at = (float)json_number(json);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)at = json_number(json);
		break;
	default:
		return unexpected(r, "number", name);
	}
	if (rv)
		return err_set(r->err, ERR_INVALID, "Number %.64s is out of range for field '%s'",
			       json->text.data, name);
	return 0;
}

/* ---- strings -------------------------------------------------------------------------- */

/* A number or boolean inside a string. */
static int read_inner(struct reader *r, const char *name, struct slice text, enum json_type type,
		      const struct json **out)
{
	const char *what = type == JSON_NUMBER ? "number" : "boolean";
	struct err why;
	struct json *json;

	err_set(&why, ERR_INVALID, "Unexpected JSON type parsed");
	if (!json_parse(r->mem.arena, text.data, text.len, &json, &why)) {
		*out = json;
		if (json->type == type)
			return 0;
		err_set(&why, ERR_INVALID, "Unexpected JSON type parsed");
	}
	return err_set(r->err, ERR_INVALID, "Failed to parse '%s' as a JSON %s for field '%s': %s",
		       text.data, what, name, why.text);
}

/* Standard base64; padding may be missing and white space is skipped, as Mesos has it. */
static int read_base64(struct reader *r, const char *name, struct slice text,
		       ProtobufCBinaryData *out)
{
	char *clean = arena_alloc(r->mem.arena, text.len + 4);
	size_t len = 0;
	long decoded;

	for (size_t i = 0; i < text.len && text.data[i] != '='; i++) {
		char c = text.data[i];

		if (isspace((unsigned char)c))
			continue;
		if (!isalnum((unsigned char)c) && c != '+' && c != '/')
			return err_set(
				r->err, ERR_INVALID,
				"Failed to base64 decode bytes field '%s': Invalid character '%c'",
				name, c);
		clean[len++] = c;
	}
	if (len % 4 == 1) /* six bits make no byte */
		len--;
	while (len % 4)
		clean[len++] = '=';
	out->data = arena_alloc(r->mem.arena, len / 4 * 3 + 3);
	decoded = base64_decode(clean, len, out->data);
	if (decoded < 0)
		return err_set(r->err, ERR_INVALID,
			       "Failed to base64 decode bytes field '%s': Invalid padding", name);
	out->len = (size_t)decoded;
	return 0;
}

static int read_enum(struct reader *r, const ProtobufCFieldDescriptor *field, const char *name,
		     int *at, bool *found)
{
	const ProtobufCEnumValue *value = enum_by_name(field->descriptor, name, r->spelling);

	*found = value;
	if (value)
		*at = value->value;
	else if (field->label == PROTOBUF_C_LABEL_REQUIRED)
		return err_set(r->err, ERR_INVALID, "Failed to find enum for '%s'", name);
	return 0;
}

static int read_string(struct reader *r, const char *name, const ProtobufCFieldDescriptor *field,
		       struct slice text, void *at, bool *found)
{
	const struct json *inner;
	int rv;

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		if (memchr(text.data, '\0', text.len))
			return err_set(r->err, ERR_INVALID,
				       "Not expecting \\u0000 in the JSON string for field '%s'",
				       name);
		*(char **)at = mem_string(&r->mem, text.data, text.len);
		return 0;
	case PROTOBUF_C_TYPE_BYTES:
		return read_base64(r, name, text, at);
	case PROTOBUF_C_TYPE_ENUM:
		return read_enum(r, field, text.data, at, found);
	case PROTOBUF_C_TYPE_MESSAGE:
		return unexpected(r, "string", name);
	case PROTOBUF_C_TYPE_BOOL:
		rv = read_inner(r, name, text, JSON_BOOL, &inner);
		if (!rv)
			*(protobuf_c_boolean *)at = inner->boolean;
		return rv;
	case PROTOBUF_C_TYPE_DOUBLE:
		if (slice_eq(text, "Infinity") || slice_eq(text, "-Infinity")) {
			*(double *)at = text.data[0] == '-' ? -INFINITY : INFINITY;
			return 0;
		}
		/* fallthrough */
	default:
		rv = read_inner(r, name, text, JSON_NUMBER, &inner);
		return rv ? rv : read_number(r, name, field, inner, at);
	}
}

/* ---- messages ------------------------------------------------------------------------- */

/* One value that is neither null nor a list, into its place. *found: it was taken. */
static int read_value(struct reader *r, const char *name, const ProtobufCFieldDescriptor *field,
		      const struct json *json, void *at, bool *found)
{
	*found = true;
	switch (json->type) {
	case JSON_NUMBER:
		return read_number(r, name, field, json, at);
	case JSON_STRING:
		return read_string(r, name, field, json->text, at, found);
	case JSON_BOOL:
		if (field->type != PROTOBUF_C_TYPE_BOOL)
			return unexpected(r, "boolean", name);
		*(protobuf_c_boolean *)at = json->boolean;
		return 0;
	case JSON_OBJECT:
		if (field->type != PROTOBUF_C_TYPE_MESSAGE)
			return unexpected(r, "object", name);
		*(ProtobufCMessage **)at = mem_message(&r->mem, field->descriptor);
		return read_message(r, *(ProtobufCMessage **)at, json);
	default:
		*found = false;
		return 0;
	}
}

/* The place of the next element of a repeated field, zeroed but not counted yet. */
static void *next_element(struct reader *r, ProtobufCMessage *message,
			  const ProtobufCFieldDescriptor *field)
{
	size_t size = field_size(field->type), count = *field_count(message, field);
	void **items = field_at(message, field);

	*items = mem_grow(&r->mem, *items, count, size);
	return memset((char *)*items + count * size, 0, size);
}

static int read_map(struct reader *r, ProtobufCMessage *message,
		    const ProtobufCFieldDescriptor *field, const struct json *json)
{
	static const struct json nothing = {.type = JSON_OBJECT}; /* what null stands for */
	const ProtobufCMessageDescriptor *type = field->descriptor;
	bool found;

	for (size_t i = 0; i < json->count; i++) {
		ProtobufCMessage *entry = mem_message(&r->mem, type);
		int rv;

		*(char **)field_at(entry, &type->fields[0]) =
			mem_string(&r->mem, json->keys[i].data, json->keys[i].len);
		rv = read_field(r, entry, &type->fields[1], &json->items[i], &found);
		if (!rv && !found && type->fields[1].type == PROTOBUF_C_TYPE_MESSAGE)
			rv = read_field(r, entry, &type->fields[1], &nothing, &found);
		if (rv)
			return rv;
		*(void **)next_element(r, message, field) = entry;
		++*field_count(message, field);
	}
	return 0;
}

/* A list, of which elements may be lists again, or a single value for a list of one. */
static int read_list(struct reader *r, ProtobufCMessage *message,
		     const ProtobufCFieldDescriptor *field, const struct json *json)
{
	bool found;
	int rv = 0;

	if (json->type == JSON_ARRAY) {
		for (size_t i = 0; !rv && i < json->count; i++)
			rv = read_list(r, message, field, &json->items[i]);
		return rv;
	}
	if (json->type == JSON_OBJECT && field_is_map(field))
		return read_map(r, message, field, json);
	rv = read_value(r, name_of(r, message, field), field, json, next_element(r, message, field),
			&found);
	if (!rv && found)
		++*field_count(message, field);
	return rv;
}

static int read_field(struct reader *r, ProtobufCMessage *message,
		      const ProtobufCFieldDescriptor *field, const struct json *json, bool *found)
{
	const char *name = name_of(r, message, field);
	int rv;

	*found = false;
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		rv = read_list(r, message, field, json);
		if (!rv && field_is_map(field))
			map_finish(&r->mem, message, field);
		return rv;
	}
	if (json->type == JSON_ARRAY)
		return unexpected(r, "array", name);
	rv = read_value(r, name, field, json, field_at(message, field), found);
	if (!rv && *found && field->label == PROTOBUF_C_LABEL_OPTIONAL &&
	    field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*field_has(message, field) = true;
	return rv;
}

/* Required strings and messages show by NULL that they are missing; numbers cannot. */
static void note_missing(struct reader *r, ProtobufCMessage *message, const bool *found)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	struct missing_scalars *missing = NULL;

	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];

		if (found[i] || field->label != PROTOBUF_C_LABEL_REQUIRED ||
		    field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (!missing)
			missing = mem_alloc(&r->mem, sizeof(*missing));
		bit_set(missing->bits, i);
	}
	message->unknown_fields = (void *)missing;
}

static int read_message(struct reader *r, ProtobufCMessage *message, const struct json *json)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	const struct json *values[FIELDS_MAX];
	bool found[FIELDS_MAX];
	int rv = 0;

	memset(values, 0, type->n_fields * sizeof(*values));
	memset(found, 0, type->n_fields * sizeof(*found));
	if (r->depth == PROTO_DEPTH_MAX)
		return err_set(r->err, ERR_LIMIT, "Nested too deeply");
	for (size_t i = 0; i < json->count; i++) {
		const ProtobufCFieldDescriptor *field;

		if (strlen(json->keys[i].data) != json->keys[i].len)
			continue;
		field = field_by_name(type, json->keys[i].data, r->spelling);
		if (field)
			values[field - type->fields] = &json->items[i];
	}
	r->depth++;
	for (unsigned i = 0; !rv && i < type->n_fields; i++)
		if (values[i])
			rv = read_field(r, message, &type->fields[i], values[i], &found[i]);
	r->depth--;
	note_missing(r, message, found);
	return rv;
}

void *json_to_proto(const ProtobufCMessageDescriptor *type, const struct json *json,
		    enum proto_spelling spelling, struct arena *arena, struct err *err)
{
	struct reader r = {.mem = {.arena = arena}, .spelling = spelling, .err = err};
	ProtobufCMessage *message;
	struct buf missing = BUF_INIT;

	if (json->type != JSON_OBJECT) {
		err_set(err, ERR_INVALID, "Expecting a JSON object");
		return NULL;
	}
	message = mem_message(&r.mem, type);
	if (read_message(&r, message, json))
		return NULL;
	check_required(message, spelling, &missing);
	if (missing.len) {
		err_set(err, ERR_INVALID, "Missing required fields: %s", missing.data);
		message = NULL;
	}
	buf_free(&missing);
	return message;
}
