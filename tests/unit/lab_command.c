/* The command line of mesita-sim, and that what it prints repeats a run. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "lab/command.h"
#include "lab/scenario/scenario.h"

#define ARGS_MAX 16

static struct command c;

static int parse(const char *const *list)
{
	char *argv[ARGS_MAX + 1] = {"mesita-sim"};
	int argc = 1;

	for (; list[argc - 1] && argc < ARGS_MAX; argc++)
		argv[argc] = (char *)list[argc - 1];
	return command_parse(&c, argc, argv);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void expect_printed(const char *text)
{
	struct buf out = BUF_INIT;

	command_print(&c, &c.lab, &out);
	cr_expect_str_eq(out.data, text);
	buf_free(&out);
}

Test(lab_command, nothing_is_the_usual)
{
	cr_assert_eq(parse((const char *const[]){NULL}), 0);
	cr_expect_eq(c.seeds, 1);
	expect_printed("mesita-sim --seed=1 --agents=3 --schedulers=3 --tasks=20 --drivers=25 "
		       "--time=10mins "
		       "--every=10secs --trace");
	command_free(&c);
}

Test(lab_command, numbers_and_durations)
{
	cr_assert_eq(PARSE("--seed=18446744073709551615", "--seeds=7", "--agents=1000",
			   "--schedulers=0", "--tasks=0", "--drivers=100", "--time=90secs",
			   "--steps=12", "--every=0secs", "--faults=3,17,40-42", "--events=none"),
		     0);
	cr_expect_eq(c.seeds, 7);
	cr_expect_eq(c.lab.fault_every, 0);
	expect_printed(
		"mesita-sim --seed=18446744073709551615 --agents=1000 --schedulers=0 "
		"--tasks=0 --drivers=100 --time=90secs --steps=12 --every=0ns --faults=3,17,40-42 "
		"--events=none --trace");
	command_free(&c);
	cr_assert_eq(PARSE("--minutes=3", "--calm=4"), 0);
	cr_expect_eq(c.lab.span, 3 * MINUTE);
	cr_expect_eq(c.lab.fault_every, 4 * SECOND);
	command_free(&c);
}

Test(lab_command, switches)
{
	cr_assert_eq(PARSE("--trace", "--log", "--shrink", "--soak", "--bench", "--coverage",
			   "--all-moves", "--help", "--moves=file"),
		     0);
	cr_expect(c.lab.trace && c.log && c.shrink && c.soak && c.bench && c.coverage);
	cr_expect(c.all_moves && c.help);
	cr_expect_str_eq(c.moves_path, "file");
	command_free(&c);
}

/* What is printed is read again as the same. */
Test(lab_command, what_is_printed_repeats)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	char *argv[ARGS_MAX + 1], *rest, *word;
	int argc = 0;

	cr_assert_eq(PARSE("--seed=9", "--agents=5", "--time=12.5mins", "--every=1.5secs",
			   "--faults=1-4", "--steps=100"),
		     0);
	command_print(&c, &c.lab, &first);
	command_print(&c, &c.lab, &second);
	command_free(&c);
	for (word = strtok_r(first.data, " ", &rest); word && argc < ARGS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	cr_assert_eq(command_parse(&c, argc, argv), 0);
	expect_printed(second.data);
	command_free(&c);
	buf_free(&first);
	buf_free(&second);
}

static const char *const bad[] = {
	"x",
	"--nothing",
	"--seed",
	"--seed=",
	"--seed=x",
	"--seed=-1",
	"--seed= 1",
	"--seed=1x",
	"--agents=0",
	"--agents=1001",
	"--tasks=1000001",
	"--drivers=101",
	"--time=3",
	"--time=-3secs",
	"--time=9999999days",
	"--every=",
	"--faults=",
	"--faults=2-1",
	"--events=x",
	"--steps=1.5",
	"--moves=",
	"--moves",
	"--trace=1",
	"--seed=18446744073709551616",
	"--minutes=1000001",
};

/* All that is said does not fit into a pipe that nobody reads. */
static void be_quiet(void)
{
	cr_assert(freopen("/dev/null", "w", stderr));
}

Test(lab_command, bad_ones_are_refused, .init = be_quiet)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_expect_eq(PARSE("--seed=3", bad[i]), 2, "%s", bad[i]);
		command_free(&c);
	}
}

Test(lab_command, a_bad_one_is_named, .init = cr_redirect_stderr)
{
	struct buf text = BUF_INIT;

	cr_expect_eq(PARSE("--seed=3x"), 2);
	command_free(&c);
	fflush(stderr);
	buf_printf(&text, "mesita-sim: '--seed=3x' is no option, or not in its range\n%s",
		   command_usage);
	cr_expect_stderr_eq_str(text.data);
	buf_free(&text);
}

/* ---- scenarios -------------------------------------------------------------------- */

static char *write_scenario(const char *text)
{
	char *path = xstrdup("/tmp/lab_command.XXXXXX");
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

Test(lab_command, options_override_the_scenario)
{
	char *path = write_scenario("agents 7\nscheduler\ntime 3mins\nfaults none\n"
				    "at 1secs kill master\n");
	char *option = xprintf("--scenario=%s", path);

	cr_assert_eq(PARSE("--agents=2", option), 0);
	cr_expect_eq(c.lab.agents, 2);
	cr_expect_eq(c.lab.schedulers, 1);
	cr_expect_eq(c.lab.span, 3 * MINUTE);
	cr_expect_eq(c.lab.fault_every, 0);
	cr_expect_eq(scenario_event_count(c.lab.scenario), 1);
	command_free(&c);
	unlink(path);
	free(option);
	free(path);
}

Test(lab_command, scenarios_that_are_refused, .init = cr_redirect_stderr)
{
	char *path = write_scenario("agents 7\nagents x\n"),
	     *option = xprintf("--scenario=%s", path);

	cr_expect_eq(PARSE(option), 2);
	command_free(&c);
	cr_expect_eq(PARSE("--scenario=/nowhere"), 2);
	command_free(&c);
	unlink(path);
	free(option);
	free(path);
	path = write_scenario("");
	option = xprintf("--scenario=%s", path);
	cr_expect_eq(PARSE(option, option), 2, "one at a time");
	command_free(&c);
	unlink(path);
	free(option);
	free(path);
}
