#include "lab/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time/duration.h"
#include "lab/scenario/scenario.h"

const char command_usage[] =
	"usage: mesita-sim [options]\n"
	"\n"
	"Runs masters, agents and schedulers in one process, in virtual time, under faults that\n"
	"a seed decides, and checks that nothing is lost. Exit status 1: an invariant does not\n"
	"hold; what was printed repeats it. docs/simulation.md says more.\n"
	"\n"
	"  --seed=N           the first seed (1)\n"
	"  --seeds=N          how many (1)\n"
	"  --masters=N        (1); of several one leads, by ZooKeeper\n"
	"  --agents=N         (3)\n"
	"  --schedulers=N     (3)\n"
	"  --tasks=N          of each scheduler (20)\n"
	"  --drivers=N        of a hundred schedulers, drivers of v0 (25)\n"
	"  --time=DURATION    of faults (10mins); --minutes=N likewise\n"
	"  --steps=N          of faults, if they are over before that time\n"
	"  --every=DURATION   mean time between faults; 0secs = no faults (10secs);\n"
	"                     --calm=N likewise, in seconds\n"
	"  --scenario=FILE    parts, their characters, and what befalls them when\n"
	"  --faults=LIST      only these random faults, as in 3,17,40-42, or none\n"
	"  --events=LIST      only these events of the scenario\n"
	"  --trace            print every decision\n"
	"  --log              and what master and agents log\n"
	"  --shrink           reduce a seed that fails to fewer faults and parts\n"
	"  --soak             seed after seed until SIGINT or SIGTERM; reports each minute\n"
	"  --coverage         which transitions of the life cycles were taken\n"
	"  --moves=FILE       and those that the file counts, if it is there; it counts these, "
	"too\n"
	"  --all-moves        exit status 1 if one that is not rare is missing, or one is not in\n"
	"                     the table\n"
	"  --bench            how fast a cluster of ten agents is simulated\n";

/* What follows `--name=` in the argument, or NULL. */
static const char *value_of(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) || arg[len] != '=' ? NULL : arg + len + 1;
}

static bool number(const char *arg, const char *name, uint64_t *out)
{
	const char *value = value_of(arg, name);
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	errno = 0;
	*out = strtoull(value, &end, 10);
	return !*end && !errno;
}

static bool duration(const char *arg, const char *name, int64_t *out)
{
	const char *value = value_of(arg, name);
	struct err err;
	int64_t span;

	if (!value || duration_parse(value, &span, &err) || span < 0 || span > LAB_SPAN_MAX)
		return false;
	*out = span;
	return true;
}

static bool list(const char *arg, const char *name, struct numbers *out,
		 const struct numbers **used)
{
	const char *value = value_of(arg, name);

	numbers_free(out);
	if (!value || !numbers_parse(value, out))
		return false;
	*used = out;
	return true;
}

static bool command_parse_number(struct command *c, const char *arg)
{
	struct lab_options *lab = &c->lab;
	uint64_t n;

	if (number(arg, "--seed", &n))
		lab->seed = n;
	else if (number(arg, "--seeds", &n))
		c->seeds = n;
	else if (number(arg, "--masters", &n) && n >= 1 && n <= LAB_MASTERS_MAX)
		lab->masters = (int)n;
	else if (number(arg, "--agents", &n) && n >= 1 && n <= LAB_PARTS_MAX)
		lab->agents = (int)n;
	else if (number(arg, "--schedulers", &n) && n <= LAB_PARTS_MAX)
		lab->schedulers = (int)n;
	else if (number(arg, "--tasks", &n) && n <= LAB_TASKS_MAX)
		lab->tasks = (int)n;
	else if (number(arg, "--drivers", &n) && n <= 100)
		lab->drivers = (int)n;
	else if (number(arg, "--minutes", &n) && n <= LAB_MINUTES_MAX)
		lab->span = (int64_t)n * MINUTE;
	else if (number(arg, "--calm", &n) && n <= LAB_MINUTES_MAX)
		lab->fault_every = (int64_t)n * SECOND;
	else if (number(arg, "--steps", &n))
		lab->steps = n;
	else
		return false;
	return true;
}

