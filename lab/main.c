/* mesita-sim: simulated clusters under faults, one seed after the other. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"
#include "lab/command.h"
#include "lab/coverage/coverage.h"
#include "lab/scenario/shrink.h"
#include "lab/soak.h"

/* What master and agents log of the disasters is of no interest otherwise. */
#define NO_LOG ((enum log_level)(LOG_LEVEL_ERROR + 1))

/* ---- crashes -------------------------------------------------------------------- */

/* The run under way, for when the program dies of it. */
static struct command command;
static const struct world *world;

static void tell_of_crash(void)
{
	struct buf text = BUF_INIT;

	if (!world)
		return;
	buf_puts(&text, "\nthe last decisions:\n");
	lab_print_trace(world, &text);
	buf_printf(&text, "seed %" PRIu64 ": a crash\nrepeat it with: ", command.lab.seed);
	command_print(&command, &command.lab, &text);
	buf_putc(&text, '\n');
	fflush(stdout);
	if (write(STDERR_FILENO, text.data, text.len) < 0)
		_exit(1);
	world = NULL;
}

/* Nothing can be worse now than not to know the seed. */
static void on_crash(int number)
{
	signal(number, SIG_DFL);
	tell_of_crash();
	raise(number);
}

/* Sanitizers end the process in their own way. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch_for_crashes(void)
{
	signal(SIGABRT, on_crash);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell_of_crash);
	else
		signal(SIGSEGV, on_crash);
}

/* ---- runs ------------------------------------------------------------------------- */

static void print_report(const struct command *c, const struct lab_report *report)
{
	if (report->failed) {
		struct buf text = BUF_INIT;

		command_print(c, &c->lab, &text);
		printf("%srepeat it with: %s\n", report->text, text.data);
		buf_free(&text);
	}
	if (c->seeds == 1)
		printf("seed %" PRIu64 ": trace %016" PRIx64 " of %" PRIu64 " decisions, %" PRIu64
		       " steps, %.0f virtual seconds, %" PRIu64 " tasks launched, %" PRIu64
		       " finished, %" PRIu64 " lost\n",
		       c->lab.seed, report->trace_hash, report->decisions, report->steps,
		       (double)report->virtual_time / SECOND, report->launched, report->finished,
		       report->lost);
}

/* One hash of all traces: equal if all seeds gave the same decisions. */
static uint64_t main_mix(uint64_t a, uint64_t b)
{
	return (a ^ b) * UINT64_C(0x9e3779b97f4a7c15) + (a >> 29);
}

static int run_seeds(struct command *c)
{
	uint64_t kept = 0, forgotten = 0, cached = 0;
	uint64_t failed = 0, faults = 0, hash = 0;
	double hours = 0;

	for (uint64_t i = 0; i < c->seeds; i++, c->lab.seed++) {
		struct lab_report report;

		lab_run(&c->lab, &report);
		print_report(c, &report);
		failed += report.failed;
		hash = main_mix(hash, report.trace_hash);
		hours += (double)report.virtual_time / HOUR;
		for (int k = 0; k < WORLD_FAULTS; k++)
			faults += report.faults[k];
		kept += report.kept;
		forgotten += report.forgotten;
		cached += report.cached;
		lab_report_free(&report);
	}
	if (c->seeds)
		printf("%" PRIu64 " seeds, %.0f cluster-hours, %" PRIu64
		       " faults, traces %016" PRIx64 ", %" PRIu64 " failed\n",
		       c->seeds, hours, faults, hash, failed);
	if (c->lab.masters > 1)
		printf("%" PRIu64 " leaders went on with a copy, %" PRIu64 " without; %" PRIu64
		       " did not have to read the registry\n",
		       kept, forgotten, cached);
	return failed ? 1 : 0;
}

/* ---- transitions -------------------------------------------------------------------- */

static bool counts_moves(const struct command *c)
{
	return c->coverage || c->soak || c->all_moves || c->moves_path;
}

static int load_moves(const struct command *c)
{
	struct err err;

	if (!coverage_load(c->lab.coverage, c->moves_path, &err))
		return 0;
	fprintf(stderr, "mesita-sim: %s\n", err.text);
	return 2;
}

static int show_moves(const struct command *c)
{
	struct err err;

	if (c->moves_path && coverage_save(c->lab.coverage, c->moves_path, &err)) {
		fprintf(stderr, "mesita-sim: %s\n", err.text);
		return 1;
	}
	if (c->coverage)
		coverage_print(c->lab.coverage, stdout);
	return c->all_moves && coverage_print_faults(c->lab.coverage, stdout) ? 1 : 0;
}

static int run_counting(struct command *c)
{
	int rv = 0, shown;

	c->lab.coverage = coverage_create();
	if (c->moves_path && access(c->moves_path, F_OK) == 0)
		rv = load_moves(c);
	if (!rv) {
		rv = c->soak ? soak_run(c) : run_seeds(c);
		shown = show_moves(c);
		rv = rv ? rv : shown;
	}
	coverage_destroy(c->lab.coverage);
	return rv;
}

static int run_command(struct command *c)
{

	if (c->help) {
		fputs(command_usage, stdout);
		return 0;
	}
	if (c->shrink)
		return shrink_run(c);
	if (c->bench)
		return soak_bench(c);
	return counts_moves(c) ? run_counting(c) : run_seeds(c);
}

int main(int argc, char **argv)
{
	int rv = command_parse(&command, argc, argv);

	if (!rv) {
		log_setup(command.log ? LOG_LEVEL_INFO : NO_LOG, 2);
		watch_for_crashes();
		command.lab.world = &world;
		rv = run_command(&command);
	}
	command_free(&command);
	return rv;
}
