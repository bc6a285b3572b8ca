/* The text of a scenario; docs/simulation.md describes it. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/time/duration.h"
#include "lab/lab.h"
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_offers.h"
#include "lab/scenario/scenario_internal.h"

#define WORDS_MAX 32

/* ---- schedulers' characters ------------------------------------------------------ */

enum trait_kind { TRAIT_SWITCH, TRAIT_REAL, TRAIT_COUNT };

#define TRAIT(name, kind)                                                                          \
	{                                                                                          \
#name, kind, offsetof(struct scheduler_traits, name)                               \
	}
static const struct trait {
	const char *name;
	enum trait_kind kind;
	size_t offset;
} traits[] = {
	TRAIT(partition_aware, TRAIT_SWITCH),
	TRAIT(checkpoint, TRAIT_SWITCH),
	TRAIT(own_executor, TRAIT_SWITCH),
	TRAIT(pods, TRAIT_SWITCH),
	TRAIT(keeper, TRAIT_SWITCH),
	TRAIT(slowness, TRAIT_REAL),
	TRAIT(forgetting, TRAIT_REAL),
	TRAIT(greed, TRAIT_REAL),
	TRAIT(lateness, TRAIT_REAL),
	TRAIT(mischief, TRAIT_REAL),
	TRAIT(tasks, TRAIT_COUNT),
	TRAIT(pace, TRAIT_REAL),
	TRAIT(names, TRAIT_SWITCH),
	TRAIT(gentle, TRAIT_SWITCH),
	TRAIT(failover, TRAIT_REAL),
	TRAIT(desertion, TRAIT_REAL),
	TRAIT(driver, TRAIT_SWITCH),
	TRAIT(old, TRAIT_SWITCH),
	TRAIT(implicit, TRAIT_SWITCH),
	TRAIT(plain, TRAIT_SWITCH),
	TRAIT(fixed, TRAIT_SWITCH),
	TRAIT(unrest, TRAIT_REAL),
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

static bool parse_amount(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *text && !*end && *out >= 0 && *out <= 1e6;
}

static bool set_trait(struct scheduler_traits *o, const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < sizeof(traits) / sizeof(*traits); i++) {
		const struct trait *t = &traits[i];
		char *place = (char *)o + t->offset;

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
		return parse_amount(value + 1, (double *)place);
	}
	return false;
}

/* The first takes the place of the usual one. */
static bool add_role(struct scheduler_traits *o, const char *role, int *count)
{
	if (!*role || *count > 2)
		return false;
	if (*count == 0) {
		free((char *)o->role);
		o->role = xstrdup(role);
	} else {
		o->more_roles[*count - 1] = xstrdup(role);
	}
	*count += 1;
	return true;
}

static bool set_end(struct scheduler_traits *o, const char *word)
{
	if (o->end || !scheduler_knows_end(word))
		return false;
	o->end = xstrdup(word);
	return true;
}

static int parse_scheduler(struct scenario *s, char **words, int count, struct err *err)
{
	struct scheduler_traits *o;
	int roles = 0;

	if (s->character_count >= LAB_PARTS_MAX)
		return err_set(err, ERR_INVALID, "too many schedulers");
	s->characters =
		xrealloc(s->characters, (size_t)(s->character_count + 1) * sizeof(*s->characters));
	o = &s->characters[s->character_count];
	*o = (struct scheduler_traits){
		.number = s->character_count, .role = xstrdup("a"), .slowness = 0.1, .tasks = 20};
	s->character_count++;
	for (int i = 1; i < count; i++) {
		bool good = str_has_prefix(words[i], "role=")  ? add_role(o, words[i] + 5, &roles)
			    : str_has_prefix(words[i], "end=") ? set_end(o, words[i] + 4)
							       : set_trait(o, words[i]);

		if (!good)
			return err_set(err, ERR_INVALID, "no trait of schedulers: %s", words[i]);
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

/* `nth` of the kind, from 0. */
static bool parse_argument(struct scenario_event *e, char kind, int nth, const char *word)
{
	struct part_name *part = nth ? &e->other : &e->part;
	struct err err;

	switch (kind) {
	case 'A':
		return parse_part(word, part) && part->kind == PART_AGENT;
	case 'R':
		return snprintf(e->role, sizeof(e->role), "%s", word) < (int)sizeof(e->role);
	case 'F':
		return parse_amount(word, &e->amounts[nth]);
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

/* How often the kind of the argument comes before it. */
static int nth_of_kind(const char *arguments, const char *argument)
{
	int nth = 0;

	for (; arguments < argument; arguments++)
		nth += *arguments == *argument;
	return nth;
}

/* at WHEN VERB arguments [word], where VERB may be operator VERB */
static int parse_event(struct scenario *s, char **words, int count, struct err *err)
{
	struct scenario_event e = {0};
	int at = 3;

	if (count < 3 || duration_parse(words[1], &e.when, err) || e.when > LAB_SPAN_MAX)
		return err_set(err, ERR_INVALID, "at what time does what happen?");
	if (!strcmp(words[2], "operator") && count > 3) {
		words++;
		count--;
		e.verb = operator_verb_find(words[2]);
	} else {
		e.verb = verb_find(words[2]);
	}
	if (!e.verb)
		return err_set(err, ERR_INVALID, "nothing that can happen: %s", words[2]);
	for (const char *a = e.verb->arguments; *a; a++, at++) {
		if (at >= count)
			return err_set(err, ERR_INVALID, "%s: something is missing", words[2]);
		if (!parse_argument(&e, *a, nth_of_kind(e.verb->arguments, a), words[at]))
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
	if (!strcmp(words[0], "masters") &&
	    parse_count(words[1], LAB_MASTERS_MAX, &s->frame.masters))
		return 0;
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

	s->frame = (struct scenario_frame){-1, -1, -1, -1, -1};
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
