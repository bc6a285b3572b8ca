/* See task_record.h. The bytes are, in the order of the fields' numbers:
 *
 *   name .. resources | statuses | status_update_state, status_update_uuid | the rest
 *                     ^ statuses ^ update                                   ^ rest
 *
 * A state is one byte, as all of them are below 128. What the schema does not know is in
 * the rest: proto_pack() puts it behind everything else.
 */
#include "proto/task_record.h"

#include <stdlib.h>
#include <string.h>

#include "proto/states.h"
#include "proto/wire/wire.h"
#include "proto/wire/wire_write.h"

/* Field numbers of Mesos.Task, and of messages in it. */
enum {
	TASK_ID = 2,
	EXECUTOR_ID = 4,
	AGENT_ID = 5,
	STATE = 6,
	RESOURCES = 7,
	STATUSES = 8,
	SENT_STATE = 9,
	SENT_UUID = 10,
	CONTAINER = 13,
	USER = 14,
	LAST_KNOWN = 17,
	ID_VALUE = 1,
	STATUS_STATE = 2,
	STATUS_TIMESTAMP = 6,
};

#define GRAIN 32 /* bytes by which records grow */
/* For a status and what was sent, which a task that has none will have soon. */
#define ROOM 192

/* A field in the bytes. */
struct field {
	uint32_t number;
	enum wire_type type;
	const uint8_t *at;   /* its tag */
	const uint8_t *end;  /* of its value */
	struct wire content; /* of one with a length */
	uint64_t value;	     /* of a varint or fixed one */
};

/* False at the end, or where the bytes are not protobuf. */
static bool next_field(struct wire *in, struct field *f)
{
	const char *why;

	if (in->at >= in->end)
		return false;
	*f = (struct field){.at = in->at};
	why = wire_tag(in, &f->number, &f->type);
	if (why)
		return false;
	switch (f->type) {
	case WIRE_VARINT:
		why = wire_varint(in, &f->value);
		break;
	case WIRE_BYTES:
		why = wire_bytes(in, &f->content);
		break;
	case WIRE_64:
	case WIRE_32:
		why = wire_fixed(in, f->type == WIRE_64 ? 8 : 4, &f->value);
		break;
	default:
		why = wire_skip(in, f->number, f->type, 1);
	}
	f->end = in->at;
	return !why;
}

static struct slice slice_between(const uint8_t *from, const uint8_t *to)
{
	return (struct slice){(const char *)from, (size_t)(to - from)};
}

static struct wire task_record_part(const struct task_record *r, uint32_t from, uint32_t to)
{
	return (struct wire){r->bytes + from, r->bytes + to};
}

/* ---- finding the parts -------------------------------------------------------------------- */

/* A state that the schema does not have stays unknown, and so in the rest. */
static bool is_state(const struct field *f)
{
	return f->type == WIRE_VARINT && f->end - f->at == 2 &&
	       *proto_enum_name(&mesos__task_state__descriptor, (int)f->value, SPELL_V1);
}

/* Whether the field is of those before the rest. */
static bool task_record_belongs(const struct field *f)
{
	if (f->number == STATE || f->number == SENT_STATE)
		return is_state(f);
	return f->number <= SENT_UUID && f->type == WIRE_BYTES;
}

static void note_field(struct task_record *r, const struct field *f)
{
	uint32_t at = (uint32_t)(f->at - r->bytes), end = (uint32_t)(f->end - r->bytes);

	if (f->number == STATE) {
		r->state = (Mesos__TaskState)f->value;
		r->state_at = end - 1;
	} else if (f->number == STATUSES) {
		r->last = at;
		r->status_count++;
	}
	if (f->number < STATUSES)
		r->statuses = end;
	if (f->number <= STATUSES)
		r->update = end;
	r->rest = end;
	if (!r->status_count)
		r->last = r->update;
}

static void find_parts(struct task_record *r)
{
	struct wire in = task_record_part(r, 0, r->len);
	uint32_t number = 0;
	struct field f;

	r->statuses = r->last = r->update = r->rest = r->status_count = 0;
	while (next_field(&in, &f) && f.number >= number && task_record_belongs(&f)) {
		number = f.number;
		note_field(r, &f);
	}
}

/* Whether bytes that are a task are so as proto_pack() would have it, as far as that matters
 * here: in their order, no field twice, nothing among them that the schema does not know. */
static bool in_order(struct slice bytes)
{
	const uint8_t *start = (const uint8_t *)bytes.data;
	struct wire in = {start, start + bytes.len};
	uint32_t before = 0;
	struct field f;

	while (next_field(&in, &f)) {
		bool repeats =
			f.number == RESOURCES || f.number == STATUSES || f.number == LAST_KNOWN;
		/* Lengths and tags of more bytes than they need are nobody's but an attacker's. */
		if (f.number > LAST_KNOWN || f.number < before ||
		    (f.number == before && !repeats) ||
		    (f.number <= SENT_UUID && !task_record_belongs(&f)))
			return false;
		before = f.number;
	}
	return in.at == in.end;
}

