#include "lab/coverage/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"

static const char *const life_names[LIVES] = {
	[LIFE_TASK] = "task in the master",
	[LIFE_OPERATION] = "operation in the master",
	[LIFE_AGENT] = "agent in the master",
	[LIFE_FRAMEWORK] = "framework in the master",
	[LIFE_OFFER] = "offer",
	[LIFE_OWN_AGENT] = "agent in itself",
	[LIFE_EXECUTOR] = "executor in the agent",
	[LIFE_OWN_TASK] = "task in the agent",
	[LIFE_OWN_OPERATION] = "operation in the agent",
};

/* ---- the table -------------------------------------------------------------------- */

/* What may follow one state; "-" is not to be there, and a '?' behind it that it is rare.
 * `never`: what cannot happen in the simulator, for this reason. */
struct moves {
	enum life life;
	const char *from, *to;
	const char *never, *reason;
};

static const struct moves moves[] = {
#include "lab/coverage/coverage_moves.h"
};

/* ---- counting ---------------------------------------------------------------------- */

struct seen {
	UT_hash_handle hh;
	char *key; /* owner, life, id */
	enum life life;
	const char *state; /* a constant's text */
	uint64_t value;	   /* of a counter */
	uint64_t look;
};

struct taken {
	UT_hash_handle hh;
	char *key; /* life, from, to */
	enum life life;
	char *from, *to;
	uint64_t count;
};

struct owner {
	UT_hash_handle hh;
	char *name;
	struct seen *seen;
	bool first;
};

struct coverage {
	struct owner *owners, *owner;
	struct taken *taken;
	uint64_t look;
};

struct coverage *coverage_create(void)
{
	return xcalloc(1, sizeof(struct coverage));
}

static void seen_free(struct owner *o, struct seen *s)
{
	HASH_DEL(o->seen, s);
	free(s->key);
	free(s);
}

static void owner_free(struct coverage *c, struct owner *o)
{
	while (o->seen)
		seen_free(o, o->seen);
	HASH_DEL(c->owners, o);
	free(o->name);
	free(o);
}

void coverage_restart(struct coverage *c)
{
	while (c->owners)
		owner_free(c, c->owners);
}

void coverage_destroy(struct coverage *c)
{
	if (!c)
		return;
	coverage_restart(c);
	while (c->taken) {
		struct taken *t = c->taken;

		HASH_DEL(c->taken, t);
		free(t->key);
		free(t->from);
		free(t->to);
		free(t);
	}
	free(c);
}

static struct owner *owner_of(struct coverage *c, const char *name)
{
	struct owner *o;

	HASH_FIND_STR(c->owners, name, o);
	if (!o) {
		o = xcalloc(1, sizeof(*o));
		o->name = xstrdup(name);
		o->first = true;
		HASH_ADD_KEYPTR(hh, c->owners, o->name, strlen(o->name), o);
	}
	return o;
}

void coverage_begin(struct coverage *c, const char *owner)
{
	struct owner *o = owner_of(c, owner);

	while (o->seen)
		seen_free(o, o->seen);
	o->first = true;
}

void coverage_look(struct coverage *c, const char *owner)
{
	c->owner = owner_of(c, owner);
	c->look++;
}

bool coverage_first(const struct coverage *c)
{
	return c->owner->first;
}

static void add_taken(struct coverage *c, enum life life, const char *from, const char *to,
		      uint64_t count)
{
	struct taken *t;
	char key[128];

	snprintf(key, sizeof(key), "%d %s %s", life, from, to);
	HASH_FIND_STR(c->taken, key, t);
	if (!t) {
		t = xcalloc(1, sizeof(*t));
		t->key = xstrdup(key);
		t->life = life;
		t->from = xstrdup(from);
		t->to = xstrdup(to);
		HASH_ADD_KEYPTR(hh, c->taken, t->key, strlen(t->key), t);
	}
	t->count += count;
}

void coverage_count(struct coverage *c, enum life life, const char *from, const char *to,
		    uint64_t count)
{
	if (count && !coverage_first(c))
		add_taken(c, life, from, to, count);
}

static struct seen *seen_of(struct coverage *c, enum life life, const char *id)
{
	struct seen *s;
	char key[400];

	snprintf(key, sizeof(key), "%d %s", life, id);
	HASH_FIND_STR(c->owner->seen, key, s);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->key = xstrdup(key);
		s->life = life;
		s->state = "-";
		HASH_ADD_KEYPTR(hh, c->owner->seen, s->key, strlen(s->key), s);
	}
	s->look = c->look;
	return s;
}

void coverage_see(struct coverage *c, enum life life, const char *id, const char *state)
{
	struct seen *s = seen_of(c, life, id);

	if (strcmp(s->state, state))
		coverage_count(c, life, s->state, state, 1);
	s->state = state;
}

uint64_t coverage_grown(struct coverage *c, const char *id, uint64_t value)
{
	struct seen *s = seen_of(c, LIVES, id);
	uint64_t grown = value > s->value ? value - s->value : 0;

	s->value = value;
	return grown;
}

void coverage_looked(struct coverage *c)
{
	struct seen *s, *next;

	HASH_ITER (hh, c->owner->seen, s, next) {
		if (s->look == c->look)
			continue;
		if (s->life != LIVES)
			coverage_count(c, s->life, s->state, "-", 1);
		seen_free(c->owner, s);
	}
	c->owner->first = false;
}

/* ---- printing ------------------------------------------------------------------------ */

