/* What the tests of operations and of volumes share: an agent with disk, orders as a master
 * sends them, and what was answered. */
#ifndef TESTS_UNIT_AGENT_ORDERS_H
#define TESTS_UNIT_AGENT_ORDERS_H

#include <string.h>

#include "agent_harness.h"

static struct rig rig;
static uint8_t version[UUID_BYTES];
static Mesos__Internal__RegisterSlaveMessage *registration; /* the last one, of either kind */
static ProtobufCBinaryData status_uuid;			    /* of the last status sent */

static inline void keep_uuid(const Mesos__UUID *uuid)
{
	cr_assert(uuid && uuid->value.len == UUID_BYTES);
	memcpy(version, uuid->value.data, UUID_BYTES);
}

static inline void watch(struct rig *r, const struct agent_action *action)
{
	const ProtobufCMessage *message;

	if (action->type != AGENT_SEND_MESSAGE)
		return;
	message = action->send_message.message;
	if (message->descriptor == &mesos__internal__register_slave_message__descriptor) {
		registration = proto_copy_to(&r->arena, message);
		keep_uuid(registration->resource_version_uuid);
	} else if (message->descriptor == &mesos__internal__reregister_slave_message__descriptor) {
		Mesos__Internal__ReregisterSlaveMessage *again = (void *)message;

		registration = rig_new(r, Mesos__Internal__RegisterSlaveMessage,
				       mesos__internal__register_slave_message__descriptor);
		again = proto_copy_to(&r->arena, again);
		registration->agent = again->agent;
		registration->n_checkpointed_resources = again->n_checkpointed_resources;
		registration->checkpointed_resources = again->checkpointed_resources;
		keep_uuid(again->resource_version_uuid);
	} else if (message->descriptor ==
		   &mesos__internal__update_operation_status_message__descriptor) {
		Mesos__Internal__UpdateOperationStatusMessage *update =
			proto_copy_to(&r->arena, message);

		status_uuid = update->status->uuid ? update->status->uuid->value
						   : (ProtobufCBinaryData){0};
	}
}

static inline void start_with(const char *resources)
{
	struct err err = {""};

	rig_init(&rig);
	resources_free(&rig.total);
	rig.total = RESOURCES_INIT;
	cr_assert_eq(resources_parse(rig.options.shapes, resources, "*", &rig.total, &err), 0, "%s",
		     err.text);
	rig.watch = watch;
	rig.checkpoint = true;
	rig_start(&rig);
	rig_register(&rig);
}

static inline void start(void)
{
	start_with("cpus:4;mem:4096;disk:1024");
}

static inline void stop(void)
{
	rig_free(&rig);
}

static inline Mesos__UUID *uuid_of(ProtobufCBinaryData bytes)
{
	Mesos__UUID *uuid = rig_new(&rig, Mesos__UUID, mesos__uuid__descriptor);

	uuid->value = bytes;
	return uuid;
}

static inline void *from_json(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct json *json;
	struct err err = {""};
	void *message;

	cr_assert_eq(json_parse(&rig.arena, text, strlen(text), &json, &err), 0, "%s: %s", err.text,
		     text);
	message = json_to_proto(type, json, SPELL_V1, &rig.arena, &err);
	cr_assert(message, "%s", err.text);
	return message;
}

static inline void apply_with(int number, const char *operation, const uint8_t *made_against)
{
	Mesos__Internal__ApplyOperationMessage *message =
		rig_new(&rig, Mesos__Internal__ApplyOperationMessage,
			mesos__internal__apply_operation_message__descriptor);

	message->framework_id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	message->framework_id->value = (char *)RIG_FRAMEWORK;
	message->operation_info = from_json(&mesos__offer__operation__descriptor, operation);
	message->operation_uuid = uuid_of(rig_uuid(&rig, number));
	message->resource_version_uuid =
		rig_new(&rig, Mesos__Internal__ResourceVersionUUID,
			mesos__internal__resource_version_uuid__descriptor);
	message->resource_version_uuid->uuid = uuid_of((ProtobufCBinaryData){
		UUID_BYTES, arena_memdup(&rig.arena, made_against, UUID_BYTES)});
	rig_message(&rig, RIG_MASTER, message);
}

