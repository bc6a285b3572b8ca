#include "lab/scenario.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/duration.h"
#include "lab/lab.h"

#define WORDS_MAX 32

struct scenario {
	struct scenario_frame frame;
	char **resources;
	int resource_count;
	struct scheduler_options *characters; /* role: heap */
	int character_count;
	struct scenario_event *events;
	size_t event_count;
};

/* ---- what can happen ----------------------------------------------------------- */

enum part_kind { PART_MASTER, PART_AGENT, PART_SCHEDULER };

struct part_name {
	enum part_kind kind;
	int number;
};

struct scenario_event {
	const struct verb *verb;
	int64_t when;
	struct part_name part, other;
	int64_t span;
	int count;
	char word[16];
};

struct scenario_due {
	struct happening happening;
	const struct scenario_event *event;
	struct faults *faults;
	size_t number;
};

static struct process *process_of(const struct cluster *c, struct part_name name)
{
	switch (name.kind) {
	case PART_MASTER:
		return master_part_process(c->master);
	case PART_AGENT:
		return name.number < c->agent_count ? agent_part_process(c->agents[name.number])
						    : NULL;
	default:
		return name.number < c->scheduler_count
			       ? scheduler_part_process(c->schedulers[name.number])
			       : NULL;
	}
}

static struct disk *disk_of(const struct cluster *c, struct part_name name)
{
	if (name.kind == PART_MASTER)
		return master_part_disk(c->master);
	return name.number < c->agent_count ? agent_part_disk(c->agents[name.number]) : NULL;
}

static void end_life(const struct cluster *c, struct part_name name, bool crash)
{
	if (name.kind == PART_MASTER)
		master_part_kill(c->master, crash);
	else if (name.kind == PART_AGENT && name.number < c->agent_count)
		agent_part_kill(c->agents[name.number], crash);
	else if (name.kind == PART_SCHEDULER && name.number < c->scheduler_count)
		scheduler_part_kill(c->schedulers[name.number]);
}

static void do_kill(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_KILL]++;
	end_life(c, e->part, false);
}

static void do_crash(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_CRASH]++;
	end_life(c, e->part, true);
}

static void do_partition(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!p)
		return;
	c->world->faults[FAULT_PARTITION]++;
	if (strcmp(e->word, "mute"))
		p->deaf_until = c->world->now + e->span;
	if (strcmp(e->word, "deaf"))
		p->mute_until = c->world->now + e->span;
}

/* All connections between the two. */
static void do_cut(const struct cluster *c, const struct scenario_event *e)
{
	struct process *a = process_of(c, e->part), *b = process_of(c, e->other);
	struct conn *conn, *next;

	if (!a || !b)
		return;
	c->world->faults[FAULT_CUT]++;
	list_for_each (conn, next, &c->world->conns, link) {
		if ((conn->of[0].process == a && conn->of[1].process == b) ||
		    (conn->of[0].process == b && conn->of[1].process == a))
			conn_break(conn);
	}
}

/* The first part does not learn of it in this span. */
static void do_half_open(const struct cluster *c, const struct scenario_event *e)
{
	struct process *a = process_of(c, e->part), *b = process_of(c, e->other);
	struct conn *conn, *next;

	if (!a || !b)
		return;
	c->world->faults[FAULT_HALF_OPEN]++;
	list_for_each (conn, next, &c->world->conns, link) {
		if (conn->of[0].process == a && conn->of[1].process == b)
			conn_half_open(conn, CONN_CLIENT, e->span, false);
		else if (conn->of[0].process == b && conn->of[1].process == a)
			conn_half_open(conn, CONN_SERVER, e->span, false);
	}
}

static void do_doom(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!p)
		return;
	c->world->faults[FAULT_DOOM]++;
	p->doom = strcmp(e->word, "after") ? DOOM_BEFORE : DOOM_AFTER;
}

static void fail_disk(const struct cluster *c, const struct scenario_event *e, bool full)
{
	struct disk *disk = disk_of(c, e->part);

	if (!disk)
		return;
	c->world->faults[full ? FAULT_FULL_DISK : FAULT_SYNC]++;
	disk->failing_until = c->world->now + e->span;
	disk->full = full;
}

static void do_sync_fails(const struct cluster *c, const struct scenario_event *e)
{
	fail_disk(c, e, false);
}

static void do_full_disk(const struct cluster *c, const struct scenario_event *e)
{
	fail_disk(c, e, true);
}

static void do_torn_write(const struct cluster *c, const struct scenario_event *e)
{
	struct disk *disk = disk_of(c, e->part);

	if (!disk)
		return;
	c->world->faults[FAULT_TORN_WRITE]++;
	disk->doom = e->count;
}

