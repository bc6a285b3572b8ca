/* Packed parts of a scheduler's event, as client/libmesos/ takes them apart: nothing is read
 * beyond the message, and where the parser reads the message both find the same offers. */
#include <stdint.h>
#include <stdlib.h>

#include "proto/proto.h"
#include "proto/wire/wire_write.h"

static void inside(struct slice whole, struct slice part)
{
	if (part.len > 0 &&
	    (part.data < whole.data || part.data + part.len > whole.data + whole.len))
		abort();
}

/* The parser puts repeated messages of an optional field together; we take the last one. */
static size_t count_offers(struct slice event)
{
	struct slice at = event, offers = {NULL, 0}, offer;
	size_t count = 0, fields = 0;

	while (wire_next(&at, 3, &offers))
		fields++;
	if (fields > 1)
		return SIZE_MAX;
	for (at = offers; wire_next(&at, 1, &offer); count++)
		inside(event, offer);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice whole = {(const char *)data, size}, part;
	const Mesos__Scheduler__Event *event;
	struct arena arena;
	struct err err;
	uint64_t number;

	for (uint32_t field = 1; field < 12; field++) {
		wire_number(whole, field, &number);
		if (wire_part(whole, field, &part))
			inside(whole, part);
	}
	size_t count = count_offers(whole);

	arena_init(&arena);
	event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, data, size, &err);
	if (event && count != SIZE_MAX && count != (event->offers ? event->offers->n_offers : 0))
		abort();
	arena_free(&arena);
	return 0;
}
