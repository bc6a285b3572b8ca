/* The master's core under calls of the operator API, in JSON or packed, one after the other. Input
 * is a list of calls: who waits how long for it to be stored, its length in two bytes, its bytes.
 * After each the invariants of the core must hold. */
#include <string.h>

#include "base/json/json.h"
#include "tests/fuzz/fuzz_master.h"

#define REGISTER                                                                                   \
	"{\"agent\":{\"hostname\":\"h\",\"checkpoint\":true,\"resources\":[{\"name\":\"cpus\","    \
	"\"type\":"                                                                                \
	"\"SCALAR\",\"scalar\":{\"value\":4}},{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{"  \
	"\"value\":"                                                                               \
	"4096}},{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":4096}}]},"            \
	"\"version\":"                                                                             \
	"\"1.12.0\",\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":\"HIERARCHICAL_"   \
	"ROLE\"},"                                                                                 \
	"{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":\"RESOURCE_PROVIDER\"},{\"type\":"        \
	"\"AGENT_DRAINING\"}],\"resource_version_uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}"

static void *from_json(struct arena *arena, const ProtobufCMessageDescriptor *type,
		       const char *text, size_t len)
{
	struct err err = {""};
	struct json *json;

	if (json_parse(arena, text, len, &json, &err) < 0)
		return NULL;
	return json_to_proto(type, json, SPELL_V1, arena, &err);
}

static void add_agent(struct game *g)
{
	struct master_event event = {.type = MASTER_MESSAGE};
	struct arena arena;

	arena_init(&arena);
	event.message.from = "slave(1)@127.0.0.1:5001";
	event.message.message =
		from_json(&arena, &mesos__internal__register_slave_message__descriptor, REGISTER,
			  strlen(REGISTER));
	if (!event.message.message)
		abort();
	game_step(g, &event);
	game_stored(g);
	arena_free(&arena);
}

/* As the HTTP side sees to: it has a type, and the message that goes with it. */
static bool is_whole(const Mesos__Master__Call *call)
{
	const ProtobufCFieldDescriptor *field;
	const char *name;
	char lower[64];
	size_t i;

	if (!call || !call->has_type)
		return false;
	name = proto_enum_name(&mesos__master__call__type__descriptor, (int)call->type, SPELL_V1);
	for (i = 0; name && name[i] && i < sizeof(lower) - 1; i++)
		lower[i] = name[i] == '_' ? '_' : (char)(name[i] | 0x20);
	lower[i] = '\0';
	field = protobuf_c_message_descriptor_get_field_by_name(call->base.descriptor, lower);
	return !field || *(void *const *)((const char *)call + field->offset);
}

static void operate(struct game *g, const uint8_t *data, size_t len, uint64_t number)
{
	struct master_event event = {.type = MASTER_OPERATOR, .operator_.request = number};
	struct arena arena;
	struct err err;

	arena_init(&arena);
	if (len && *data == '{')
		event.operator_.call = from_json(&arena, &mesos__master__call__descriptor,
						 (const char *)data, len);
	else
		event.operator_.call =
			proto_unpack(&mesos__master__call__descriptor, &arena, data, len, &err);
	if (is_whole(event.operator_.call))
		game_step(g, &event);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct game g = {0};
	uint64_t number = 0;

	game_begin(&g);
	add_agent(&g);
	while (size >= 3) {
		size_t len = (size_t)data[1] << 8 | data[2];
		uint8_t wait = data[0];

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		operate(&g, data, len, ++number);
		if (wait & 1)
			game_stored(&g);
		if (wait > 200)
			game_pass(&g, wait);
		data += len;
		size -= len;
	}
	game_stored(&g);
	master_destroy(g.m);
	master_actions_free(&g.out);
	return 0;
}