/* ---- making -------------------------------------------------------------------------- */

/* Memory comes in 16 bytes, of which the heap itself takes the half of one. */
static uint32_t in_grains(uint32_t len)
{
	return (len + 8 + GRAIN - 1) / GRAIN * GRAIN - 8;
}

static void take_bytes(struct task_record *r, const void *data, size_t len)
{
	*r = (struct task_record){.bytes = (uint8_t *)data, .len = (uint32_t)len};
	find_parts(r);
	r->cap = in_grains(r->len + (r->status_count ? 0 : ROOM));
	r->bytes = xmalloc(r->cap);
	memcpy(r->bytes, data, len);
}

void task_record_pack(struct task_record *r, struct arena *scratch, const Mesos__Task *task)
{
	struct slice bytes = proto_pack_to(scratch, task);

	take_bytes(r, bytes.data, bytes.len);
}

void task_record_adopt(struct task_record *r, struct arena *scratch, struct slice bytes,
		       const Mesos__Task *task)
{
	if (in_order(bytes))
		take_bytes(r, bytes.data, bytes.len);
	else
		task_record_pack(r, scratch, task);
}

void task_record_free(struct task_record *r)
{
	free(r->bytes);
	*r = (struct task_record){0};
}

/* ---- reading --------------------------------------------------------------------------- */

struct slice task_record_bytes(const struct task_record *r)
{
	return (struct slice){(const char *)r->bytes, r->len};
}

Mesos__Task *task_record_unpack(const struct task_record *r, struct arena *arena)
{
	return proto_unpack(&mesos__task__descriptor, arena, r->bytes, r->len, NULL);
}

/* The value of the id that a field of the head is; no data if there is none. */
static struct slice id_in(const struct task_record *r, uint32_t number)
{
	struct wire in = task_record_part(r, 0, r->statuses);
	struct field f, value;

	while (next_field(&in, &f)) {
		if (f.number != number)
			continue;
		while (next_field(&f.content, &value)) {
			if (value.number == ID_VALUE && value.type == WIRE_BYTES)
				return slice_between(value.content.at, value.content.end);
		}
	}
	return (struct slice){0};
}

struct slice task_record_id(const struct task_record *r)
{
	return id_in(r, TASK_ID);
}

struct slice task_record_agent_id(const struct task_record *r)
{
	return id_in(r, AGENT_ID);
}

struct slice task_record_executor_id(const struct task_record *r)
{
	return id_in(r, EXECUTOR_ID);
}

static void *unpack_field(const struct field *f, const ProtobufCMessageDescriptor *type,
			  struct arena *arena)
{
	return proto_unpack(type, arena, f->content.at, (size_t)(f->content.end - f->content.at),
			    NULL);
}

Mesos__ContainerInfo *task_record_container(const struct task_record *r, struct arena *arena)
{
	struct wire in = task_record_part(r, r->rest, r->len);
	struct field f;

	while (next_field(&in, &f)) {
		if (f.number == CONTAINER && f.type == WIRE_BYTES)
			return unpack_field(&f, &mesos__container_info__descriptor, arena);
	}
	return NULL;
}

struct slice task_record_user(const struct task_record *r)
{
	struct wire in = task_record_part(r, r->rest, r->len);
	struct field f;

	while (next_field(&in, &f)) {
		if (f.number == USER && f.type == WIRE_BYTES)
			return slice_between(f.content.at, f.content.end);
	}
	return (struct slice){0};
}

void task_record_resources(const struct task_record *r, struct arena *arena, size_t *count,
			   Mesos__Resource ***list)
{
	struct wire in = task_record_part(r, r->state_at + 1, r->statuses);
	Mesos__Resource *resource;
	struct field f;

	*count = 0;
	*list = NULL;
	while (next_field(&in, &f)) {
		resource = unpack_field(&f, &mesos__resource__descriptor, arena);
		if (resource)
			proto_push(arena, *count, *list, resource);
	}
}

Mesos__TaskStatus *task_record_last_status(const struct task_record *r, struct arena *arena)
{
	struct wire in = task_record_part(r, r->last, r->update);
	struct field f;

	if (!next_field(&in, &f))
		return NULL;
	return unpack_field(&f, &mesos__task_status__descriptor, arena);
}

double task_record_first_time(const struct task_record *r)
{
	struct wire in = task_record_part(r, r->statuses, r->update);
	struct field status, f;
	double time = 0;

	if (!next_field(&in, &status))
		return 0;
	while (next_field(&status.content, &f)) {
		if (f.number == STATUS_TIMESTAMP && f.type == WIRE_64)
			memcpy(&time, &f.value, sizeof(time));
	}
	return time;
}

