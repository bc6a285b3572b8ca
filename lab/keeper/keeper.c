#include "lab/keeper/keeper_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"

#define DELAY_HIGH (4 * MILLISECOND)
#define RECONNECT_LOW (5 * MILLISECOND)
#define REFUSAL_HIGH (300 * MILLISECOND) /* of what is asked without a connection */
#define LATE_HIGH (400 * MILLISECOND)	 /* until what a broken connection held is carried out */
#define LATE 0.3			 /* chance that it is at all */
#define BEHIND 0.4			 /* chance that the server of a connection is */
#define BEHIND_HIGH (400 * MILLISECOND)
#define SHORT_LIVED 0.15 /* chance of a connection, while servers are disturbed, */
#define SHORT_LIFE_HIGH (30 * MILLISECOND) /* to live so long */
#define BREAKS                                                                                     \
	0.1	/* chance of one, while servers are disturbed, to break at a change that matters */
#define MANY 16 /* reads that are asked for at once, and take long, */
#define MANY_HIGH (300 * MILLISECOND)
#define MISSED_MAX 2 /* pings without an answer; there are three in the session's time */

struct watched {
	struct list link;
	struct keeper_session *session;
	char *path;
	bool fired;
	struct happening telling;
};

struct question {
	struct list link;
	struct keeper_session *session;
	struct happening way; /* to the servers, then back */
	struct keeper_op *ops;
	size_t count;
	void (*each)(void *context, size_t index, const struct keeper_answer *answer);
	void (*answered)(void *context, const struct keeper_answer *answer);
	void *context;
	bool late;		       /* its connection broke: nobody waits for an answer */
	struct keeper_answer *answers; /* one, or one for each read */
	size_t answer_count;
};

const char *keeper_owner(const struct keeper_session *s)
{
	return s->process ? s->process->name : "nobody";
}

/* ---- questions --------------------------------------------------------------------------- */

static void answer_free(struct keeper_answer *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		free(answer->names[i]);
	free(answer->names);
	free((char *)answer->name);
	free((char *)answer->data.data);
}

static struct question *question_make(struct keeper_session *s, const struct keeper_op *ops,
				      size_t count)
{
	struct question *q = xcalloc(1, sizeof(*q));

	q->session = s;
	q->count = count;
	q->ops = xmemdup(ops, count * sizeof(*ops));
	for (size_t i = 0; i < count; i++) {
		q->ops[i].path = xstrdup(ops[i].path);
		if (ops[i].data.data)
			q->ops[i].data.data = xmemdup(ops[i].data.data, ops[i].data.len);
	}
	list_append(&s->asked, &q->link);
	return q;
}

/* Its session may be gone. */
static void question_clear(struct question *q)
{
	for (size_t i = 0; i < q->count; i++) {
		free((char *)q->ops[i].path);
		free((char *)q->ops[i].data.data);
	}
	for (size_t i = 0; i < q->answer_count; i++)
		answer_free(&q->answers[i]);
	free(q->answers);
	free(q->ops);
	free(q);
}

static void question_free(struct question *q)
{
	world_cancel(keeper_world(q->session), &q->way);
	list_remove(&q->link);
	question_clear(q);
}

static void answer_with(struct question *q, int code)
{
	void (*answered)(void *, const struct keeper_answer *) = q->answered;
	const struct keeper_answer none = {.code = code};
	void *context = q->context;

	question_free(q);
	answered(context, &none);
}

/* ---- the way to the servers ---------------------------------------------------------------- */

bool keeper_is_up(const struct keeper *keeper)
{
	return keeper->stopped_until <= keeper->world->now;
}

static bool is_way_open(const struct keeper_session *s)
{
	int64_t now = keeper_world(s)->now;

	return keeper_is_up(s->keeper) && s->cut_until <= now && s->process &&
	       s->process->deaf_until <= now && s->process->mute_until <= now &&
	       !process_paused(s->process);
}

static int64_t arrival(struct keeper_session *s)
{
	struct world *w = keeper_world(s);
	int64_t when = w->now + world_between(w, KEEPER_DELAY_LOW, DELAY_HIGH);

	s->last = when > s->last ? when : s->last;
	return s->last;
}

