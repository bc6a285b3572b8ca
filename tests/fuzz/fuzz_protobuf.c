/* Protobuf: the first byte picks a message, the rest is its bytes. What decodes must decode
 * again, to the same, from its own packed form, which is protobuf-c's, and can be copied and
 * shown as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"

static const ProtobufCMessageDescriptor *const types[] = {
	&mesos__scheduler__call__descriptor,
	&mesos__scheduler__event__descriptor,
	&mesos__executor__call__descriptor,
	&mesos__executor__event__descriptor,
	&mesos__master__call__descriptor,
	&mesos__agent__call__descriptor,
	&mesos__internal__register_slave_message__descriptor,
	&mesos__internal__reregister_slave_message__descriptor,
	&mesos__internal__run_task_message__descriptor,
	&mesos__internal__status_update_message__descriptor,
};

#define TYPE_COUNT (sizeof(types) / sizeof(*types))

static void check(const void *message, const ProtobufCMessageDescriptor *type, struct arena *arena)
{
	struct buf packed = BUF_INIT, json = BUF_INIT, missing = BUF_INIT;
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *expected = arena_alloc(arena, size);
	void *again, *copy;

	protobuf_c_message_pack(message, expected);
	proto_pack(message, &packed);
	if (packed.len != size || (size && memcmp(packed.data, expected, size)))
		abort();
	again = proto_unpack(type, arena, packed.data, packed.len, NULL);
	copy = proto_copy(message);
	if (!again || !proto_equal(message, again) || !proto_equal(message, copy) ||
	    !proto_check_required(message, &missing))
		abort();
	proto_to_json(message, SPELL_V1, &json);
	proto_to_json(message, SPELL_V0, &json);
	proto_free(copy);
	buf_free(&packed);
	buf_free(&json);
	buf_free(&missing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct err err = {0};
	bool force;
	void *message, *heap;

	if (size < 1)
		return 0;
	arena_init(&arena);
	message = proto_unpack(types[data[0] % TYPE_COUNT], &arena, data + 1, size - 1, &err);
	heap = proto_unpack_heap(types[data[0] % TYPE_COUNT], data + 1, size - 1);
	if (!message != !heap || (message && !proto_equal(message, heap)))
		abort();
	proto_free(heap);
	if (message)
		check(message, types[data[0] % TYPE_COUNT], &arena);
	message = proto_call_from_v0(&arena, data + 1, size - 1, &force, &err);
	if (message)
		check(message, &mesos__scheduler__call__descriptor, &arena);
	arena_free(&arena);
	return 0;
}
