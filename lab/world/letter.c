/* Letters: bytes, and what they say, decoded once for all who read it. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "lab/world/conn.h"

struct content {
	struct content *next; /* spare */
	struct world *world;
	struct arena arena;
	void *message; /* once it was opened */
	int holders;
};

void letter_seal(struct world *w, struct letter *letter)
{
	struct content *content = w->spare;

	if (content)
		w->spare = content->next;
	else
		content = xcalloc(1, sizeof(*content));
	content->world = w;
	content->message = NULL;
	content->holders = 1;
	letter->content = content;
	letter->message = NULL;
}

void letter_free(struct letter *letter)
{
	free(letter->name);
	free(letter->from);
	buf_free(&letter->bytes);
	if (letter->content)
		content_release(letter->content);
}

void *letter_open(const struct letter *letter, const ProtobufCMessageDescriptor *type)
{
	struct content *content = letter->content;
	struct err err;

	if (!content->message)
		content->message = proto_unpack(type, &content->arena, letter->bytes.data,
						letter->bytes.len, &err);
	if (!content->message)
		world_fail(content->world, "a letter does not parse: %s", err.text);
	return content->message;
}

struct content *content_hold(struct content *content)
{
	content->holders++;
	return content;
}

void content_release(struct content *content)
{
	if (--content->holders)
		return;
	arena_reset(&content->arena);
	content->next = content->world->spare;
	content->world->spare = content;
}

void letters_free(struct world *w)
{
	struct content *content;

	while ((content = w->spare)) {
		w->spare = content->next;
		arena_free(&content->arena);
		free(content);
	}
}
