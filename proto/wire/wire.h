/* The tokens of the protobuf wire format, read with bounds. For proto/ alone: who else passes
 * packed messages on goes by wire_write.h, and by task_record.h. */
#ifndef PROTO_WIRE_WIRE_H
#define PROTO_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
	const uint8_t *at;
	const uint8_t *end;
};

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
	WIRE_GROUP = 3,
	WIRE_GROUP_END = 4,
	WIRE_32 = 5,
};

/* All return NULL, or a constant text that says what is wrong. */
const char *wire_long_varint(struct wire *in, uint64_t *out);

static inline const char *wire_varint(struct wire *in, uint64_t *out)
{
	if (in->at == in->end || *in->at & 0x80)
		return wire_long_varint(in, out);
	*out = *in->at++;
	return NULL;
}

static inline const char *wire_tag(struct wire *in, uint32_t *number, enum wire_type *type)
{
	uint64_t tag;
	const char *why = wire_varint(in, &tag);

	if (why)
		return why;
	if (tag > UINT32_MAX || tag < 8)
		return "invalid field number";
	*number = (uint32_t)(tag >> 3);
	*type = (enum wire_type)(tag & 7);
	return *type > WIRE_32 ? "invalid wire type" : NULL;
}

/* A length and that many bytes. */
static inline const char *wire_bytes(struct wire *in, struct wire *out)
{
	uint64_t len;
	const char *why = wire_varint(in, &len);

	if (why)
		return why;
	if (len > (uint64_t)(in->end - in->at))
		return "length beyond the end";
	out->at = in->at;
	out->end = in->at += len;
	return NULL;
}

/* 4 or 8 bytes, least significant first. */
const char *wire_fixed(struct wire *in, size_t size, uint64_t *out);
/* Steps over a value of a field whose tag was read. */
const char *wire_skip(struct wire *in, uint32_t number, enum wire_type type, int depth);

#endif
