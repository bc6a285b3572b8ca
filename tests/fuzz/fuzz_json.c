/* JSON: any bytes as a document, and as the calls that come in as JSON. What decodes to a
 * message must survive being packed, unpacked and written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "proto/proto.h"

static const ProtobufCMessageDescriptor *const types[] = {
	&mesos__scheduler__call__descriptor,
	&mesos__executor__call__descriptor,
	&mesos__master__call__descriptor,
	&mesos__agent__call__descriptor,
};

static size_t walk(const struct json *json)
{
	size_t sum = json->text.len;

	for (size_t i = 0; i < json->count; i++) {
		sum += walk(&json->items[i]);
		if (json->type == JSON_OBJECT)
			sum += json->keys[i].len;
	}
	return sum;
}

static void check(const void *message, const ProtobufCMessageDescriptor *type,
		  enum proto_spelling spelling, struct arena *arena)
{
	struct buf packed = BUF_INIT, first = BUF_INIT, second = BUF_INIT;
	void *again;

	proto_pack(message, &packed);
	again = proto_unpack(type, arena, packed.data, packed.len, NULL);
	if (!again)
		abort();
	proto_to_json(message, spelling, &first);
	proto_to_json(again, spelling, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	buf_free(&packed);
	buf_free(&first);
	buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct json *json;
	struct err err = {0};
	static volatile size_t sink __attribute__((unused));

	arena_init(&arena);
	if (json_parse(&arena, (const char *)data, size, &json, &err) == 0) {
		if (walk(json) > size) /* nothing of a document is longer than its text */
			abort();
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
			for (int spelling = SPELL_V1; spelling <= SPELL_V0; spelling++) {
				void *message =
					json_to_proto(types[i], json, spelling, &arena, &err);

				if (message)
					check(message, types[i], spelling, &arena);
			}
		}
	}
	arena_free(&arena);
	return 0;
}
