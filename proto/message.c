/* Making, copying and comparing messages, and the check for required fields. */
#include <stdlib.h>
#include <string.h>

#include "proto/json/spelling.h"
#include "proto/proto.h"
#include "proto/reflect.h"

#define MISSING_MAX 4096 /* bytes of names of missing fields; more helps nobody */

void *proto_make(struct arena *arena, const ProtobufCMessageDescriptor *type)
{
	struct proto_mem mem = {.arena = arena};

	return mem_message(&mem, type);
}

void proto_push_(struct arena *arena, size_t *count, void ***items, void *item)
{
	struct proto_mem mem = {.arena = arena};

	*items = mem_grow(&mem, *items, *count, sizeof(item));
	(*items)[(*count)++] = item;
}

bool proto_equal(const void *a, const void *b)
{
	struct buf left = BUF_INIT, right = BUF_INIT;
	bool equal;

	proto_pack(a, &left);
	proto_pack(b, &right);
	equal = left.len == right.len && (!left.len || !memcmp(left.data, right.data, left.len));
	buf_free(&left);
	buf_free(&right);
	return equal;
}

static ProtobufCMessage *copy_message(struct proto_mem *mem, const ProtobufCMessage *from);

static char *message_copy_text(struct proto_mem *mem, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(mem_take(mem, size), text, size);
}

/* Replaces the pointers of one value, already copied bit by bit, by copies of their own. */
static inline void copy_value(struct proto_mem *mem, const ProtobufCFieldDescriptor *field,
			      void *at)
{
	void **pointer = at;

	if (field->type == PROTOBUF_C_TYPE_STRING) {
		if (*pointer && *pointer != field->default_value)
			*pointer = message_copy_text(mem, *pointer);
	} else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		if (*pointer)
			*pointer = copy_message(mem, *pointer);
	} else if (field->type == PROTOBUF_C_TYPE_BYTES) {
		ProtobufCBinaryData *bytes = at;

		bytes->data = mem_bytes(mem, bytes->data, bytes->len);
	}
}

static void copy_list(struct proto_mem *mem, const ProtobufCFieldDescriptor *field, size_t count,
		      void **items)
{
	size_t size = field_size(field->type), room;
	char *to;

	if (!count) {
		*items = NULL; /* which may have had room */
		return;
	}
	for (room = 2; room < count;) /* as mem_grow() has it, so that more can be pushed */
		room *= 2;
	to = memcpy(mem_take(mem, room * size), *items, count * size);
	for (size_t i = 0; i < count; i++)
		copy_value(mem, field, to + i * size);
	*items = to;
}

static void copy_unknown(struct proto_mem *mem, ProtobufCMessage *to)
{
	const ProtobufCMessageUnknownField *from = to->unknown_fields;

	to->unknown_fields = NULL;
	if (!to->n_unknown_fields)
		return;
	to->unknown_fields = mem_take(mem, to->n_unknown_fields * sizeof(*from));
	for (unsigned i = 0; i < to->n_unknown_fields; i++) {
		to->unknown_fields[i] = from[i];
		to->unknown_fields[i].data = mem_bytes(mem, from[i].data, from[i].len);
	}
}

static ProtobufCMessage *copy_message(struct proto_mem *mem, const ProtobufCMessage *from)
{
	const ProtobufCMessageDescriptor *type = from->descriptor;
	ProtobufCMessage *to = mem_take(mem, type->sizeof_message);

	memcpy(to, from, type->sizeof_message);
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];

		if (field->label != PROTOBUF_C_LABEL_REPEATED)
			copy_value(mem, field, field_at(to, field));
		else
			copy_list(mem, field, *field_count(to, field), field_at(to, field));
	}
	if (to->unknown_fields)
		copy_unknown(mem, to);
	return to;
}

void *proto_copy(const void *message)
{
	struct proto_mem mem = {0};

	return message ? copy_message(&mem, message) : NULL;
}

void *proto_copy_to(struct arena *arena, const void *message)
{
	struct proto_mem mem = {.arena = arena};

	return message ? copy_message(&mem, message) : NULL;
}

void proto_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

static void check_message(const ProtobufCMessage *message, enum proto_spelling spelling,
			  struct buf *path, struct buf *missing);

static bool is_missing(const ProtobufCMessage *message, unsigned i)
{
	const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
	const struct missing_scalars *scalars = (const void *)message->unknown_fields;

	if (field->label != PROTOBUF_C_LABEL_REQUIRED)
		return false;
	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
		return !*(void **)field_at(message, field);
	return scalars && !message->n_unknown_fields && bit_get(scalars->bits, i);
}

static void check_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			enum proto_spelling spelling, struct buf *path, struct buf *missing)
{
	bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	size_t count = repeated ? *field_count(message, field) : 1, start = path->len;
	ProtobufCMessage **items = field_at(message, field);

	if (repeated)
		items = *(ProtobufCMessage ***)items;
	for (size_t i = 0; i < count && missing->len < MISSING_MAX; i++) {
		if (!items[i])
			continue;
		buf_puts(path, field_name(message->descriptor, field, spelling));
		if (repeated)
			buf_printf(path, "[%zu]", i);
		buf_putc(path, '.');
		check_message(items[i], spelling, path, missing);
		path->len = start;
	}
}

static void check_message(const ProtobufCMessage *message, enum proto_spelling spelling,
			  struct buf *path, struct buf *missing)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	for (unsigned i = 0; i < type->n_fields; i++) {
		if (!is_missing(message, i))
			continue;
		if (missing->len)
			buf_puts(missing, ", ");
		buf_append(missing, path->data, path->len);
		buf_puts(missing, field_name(type, &type->fields[i], spelling));
	}
	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			check_field(message, &type->fields[i], spelling, path, missing);
}

void check_required(const ProtobufCMessage *message, enum proto_spelling spelling,
		    struct buf *missing)
{
	struct buf path = BUF_INIT;

	check_message(message, spelling, &path, missing);
	buf_free(&path);
}

bool proto_check_required(const void *message, struct buf *missing)
{
	size_t before = missing->len;

	check_required(message, SPELL_V1, missing);
	return missing->len == before;
}