static inline void apply(int number, const char *operation)
{
	apply_with(number, operation, version);
}

static inline void acknowledge(int number, ProtobufCBinaryData status)
{
	Mesos__Internal__AcknowledgeOperationStatusMessage *message =
		rig_new(&rig, Mesos__Internal__AcknowledgeOperationStatusMessage,
			mesos__internal__acknowledge_operation_status_message__descriptor);

	message->status_uuid = uuid_of(status);
	message->operation_uuid = uuid_of(rig_uuid(&rig, number));
	rig_message(&rig, RIG_MASTER, message);
}

static inline void reconcile(int number, const char *framework)
{
	Mesos__Internal__ReconcileOperationsMessage *message =
		rig_new(&rig, Mesos__Internal__ReconcileOperationsMessage,
			mesos__internal__reconcile_operations_message__descriptor);
	Mesos__Internal__ReconcileOperationsMessage__Operation *asked =
		rig_new(&rig, Mesos__Internal__ReconcileOperationsMessage__Operation,
			mesos__internal__reconcile_operations_message__operation__descriptor);

	asked->operation_uuid = uuid_of(rig_uuid(&rig, number));
	proto_push(&rig.arena, message->n_operations, message->operations, asked);
	if (framework) {
		message->framework_id =
			rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
		message->framework_id->value = (char *)framework;
	}
	rig_message(&rig, RIG_MASTER, message);
}

#define RESERVED(role) "'reservations':[{'type':'DYNAMIC','role':'" role "'}]"
#define ALLOCATED(role) "'allocation_info':{'role':'" role "'}"
#define DISK(size, more) "{'name':'disk','type':'SCALAR','scalar':{'value':" #size "}," more "}"
#define RESERVE(size, role)                                                                        \
	"{'type':'RESERVE','reserve':{'resources':[" DISK(                                         \
		size, RESERVED(role) "," ALLOCATED(role)) "]}}"
#define VOLUME(size, role, id, path)                                                               \
	DISK(size, RESERVED(role) "," ALLOCATED(role) ",'disk':{'persistence':{'id':'" id          \
						      "'},'volume':{'container_path':'" path       \
						      "','mode':'RW'}}")
#define CREATE(size, role, id, path)                                                               \
	"{'type':'CREATE','create':{'volumes':[" VOLUME(size, role, id, path) "]}}"
#define DESTROY(size, role, id, path)                                                              \
	"{'type':'DESTROY','destroy':{'volumes':[" VOLUME(size, role, id, path) "]}}"

/* JSON is written with ' for " above. */
static inline const char *json(const char *text)
{
	char *copy = arena_strdup(&rig.arena, text);

	for (char *at = copy; (at = strchr(at, '\'')); at++)
		*at = '"';
	return copy;
}

static inline char *state(void)
{
	static struct buf out;
	struct json_writer w;

	buf_clear(&out);
	jw_init(&w, &out);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	return arena_strdup(&rig.arena, out.data);
}

#define expect_state(part)                                                                         \
	do {                                                                                       \
		const char *state_ = state();                                                      \
		cr_assert(strstr(state_, part), "%s is not in %s", part, state_);                  \
	} while (0)

#define RESERVED_64                                                                                \
	"\"reserved_resources\":{\"r\":{\"cpus\":0.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":64.0}}"

static inline void restart(void)
{
	rig_kill_agent(&rig);
	rig_start(&rig);
}

static inline void reserve_and_create(void)
{
	apply(1, json(RESERVE(64, "r")));
	acknowledge(1, status_uuid);
	apply(2, json(CREATE(64, "r", "v1", "data")));
	acknowledge(2, status_uuid);
	rig_take(&rig);
}

static inline const char *checkpointed(void)
{
	struct resources all = RESOURCES_INIT;
	static struct buf out;

	buf_clear(&out);
	resources_add_messages(rig.options.shapes, &all, registration->checkpointed_resources,
			       registration->n_checkpointed_resources);
	resources_print(&all, &out);
	resources_free(&all);
	return arena_strdup(&rig.arena, out.data);
}

#endif
