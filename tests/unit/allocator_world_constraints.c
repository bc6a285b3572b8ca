/* Offer constraints of a script's frameworks, and where its agents are. */
#include <stdlib.h>

#include "allocator/constraints.h"
#include "allocator_named.h"
#include "allocator_world.h"
#include "base/json/json.h"
#include "proto/proto.h"

static const char *const places[SCRIPT_AGENTS] = {"0", "1", "2", "3"};

void world_tell_place(struct world *world, struct allocator *a, unsigned agent)
{
	named_set_agent_place(a, NAME(agents, agent),
			      places[(agent + world->attributes[agent]) % SCRIPT_AGENTS]);
}

static void print_group(unsigned set, struct buf *out)
{
	const char *comma = "";

	buf_puts(out, "{\"groups\":[{\"attribute_constraints\":[");
	for (unsigned i = 0; i < SCRIPT_AGENTS; i++) {
		if (!(set >> i & 1))
			continue;
		buf_printf(out,
			   "%s{\"selector\":{\"attribute_name\":\"place\"},"
			   "\"predicate\":{\"text_not_equals\":{\"value\":\"%s\"}}}",
			   comma, places[i]);
		comma = ",";
	}
	buf_puts(out, "]}]}");
}

static void print_constraints(unsigned set, struct buf *out)
{
	const char *comma = "";

	buf_puts(out, "{\"role_constraints\":{");
	for (unsigned r = 0; r < SCRIPT_ROLES; r++) {
		if (NAME(roles, r)[0] == 'b')
			continue;
		buf_printf(out, "%s\"%s\":", comma, NAME(roles, r));
		print_group(set, out);
		comma = ",";
	}
	buf_puts(out, "}}");
}

struct constraints *world_shunning(unsigned set)
{
	struct buf text = BUF_INIT;
	struct constraints *out = NULL;
	struct json *json = NULL;
	struct arena arena;
	void *message;

	if (!set)
		return NULL;
	arena_init(&arena);
	print_constraints(set, &text);
	if (json_parse(&arena, text.data, text.len, &json, NULL) != 0)
		abort();
	message = json_to_proto(&mesos__scheduler__offer_constraints__descriptor, json, SPELL_V1,
				&arena, NULL);
	if (!message || constraints_create(message, &out, NULL) != 0)
		abort();
	buf_free(&text);
	arena_free(&arena);
	return out;
}