struct task_sent task_record_sent(const struct task_record *r)
{
	struct wire in = task_record_part(r, r->update, r->rest);
	struct task_sent sent = {0};
	struct field f;

	while (next_field(&in, &f)) {
		if (f.number == SENT_STATE) {
			sent.known = true;
			sent.state = (Mesos__TaskState)f.value;
		} else {
			sent.uuid = slice_between(f.content.at, f.content.end);
		}
	}
	return sent;
}

Mesos__TaskState task_record_told_state(const struct task_record *r)
{
	struct task_sent sent = task_record_sent(r);

	return sent.known ? sent.state : r->state;
}

bool task_record_agrees(const struct task_record *r, const Mesos__Task *task)
{
	struct task_sent sent = task_record_sent(r);
	const ProtobufCBinaryData *uuid = &task->status_update_uuid;

	if (r->state != task->state || r->status_count != task->n_statuses ||
	    sent.known != (bool)task->has_status_update_state ||
	    (sent.known && sent.state != task->status_update_state) ||
	    (sent.uuid.data != NULL) != (bool)task->has_status_update_uuid)
		return false;
	return !sent.uuid.data ||
	       (sent.uuid.len == uuid->len && !memcmp(sent.uuid.data, uuid->data, uuid->len));
}

/* ---- changing ---------------------------------------------------------------------------- */

/* Room for `len` bytes in the place of those from `from` to `to`. The parts are the caller's to
 * correct. */
static uint8_t *make_room(struct task_record *r, uint32_t from, uint32_t to, size_t len)
{
	uint32_t whole = r->len - (to - from) + (uint32_t)len;

	if (whole > r->cap) {
		r->cap = in_grains(whole);
		r->bytes = xrealloc(r->bytes, r->cap);
	}
	memmove(r->bytes + from + len, r->bytes + to, r->len - to);
	r->len = whole;
	return r->bytes + from;
}

void task_record_set_state(struct task_record *r, Mesos__TaskState state)
{
	r->state = state;
	r->bytes[r->state_at] = (uint8_t)state;
}

/* The state of the last status; -1 if there is none. */
static int64_t last_state(const struct task_record *r)
{
	struct wire in = task_record_part(r, r->last, r->update);
	struct field status, f;
	int64_t state = -1;

	if (!next_field(&in, &status))
		return -1;
	while (next_field(&status.content, &f)) {
		if (f.number == STATUS_STATE && f.type == WIRE_VARINT)
			state = (int64_t)f.value;
	}
	return state;
}

static void drop_first_status(struct task_record *r)
{
	struct wire in = task_record_part(r, r->statuses, r->update);
	struct field f;
	uint32_t size;

	if (!next_field(&in, &f))
		return;
	size = (uint32_t)(f.end - f.at);
	make_room(r, r->statuses, r->statuses + size, 0);
	r->last -= size;
	r->update -= size;
	r->rest -= size;
	r->status_count--;
}

void task_record_add_status(struct task_record *r, struct arena *scratch,
			    const Mesos__TaskStatus *status)
{
	bool again = last_state(r) == (int64_t)status->state;
	Mesos__TaskStatus slim = *status;
	uint8_t head[WIRE_HEAD_MAX], *at;
	struct slice bytes;
	uint32_t size, end;

	slim.has_data = 0;
	slim.data = (ProtobufCBinaryData){0};
	bytes = proto_pack_to(scratch, &slim);
	size = wire_head(head, STATUSES, bytes.len);
	if (!again && r->status_count >= TASK_STATUSES_MAX)
		drop_first_status(r);
	while (r->status_count > 1 && r->len + size + bytes.len > TASK_RECORD_MAX)
		drop_first_status(r);
	r->last = again ? r->last : r->update;
	at = make_room(r, r->last, r->update, size + bytes.len);
	memcpy(at, head, size);
	memcpy(at + size, bytes.data, bytes.len);
	end = r->last + size + (uint32_t)bytes.len;
	r->rest = end + (r->rest - r->update);
	r->update = end;
	r->status_count += !again;
}

void task_record_set_sent(struct task_record *r, Mesos__TaskState state, struct slice uuid)
{
	uint8_t head[2 + WIRE_HEAD_MAX] = {SENT_STATE << 3 | WIRE_VARINT, (uint8_t)state}, *at;
	uint32_t size = 2 + wire_head(head + 2, SENT_UUID, uuid.len);

	at = make_room(r, r->update, r->rest, size + uuid.len);
	memcpy(at, head, size);
	memcpy(at + size, uuid.data, uuid.len);
	r->rest = r->update + size + (uint32_t)uuid.len;
}
