#include "allocator_script.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define TABLE(name, ...)                                                                           \
	static const char *const name##_texts[] = {__VA_ARGS__};                                   \
	const struct script_table script_##name = {name##_texts,                                   \
						   sizeof(name##_texts) / sizeof(*name##_texts)}

TABLE(agents, "s1", "s2", "s3", "s4");
TABLE(frameworks, "f1", "f2", "f3", "f4");
TABLE(roles, "*", "a", "a/b", "a/c", "a/b/d", "b", "b/x", "ab");
TABLE(totals, "cpus:4;mem:1024", "cpus:2;mem:2048;disk:100;ports:[31000-31010]",
      "cpus:1;mem:512;cpus(a):1;mem(a):256", "cpus(a/b):3;mem(a/b):512;cpus:0.005",
      "cpus:2;mem:512;cpus(a>a/b):1;disk(b):50", "cpus:4;mem:1024;cpus:2{rev}",
      "cpus:2;mem:512;disk(a):10{shared=v}", "cpus:2;mem:512;gpus:1", "disk:100;ports:[1-9]",
      "cpus:0.01;mem:16", "cpus:3;mem:100;disk:70;disk:30{mount=/m}", "cpus:1;mem:64",
      "cpus:8;mem:4096;cpus(b):2;mem(b/x):128");
TABLE(regions, "-", "here", "there");
TABLE(hosts, "h1", "h2", "h3");
TABLE(names, "cpus", "mem", "disk");
TABLE(minima, "default", "anything", "cpus:0.003", "cpus:2|mem:256", "cpus:1;mem:512");
TABLE(refusals, "no", "0", "0.5", "1", "2", "2.5", "7", "-1", "1e12", "nan");
TABLE(uses, "cpus:1;mem:100", "cpus:0.5", "mem:32", "cpus(a):1;mem:10", "disk(a):10{shared=v}",
      "cpus:1{rev}");
TABLE(guarantees, "-", "cpus:1", "cpus:3;mem:256", "mem:1024", "cpus:0.5;mem:200;disk:80",
      "cpus:10;mem:8192", "gpus:1", "disk:40");
TABLE(limits, "-", "cpus:0", "cpus:1", "cpus:3;mem:256", "mem:1024;disk:50", "cpus:10;mem:8192",
      "cpus:0.5;mem:200;disk:150", "gpus:0");
TABLE(weights, "1", "2", "0.5", "3", "10");
TABLE(volumes, "v1", "v2", "v3");
TABLE(switches, "off", "on");
TABLE(excluded, "-", "disk", "gpus,cpus");
TABLE(agent_caps, "multi_role", "hierarchical_role");
TABLE(caps, "gpus", "revocable", "shared", "refinement", "multi_role", "regions");

struct field {
	const char *label;		  /* "" = none */
	const struct script_table *table; /* NULL: a number */
	bool many;			  /* a set of places */
};

#define AGENT                                                                                      \
	{                                                                                          \
		"", &script_agents, false                                                          \
	}
#define FRAMEWORK                                                                                  \
	{                                                                                          \
		"", &script_frameworks, false                                                      \
	}
#define ROLE                                                                                       \
	{                                                                                          \
		"", &script_roles, false                                                           \
	}
#define SWITCH                                                                                     \
	{                                                                                          \
		"", &script_switches, false                                                        \
	}
#define HOLDER FRAMEWORK, ROLE, AGENT
#define MS                                                                                         \
	{                                                                                          \
		"", NULL, false                                                                    \
	}

static const struct {
	const char *name;
	struct field fields[EVENT_VALUES];
} kinds[EVENT_KINDS] = {
	[EVENT_OPTIONS] = {"options",
			   {{"anything=", &script_switches, false},
			    {"gpus=", &script_switches, false},
			    {"excluded=", &script_excluded, false},
			    {"region=", &script_regions, false},
			    {"remembers=", &script_switches, false}}},
	[EVENT_AGENT] = {"agent", {AGENT, {"", &script_totals, false}}},
	[EVENT_REMOVE_AGENT] = {"remove-agent", {AGENT}},
	[EVENT_ACTIVATE_AGENT] = {"activate-agent", {AGENT, SWITCH}},
	[EVENT_CAPABILITIES] = {"capabilities", {AGENT, {"", &script_agent_caps, true}}},
	[EVENT_REGION] = {"region", {AGENT, {"", &script_regions, false}}},
	[EVENT_HOST] = {"host", {AGENT, {"", &script_hosts, false}}},
	[EVENT_ATTRIBUTES] = {"attributes", {AGENT}},
	[EVENT_FRAMEWORK] = {"framework",
			     {FRAMEWORK,
			      {"roles=", &script_roles, true},
			      {"suppressed=", &script_roles, true},
			      {"can=", &script_caps, true},
			      {"minimum=", &script_minima, false},
			      {"shuns=", &script_agents, true},
			      SWITCH}},
	[EVENT_REMOVE_FRAMEWORK] = {"remove-framework", {FRAMEWORK}},
	[EVENT_ACTIVATE_FRAMEWORK] = {"activate-framework", {FRAMEWORK, SWITCH}},
	[EVENT_SUPPRESS] = {"suppress", {FRAMEWORK, {"", &script_roles, true}}},
	[EVENT_REVIVE] = {"revive", {FRAMEWORK, {"", &script_roles, true}}},
	[EVENT_RECOVER] = {"recover",
			   {HOLDER,
			    {"pieces=", NULL, false},
			    {"percent=", NULL, false},
			    {"refuse=", &script_refusals, false}}},
	[EVENT_RESERVE] = {"reserve", {HOLDER, {"", &script_names, false}}},
	[EVENT_UNRESERVE] = {"unreserve", {HOLDER, {"", &script_names, false}}},
	[EVENT_CREATE] = {"create",
			  {HOLDER,
			   {"", &script_volumes, false},
			   {"shared=", &script_switches, false}}},
	[EVENT_DESTROY] = {"destroy", {HOLDER}},
	[EVENT_COPY] = {"copy", {HOLDER}},
	[EVENT_RESTORE] = {"restore", {HOLDER, {"", &script_uses, false}}},
	[EVENT_QUOTA] = {"quota",
			 {ROLE,
			  {"guarantees=", &script_guarantees, false},
			  {"limits=", &script_limits, false}}},
	[EVENT_WEIGHT] = {"weight", {ROLE, {"", &script_weights, false}}},
	[EVENT_WHITELIST] = {"whitelist", {SWITCH, {"", &script_hosts, true}}},
	[EVENT_HOLD] = {"hold", {{"agents=", NULL, false}, MS}},
	[EVENT_WINDOW] = {"window", {AGENT, SWITCH}},
	[EVENT_ANSWER] = {"answer", {FRAMEWORK, AGENT, {"refuse=", &script_refusals, false}}},
	[EVENT_CRASH] = {"crash", {{NULL, NULL, false}}},
	[EVENT_CYCLE] = {"cycle", {MS}},
	[EVENT_TICK] = {"tick", {MS}},
};

static bool is_field(const struct field *field)
{
	return field->label != NULL;
}

void script_add(struct script *script, const struct event *event)
{
	if (script->count == SCRIPT_EVENTS)
		abort();
	script->events[script->count++] = *event;
}

/* -- text -- */

static void print_value(const struct field *field, unsigned value, struct buf *out)
{
	const char *comma = "";

	buf_printf(out, " %s", field->label);
	if (!field->table) {
		buf_printf(out, "%u", value);
		return;
	}
	if (!field->many) {
		buf_puts(out, field->table->texts[value]);
		return;
	}
	if (value == 0)
		buf_putc(out, '-');
	for (unsigned i = 0; i < field->table->count; i++) {
		if (!(value >> i & 1))
			continue;
		buf_printf(out, "%s%s", comma, field->table->texts[i]);
		comma = ",";
	}
}

void script_print(const struct script *script, struct buf *out)
{
	for (size_t i = 0; i < script->count; i++) {
		const struct event *event = &script->events[i];

		buf_puts(out, kinds[event->kind].name);
		for (int f = 0; f < EVENT_VALUES && is_field(&kinds[event->kind].fields[f]); f++)
			print_value(&kinds[event->kind].fields[f], event->value[f], out);
		buf_putc(out, '\n');
	}
}

static int find_text(const struct script_table *table, const char *text)
{
	for (unsigned i = 0; i < table->count; i++) {
		if (strcmp(table->texts[i], text) == 0)
			return (int)i;
	}
	return -1;
}

static bool parse_value(const struct field *field, char *text, unsigned *out)
{
	size_t len = strlen(field->label);

	if (strncmp(text, field->label, len) != 0)
		return false;
	text += len;
	if (!field->table) {
		char *end;

		*out = (unsigned)strtoul(text, &end, 10);
		return *text && !*end;
	}
	if (!field->many) {
		int place = find_text(field->table, text);

		*out = (unsigned)place;
		return place >= 0;
	}
	*out = 0;
	if (strcmp(text, "-") == 0)
		return true;
	for (char *item; (item = strsep(&text, ","));) {
		int place = find_text(field->table, item);

		if (place < 0)
			return false;
		*out |= 1u << place;
	}
	return true;
}

static int parse_line(char *line, struct script *out, struct err *err)
{
	struct event event = {.kind = EVENT_KINDS};
	char *rest = line, *word = strsep(&rest, " ");

	for (int k = 0; k < EVENT_KINDS; k++) {
		if (strcmp(kinds[k].name, word) == 0)
			event.kind = (enum event_kind)k;
	}
	if (event.kind == EVENT_KINDS)
		return err_set(err, ERR_INVALID, "there is no event '%s'", word);
	for (int f = 0; f < EVENT_VALUES && is_field(&kinds[event.kind].fields[f]); f++) {
		char *text = strsep(&rest, " ");

		if (!text || !parse_value(&kinds[event.kind].fields[f], text, &event.value[f]))
			return err_set(err, ERR_INVALID, "value %d of '%s' is none", f + 1, line);
	}
	script_add(out, &event);
	return 0;
}

int script_parse(const char *text, struct script *out, struct err *err)
{
	char *copy = xstrdup(text), *rest = copy;
	int status = 0;

	out->count = 0;
	for (char *line; status == 0 && (line = strsep(&rest, "\n"));) {
		line += strspn(line, " \t");
		if (*line && *line != '#')
			status = parse_line(line, out, err);
	}
	free(copy);
	return status;
}

/* -- shrinking -- */

static void leave_out(const struct script *from, size_t begin, size_t count, struct script *to)
{
	memcpy(to->events, from->events, begin * sizeof(*to->events));
	memcpy(to->events + begin, from->events + begin + count,
	       (from->count - begin - count) * sizeof(*to->events));
	to->count = from->count - count;
}

struct shrink {
	struct script *script; /* the shortest that fails */
	struct script tried;
	bool (*fails)(const struct script *script, void *context);
	void *context;
};

static bool shrink_try(struct shrink *shrink)
{
	if (!shrink->fails(&shrink->tried, shrink->context))
		return false;
	memcpy(shrink->script, &shrink->tried, sizeof(shrink->tried));
	return true;
}

/* Parts of all sizes, from halves down to single events. */
static bool shrink_events(struct shrink *shrink)
{
	bool went = false;

	for (size_t size = (shrink->script->count + 1) / 2; size > 0; size /= 2) {
		for (size_t end = shrink->script->count; end > 0;) {
			size_t begin = end > size ? end - size : 0;

			leave_out(shrink->script, begin, end - begin, &shrink->tried);
			went |= shrink_try(shrink);
			end = begin;
		}
	}
	return went;
}

/* Values become their first or zero, sets lose what they need not. */
static bool shrink_value(struct shrink *shrink, size_t i, const struct field *field, size_t f)
{
	unsigned was = shrink->script->events[i].value[f];
	bool went;

	if (was == 0)
		return false;
	memcpy(&shrink->tried, shrink->script, sizeof(shrink->tried));
	shrink->tried.events[i].value[f] = 0;
	went = shrink_try(shrink);
	for (unsigned bit = 0; !went && field->many && bit < field->table->count; bit++) {
		memcpy(&shrink->tried, shrink->script, sizeof(shrink->tried));
		shrink->tried.events[i].value[f] &= ~(1u << bit);
		if (shrink->tried.events[i].value[f] != was)
			went = shrink_try(shrink);
	}
	return went;
}

static bool shrink_values(struct shrink *shrink)
{
	bool went = false;

	for (size_t i = 0; i < shrink->script->count; i++) {
		const struct field *fields = kinds[shrink->script->events[i].kind].fields;

		for (size_t f = 0; f < EVENT_VALUES && is_field(&fields[f]); f++) {
			while (shrink_value(shrink, i, &fields[f], f))
				went = true;
		}
	}
	return went;
}

/* Ends when no event can go any more and no value. */
void script_shrink(struct script *script, bool (*fails)(const struct script *script, void *context),
		   void *context)
{
	struct shrink *shrink = xcalloc(1, sizeof(*shrink));
	bool went = true;

	*shrink = (struct shrink){.script = script, .fails = fails, .context = context};
	while (went) {
		went = shrink_events(shrink);
		went |= shrink_values(shrink);
	}
	free(shrink);
}