static void do_slow_disks(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_SLOW_DISK]++;
	c->world->slow_disks_until = c->world->now + e->span;
}

static void do_repeat(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_REPEAT]++;
	c->world->repeats += e->count;
}

static void do_clock(const struct cluster *c, const struct scenario_event *e)
{
	int64_t skew = strcmp(e->word, "back") ? e->span : -e->span;

	if (e->part.kind == PART_AGENT && e->part.number >= c->agent_count)
		return;
	c->world->faults[FAULT_CLOCK]++;
	if (e->part.kind == PART_MASTER)
		master_part_set_clock(c->master, skew);
	else
		agent_part_set_clock(c->agents[e->part.number], skew);
}

static void do_finish(const struct cluster *c, const struct scenario_event *e)
{
	if (e->part.number < c->scheduler_count)
		scheduler_part_finish(c->schedulers[e->part.number]);
}

static void do_teardown(const struct cluster *c, const struct scenario_event *e)
{
	do_finish(c, e);
	if (e->part.number < c->scheduler_count)
		scheduler_part_teardown(c->schedulers[e->part.number]);
}

/* Arguments: P any part, H a host's (master or agent), S a scheduler, D a duration, N a number,
 * and then perhaps one of `words`. */
static const struct verb {
	const char *name, *arguments, *words;
	void (*run)(const struct cluster *c, const struct scenario_event *e);
} verbs[] = {
	{"kill", "P", "", do_kill},
	{"crash", "H", "", do_crash},
	{"partition", "PD", "deaf mute", do_partition},
	{"cut", "PP", "", do_cut},
	{"half-open", "PPD", "", do_half_open},
	{"doom", "P", "before after", do_doom},
	{"sync-fails", "HD", "", do_sync_fails},
	{"full-disk", "HD", "", do_full_disk},
	{"torn-write", "HN", "", do_torn_write},
	{"slow-disks", "D", "", do_slow_disks},
	{"repeat", "N", "", do_repeat},
	{"clock", "HD", "ahead back", do_clock},
	{"finish", "S", "", do_finish},
	{"teardown", "S", "", do_teardown},
};

/* ---- schedulers' characters ------------------------------------------------------ */

enum trait_kind { TRAIT_SWITCH, TRAIT_REAL, TRAIT_COUNT };

#define TRAIT(name, kind)                                                                          \
	{                                                                                          \
#name, kind, offsetof(struct scheduler_options, name)                              \
	}
static const struct trait {
	const char *name;
	enum trait_kind kind;
	size_t offset;
} traits[] = {
	TRAIT(partition_aware, TRAIT_SWITCH),
	TRAIT(checkpoint, TRAIT_SWITCH),
	TRAIT(own_executor, TRAIT_SWITCH),
	TRAIT(keeper, TRAIT_SWITCH),
	TRAIT(slowness, TRAIT_REAL),
	TRAIT(forgetting, TRAIT_REAL),
	TRAIT(greed, TRAIT_REAL),
	TRAIT(lateness, TRAIT_REAL),
	TRAIT(mischief, TRAIT_REAL),
	TRAIT(tasks, TRAIT_COUNT),
};

static bool parse_count(const char *text, int64_t most, int *out)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	*out = (int)value;
	return *text && !*end && !errno && value >= 0 && value <= most;
}

static bool set_trait(struct scheduler_options *o, const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < sizeof(traits) / sizeof(*traits); i++) {
		const struct trait *t = &traits[i];
		char *place = (char *)o + t->offset, *end;

		if (strlen(t->name) != len || strncmp(t->name, word, len))
			continue;
		if (t->kind == TRAIT_SWITCH) {
			*(bool *)place = true;
			return !value;
		}
		if (!value)
			return false;
		if (t->kind == TRAIT_COUNT)
			return parse_count(value + 1, LAB_TASKS_MAX, (int *)place);
		*(double *)place = strtod(value + 1, &end);
		return value[1] && !*end && *(double *)place >= 0 && *(double *)place <= 1e6;
	}
	return false;
}