static void session_free(struct keeper_session *s)
{
	struct world *w = keeper_world(s);

	while (!list_empty(&s->asked))
		question_free(list_first(&s->asked, struct question, link));
	while (!list_empty(&s->watched)) {
		struct watched *watched = list_first(&s->watched, struct watched, link);

		world_cancel(w, &watched->telling);
		list_remove(&watched->link);
		free(watched->path);
		free(watched);
	}
	world_cancel(w, &s->turn);
	world_cancel(w, &s->expiry);
	list_remove(&s->link);
	free(s);
}

/* At the servers. */
void keeper_session_end(struct keeper_session *s)
{
	if (!s->alive)
		return;
	s->alive = false;
	world_cancel(keeper_world(s), &s->expiry);
	tree_end_session(&s->keeper->tree, keeper_world(s)->now, s->number);
}

static void on_expiry(struct happening *h)
{
	struct keeper_session *s = container_of(h, struct keeper_session, expiry);
	struct world *w = keeper_world(s);
	int64_t until = s->heard + s->timeout;

	/* Servers that were down give everybody the whole time once more. */
	if (s->keeper->stopped_until + s->timeout > until && s->keeper->stopped_until)
		until = s->keeper->stopped_until + s->timeout;
	if (until > w->now) {
		world_at(w, &s->expiry, until);
		return;
	}
	world_log(w, "the servers take the session of %s for over", keeper_owner(s));
	keeper_session_end(s);
	if (!s->process)
		session_free(s);
}

static void be_heard(struct keeper_session *s)
{
	s->heard = keeper_world(s)->now;
}

void keeper_turn_after(struct keeper_session *s, int64_t span)
{
	world_after(keeper_world(s), &s->turn, span);
}

static void on_question(struct happening *h);

/* What was asked on the connection may still come to be: of that there is one more then, which
 * nobody waits for. */
static void question_linger(const struct question *q)
{
	struct keeper_session *s = q->session;
	struct question *late;

	if (q->answers || q->ops[0].kind > KEEPER_DELETE || !world_chance(keeper_world(s), LATE))
		return;
	late = question_make(s, q->ops, q->count);
	late->late = true;
	late->way.run = on_question;
	world_after(keeper_world(s), &late->way,
		    world_between(keeper_world(s), KEEPER_DELAY_LOW, LATE_HIGH));
}

static void on_lost(struct happening *h)
{
	struct question *q = container_of(h, struct question, way);

	if (!process_holds(q->session->process, h))
		answer_with(q, q->session->over ? ZSESSIONEXPIRED : ZCONNECTIONLOSS);
}

/* No callback but the last may close it. */
void keeper_session_lose(struct keeper_session *s)
{
	struct question *q, *next;

	if (!s->connected)
		return;
	world_log(keeper_world(s), "%s loses its connection to the servers", keeper_owner(s));
	s->connected = false;
	keeper_turn_after(s, world_between(keeper_world(s), RECONNECT_LOW, KEEPER_RECONNECT_HIGH));
	list_for_each (q, next, &s->asked, link) {
		if (q->late || q->way.run == on_lost)
			continue;
		question_linger(q);
		q->way.run = on_lost;
		world_after(keeper_world(s), &q->way, 0);
	}
	s->handlers->lost(s->context);
}

/* ---- connecting, and staying connected --------------------------------------------------------
 */

static void tell_watches(struct keeper_session *s);

static void session_reach(struct keeper_session *s)
{
	struct world *w = keeper_world(s);
	bool fresh = !s->number;

	if (s->number && !s->alive) {
		s->over = true;
		s->handlers->expired(s->context);
		return;
	}
	if (fresh) {
		s->number = ++s->keeper->last;
		s->alive = true;
		world_at(w, &s->expiry, w->now + s->timeout);
	}
	be_heard(s);
	s->connected = true;
	s->broken = false;
	s->missed = 0;
	s->behind = world_chance(w, BEHIND) ? world_between(w, 0, BEHIND_HIGH) : 0;
	if (s->keeper->disturbed && world_chance(w, SHORT_LIVED)) {
		s->broken = true;
		keeper_turn_after(s, world_between(w, 0, SHORT_LIFE_HIGH));
	} else {
		keeper_turn_after(s, s->timeout / 3);
	}
	tell_watches(s);
	s->handlers->connected(s->context, fresh);
}

