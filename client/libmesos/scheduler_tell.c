/* What the program is told, on the callback thread; see scheduler_internal.h. */
#include "client/libmesos/scheduler_internal.h"
#include "proto/wire/wire_write.h"

/* Field numbers of scheduler.proto and mesos.proto, for parts that are passed on packed. */
enum {
	EVENT_SUBSCRIBED = 2,
	EVENT_OFFERS = 3,
	EVENT_RESCIND = 4,
	EVENT_UPDATE = 5,
	EVENT_MESSAGE = 6,
	EVENT_FAILURE = 7,
	SUBSCRIBED_FRAMEWORK_ID = 1,
	SUBSCRIBED_MASTER_INFO = 3,
	RESCIND_OFFER_ID = 1,
	UPDATE_STATUS = 1,
	MESSAGE_AGENT_ID = 1,
	MESSAGE_EXECUTOR_ID = 2,
	MESSAGE_DATA = 3,
	FAILURE_AGENT_ID = 1,
	FAILURE_EXECUTOR_ID = 2,
	FAILURE_STATUS = 3,
};

static int tell_update(struct libmesos_scheduler *s, struct slice status)
{
	int rv = s->handlers.update(s->context, status);

	if (rv == 0 && s->implicit)
		libmesos_scheduler_acknowledge(s, status);
	return rv;
}

static int tell_registered(struct libmesos_scheduler *s, struct slice event, bool again)
{
	struct slice subscribed = wire_part_of(event, EVENT_SUBSCRIBED);
	struct slice master = wire_part_of(subscribed, SUBSCRIBED_MASTER_INFO);

	if (again)
		return s->handlers.reregistered(s->context, master);
	return s->handlers.registered(s->context, wire_part_of(subscribed, SUBSCRIBED_FRAMEWORK_ID),
				      master);
}

static int tell_message(struct libmesos_scheduler *s, struct slice message)
{
	return s->handlers.message(s->context, wire_part_of(message, MESSAGE_EXECUTOR_ID),
				   wire_part_of(message, MESSAGE_AGENT_ID),
				   wire_part_of(message, MESSAGE_DATA));
}

static int tell_failure(struct libmesos_scheduler *s, struct slice failure)
{
	struct slice agent_id = wire_part_of(failure, FAILURE_AGENT_ID), executor_id;
	uint64_t status = 0;

	if (!wire_part(failure, FAILURE_EXECUTOR_ID, &executor_id))
		return s->handlers.agent_lost(s->context, agent_id);
	wire_number(failure, FAILURE_STATUS, &status);
	return s->handlers.executor_lost(s->context, executor_id, agent_id, (int)status);
}

static int tell_event(struct libmesos_scheduler *s, int type, struct slice event)
{
	switch (type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		return tell_registered(s, event, false);
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		return s->handlers.offers(s->context, wire_part_of(event, EVENT_OFFERS));
	case MESOS__SCHEDULER__EVENT__TYPE__RESCIND:
		return s->handlers.rescinded(
			s->context,
			wire_part_of(wire_part_of(event, EVENT_RESCIND), RESCIND_OFFER_ID));
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		return tell_update(s,
				   wire_part_of(wire_part_of(event, EVENT_UPDATE), UPDATE_STATUS));
	case MESOS__SCHEDULER__EVENT__TYPE__MESSAGE:
		return tell_message(s, wire_part_of(event, EVENT_MESSAGE));
	case MESOS__SCHEDULER__EVENT__TYPE__FAILURE:
		return tell_failure(s, wire_part_of(event, EVENT_FAILURE));
	default: /* libmesos' callbacks know no others */
		return 0;
	}
}

int scheduler_tell(struct driver *driver, struct callback *callback)
{
	struct libmesos_scheduler *s = scheduler_of(driver);
	struct slice bytes = {callback->bytes.data, callback->bytes.len};

	switch (callback->kind) {
	case KIND_DISCONNECTED:
		return s->handlers.disconnected(s->context);
	case KIND_REREGISTERED:
		return tell_registered(s, bytes, true);
	case KIND_LOCAL_UPDATE:
		return s->handlers.update(s->context, bytes);
	default:
		return tell_event(s, callback->kind, bytes);
	}
}

void scheduler_tell_error(struct driver *driver, const char *why)
{
	struct libmesos_scheduler *s = scheduler_of(driver);

	s->handlers.error(s->context, why);
}
