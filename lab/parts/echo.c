/* Letters that arrive twice: what sent them had no answer, and tried again. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/parts/driver.h"
#include "lab/world/conn.h"
#include "proto/proto.h"

#define ECHO_HIGH (3 * SECOND)
#define ORDER_ECHO_HIGH (20 * MILLISECOND)

/* The second copy, on a connection of its own: the sender had no answer to the first. */
struct echo {
	struct happening happening;
	struct list link;
	struct world *world;
	char *address;
	struct letter letter;
};

/* Subscriptions are not among them: their sender holds on to the answer. */
static bool echoes(const struct letter *letter)
{
	return letter->kind == LETTER_MESSAGE || (letter->kind == LETTER_CALL && letter->name);
}

static void echo_free(struct echo *echo)
{
	world_cancel(echo->world, &echo->happening);
	list_remove(&echo->link);
	letter_free(&echo->letter);
	free(echo->address);
	free(echo);
}

void world_drop_echoes(struct world *w)
{
	while (!list_empty(&w->echoes))
		echo_free(list_first(&w->echoes, struct echo, link));
}

/* A message by its type; calls are those of schedulers. */
static const char *what_it_is(const struct letter *letter)
{
	const Mesos__Scheduler__Call *call;

	if (letter->kind == LETTER_MESSAGE)
		return letter->type->short_name;
	call = letter_open(letter, &mesos__scheduler__call__descriptor);
	return call ? proto_enum_name(&mesos__scheduler__call__type__descriptor, (int)call->type,
				      SPELL_V1)
		    : "call";
}

static void on_echo(struct happening *h)
{
	struct echo *echo = container_of(h, struct echo, happening);
	struct world *w = echo->world;
	struct process *to = process_at(w, echo->address);

	if (to && to->deaf_until <= w->now) {
		struct conn *conn = conn_make(w, NULL, to);

		/* It does not come from another life of its sender. */
		if (echo->letter.from)
			conn->sender = xstrdup(echo->letter.from);
		world_log(w, "%s gets a %s once more", to->name, what_it_is(&echo->letter));
		if (w->observer)
			w->observer->delivered(w->observer, to, conn, &echo->letter);
		to->ops->receive(to, conn, &echo->letter);
		if (conn->of[CONN_SERVER].process)
			conn_leave(conn, CONN_SERVER);
	}
	echo_free(echo);
}

/* Nobody remembers the tasks that are over: an order to run one that comes again after its end
 * would start it again, one to kill it would be answered as lost. In between they may come. */
static int64_t latest(const struct letter *letter)
{
	bool orders = letter->kind == LETTER_MESSAGE && (strstr(letter->type->name, "RunTask") ||
							 strstr(letter->type->name, "KillTask"));

	return orders ? ORDER_ECHO_HIGH : ECHO_HIGH;
}

/* A driver does not register twice, but by itself. */
static bool registers(const struct letter *letter)
{
	const ProtobufCMessage *message;

	if (!str_has_prefix(letter->from, PID_DRIVER))
		return false;
	message = letter_open(letter, letter->type);
	return message && driver_is_registration(message);
}

/* What an agent tells of its state is old when it comes again, and would be believed: the
 * transport keeps it single, and so do agents, whose every try is a new message. */
static bool tells_state(const char *name)
{
	static const char *const names[] = {"RegisterSlave", "ReregisterSlave", "ExitedExecutor",
					    "UpdateSlave", "UnregisterSlave"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strstr(name, names[i]))
			return true;
	}
	return false;
}

void conn_echo(const struct conn *conn, const struct process *to, const struct letter *letter)
{
	struct world *w = conn->world;
	struct echo *echo;

	if (!echoes(letter))
		return;
	w->repeats--;
	if (!to->address || (letter->kind == LETTER_MESSAGE &&
			     (tells_state(letter->type->name) || registers(letter))))
		return;
	echo = xcalloc(1, sizeof(*echo));
	echo->world = w;
	echo->address = xstrdup(to->address);
	echo->letter = (struct letter){.kind = letter->kind, .number = letter->number};
	echo->letter.type = letter->type;
	echo->letter.name = letter->name ? xstrdup(letter->name) : NULL;
	echo->letter.from = letter->from ? xstrdup(letter->from) : NULL;
	buf_append(&echo->letter.bytes, letter->bytes.data, letter->bytes.len);
	letter_seal(w, &echo->letter);
	echo->happening.run = on_echo;
	list_append(&w->echoes, &echo->link);
	world_after(w, &echo->happening, world_between(w, MILLISECOND, latest(letter)));
}