static bool parse_switch(struct command *c, const char *arg)
{
	const struct {
		const char *name;
		bool *set;
	} switches[] = {
		{"--trace", &c->lab.trace}, {"--log", &c->log},
		{"--shrink", &c->shrink},   {"--soak", &c->soak},
		{"--bench", &c->bench},	    {"--coverage", &c->coverage},
		{"--help", &c->help},	    {"--all-moves", &c->all_moves},
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		if (!strcmp(arg, switches[i].name)) {
			*switches[i].set = true;
			return true;
		}
	}
	return false;
}

static bool parse_path(struct command *c, const char *arg)
{
	const char *path = value_of(arg, "--moves");

	if (path && *path)
		c->moves_path = path;
	return path && *path;
}

static bool command_parse_one(struct command *c, const char *arg)
{
	struct lab_options *lab = &c->lab;

	return parse_path(c, arg) || command_parse_number(c, arg) || parse_switch(c, arg) ||
	       duration(arg, "--time", &lab->span) || duration(arg, "--every", &lab->fault_every) ||
	       value_of(arg, "--scenario") ||
	       (value_of(arg, "--faults") &&
		list(arg, "--faults", &c->only_faults, &lab->only_faults)) ||
	       (value_of(arg, "--events") &&
		list(arg, "--events", &c->only_events, &lab->only_events));
}

/* Before the other options, which may say otherwise. */
static int take_scenario(struct command *c, const char *path)
{
	struct scenario_frame frame;
	struct err err;

	if (c->scenario) {
		fprintf(stderr, "mesita-sim: one scenario at a time\n");
		return 2;
	}
	if (scenario_load(path, &c->scenario, &err)) {
		fprintf(stderr, "mesita-sim: %s\n", err.text);
		return 2;
	}
	c->scenario_path = path;
	c->lab.scenario = c->scenario;
	frame = scenario_frame(c->scenario);
	if (frame.masters > 0)
		c->lab.masters = frame.masters;
	if (frame.agents > 0)
		c->lab.agents = frame.agents;
	if (frame.schedulers >= 0)
		c->lab.schedulers = frame.schedulers;
	if (frame.span >= 0)
		c->lab.span = frame.span;
	if (frame.fault_every >= 0)
		c->lab.fault_every = frame.fault_every;
	return 0;
}

int command_parse(struct command *c, int argc, char **argv)
{
	*c = (struct command){.seeds = 1,
			      .lab = {.seed = 1,
				      .agents = 3,
				      .schedulers = 3,
				      .tasks = 20,
				      .drivers = LAB_DRIVERS,
				      .span = 10 * MINUTE,
				      .fault_every = 10 * SECOND}};
	for (int i = 1; i < argc; i++) {
		const char *path = value_of(argv[i], "--scenario");
		int rv = path ? take_scenario(c, path) : 0;

		if (rv)
			return rv;
	}
	for (int i = 1; i < argc; i++) {
		if (!command_parse_one(c, argv[i])) {
			fprintf(stderr, "mesita-sim: '%s' is no option, or not in its range\n%s",
				argv[i], command_usage);
			return 2;
		}
	}
	return 0;
}

void command_print(const struct command *c, const struct lab_options *lab, struct buf *out)
{
	char text[DURATION_TEXT];

	buf_printf(out, "mesita-sim --seed=%" PRIu64, lab->seed);
	if (c->scenario_path)
		buf_printf(out, " --scenario=%s", c->scenario_path);
	if (lab->masters > 1)
		buf_printf(out, " --masters=%d", lab->masters);
	buf_printf(out, " --agents=%d --schedulers=%d --tasks=%d --drivers=%d", lab->agents,
		   lab->schedulers, lab->tasks, lab->drivers);
	buf_printf(out, " --time=%s", duration_format(lab->span, text));
	if (lab->steps)
		buf_printf(out, " --steps=%" PRIu64, lab->steps);
	buf_printf(out, " --every=%s", duration_format(lab->fault_every, text));
	if (lab->only_faults) {
		buf_puts(out, " --faults=");
		numbers_print(lab->only_faults, out);
	}
	if (lab->only_events) {
		buf_puts(out, " --events=");
		numbers_print(lab->only_events, out);
	}
	buf_puts(out, " --trace");
}

void command_free(struct command *c)
{
	scenario_free(c->scenario);
	numbers_free(&c->only_faults);
	numbers_free(&c->only_events);
}
