/* See wire_write.h. */
#include "proto/wire/wire_write.h"

#include "proto/proto.h"
#include "proto/wire/wire.h"

static uint32_t varint(uint8_t *to, uint64_t value)
{
	uint32_t size = 0;

	for (; value >= 0x80; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)value;
	return size;
}

uint32_t wire_head(uint8_t to[WIRE_HEAD_MAX], uint32_t field, size_t len)
{
	uint32_t size = varint(to, field << 3 | WIRE_BYTES);

	return size + varint(to + size, len);
}

void wire_put_head(struct buf *out, uint32_t field, size_t len)
{
	uint8_t head[WIRE_HEAD_MAX];

	buf_append(out, head, wire_head(head, field, len));
}

void wire_put_bytes(struct buf *out, uint32_t field, struct slice bytes)
{
	wire_put_head(out, field, bytes.len);
	buf_append(out, bytes.data, bytes.len);
}

void wire_put_number(struct buf *out, uint32_t field, uint64_t value)
{
	uint8_t bytes[2 * 10];
	uint32_t size = varint(bytes, field << 3 | WIRE_VARINT);

	buf_append(out, bytes, size + varint(bytes + size, value));
}

void wire_put_message(struct buf *out, uint32_t field, const void *message)
{
	struct buf bytes = BUF_INIT;

	proto_pack(message, &bytes);
	wire_put_bytes(out, field, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
}

/* One field that `at` begins with; false at the end and at what is malformed. */
static bool wire_write_step(struct wire *at, uint32_t *field, enum wire_type *type,
			    uint64_t *number, struct wire *bytes)
{
	if (at->at == at->end || wire_tag(at, field, type))
		return false;
	switch (*type) {
	case WIRE_VARINT:
		return !wire_varint(at, number);
	case WIRE_BYTES:
		return !wire_bytes(at, bytes);
	default:
		return !wire_skip(at, *field, *type, 0);
	}
}

static struct wire wire_over(struct slice bytes)
{
	const uint8_t *data = (const uint8_t *)(bytes.data ? bytes.data : "");

	return (struct wire){data, data + bytes.len};
}

bool wire_number(struct slice message, uint32_t wanted, uint64_t *out)
{
	struct wire at = wire_over(message), bytes;
	enum wire_type type;
	uint64_t number;
	uint32_t field;
	bool found = false;

	while (wire_write_step(&at, &field, &type, &number, &bytes)) {
		if (field != wanted || type != WIRE_VARINT)
			continue;
		*out = number;
		found = true;
	}
	return found;
}

bool wire_part(struct slice message, uint32_t wanted, struct slice *out)
{
	bool found = false;
	struct slice part;

	while (wire_next(&message, wanted, &part)) {
		*out = part;
		found = true;
	}
	return found;
}

struct slice wire_part_of(struct slice message, uint32_t field)
{
	struct slice part = SLICE("");

	wire_part(message, field, &part);
	return part;
}

struct slice wire_only_part(struct slice message, uint32_t field)
{
	struct slice part, again;

	if (!wire_next(&message, field, &part) || wire_next(&message, field, &again))
		return (struct slice){0};
	return part;
}

bool wire_next(struct slice *at, uint32_t wanted, struct slice *out)
{
	struct wire in = wire_over(*at), bytes;
	enum wire_type type;
	uint64_t number;
	uint32_t field;

	while (wire_write_step(&in, &field, &type, &number, &bytes)) {
		if (field != wanted || type != WIRE_BYTES)
			continue;
		*out = (struct slice){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
		*at = (struct slice){(const char *)in.at, (size_t)(in.end - in.at)};
		return true;
	}
	return false;
}
