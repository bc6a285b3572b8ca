/* mesita-sim: simulated clusters under faults, one seed after the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lab/lab.h"

static const char usage[] =
	"usage: mesita-sim [options]\n"
	"\n"
	"Runs masters, agents and schedulers in one process, in virtual time, under faults that\n"
	"a seed decides, and checks that nothing is lost. Exit status 1: an invariant does not\n"
	"hold; what was printed repeats it.\n"
	"\n"
	"  --seed=N        the first seed (1)\n"
	"  --seeds=N       how many (1)\n"
	"  --agents=N      (3)\n"
	"  --schedulers=N  (3)\n"
	"  --tasks=N       of each scheduler (20)\n"
	"  --minutes=N     of faults (10)\n"
	"  --calm=N        mean seconds between faults; 0 = no faults (10)\n"
	"  --trace         print every decision\n"
	"  --log           and what master and agents log\n";

struct command {
	struct lab_options lab;
	uint64_t seeds;
	bool log;
};

/* The number of an argument `--name=N`. */
static bool number(const char *arg, const char *name, uint64_t *out)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(arg, name, len) || arg[len] != '=' || arg[len + 1] < '0' || arg[len + 1] > '9')
		return false;
	errno = 0;
	*out = strtoull(arg + len + 1, &end, 10);
	return !*end && !errno;
}

static bool parse(struct command *c, const char *arg)
{
	uint64_t n;

	if (number(arg, "--seed", &n))
		c->lab.seed = n;
	else if (number(arg, "--seeds", &n))
		c->seeds = n;
	else if (number(arg, "--agents", &n) && n <= LAB_PARTS_MAX)
		c->lab.agents = (int)n;
	else if (number(arg, "--schedulers", &n) && n <= LAB_PARTS_MAX)
		c->lab.schedulers = (int)n;
	else if (number(arg, "--tasks", &n) && n <= LAB_TASKS_MAX)
		c->lab.tasks = (int)n;
	else if (number(arg, "--minutes", &n) && n <= LAB_MINUTES_MAX)
		c->lab.span = (int64_t)n * MINUTE;
	else if (number(arg, "--calm", &n) && n <= LAB_MINUTES_MAX)
		c->lab.fault_every = (int64_t)n * SECOND;
	else if (!strcmp(arg, "--trace"))
		c->lab.trace = true;
	else if (!strcmp(arg, "--log"))
		c->log = true;
	else
		return false;
	return true;
}

static void print_report(const struct command *c, const struct lab_report *report)
{
	if (report->failed)
		printf("%srepeat it with: mesita-sim --seed=%" PRIu64
		       " --agents=%d --schedulers=%d --tasks=%d --minutes=%" PRId64
		       " --calm=%" PRId64 " --trace\n",
		       report->text, c->lab.seed, c->lab.agents, c->lab.schedulers, c->lab.tasks,
		       c->lab.span / MINUTE, c->lab.fault_every / SECOND);
	if (c->seeds == 1)
		printf("seed %" PRIu64 ": trace %016" PRIx64 " of %" PRIu64
		       " decisions, %.0f virtual seconds, %" PRIu64 " tasks launched, %" PRIu64
		       " finished, %" PRIu64 " lost\n",
		       c->lab.seed, report->trace_hash, report->decisions,
		       (double)report->virtual_time / SECOND, report->launched, report->finished,
		       report->lost);
}

int main(int argc, char **argv)
{
	struct command c = {.seeds = 1,
			    .lab = {.seed = 1,
				    .agents = 3,
				    .schedulers = 3,
				    .tasks = 20,
				    .span = 10 * MINUTE,
				    .fault_every = 10 * SECOND}};
	uint64_t failed = 0, faults = 0;
	double hours = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!parse(&c, argv[i])) {
			fprintf(stderr, "mesita-sim: '%s' is no option, or not in its range\n%s",
				argv[i], usage);
			return 2;
		}
	}
	log_setup(c.log ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, 2);
	for (uint64_t i = 0; i < c.seeds; i++, c.lab.seed++) {
		struct lab_report report;

		lab_run(&c.lab, &report);
		print_report(&c, &report);
		failed += report.failed;
		hours += (double)report.virtual_time / HOUR;
		for (int k = 0; k < WORLD_FAULTS; k++)
			faults += report.faults[k];
		lab_report_free(&report);
	}
	printf("%" PRIu64 " seeds, %.0f cluster-hours, %" PRIu64 " faults, %" PRIu64 " failed\n",
	       c.seeds, hours, faults, failed);
	return failed ? 1 : 0;
}
