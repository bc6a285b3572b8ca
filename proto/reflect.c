/* Walking messages by their descriptors. */
#include "proto/reflect.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire/wire.h"

void *mem_alloc(struct proto_mem *mem, size_t size)
{
	mem->used += size + 16;
	return mem->arena ? arena_alloc(mem->arena, size) : xcalloc(1, size ? size : 1);
}

char *mem_string(struct proto_mem *mem, const void *data, size_t len)
{
	char *text = mem_take(mem, len + 1);

	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	for (char *nul = text; (nul = memchr(nul, 0, len - (size_t)(nul - text)));)
		*nul++ = 1;
	return text;
}

void *mem_bytes(struct proto_mem *mem, const void *data, size_t len)
{
	void *copy;

	if (!len)
		return NULL;
	copy = mem_take(mem, len);
	return memcpy(copy, data, len);
}

void *mem_grow(struct proto_mem *mem, void *items, size_t count, size_t size)
{
	size_t room = count ? count * 2 : 2;
	void *more;

	if (count == 1 || (count & (count - 1)))
		return items;
	mem->used += room * size;
	if (!mem->arena)
		return xrealloc(items, room * size);
	more = arena_take(mem->arena, room * size);
	if (count)
		memcpy(more, items, count * size);
	return more;
}

const uint8_t field_sizes[] = {
	[PROTOBUF_C_TYPE_INT32] = 4,
	[PROTOBUF_C_TYPE_SINT32] = 4,
	[PROTOBUF_C_TYPE_SFIXED32] = 4,
	[PROTOBUF_C_TYPE_INT64] = 8,
	[PROTOBUF_C_TYPE_SINT64] = 8,
	[PROTOBUF_C_TYPE_SFIXED64] = 8,
	[PROTOBUF_C_TYPE_UINT32] = 4,
	[PROTOBUF_C_TYPE_FIXED32] = 4,
	[PROTOBUF_C_TYPE_UINT64] = 8,
	[PROTOBUF_C_TYPE_FIXED64] = 8,
	[PROTOBUF_C_TYPE_FLOAT] = 4,
	[PROTOBUF_C_TYPE_DOUBLE] = 8,
	[PROTOBUF_C_TYPE_BOOL] = sizeof(protobuf_c_boolean),
	[PROTOBUF_C_TYPE_ENUM] = 4,
	[PROTOBUF_C_TYPE_STRING] = sizeof(char *),
	[PROTOBUF_C_TYPE_BYTES] = sizeof(ProtobufCBinaryData),
	[PROTOBUF_C_TYPE_MESSAGE] = sizeof(ProtobufCMessage *),
};

const uint8_t field_wire_types[] = {
	[PROTOBUF_C_TYPE_INT32] = WIRE_VARINT,	[PROTOBUF_C_TYPE_SINT32] = WIRE_VARINT,
	[PROTOBUF_C_TYPE_SFIXED32] = WIRE_32,	[PROTOBUF_C_TYPE_INT64] = WIRE_VARINT,
	[PROTOBUF_C_TYPE_SINT64] = WIRE_VARINT, [PROTOBUF_C_TYPE_SFIXED64] = WIRE_64,
	[PROTOBUF_C_TYPE_UINT32] = WIRE_VARINT, [PROTOBUF_C_TYPE_FIXED32] = WIRE_32,
	[PROTOBUF_C_TYPE_UINT64] = WIRE_VARINT, [PROTOBUF_C_TYPE_FIXED64] = WIRE_64,
	[PROTOBUF_C_TYPE_FLOAT] = WIRE_32,	[PROTOBUF_C_TYPE_DOUBLE] = WIRE_64,
	[PROTOBUF_C_TYPE_BOOL] = WIRE_VARINT,	[PROTOBUF_C_TYPE_ENUM] = WIRE_VARINT,
	[PROTOBUF_C_TYPE_STRING] = WIRE_BYTES,	[PROTOBUF_C_TYPE_BYTES] = WIRE_BYTES,
	[PROTOBUF_C_TYPE_MESSAGE] = WIRE_BYTES,
};

bool field_is_map(const ProtobufCFieldDescriptor *field)
{
	const ProtobufCMessageDescriptor *entry = field->descriptor;

	return field->label == PROTOBUF_C_LABEL_REPEATED &&
	       field->type == PROTOBUF_C_TYPE_MESSAGE && entry->n_fields == 2 &&
	       str_has_suffix(entry->short_name, "Entry") &&
	       !strcmp(entry->fields[0].name, "key") && !strcmp(entry->fields[1].name, "value");
}

static int compare_entries(const void *a, const void *b)
{
	const ProtobufCMessage *left = *(ProtobufCMessage *const *)a;
	const ProtobufCMessage *right = *(ProtobufCMessage *const *)b;
	const ProtobufCFieldDescriptor *key = &left->descriptor->fields[0];

	return strcmp(*(char *const *)field_at(left, key), *(char *const *)field_at(right, key));
}

/* Merge sort, since equal keys have to keep their order and qsort() does not promise it. */
static void sort_entries(ProtobufCMessage **items, ProtobufCMessage **spare, size_t count)
{
	size_t half = count / 2, i = 0, j = half, n = 0;

	if (count < 2)
		return;
	sort_entries(items, spare, half);
	sort_entries(items + half, spare, count - half);
	while (i < half && j < count)
		spare[n++] = compare_entries(&items[j], &items[i]) < 0 ? items[j++] : items[i++];
	while (i < half)
		spare[n++] = items[i++];
	memcpy(items, spare, n * sizeof(*items));
}

void map_finish(struct proto_mem *mem, ProtobufCMessage *message,
		const ProtobufCFieldDescriptor *field)
{
	ProtobufCMessage **items = *(ProtobufCMessage ***)field_at(message, field);
	size_t *count = field_count(message, field), kept = 0;
	const ProtobufCMessageDescriptor *entry = field->descriptor;
	ProtobufCMessage **spare;

	for (size_t i = 0; i < *count; i++) {
		for (int f = 0; f < 2; f++) {
			const ProtobufCFieldDescriptor *part = &entry->fields[f];
			void **at = field_at(items[i], part);

			if (*at)
				continue;
			if (part->type == PROTOBUF_C_TYPE_STRING)
				*at = mem_string(mem, "", 0);
			else
				*at = mem_message(mem, part->descriptor);
		}
	}
	if (*count < 2)
		return;
	spare = xmalloc(*count * sizeof(*spare));
	sort_entries(items, spare, *count);
	free(spare);
	for (size_t i = 0; i < *count; i++) {
		if (i + 1 < *count && !compare_entries(&items[i], &items[i + 1])) {
			if (!mem->arena)
				protobuf_c_message_free_unpacked(items[i], NULL);
		} else {
			items[kept++] = items[i];
		}
	}
	*count = kept;
}
