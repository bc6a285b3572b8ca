/* Validation of v1 scheduler calls before anything looks at their framework.
 * Required fields were checked when the call was decoded.
 */
#include "master/core/objects.h"

#include <string.h>

#include "master/core/frameworks/subscribe.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name

static bool same_id(const Mesos__FrameworkID *a, const Mesos__FrameworkID *b)
{
	/* An absent id and an empty one are the same, as their default is "". */
	return !strcmp(a ? a->value : "", b ? b->value : "");
}

static int validate_subscribe(const Mesos__Scheduler__Call *call, const char *principal,
			      struct err *err)
{
	const Mesos__FrameworkInfo *info;

	if (!call->subscribe)
		return err_set(err, ERR_INVALID, "Expecting 'subscribe' to be present");
	info = call->subscribe->framework_info;
	if (!same_id(info->id, call->framework_id))
		return err_set(err, ERR_INVALID,
			       "'framework_id' differs from 'subscribe.framework_info.id'");
	if (principal && info->principal && strcmp(principal, info->principal))
		return err_set(err, ERR_INVALID,
			       "Authenticated principal '%s' does not match principal '%s' set in "
			       "`FrameworkInfo`",
			       principal, info->principal);
	return 0;
}

/* The sub-message that a call cannot do without, by call type. */
static const struct needed {
	Mesos__Scheduler__Call__Type type;
	const char *name;
	size_t offset; /* of the pointer in the call */
} needed[] = {
#define NEEDED(type, name)                                                                         \
	{                                                                                          \
		CALL(type), #name, offsetof(Mesos__Scheduler__Call, name)                          \
	}
	NEEDED(ACCEPT, accept),
	NEEDED(DECLINE, decline),
	NEEDED(ACCEPT_INVERSE_OFFERS, accept_inverse_offers),
	NEEDED(DECLINE_INVERSE_OFFERS, decline_inverse_offers),
	NEEDED(KILL, kill),
	NEEDED(SHUTDOWN, shutdown),
	NEEDED(ACKNOWLEDGE, acknowledge),
	NEEDED(ACKNOWLEDGE_OPERATION_STATUS, acknowledge_operation_status),
	NEEDED(RECONCILE, reconcile),
	NEEDED(RECONCILE_OPERATIONS, reconcile_operations),
	NEEDED(MESSAGE, message),
	NEEDED(REQUEST, request),
	NEEDED(UPDATE_FRAMEWORK, update_framework),
#undef NEEDED
};

static int validate_uuid(const ProtobufCBinaryData *uuid, struct err *err)
{
	if (uuid->len != UUID_BYTES || !uuid_valid(uuid->data, uuid->len))
		return err_set(err, ERR_INVALID, "Not a valid UUID");
	return 0;
}

static int validate_content(const Mesos__Scheduler__Call *call, struct err *err)
{
	int rv;

	switch (call->type) {
	case CALL(ACKNOWLEDGE):
		return validate_uuid(&call->acknowledge->uuid, err);
	case CALL(ACKNOWLEDGE_OPERATION_STATUS):
		rv = validate_uuid(&call->acknowledge_operation_status->uuid, err);
		if (!rv && !call->acknowledge_operation_status->agent_id)
			rv = err_set(err, ERR_INVALID, "Expecting 'agent_id' to be present");
		return rv;
	case CALL(UPDATE_FRAMEWORK):
		if (!same_id(call->framework_id, call->update_framework->framework_info->id))
			return err_set(err, ERR_INVALID,
				       "'framework_id' differs from "
				       "'update_framework.framework_info.id'");
		return 0;
	default:
		return 0;
	}
}

int master_validate_call(const Mesos__Scheduler__Call *call, const char *principal, struct err *err)
{
	if (!call->has_type)
		return err_set(err, ERR_INVALID, "Expecting 'type' to be present");
	if (call->type == CALL(SUBSCRIBE))
		return validate_subscribe(call, principal, err);
	if (!call->framework_id)
		return err_set(err, ERR_INVALID, "Expecting 'framework_id' to be present");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (needed[i].type == call->type &&
		    !*(const void *const *)((const char *)call + needed[i].offset))
			return err_set(err, ERR_INVALID, "Expecting '%s' to be present",
				       needed[i].name);
	}
	return validate_content(call, err);
}
