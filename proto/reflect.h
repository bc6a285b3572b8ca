/* Inside proto/: walking messages by their descriptors, and the memory they live in. */
#ifndef PROTO_REFLECT_H
#define PROTO_REFLECT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define FIELDS_MAX 128 /* of one message of our schema; the largest has 55 */

/* Where a message's memory comes from: an arena, or the heap when NULL. On the heap it
 * is laid out as protobuf_c_message_free_unpacked() expects. */
struct proto_mem {
	struct arena *arena;
	size_t used;
};

/* For whoever writes all of it. */
static inline void *mem_take(struct proto_mem *mem, size_t size)
{
	mem->used += size + 16;
	return mem->arena ? arena_take(mem->arena, size) : xmalloc(size);
}

void *mem_alloc(struct proto_mem *mem, size_t size); /* zeroed */
/* A NUL in it becomes \x01. */
char *mem_string(struct proto_mem *mem, const void *data, size_t len);
void *mem_bytes(struct proto_mem *mem, const void *data, size_t len);

static inline ProtobufCMessage *mem_message(struct proto_mem *mem,
					    const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *message = mem_take(mem, type->sizeof_message);

	type->message_init(message);
	return message;
}

/* Room for one more element behind `count` of `size` bytes each; returns the array. Its
 * capacity is the power of two that holds `count`, so nothing else need be kept. */
void *mem_grow(struct proto_mem *mem, void *items, size_t count, size_t size);

static inline void *field_at(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	return (char *)message + field->offset;
}

/* Of a repeated field: the number of its elements. */
static inline size_t *field_count(const ProtobufCMessage *message,
				  const ProtobufCFieldDescriptor *field)
{
	return (size_t *)((char *)message + field->quantifier_offset);
}

/* Of an optional scalar: its has_ flag. */
static inline protobuf_c_boolean *field_has(const ProtobufCMessage *message,
					    const ProtobufCFieldDescriptor *field)
{
	return (protobuf_c_boolean *)((char *)message + field->quantifier_offset);
}

/* Indexed by ProtobufCType: the bytes of one value in memory, and its enum wire_type. */
extern const uint8_t field_sizes[], field_wire_types[];

static inline size_t field_size(ProtobufCType type)
{
	return field_sizes[type];
}

bool field_is_map(const ProtobufCFieldDescriptor *field);
/* Singular fields; a required scalar always counts as set. */
static inline bool field_is_set(const ProtobufCMessage *message,
				const ProtobufCFieldDescriptor *field)
{
	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const void *pointer = *(void *const *)field_at(message, field);

		return pointer && pointer != field->default_value;
	}
	return field->label == PROTOBUF_C_LABEL_REQUIRED || *field_has(message, field);
}

/* A message that the JSON decoder made hangs the required scalars that it did not find on
 * `unknown_fields`, with a count of none, until the check has named them. */
struct missing_scalars {
	uint64_t bits[FIELDS_MAX / 64];
};

static inline bool bit_get(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, size_t i)
{
	bits[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Sorts the entries of a map by key, drops those that a later one replaces, and gives keys
 * and values that are absent their default. */
void map_finish(struct proto_mem *mem, ProtobufCMessage *message,
		const ProtobufCFieldDescriptor *field);

#endif