static void on_turn(struct happening *h)
{
	struct keeper_session *s = container_of(h, struct keeper_session, turn);
	bool open;

	if (s->over || process_holds(s->process, h))
		return;
	open = is_way_open(s);
	if (!s->connected && open) {
		session_reach(s);
	} else if (!s->connected) {
		keeper_turn_after(
			s, world_between(keeper_world(s), RECONNECT_LOW, KEEPER_RECONNECT_HIGH));
	} else if (open && s->alive && !s->broken) {
		be_heard(s);
		s->missed = 0;
		keeper_turn_after(s, s->timeout / 3);
	} else if (open || ++s->missed >= MISSED_MAX) {
		keeper_session_lose(s);
	} else {
		keeper_turn_after(s, s->timeout / 3);
	}
}

struct keeper_session *keeper_open(struct keeper *keeper, struct process *process, int timeout_ms,
				   const struct keeper_handlers *handlers, void *context)
{
	struct keeper_session *s = xcalloc(1, sizeof(*s));

	s->keeper = keeper;
	s->process = process;
	s->handlers = handlers;
	s->context = context;
	s->timeout = timeout_ms * MILLISECOND;
	s->turn.run = on_turn;
	s->expiry.run = on_expiry;
	list_init(&s->asked);
	list_init(&s->watched);
	list_append(&keeper->sessions, &s->link);
	keeper_turn_after(s, world_between(keeper->world, KEEPER_DELAY_LOW, DELAY_HIGH));
	return s;
}

void keeper_close(struct keeper_session *s, bool in_order)
{
	bool reached = in_order && s->connected && is_way_open(s);
	struct question *q, *next;

	s->process = NULL;
	s->connected = false;
	world_cancel(keeper_world(s), &s->turn);
	if (reached)
		keeper_session_end(s);
	if (!s->alive) {
		session_free(s);
		return;
	}
	list_for_each (q, next, &s->asked, link) {
		if (q->late)
			continue;
		if (q->way.run == on_question)
			question_linger(q);
		question_free(q);
	}
}

int keeper_timeout_ms(const struct keeper_session *s)
{
	return (int)(s->timeout / MILLISECOND);
}

/* ---- watches -------------------------------------------------------------------------------- */

static void on_telling(struct happening *h)
{
	struct watched *watched = container_of(h, struct watched, telling);
	struct keeper_session *s = watched->session;

	if (!s->process || !s->connected || process_holds(s->process, h))
		return;
	if (!is_way_open(s)) {
		/* It is told when the connection is there again. */
		s->broken = true;
		return;
	}
	list_remove(&watched->link);
	free(watched->path);
	free(watched);
	s->handlers->changed(s->context);
}

static void watch_fire(struct watched *watched)
{
	struct keeper_session *s = watched->session;

	watched->fired = true;
	if (s->process && s->connected)
		world_at(keeper_world(s), &watched->telling, arrival(s));
}

static void tell_watches(struct keeper_session *s)
{
	struct watched *watched, *next;

	list_for_each (watched, next, &s->watched, link) {
		if (watched->fired)
			watch_fire(watched);
	}
}

static void tree_changed(struct keeper_tree *tree, const char *parent)
{
	struct keeper *keeper = container_of(tree, struct keeper, tree);
	struct keeper_session *s, *next;
	struct watched *watched, *after;

	list_for_each (s, next, &keeper->sessions, link) {
		list_for_each (watched, after, &s->watched, link) {
			if (!watched->fired && !strcmp(watched->path, parent))
				watch_fire(watched);
		}
	}
}

static void watch_set(struct keeper_session *s, const char *path)
{
	struct watched *watched, *next;

	list_for_each (watched, next, &s->watched, link) {
		if (!watched->fired && !strcmp(watched->path, path))
			return;
	}
	watched = xcalloc(1, sizeof(*watched));
	watched->session = s;
	watched->path = xstrdup(path);
	watched->telling.run = on_telling;
	list_append(&s->watched, &watched->link);
	/* The server catches up. */
	if (tree_children_differ(&s->keeper->tree, s->seen, path))
		watch_fire(watched);
}

/* ---- carrying out ------------------------------------------------------------------------------
 */

static void do_read(struct keeper_session *s, const struct keeper_op *op,
		    struct keeper_answer *answer)
{
	const struct keeper_tree *tree = &s->keeper->tree;
	uint64_t shown = tree_zxid_at(tree, keeper_world(s)->now - s->behind);

