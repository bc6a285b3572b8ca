/* The v0 scheduler.Call, whose SUBSCRIBE has other tags than the v1 one.
 *
 * The bytes of a SUBSCRIBE are parted at the top: field 3 is a SubscribeV0, all the rest is
 * read as the v1 Call. Either part may fail to decode; then there is no call. All other calls
 * are the same in both.
 */
#include "proto/proto.h"
#include "proto/wire/wire.h"

#define SUBSCRIBE_FIELD 3

/* Of bytes that are malformed, too: whoever decodes them will say so. */
static bool is_subscribe(struct wire in)
{
	enum wire_type type;
	uint32_t number;

	while (in.at < in.end && !wire_tag(&in, &number, &type)) {
		if (number == SUBSCRIBE_FIELD)
			return true;
		if (wire_skip(&in, number, type, 1))
			return false;
	}
	return false;
}

/* Copies the fields of a call to `rest`, and the contents of its SUBSCRIBE to `subscribe`. */
static const char *call_v0_part(struct wire in, struct buf *rest, struct buf *subscribe,
				bool *subscribes)
{
	while (in.at < in.end) {
		const uint8_t *start = in.at;
		struct wire bytes;
		enum wire_type type;
		uint32_t number;
		const char *why = wire_tag(&in, &number, &type);

		if (why)
			return why;
		if (number == SUBSCRIBE_FIELD && type == WIRE_BYTES) {
			if ((why = wire_bytes(&in, &bytes)))
				return why;
			buf_append(subscribe, bytes.at, (size_t)(bytes.end - bytes.at));
			*subscribes = true;
		} else {
			if ((why = wire_skip(&in, number, type, 1)))
				return why;
			buf_append(rest, start, (size_t)(in.at - start));
		}
	}
	return NULL;
}

static Mesos__Scheduler__Call__Subscribe *
decode_subscribe(struct arena *arena, const struct buf *bytes, bool *force, struct err *err)
{
	Mesos__Scheduler__Call__Subscribe *subscribe;
	Mesos__Scheduler__SubscribeV0 *old =
		proto_unpack_up_to(PROTO_VALUES_MAX, &mesos__scheduler__subscribe_v0__descriptor,
				   arena, bytes->data, bytes->len, err);

	if (!old)
		return NULL;
	subscribe = PROTO_NEW(arena, Mesos__Scheduler__Call__Subscribe,
			      mesos__scheduler__call__subscribe__descriptor);
	subscribe->framework_info = old->framework_info;
	subscribe->n_suppressed_roles = old->n_suppressed_roles;
	subscribe->suppressed_roles = old->suppressed_roles;
	subscribe->offer_constraints = old->offer_constraints;
	*force = old->has_force && old->force;
	return subscribe;
}

Mesos__Scheduler__Call *proto_call_from_v0(struct arena *arena, const void *data, size_t len,
					   bool *force, struct err *err)
{
	const uint8_t *start = data ? data : (const uint8_t *)"";
	struct wire in = {start, start + len};
	struct buf rest = BUF_INIT, subscribe = BUF_INIT;
	Mesos__Scheduler__Call *call = NULL;
	bool subscribes = false;
	const char *why;

	*force = false;
	if (!is_subscribe(in))
		return proto_unpack_up_to(PROTO_VALUES_MAX, &mesos__scheduler__call__descriptor,
					  arena, data, len, err);
	why = call_v0_part(in, &rest, &subscribe, &subscribes);
	if (why)
		err_set(err, ERR_INVALID, "Failed to decode mesos.scheduler.Call: %s", why);
	else
		call = proto_unpack_up_to(PROTO_VALUES_MAX, &mesos__scheduler__call__descriptor,
					  arena, rest.data, rest.len, err);
	if (call && subscribes) {
		call->subscribe = decode_subscribe(arena, &subscribe, force, err);
		if (!call->subscribe)
			call = NULL;
	}
	buf_free(&rest);
	buf_free(&subscribe);
	return call;
}
