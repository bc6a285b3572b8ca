/* Resources as the endpoints show them: the short way that nearly all go says the same as the long
 * one. */
#include "tests/unit/proto_resources.h"

#include "base/random.h"
#include "proto/endpoint.h"

RESOURCES_SUITE(proto_endpoint);

#define SCALAR_OF(name, value)                                                                     \
	"\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" value "}"
#define RESERVED(role) ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"" role "\"}]"
#define ALLOCATED(role) ",\"allocation_info\":{\"role\":\"" role "\"}"

/* The first half goes the short way. */
static const char *const pieces[] = {
	SCALAR_OF("cpus", "0.1"),
	SCALAR_OF("cpus", "2.5"),
	SCALAR_OF("mem", "32"),
	SCALAR_OF("disk", "0.001"),
	SCALAR_OF("gpus", "1"),
	SCALAR_OF("mem", "9000000000000"),
	SCALAR_OF("cpus", "1") ALLOCATED("a"),
	SCALAR_OF("mem", "1") RESERVED("r"),

	SCALAR_OF("bandwidth", "7"),
	SCALAR_OF("cpus", "1") ",\"revocable\":{}",
	SCALAR_OF("disk", "5") ",\"shared\":{},\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":"
			       "{\"container_path\":\"p\",\"mode\":\"RW\"}}" RESERVED("r"),
	"\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":1,\"end\":9}]}",
	"\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":5,\"end\":20}]}",
	"\"name\":\"zones\",\"type\":\"SET\",\"set\":{\"item\":[\"a\",\"b\"]}",
	"\"name\":\"cpus\",\"type\":\"SCALAR\"",
	"\"name\":\"mem\",\"type\":\"SET\",\"scalar\":{\"value\":3},\"set\":{\"item\":[\"x\"]}",
};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

static void expect_same(Mesos__Resource *const *list, size_t count)
{
	struct buf found = BUF_INIT, expected = BUF_INIT;
	struct resources sum = RESOURCES_INIT;
	struct json_writer w;

	jw_init(&w, &found);
	endpoint_write_resources(&w, shapes, list, count);
	resources_add_messages(shapes, &sum, list, count);
	jw_init(&w, &expected);
	resources_write_model(&sum, &w);
	cr_expect_str_eq(found.data, expected.data);
	resources_free(&sum);
	buf_free(&found);
	buf_free(&expected);
}

Test(proto_endpoint, the_short_way_says_the_same)
{
	Mesos__Resource *all[PIECES], *list[6];
	struct rng rng;

	for (size_t i = 0; i < PIECES; i++) {
		all[i] = message_of(pieces[i]);
		expect_same(&all[i], 1);
		for (size_t j = 0; j < i; j++) {
			Mesos__Resource *two[] = {all[j], all[i]};

			expect_same(two, 2);
		}
	}
	expect_same(NULL, 0);
	rng_seed(&rng, 1);
	for (int round = 0; round < 2000; round++) {
		size_t count = (size_t)(rng_next(&rng) % 7), most = round % 2 ? PIECES : PIECES / 2;

		for (size_t i = 0; i < count; i++)
			list[i] = all[(size_t)(rng_next(&rng) % most)];
		expect_same(list, count);
	}
}
