/* Putting messages together from parts that are packed already, and finding such parts: for
 * who passes messages on without unpacking them. The fields of a message may come in any order,
 * so what is known last is appended last. */
#ifndef PROTO_WIRE_WIRE_WRITE_H
#define PROTO_WIRE_WIRE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buf.h"

/* Tag and length in front of what is packed, for a message that it is a field of; returns how many
 * bytes. */
#define WIRE_HEAD_MAX 15
uint32_t wire_head(uint8_t to[WIRE_HEAD_MAX], uint32_t field, size_t len);
/* Append such a head, the bytes of the field to follow. */
void wire_put_head(struct buf *out, uint32_t field, size_t len);
/* Append one field. */
void wire_put_number(struct buf *out, uint32_t field, uint64_t value);
void wire_put_bytes(struct buf *out, uint32_t field, struct slice bytes);
void wire_put_message(struct buf *out, uint32_t field, const void *message);

/* The last number, and the last text, bytes or message of a field, as a parser would take
 * them; false when there is none. What comes before a malformed part counts. */
bool wire_number(struct slice message, uint32_t field, uint64_t *out);
bool wire_part(struct slice message, uint32_t field, struct slice *out);
/* The same; empty when there is none. */
struct slice wire_part_of(struct slice message, uint32_t field);
/* The only part of a field; no data when there is none or several, which a parser would take for
 * one. */
struct slice wire_only_part(struct slice message, uint32_t field);
/* Steps through a repeated field: false at its end. `at` is a copy of the message first. */
bool wire_next(struct slice *at, uint32_t field, struct slice *out);

#endif
