/* Connections: letters arrive in the order they were sent, after a delay, or not at all
 * once the connection broke. A partition holds letters back; one that lasts too long for
 * the transport breaks the connection, and each end learns of it in its own time. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lab/world.h"
#include "proto/proto.h"

#define DELAY_LOW (50 * MICROSECOND)
#define DELAY_HIGH (5 * MILLISECOND)
/* How long the transport goes on sending to somebody who does not answer. */
#define PATIENCE (30 * SECOND)
/* How long nobody hears of the crash of a machine who does not send there. */
#define VANISHED_HIGH (2 * MINUTE)
#define ECHO_HIGH (3 * SECOND)

/* A letter, or the end of the connection, on its way. */
struct parcel {
	struct happening happening;
	struct list link;
	struct conn *conn;
	enum conn_side to;
	bool end;
	struct letter letter;
};

void letter_free(struct letter *letter)
{
	free(letter->name);
	free(letter->from);
	buf_free(&letter->bytes);
}

static void parcel_free(struct parcel *parcel)
{
	world_cancel(parcel->conn->world, &parcel->happening);
	list_remove(&parcel->link);
	letter_free(&parcel->letter);
	free(parcel);
}

static void drop_inbox(struct conn_end *end)
{
	struct parcel *parcel;

	while ((parcel = list_first(&end->inbox, struct parcel, link)))
		parcel_free(parcel);
}

static void conn_free(struct conn *conn)
{
	for (int i = 0; i < 2; i++) {
		drop_inbox(&conn->of[i]);
		list_remove(&conn->of[i].link);
	}
	list_remove(&conn->link);
	free(conn->peer);
	free(conn->linked);
	free(conn);
}

/* The process at this end is done with it. */
static void leave(struct conn *conn, enum conn_side side)
{
	conn->of[side].process = NULL;
	list_remove(&conn->of[side].link);
	drop_inbox(&conn->of[side]);
	if (!conn->of[!side].process)
		conn_free(conn);
}

