/* Connections: letters arrive in the order they were sent, after a delay, or not at all
 * once the connection broke. A partition holds letters back; one that lasts too long for
 * the transport breaks the connection, and each end learns of it in its own time. */
#include "lab/world/conn.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define DELAY_LOW (50 * MICROSECOND)
#define DELAY_HIGH (5 * MILLISECOND)
/* How long the transport goes on sending to somebody who does not answer. */
#define PATIENCE (30 * SECOND)
/* How long nobody hears of the crash of a machine who does not send there. */
#define VANISHED_HIGH (2 * MINUTE)

/* A letter, or the end of the connection, on its way. */
struct parcel {
	struct happening happening;
	struct list link;
	struct conn *conn;
	enum conn_side to;
	bool end;
	struct letter letter;
};

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
	free(conn->sender);
	free(conn);
}

void conn_leave(struct conn *conn, enum conn_side side)
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

static void arrive(struct happening *h);

static void conn_post(struct conn *conn, enum conn_side to, struct parcel *parcel)
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
		conn_leave(conn, side);
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
	if (w->repeats)
		conn_echo(conn, p, &parcel->letter);
	if (w->observer)
		w->observer->delivered(w->observer, p, conn, &parcel->letter);
	p->ops->receive(p, conn, &parcel->letter);
	letter_free(&parcel->letter);
	free(parcel);
	if (p->doom == DOOM_AFTER && p->ops->kill)
		p->ops->kill(p);
}

struct conn *conn_make(struct world *w, struct process *client, struct process *server)
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

size_t conn_waiting(const struct conn *conn, const struct process *from)
{
	const struct conn_end *end = &conn->of[!side_of(conn, from)];
	struct parcel *parcel, *next;
	size_t bytes = 0;

	list_for_each (parcel, next, &end->inbox, link)
		bytes += parcel->letter.bytes.len;
	return bytes;
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
	letter_seal(conn->world, letter);
	parcel->letter = *letter;
	*letter = (struct letter){0};
	conn_post(conn, to, parcel);
}

static void post_end(struct conn *conn, enum conn_side to)
{
	struct parcel *parcel = xcalloc(1, sizeof(*parcel));

	list_init(&parcel->link);
	parcel->end = true;
	conn_post(conn, to, parcel);
}

void conn_close(struct conn *conn, struct process *by)
{
	enum conn_side side = side_of(conn, by);

	if (conn->of[!side].process && !conn->broken)
		post_end(conn, !side);
	conn_leave(conn, side);
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

	process_continue(p); /* what is on its machine goes on without it */
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
