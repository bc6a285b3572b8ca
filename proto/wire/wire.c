/* The tokens of the protobuf wire format. */
#include "proto/wire/wire.h"

#include "proto/proto.h"

const char *wire_long_varint(struct wire *in, uint64_t *out)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 70; shift += 7) {
		if (in->at == in->end)
			return "truncated number";
		value |= (uint64_t)(*in->at & 0x7f) << shift;
		if (!(*in->at++ & 0x80)) {
			*out = value;
			return NULL;
		}
	}
	return "number of more than ten bytes";
}

const char *wire_fixed(struct wire *in, size_t size, uint64_t *out)
{
	uint64_t value = 0;

	if ((size_t)(in->end - in->at) < size)
		return "truncated number";
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)*in->at++ << (8 * i);
	*out = value;
	return NULL;
}

static const char *skip_group(struct wire *in, uint32_t group, int depth)
{
	uint32_t number;
	enum wire_type type;
	const char *why;

	if (depth > PROTO_DEPTH_MAX)
		return "nested too deeply";
	for (;;) {
		if ((why = wire_tag(in, &number, &type)))
			return why;
		if (type == WIRE_GROUP_END)
			return number == group ? NULL : "group ends wrongly";
		if ((why = wire_skip(in, number, type, depth)))
			return why;
	}
}

const char *wire_skip(struct wire *in, uint32_t number, enum wire_type type, int depth)
{
	struct wire bytes;
	uint64_t value;

	switch (type) {
	case WIRE_VARINT:
		return wire_varint(in, &value);
	case WIRE_64:
		return wire_fixed(in, 8, &value);
	case WIRE_32:
		return wire_fixed(in, 4, &value);
	case WIRE_BYTES:
		return wire_bytes(in, &bytes);
	case WIRE_GROUP:
		return skip_group(in, number, depth + 1);
	default:
		return "group ends that did not begin";
	}
}