static int parse_scheduler(struct scenario *s, char **words, int count, struct err *err)
{
	struct scheduler_options *o;

	if (s->character_count >= LAB_PARTS_MAX)
		return err_set(err, ERR_INVALID, "too many schedulers");
	s->characters =
		xrealloc(s->characters, (size_t)(s->character_count + 1) * sizeof(*s->characters));
	o = &s->characters[s->character_count];
	*o = (struct scheduler_options){
		.number = s->character_count, .role = xstrdup("a"), .slowness = 0.1, .tasks = 20};
	s->character_count++;
	for (int i = 1; i < count; i++) {
		if (!strncmp(words[i], "role=", 5) && words[i][5]) {
			free((char *)o->role);
			o->role = xstrdup(words[i] + 5);
		} else if (!set_trait(o, words[i])) {
			return err_set(err, ERR_INVALID, "no trait of schedulers: %s", words[i]);
		}
	}
	return 0;
}

/* ---- lines ------------------------------------------------------------------------- */

static bool parse_part(const char *word, struct part_name *out)
{
	*out = (struct part_name){.kind = PART_MASTER};
	if (!strcmp(word, "master"))
		return true;
	if (!strncmp(word, "agent", 5)) {
		out->kind = PART_AGENT;
		return parse_count(word + 5, LAB_PARTS_MAX - 1, &out->number);
	}
	out->kind = PART_SCHEDULER;
	return !strncmp(word, "scheduler", 9) &&
	       parse_count(word + 9, LAB_PARTS_MAX - 1, &out->number);
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);
	const char *at = strstr(words, word);

	return len && at && (at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]);
}

static bool parse_argument(struct scenario_event *e, char kind, bool second, const char *word)
{
	struct part_name *part = second ? &e->other : &e->part;
	struct err err;

	switch (kind) {
	case 'P':
		return parse_part(word, part);
	case 'H':
		return parse_part(word, part) && part->kind != PART_SCHEDULER;
	case 'S':
		return parse_part(word, part) && part->kind == PART_SCHEDULER;
	case 'D':
		return !duration_parse(word, &e->span, &err) && e->span <= LAB_SPAN_MAX;
	default:
		return parse_count(word, 1000000, &e->count) && e->count;
	}
}

/* at WHEN VERB arguments [word] */
static int parse_event(struct scenario *s, char **words, int count, struct err *err)
{
	struct scenario_event e = {0};
	int at = 3;

	if (count < 3 || duration_parse(words[1], &e.when, err) || e.when > LAB_SPAN_MAX)
		return err_set(err, ERR_INVALID, "at what time does what happen?");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(verbs[i].name, words[2]))
			e.verb = &verbs[i];
	}
	if (!e.verb)
		return err_set(err, ERR_INVALID, "nothing that can happen: %s", words[2]);
	for (const char *a = e.verb->arguments; *a; a++, at++) {
		if (at >= count)
			return err_set(err, ERR_INVALID, "%s: something is missing", words[2]);
		if (!parse_argument(&e, *a, at == 4, words[at]))
			return err_set(err, ERR_INVALID, "%s: not possible with %s", words[2],
				       words[at]);
	}
	if (at < count && has_word(e.verb->words, words[at]))
		snprintf(e.word, sizeof(e.word), "%s", words[at++]);
	if (at < count)
		return err_set(err, ERR_INVALID, "%s: what is %s?", words[2], words[at]);
	s->events = xrealloc(s->events, (s->event_count + 1) * sizeof(*s->events));
	s->events[s->event_count++] = e;
	return 0;
}

static int parse_agent(struct scenario *s, char **words, int count, struct err *err)
{
	if (count != 2)
		return err_set(err, ERR_INVALID, "an agent has resources, in one word");
	if (s->resource_count >= LAB_PARTS_MAX)
		return err_set(err, ERR_INVALID, "too many agents");
	s->resources =
		xrealloc(s->resources, (size_t)(s->resource_count + 1) * sizeof(*s->resources));
	s->resources[s->resource_count++] = xstrdup(words[1]);
	return 0;
}

static int parse_faults(struct scenario *s, char **words, int count, struct err *err)
{
	if (count == 2 && !strcmp(words[1], "none"))
		s->frame.fault_every = 0;
	else if (count != 3 || strcmp(words[1], "every") ||
		 duration_parse(words[2], &s->frame.fault_every, err) ||
		 s->frame.fault_every < MILLISECOND || s->frame.fault_every > LAB_SPAN_MAX)
		return err_set(err, ERR_INVALID, "faults: none, or every DURATION");
	return 0;
}