struct process *conn_other(const struct conn *conn, const struct process *p)
{
	return conn->of[conn->of[0].process == p].process;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct conn *conn_make(struct world *w, struct process *client, struct process *server);
static void arrive(struct happening *h);

static void post(struct conn *conn, enum conn_side to, struct parcel *parcel)
{
	struct world *w = conn->world;
	struct conn_end *end = &conn->of[to];

	parcel->happening.run = arrive;
	parcel->conn = conn;
	parcel->to = to;
	end->last = later(end->last, w->now + world_between(w, DELAY_LOW, DELAY_HIGH));
	list_append(&end->inbox, &parcel->link);
	world_at(w, &parcel->happening, end->last);
}

static void tell_end(struct conn *conn, enum conn_side side)
{
	struct process *p = conn->of[side].process;

	if (p) {
		if (conn->world->observer)
			conn->world->observer->closed(conn->world->observer, p, conn);
		p->ops->closed(p, conn);
		leave(conn, side);
	}
}

/* Until when the parcel is held back by a partition; 0 = not. */
static int64_t held_until(const struct parcel *parcel)
{
	const struct process *to = parcel->conn->of[parcel->to].process;
	const struct process *from = parcel->conn->of[!parcel->to].process;
	int64_t until = 0;

	if (to)
		until = to->deaf_until;
	if (from)
		until = later(until, from->mute_until);
	return until > parcel->conn->world->now ? until : 0;
}

/* ---- letters that arrive twice -------------------------------------------------- */

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

static void on_echo(struct happening *h)
{
	struct echo *echo = container_of(h, struct echo, happening);
	struct world *w = echo->world;
	struct process *to = process_at(w, echo->address);

	if (to && to->deaf_until <= w->now) {
		struct conn *conn = conn_make(w, NULL, to);

		world_log(w, "%s gets a letter once more", to->name);
		if (w->observer)
			w->observer->delivered(w->observer, to, conn, &echo->letter);
		to->ops->receive(to, conn, &echo->letter);
		if (conn->of[CONN_SERVER].process)
			leave(conn, CONN_SERVER);
	}
	echo_free(echo);
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

static void make_echo(const struct conn *conn, const struct process *to,
		      const struct letter *letter)
{
	struct world *w = conn->world;
	struct echo *echo;

	if (!to->address || (letter->kind == LETTER_MESSAGE && tells_state(letter->name)))
		return;
	echo = xcalloc(1, sizeof(*echo));
	echo->world = w;
	echo->address = xstrdup(to->address);
	echo->letter = (struct letter){.kind = letter->kind, .number = letter->number};
	echo->letter.name = letter->name ? xstrdup(letter->name) : NULL;
	echo->letter.from = letter->from ? xstrdup(letter->from) : NULL;
	buf_append(&echo->letter.bytes, letter->bytes.data, letter->bytes.len);
	echo->happening.run = on_echo;
	list_append(&w->echoes, &echo->link);
	world_after(w, &echo->happening, world_between(w, MILLISECOND, ECHO_HIGH));
}

static void arrive(struct happening *h)
{
	struct parcel *parcel = container_of(h, struct parcel, happening);
	struct conn *conn = parcel->conn;
	struct process *p = conn->of[parcel->to].process;
	struct world *w = conn->world;
	int64_t until = held_until(parcel);

	if (until && !parcel->end) {
		if (until - w->now > PATIENCE) {
			conn_break(conn);
			return;
		}
		conn->of[parcel->to].last = later(conn->of[parcel->to].last, until);
		/* All behind it wait as well: they are posted after it again. */
		world_at(w, &parcel->happening, until);
		return;
	}
	if (parcel->link.prev != &conn->of[parcel->to].inbox) {
		/* One before it is held back. */
		world_at(w, &parcel->happening, conn->of[parcel->to].last);
		return;
	}
	if (parcel->end) {
		enum conn_side to = parcel->to;

		parcel_free(parcel);
		tell_end(conn, to);
		return;
	}
	if (p->doom == DOOM_BEFORE && p->ops->kill) {
		p->ops->kill(p); /* and the parcel with it */
		return;
	}
	list_remove(&parcel->link);
	if (w->repeats && echoes(&parcel->letter)) {
		w->repeats--;
		make_echo(conn, p, &parcel->letter);
	}
	if (w->observer)
		w->observer->delivered(w->observer, p, conn, &parcel->letter);
	p->ops->receive(p, conn, &parcel->letter);
	letter_free(&parcel->letter);
	free(parcel);
	if (p->doom == DOOM_AFTER && p->ops->kill)
		p->ops->kill(p);
}

static struct conn *conn_make(struct world *w, struct process *client, struct process *server)
{
	struct conn *conn = xcalloc(1, sizeof(*conn));

	conn->world = w;
	conn->number = ++conn->world->last_number;
	conn->of[CONN_CLIENT].process = client;
	conn->of[CONN_SERVER].process = server;
	for (int i = 0; i < 2; i++) {
		conn->of[i].conn = conn;
		list_init(&conn->of[i].inbox);
		list_init(&conn->of[i].link);
		if (conn->of[i].process)
			list_append(&conn->of[i].process->conns, &conn->of[i].link);
	}
	list_append(&conn->world->conns, &conn->link);
	return conn;
}

struct conn *conn_open(struct process *from, const char *address)
{
	struct world *w = from->world;
	struct process *to = process_at(w, address);

	if (!to || to->deaf_until > w->now || to->mute_until > w->now ||
	    from->mute_until > w->now || from->deaf_until > w->now)
		return NULL;
	return conn_make(w, from, to);
}

static enum conn_side side_of(const struct conn *conn, const struct process *p)
{
	return conn->of[CONN_CLIENT].process == p ? CONN_CLIENT : CONN_SERVER;
}

/* Somebody sends into a connection that is no more: now it learns of it. */
static void get_no_answer(struct conn *conn, enum conn_side side)
{
	struct world *w = conn->world;
	struct parcel *end = list_first(&conn->of[side].inbox, struct parcel, link);
	int64_t when =
		w->now + (conn->black_hole ? PATIENCE : world_between(w, DELAY_LOW, DELAY_HIGH));

	if (end && conn->of[side].last > when) {
		conn->of[side].last = when;
		world_at(w, &end->happening, when);
	}
}

void conn_send(struct conn *conn, const struct process *from, struct letter *letter)
{
	enum conn_side to = !side_of(conn, from);
	struct parcel *parcel;

	if (conn->world->observer)
		conn->world->observer->sent(conn->world->observer, from, conn, conn->peer, letter);
	if (conn->broken || !conn->of[to].process) {
		letter_free(letter);
		get_no_answer(conn, !to);
		return;
	}
	parcel = xcalloc(1, sizeof(*parcel));
	list_init(&parcel->link);
	parcel->letter = *letter;
	*letter = (struct letter){0};
	post(conn, to, parcel);
}

static void post_end(struct conn *conn, enum conn_side to)
{
	struct parcel *parcel = xcalloc(1, sizeof(*parcel));

	list_init(&parcel->link);
	parcel->end = true;
	post(conn, to, parcel);
}

void conn_close(struct conn *conn, struct process *by)
{
	enum conn_side side = side_of(conn, by);

	if (conn->of[!side].process && !conn->broken)
		post_end(conn, !side);
	leave(conn, side);
}

void conn_break(struct conn *conn)
{
	if (conn->broken)
		return;
	conn->broken = true;
	for (int i = 0; i < 2; i++) {
		drop_inbox(&conn->of[i]);
		if (conn->of[i].process)
			post_end(conn, (enum conn_side)i);
	}
}

void conn_half_open(struct conn *conn, enum conn_side unaware, int64_t span, bool black_hole)
{
	struct conn_end *end = &conn->of[unaware];

	if (conn->broken)
		return;
	conn_break(conn);
	conn->black_hole = black_hole;
	if (end->process) {
		end->last = conn->world->now + span;
		world_at(conn->world, &list_first(&end->inbox, struct parcel, link)->happening,
			 end->last);
	}
}

/* Of what the dead sent, the first few letters were out already. */
static void lose_tail(struct conn *conn, enum conn_side to)
{
	struct conn_end *end = &conn->of[to];
	struct parcel *parcel, *next;
	bool lost = false;

	list_for_each (parcel, next, &end->inbox, link) {
		lost = lost || world_chance(conn->world, 0.3);
		if (lost)
			parcel_free(parcel);
	}
}

void process_end(struct process *p)
{
	struct world *w = p->world;
	struct conn_end *end;

	if (p->world->observer)
		p->world->observer->ended(p->world->observer, p);
	while ((end = list_first(&p->conns, struct conn_end, link))) {
		struct conn *conn = end->conn;

		if (p->vanishes)
			conn_half_open(conn, !side_of(conn, p),
				       world_between(w, SECOND, VANISHED_HIGH), false);
		else if (!conn->broken)
			lose_tail(conn, !side_of(conn, p));
		conn_close(conn, p);
	}
	list_remove(&p->link);
	free(p->name);
	free(p->address);
}

/* ---- streams ----------------------------------------------------------------- */

/* The conn to the process that carries its stream of this number, or NULL. */
static struct conn *stream_conn(struct process *p, uint64_t number)
{
	struct conn_end *end, *next;

	list_for_each (end, next, &p->conns, link) {
		if (end->conn->tag == number && end == &end->conn->of[CONN_SERVER])
			return end->conn;
	}
	return NULL;
}

void stream_send(struct process *p, uint64_t number, const void *event)
{
	struct conn *conn = stream_conn(p, number);
	struct letter letter = {.kind = LETTER_EVENT};

	if (!conn)
		return;
	proto_pack(event, &letter.bytes);
	conn_send(conn, p, &letter);
}

void stream_end(struct process *p, uint64_t number)
{
	struct conn *conn = stream_conn(p, number);

	if (conn)
		conn_close(conn, p);
}

/* ---- libprocess -------------------------------------------------------------- */

static const char *pid_address(const char *pid)
{
	const char *at = strrchr(pid, '@');

	return at ? at + 1 : pid;
}

/* The one that `from` opened to the pid, or NULL. */
static struct conn *pid_find(struct process *from, const char *pid)
{
	struct conn_end *end, *next;

	list_for_each (end, next, &from->conns, link) {
		struct conn *conn = end->conn;

		if (end == &conn->of[CONN_CLIENT] && conn->peer &&
		    !strcmp(conn->peer, pid_address(pid)))
			return conn;
	}
	return NULL;
}

static struct conn *pid_conn(struct process *from, const char *pid)
{
	struct conn *conn = pid_find(from, pid);

	if (conn)
		return conn;
	conn = conn_open(from, pid_address(pid));
	if (conn)
		conn->peer = xstrdup(pid_address(pid));
	return conn;
}

void pid_send(struct process *from, const char *actor, const char *pid, const void *message)
{
	const ProtobufCMessage *m = message;
	struct conn *conn = pid_conn(from, pid);
	struct letter letter = {.kind = LETTER_MESSAGE};

	letter.name = xstrdup(m->descriptor->name);
	letter.from = xprintf("%s@%s", actor, from->address);
	proto_pack(m, &letter.bytes);
	if (!conn) {
		if (from->world->observer)
			from->world->observer->sent(from->world->observer, from, NULL,
						    pid_address(pid), &letter);
		letter_free(&letter);
		return;
	}
	conn_send(conn, from, &letter);
}

void pid_link(struct process *from, const char *pid)
{
	struct conn *conn = pid_conn(from, pid);

	if (!conn) {
		conn = conn_make(from->world, from, NULL);
		conn->peer = xstrdup(pid_address(pid));
		conn_break(conn);
	}
	free(conn->linked);
	conn->linked = xstrdup(pid);
}

void pid_unlink(struct process *from, const char *pid)
{
	struct conn *conn = pid_find(from, pid);

	if (conn) {
		free(conn->linked);
		conn->linked = NULL;
	}
}