	s->seen = shown > s->seen ? shown : s->seen;
	if (op->kind == KEEPER_SYNC) {
		s->seen = tree->zxid;
		answer->code = ZOK;
	} else if (op->kind == KEEPER_GET) {
		answer->code = tree_get(tree, s->seen, op->path, &answer->data, &answer->version);
	} else {
		answer->code =
			tree_children(tree, s->seen, op->path, &answer->names, &answer->count);
		if (answer->code == ZOK && op->watch)
			watch_set(s, op->path);
	}
}

static void question_do(struct question *q)
{
	struct keeper_session *s = q->session;
	bool changes = q->ops[0].kind <= KEEPER_DELETE;
	char *name;

	q->answer_count = changes ? 1 : q->count;
	q->answers = xcalloc(q->answer_count, sizeof(*q->answers));
	if (!changes) {
		for (size_t i = 0; i < q->count; i++)
			do_read(s, &q->ops[i], &q->answers[i]);
		return;
	}
	q->answers->code = tree_change(&s->keeper->tree, keeper_world(s)->now, s->number, q->ops,
				       q->count, &name, &q->answers->version);
	q->answers->name = name;
	if (q->answers->code == ZOK)
		s->seen = s->keeper->tree.zxid;
}

static void on_answer(struct happening *h)
{
	struct question *q = container_of(h, struct question, way);
	struct keeper_answer last = {0};

	if (process_holds(q->session->process, h))
		return;
	if (!is_way_open(q->session)) {
		q->session->broken = true;
		return;
	}
	for (size_t i = 0; i < q->answer_count; i++) {
		if (q->each)
			q->each(q->context, i, &q->answers[i]);
		if (last.code == ZOK)
			last = q->answers[i];
	}
	list_remove(&q->link);
	q->answered(q->context, &last);
	question_clear(q);
}

/* Not if it only makes what stays, of which there may be hundreds in a row. */
static bool matters(const struct keeper_op *op)
{
	return op->kind == KEEPER_SET || (op->kind == KEEPER_CREATE && op->flags);
}

static void on_question(struct happening *h)
{
	struct question *q = container_of(h, struct question, way);
	struct keeper_session *s = q->session;
	bool breaks;

	if (q->late) {
		/* Only of a session that is there. */
		if (s->alive && keeper_is_up(s->keeper))
			question_do(q);
		question_free(q);
		return;
	}
	if (!is_way_open(s)) {
		s->broken = true;
		return;
	}
	if (!s->alive) {
		keeper_session_lose(s);
		return;
	}
	be_heard(s);
	breaks = matters(&q->ops[0]) && s->keeper->disturbed &&
		 world_chance(keeper_world(s), BREAKS);
	if (!breaks || world_chance(keeper_world(s), 0.5)) {
		question_do(q);
		q->way.run = on_answer;
		world_at(keeper_world(s), &q->way, arrival(s));
	}
	if (breaks)
		keeper_session_lose(s);
}

void keeper_ask(struct keeper_session *s, const struct keeper_op *ops, size_t count,
		void (*each)(void *context, size_t index, const struct keeper_answer *answer),
		void (*answered)(void *context, const struct keeper_answer *answer), void *context)
{
	struct question *q = question_make(s, ops, count);

	q->each = each;
	q->answered = answered;
	q->context = context;
	q->way.run = s->connected ? on_question : on_lost;
	if (s->connected && count > MANY)
		s->last = keeper_world(s)->now + world_between(keeper_world(s), 0, MANY_HIGH);
	if (s->connected)
		world_at(keeper_world(s), &q->way, arrival(s));
	else
		world_after(keeper_world(s), &q->way,
			    world_between(keeper_world(s), 0, REFUSAL_HIGH));
}

char *keeper_peek(const struct keeper *keeper, const char *path)
{
	struct slice data;
	int version;

	if (tree_get(&keeper->tree, keeper->tree.zxid, path, &data, &version) != ZOK)
		return NULL;
	return (char *)data.data;
}

/* ---- life
 * -------------------------------------------------------------------------------------------- */

struct keeper *keeper_create(struct world *w)
{
	struct keeper *keeper = xcalloc(1, sizeof(*keeper));

	keeper->world = w;
	tree_init(&keeper->tree);
	keeper->tree.changed = tree_changed;
	list_init(&keeper->sessions);
	return keeper;
}

void keeper_destroy(struct keeper *keeper)
{
	if (!keeper)
		return;
	while (!list_empty(&keeper->sessions))
		session_free(list_first(&keeper->sessions, struct keeper_session, link));
	tree_free(&keeper->tree);
	free(keeper);
}