static bool coverage_names(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; at && (at = strstr(at, word)); at += len) {
		if ((at == words || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '?' || !at[len]))
			return true;
	}
	return false;
}

static const struct moves *moves_of(enum life life, const char *from)
{
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].life == life && !strcmp(moves[i].from, from))
			return &moves[i];
	}
	return NULL;
}

static uint64_t count_of(const struct coverage *c, enum life life, const char *from, const char *to)
{
	struct taken *t;
	char key[128];

	snprintf(key, sizeof(key), "%d %s %s", life, from, to);
	HASH_FIND_STR(c->taken, key, t);
	return t ? t->count : 0;
}

static bool core_allows(enum life life, const char *from, const char *to)
{
	return coverage_master_allows(life, from, to) && coverage_agent_allows(life, from, to);
}

static bool is_known(const struct taken *t)
{
	const struct moves *m = moves_of(t->life, t->from);

	return m && coverage_names(m->to, t->to) && core_allows(t->life, t->from, t->to);
}

uint64_t coverage_strange(const struct coverage *c)
{
	struct taken *t, *next;
	uint64_t count = 0;

	HASH_ITER (hh, c->taken, t, next)
		count += !is_known(t);
	return count;
}

/* One move of the table. */
struct move {
	char to[64];
	bool rare;
	uint64_t count; /* how often it was taken */
};

/* Reads the next one; false after the last. */
static bool next_move(const struct coverage *c, const struct moves *m, const char **at,
		      struct move *out)
{
	size_t len = strcspn(*at, " ");

	if (!len)
		return false;
	out->rare = (*at)[len - 1] == '?';
	snprintf(out->to, sizeof(out->to), "%.*s", (int)(len - out->rare), *at);
	out->count = count_of(c, m->life, m->from, out->to);
	*at += len + ((*at)[len] == ' ');
	return true;
}

static void each_move(const struct coverage *c, const struct moves *m, FILE *out, int *taken,
		      int *all)
{
	const char *at = m->to;
	struct move move;

	while (next_move(c, m, &at, &move)) {
		*taken += move.count > 0;
		*all += 1;
		if (out && move.count)
			fprintf(out, "  %-28s -> %-28s %" PRIu64 "\n", m->from, move.to,
				move.count);
		else if (out)
			fprintf(out, "  %-28s -> %-28s never taken\n", m->from, move.to);
	}
}

uint64_t coverage_print_faults(const struct coverage *c, FILE *out)
{
	struct taken *t, *next;
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		const struct moves *m = &moves[i];
		const char *at = m->to;
		struct move move;

		while (next_move(c, m, &at, &move)) {
			if (!core_allows(m->life, m->from, move.to)) {
				fprintf(out, "%s: %s -> %s is not in the core's table\n",
					life_names[m->life], m->from, move.to);
				count++;
			}
			if (move.rare || move.count)
				continue;
			fprintf(out, "%s: %s -> %s was never taken\n", life_names[m->life], m->from,
				move.to);
			count++;
		}
	}
	HASH_ITER (hh, c->taken, t, next) {
		if (is_known(t))
			continue;
		fprintf(out, "%s: %s -> %s is not in the table\n", life_names[t->life], t->from,
			t->to);
		count++;
	}
	return count;
}

void coverage_print_sum(const struct coverage *c, FILE *out)
{
	int taken = 0, all = 0;

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		each_move(c, &moves[i], NULL, &taken, &all);
	fprintf(out, "transitions: %d of %d taken, %" PRIu64 " that are not in the table\n", taken,
		all, coverage_strange(c));
}

static void print_life(const struct coverage *c, enum life life, FILE *out)
{
	struct taken *t, *next;
	int taken = 0, all = 0;

	fprintf(out, "%s:\n", life_names[life]);
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].life == life)
			each_move(c, &moves[i], out, &taken, &all);
	}
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].life == life && moves[i].never)
			fprintf(out, "  %-28s -> %s: %s\n", moves[i].from, moves[i].never,
				moves[i].reason);
	}
	HASH_ITER (hh, c->taken, t, next) {
		if (t->life == life && !is_known(t))
			fprintf(out, "  %-28s -> %-28s %" PRIu64 ", NOT IN THE TABLE\n", t->from,
				t->to, t->count);
	}
}

void coverage_print(const struct coverage *c, FILE *out)
{
	for (int life = 0; life < LIVES; life++)
		print_life(c, (enum life)life, out);
	coverage_print_sum(c, out);
}

/* ---- files ---------------------------------------------------------------------------- */

int coverage_save(const struct coverage *c, const char *path, struct err *err)
{
	FILE *file = fopen(path, "w");
	struct taken *t, *next;

	if (!file)
		return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	HASH_ITER (hh, c->taken, t, next)
		fprintf(file, "%d %s %s %" PRIu64 "\n", t->life, t->from, t->to, t->count);
	if (fclose(file))
		return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	return 0;
}

int coverage_load(struct coverage *c, const char *path, struct err *err)
{
	FILE *file = fopen(path, "r");
	char from[64], to[64];
	uint64_t count;
	int life, read;

	if (!file)
		return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	while ((read = fscanf(file, "%d %63s %63s %" SCNu64, &life, from, to, &count)) == 4 &&
	       life >= 0 && life < LIVES)
		add_taken(c, (enum life)life, from, to, count);
	fclose(file);
	return read == EOF ? 0 : err_set(err, ERR_INVALID, "%s holds no transitions", path);
}