static int parse_line(struct scenario *s, char **words, int count, struct err *err)
{
	if (!strcmp(words[0], "agent"))
		return parse_agent(s, words, count, err);
	if (!strcmp(words[0], "scheduler"))
		return parse_scheduler(s, words, count, err);
	if (!strcmp(words[0], "faults"))
		return parse_faults(s, words, count, err);
	if (!strcmp(words[0], "at"))
		return parse_event(s, words, count, err);
	if (count != 2)
		return err_set(err, ERR_INVALID, "not understood: %s", words[0]);
	if (!strcmp(words[0], "agents") && parse_count(words[1], LAB_PARTS_MAX, &s->frame.agents))
		return 0;
	if (!strcmp(words[0], "schedulers") &&
	    parse_count(words[1], LAB_PARTS_MAX, &s->frame.schedulers))
		return 0;
	if (!strcmp(words[0], "time") && !duration_parse(words[1], &s->frame.span, err) &&
	    s->frame.span <= LAB_SPAN_MAX)
		return 0;
	return err_set(err, ERR_INVALID, "not understood: %s %s", words[0], words[1]);
}

static int split_line(char *line, char **words)
{
	char *rest, *word;
	int count = 0;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
		if (count == WORDS_MAX)
			return -1;
		words[count++] = word;
	}
	return count;
}

int scenario_parse(const char *text, struct scenario **out, struct err *err)
{
	struct scenario *s = xcalloc(1, sizeof(*s));
	char *copy = xstrdup(text), *rest = copy, *line, *words[WORDS_MAX];
	int number = 0, rv = 0;

	s->frame = (struct scenario_frame){-1, -1, -1, -1};
	while (!rv && (line = strsep(&rest, "\n"))) {
		int count = split_line(line, words);

		number++;
		if (count < 0)
			rv = err_set(err, ERR_INVALID, "too many words");
		else if (count)
			rv = parse_line(s, words, count, err);
	}
	free(copy);
	if (rv) {
		scenario_free(s);
		return err_wrap(err, rv, "line %d", number);
	}
	if (s->resource_count && s->frame.agents < s->resource_count)
		s->frame.agents = s->resource_count;
	if (s->character_count && s->frame.schedulers < s->character_count)
		s->frame.schedulers = s->character_count;
	*out = s;
	return 0;
}

int scenario_load(const char *path, struct scenario **out, struct err *err)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t len;
	int rv;

	if (!file)
		return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	text = xmalloc(SCENARIO_BYTES_MAX + 1);
	len = fread(text, 1, SCENARIO_BYTES_MAX, file);
	text[len] = '\0';
	if (ferror(file))
		rv = err_set(err, ERR_IO, "cannot be read");
	else if (!feof(file) || strlen(text) != len)
		rv = err_set(err, ERR_INVALID, "no text, or too long");
	else
		rv = scenario_parse(text, out, err);
	fclose(file);
	free(text);
	return rv ? err_wrap(err, rv, "%s", path) : 0;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->resource_count; i++)
		free(s->resources[i]);
	for (int i = 0; i < s->character_count; i++)
		free((char *)s->characters[i].role);
	free(s->resources);
	free(s->characters);
	free(s->events);
	free(s);
}

struct scenario_frame scenario_frame(const struct scenario *s)
{
	return s->frame;
}

const char *scenario_resources(const struct scenario *s, int agent)
{
	return agent < s->resource_count ? s->resources[agent] : NULL;
}

bool scenario_character(const struct scenario *s, int number, struct scheduler_options *out)
{
	if (number >= s->character_count)
		return false;
	*out = s->characters[number];
	return true;
}

size_t scenario_event_count(const struct scenario *s)
{
	return s->event_count;
}

/* ---- a run --------------------------------------------------------------------------- */

static void on_due(struct happening *h)
{
	struct scenario_due *due = container_of(h, struct scenario_due, happening);

	world_log(due->faults->cluster->world, "event %zu of the scenario: %s", due->number,
		  due->event->verb->name);
	due->event->verb->run(due->faults->cluster, due->event);
}

void scenario_begin(struct scenario_play *play, const struct scenario *s, struct faults *faults,
		    const struct numbers *only)
{
	struct world *w = faults->cluster->world;

	*play = (struct scenario_play){.scenario = s, .faults = faults};
	play->due = xcalloc(s->event_count + 1, sizeof(*play->due));
	for (size_t i = 0; i < s->event_count; i++) {
		struct scenario_due *due = &play->due[i];

		due->happening.run = on_due;
		due->event = &s->events[i];
		due->faults = faults;
		due->number = i + 1;
		if (!only || numbers_have(only, i + 1))
			world_at(w, &due->happening, w->begin + due->event->when);
	}
}

void scenario_end(struct scenario_play *play)
{
	if (!play->scenario)
		return;
	for (size_t i = 0; i < play->scenario->event_count; i++)
		world_cancel(play->faults->cluster->world, &play->due[i].happening);
	free(play->due);
	*play = (struct scenario_play){0};
}
