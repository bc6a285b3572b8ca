/* See driver_messages.h. */
#include "bench/load/schedulers/driver_messages.h"

#include <string.h>

#define SUBSCRIBE_TAG 0x1a /* field 3, with a length */
#define NO_PID "@0.0.0.0:0"

#define NEW_EVENT(arena, Type, name)                                                               \
	PROTO_NEW(arena, Mesos__Scheduler__Event__##Type,                                          \
		  mesos__scheduler__event__##name##__descriptor)

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_putc(out, (char)(value | 0x80));
	buf_putc(out, (char)value);
}

void driver_message_subscribe(const Mesos__Scheduler__Call *call, struct buf *out)
{
	Mesos__Scheduler__SubscribeV0 subscribe = MESOS__SCHEDULER__SUBSCRIBE_V0__INIT;
	Mesos__Scheduler__Call rest = *call;
	struct buf part = BUF_INIT;

	subscribe.framework_info = call->subscribe->framework_info;
	subscribe.n_suppressed_roles = call->subscribe->n_suppressed_roles;
	subscribe.suppressed_roles = call->subscribe->suppressed_roles;
	rest.subscribe = NULL;
	proto_pack(&rest, out);
	proto_pack(&subscribe, &part);
	buf_putc(out, SUBSCRIBE_TAG);
	put_varint(out, part.len);
	buf_append(out, part.data, part.len);
	buf_free(&part);
}

/* ---- what the messages say -------------------------------------------------- */

static void take_registered(struct arena *arena, Mesos__FrameworkID *id,
			    Mesos__Scheduler__Event *out)
{
	out->subscribed = NEW_EVENT(arena, Subscribed, subscribed);
	out->subscribed->framework_id = id;
}

static enum driver_message on_registered(struct arena *arena, const void *message,
					 Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__FrameworkRegisteredMessage *in = message;

	(void)err;
	take_registered(arena, in->framework_id, out);
	return DRIVER_EVENT;
}

static enum driver_message on_reregistered(struct arena *arena, const void *message,
					   Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__FrameworkReregisteredMessage *in = message;

	(void)err;
	take_registered(arena, in->framework_id, out);
	return DRIVER_EVENT;
}

static enum driver_message on_offers(struct arena *arena, const void *message,
				     Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__ResourceOffersMessage *in = message;

	if (in->n_pids != in->n_offers) {
		err_set(err, ERR_INVALID, "%zu offers, %zu pids", in->n_offers, in->n_pids);
		return DRIVER_BAD;
	}
	out->offers = NEW_EVENT(arena, Offers, offers);
	out->offers->n_offers = in->n_offers;
	out->offers->offers = in->offers;
	return DRIVER_EVENT;
}

static enum driver_message on_rescind(struct arena *arena, const void *message,
				      Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__RescindResourceOfferMessage *in = message;

	(void)err;
	out->rescind = NEW_EVENT(arena, Rescind, rescind);
	out->rescind->offer_id = in->offer_id;
	return DRIVER_EVENT;
}

/* Without a pid to acknowledge it to, an update has no uuid for its scheduler. */
static enum driver_message on_update(struct arena *arena, const void *message,
				     Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__StatusUpdateMessage *in = message;
	Mesos__TaskStatus *status = in->update->status;
	bool answered = in->update->has_uuid && in->pid && strcmp(in->pid, NO_PID) != 0;

	if (answered && !in->update->agent_id) {
		err_set(err, ERR_INVALID, "an update to acknowledge names no agent");
		return DRIVER_BAD;
	}
	status->has_uuid = answered;
	if (answered) {
		status->uuid = in->update->uuid;
		status->agent_id = in->update->agent_id;
	}
	out->update = NEW_EVENT(arena, Update, update);
	out->update->status = status;
	return DRIVER_EVENT;
}

static enum driver_message on_error(struct arena *arena, const void *message,
				    Mesos__Scheduler__Event *out, struct err *err)
{
	const Mesos__Internal__FrameworkErrorMessage *in = message;

	(void)err;
	out->error = NEW_EVENT(arena, Error, error);
	out->error->message = in->message;
	return DRIVER_EVENT;
}

/* ---- from the wire ---------------------------------------------------------- */

static const struct {
	const ProtobufCMessageDescriptor *type;
	enum driver_message (*take)(struct arena *arena, const void *message,
				    Mesos__Scheduler__Event *out, struct err *err);
} kinds[] = {
	{&mesos__internal__status_update_message__descriptor, on_update},
	{&mesos__internal__resource_offers_message__descriptor, on_offers},
	{&mesos__internal__rescind_resource_offer_message__descriptor, on_rescind},
	{&mesos__internal__framework_registered_message__descriptor, on_registered},
	{&mesos__internal__framework_reregistered_message__descriptor, on_reregistered},
	{&mesos__internal__framework_error_message__descriptor, on_error},
};

enum driver_message driver_message_parse(const char *name, struct slice body, struct arena *arena,
					 Mesos__Scheduler__Event *out, struct err *err)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const ProtobufCMessageDescriptor *type = kinds[i].type;
		void *message;

		if (strcmp(type->name, name) != 0)
			continue;
		message = proto_unpack(type, arena, body.data, body.len, err);
		return message ? kinds[i].take(arena, message, out, err) : DRIVER_BAD;
	}
	return DRIVER_IGNORED;
}
