/* Texts of scenarios: what they say is taken, what is wrong is told with its line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "lab/lab.h"
#include "lab/scenario/scenario.h"
#include "lab/scenario/scenario_internal.h"

static struct scenario *parse(const char *text)
{
	struct scenario *s = NULL;
	struct err err;
	int rv = scenario_parse(text, &s, &err);

	cr_assert_eq(rv, 0, "%s", err.text);
	return s;
}

/* ---- what is taken ------------------------------------------------------------- */

Test(lab_scenario, nothing_says_nothing)
{
	struct scenario *s = parse("\n# a comment\n   \t\n\r\n");
	struct scenario_frame frame = scenario_frame(s);
	struct scheduler_traits o;

	cr_expect_eq(frame.agents, -1);
	cr_expect_eq(frame.schedulers, -1);
	cr_expect_eq(frame.span, -1);
	cr_expect_eq(frame.fault_every, -1);
	cr_expect_null(scenario_resources(s, 0));
	cr_expect_not(scenario_character(s, 0, &o));
	cr_expect_eq(scenario_event_count(s), 0);
	scenario_free(s);
}

Test(lab_scenario, the_frame)
{
	struct scenario *s = parse("agents 4 # in all\nagent cpus:1\nagent cpus:2;mem:64\n"
				   "schedulers 0\ntime 1.5mins\nfaults every 2secs");

	cr_expect_eq(scenario_frame(s).agents, 4);
	cr_expect_eq(scenario_frame(s).schedulers, 0);
	cr_expect_eq(scenario_frame(s).span, 90 * SECOND);
	cr_expect_eq(scenario_frame(s).fault_every, 2 * SECOND);
	cr_expect_str_eq(scenario_resources(s, 0), "cpus:1");
	cr_expect_str_eq(scenario_resources(s, 1), "cpus:2;mem:64");
	cr_expect_null(scenario_resources(s, 2));
	scenario_free(s);
	s = parse("faults none\nagents 1\nagent a:1\nagent b:1\nscheduler\nscheduler");
	cr_expect_eq(scenario_frame(s).fault_every, 0);
	cr_expect_eq(scenario_frame(s).agents, 2, "those listed are at least as many");
	cr_expect_eq(scenario_frame(s).schedulers, 2);
	scenario_free(s);
}

Test(lab_scenario, characters)
{
	struct scenario *s = parse(
		"scheduler\n"
		"scheduler role=x/y partition_aware checkpoint own_executor keeper names gentle "
		"slowness=1.5 forgetting=0.1 greed=0.2 lateness=0.3 mischief=0.4 desertion=0.5 "
		"failover=20 tasks=7 end=hang\n"
		"scheduler role=a role=b role=c\n");
	struct scheduler_traits o;

	cr_assert(scenario_character(s, 0, &o));
	cr_expect_str_eq(o.role, "a");
	cr_expect_eq(o.tasks, 20);
	cr_expect_not(o.partition_aware || o.checkpoint || o.own_executor || o.keeper || o.names);
	cr_expect_null(o.end);
	cr_assert(scenario_character(s, 1, &o));
	cr_expect_eq(o.number, 1);
	cr_expect_str_eq(o.role, "x/y");
	cr_expect(o.partition_aware && o.checkpoint && o.own_executor && o.keeper && o.names);
	cr_expect(o.gentle);
	cr_expect_float_eq(o.slowness, 1.5, 1e-9);
	cr_expect_float_eq(o.forgetting, 0.1, 1e-9);
	cr_expect_float_eq(o.greed, 0.2, 1e-9);
	cr_expect_float_eq(o.lateness, 0.3, 1e-9);
	cr_expect_float_eq(o.mischief, 0.4, 1e-9);
	cr_expect_float_eq(o.desertion, 0.5, 1e-9);
	cr_expect_float_eq(o.failover, 20, 1e-9);
	cr_expect_eq(o.tasks, 7);
	cr_expect_str_eq(o.end, "hang");
	cr_assert(scenario_character(s, 2, &o));
	cr_expect_str_eq(o.role, "a");
	cr_expect_str_eq(o.more_roles[0], "b");
	cr_expect_str_eq(o.more_roles[1], "c");
	scenario_free(s);
}

static const char *const events[] = {
	"kill master",
	"kill agent0",
	"kill scheduler999",
	"crash agent1",
	"partition master 3secs",
	"partition agent1 3secs deaf",
	"partition scheduler0 3secs mute",
	"cut master agent2",
	"half-open agent0 master 1mins",
	"doom agent0",
	"doom agent0 before",
	"doom master after",
	"sync-fails master 3secs",
	"full-disk agent0 3secs",
	"torn-write agent0 3",
	"slow-disks 1hrs",
	"repeat 20",
	"clock agent0 3secs",
	"clock master 3secs back",
	"clock agent0 3secs ahead",
	"pause master 3secs",
	"desert scheduler0",
	"expect scheduler0 3",
	"finish scheduler0",
	"teardown scheduler0",
	"operator deactivate agent0",
	"operator reactivate agent0",
	"operator drain agent0",
	"operator drain agent0 gone",
	"operator mark-gone agent0",
	"operator quota a/b 1.5 4",
	"operator weight a 0.5",
	"operator schedule agent0 3secs",
	"operator begin-maintenance agent0",
	"operator end-maintenance agent0",
	"operator teardown scheduler0",
};

Test(lab_scenario, every_event)
{
	struct buf text = BUF_INIT;
	struct scenario *s;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		buf_printf(&text, "at %zusecs %s\n", i, events[i]);
	s = parse(text.data);
	cr_expect_eq(scenario_event_count(s), sizeof(events) / sizeof(*events));
	scenario_free(s);
	buf_free(&text);
}

Test(lab_scenario, arguments_of_events)
{
	struct scenario *s = parse("at 90secs half-open agent3 scheduler2 1mins\n"
				   "at 0secs operator quota x 1 2.5\n"
				   "at 1secs doom agent0 after");
	const struct scenario_event *e = s->events;

	cr_expect_eq(e[0].when, 90 * SECOND);
	cr_expect_eq(e[0].part.kind, PART_AGENT);
	cr_expect_eq(e[0].part.number, 3);
	cr_expect_eq(e[0].other.kind, PART_SCHEDULER);
	cr_expect_eq(e[0].other.number, 2);
	cr_expect_eq(e[0].span, MINUTE);
	cr_expect_eq(e[1].when, 0);
	cr_expect_str_eq(e[1].role, "x");
	cr_expect_float_eq(e[1].amounts[0], 1, 1e-9);
	cr_expect_float_eq(e[1].amounts[1], 2.5, 1e-9);
	cr_expect_str_eq(e[2].word, "after");
	scenario_free(s);
}

/* ---- what is wrong ------------------------------------------------------------------ */

static const struct {
	const char *line, *words; /* of the error */
} wrong[] = {
	{"foo", "not understood: foo"},
	{"foo bar", "not understood: foo bar"},
	{"agents", "not understood: agents"},
	{"agents x", "not understood: agents x"},
	{"agents -1", "not understood: agents -1"},
	{"agents 1001", "not understood: agents 1001"},
	{"agents 99999999999999999999", "not understood"},
	{"schedulers 2x", "not understood: schedulers 2x"},
	{"time 3", "not understood: time 3"},
	{"time 9999999days", "not understood: time"},
	{"agent", "an agent has resources, in one word"},
	{"agent cpus:1 mem:2", "an agent has resources, in one word"},
	{"faults", "faults: none, or every DURATION"},
	{"faults some", "faults: none, or every DURATION"},
	{"faults every", "faults: none, or every DURATION"},
	{"faults every 0secs", "faults: none, or every DURATION"},
	{"faults every x", "faults: none, or every DURATION"},
	{"scheduler good", "no trait of schedulers: good"},
	{"scheduler role=", "no trait of schedulers: role="},
	{"scheduler role=a role=b role=c role=d", "no trait of schedulers: role=d"},
	{"scheduler end=happy", "no trait of schedulers: end=happy"},
	{"scheduler end=hang end=fail", "no trait of schedulers: end=fail"},
	{"scheduler keeper=1", "no trait of schedulers: keeper=1"},
	{"scheduler greed", "no trait of schedulers: greed"},
	{"scheduler greed=", "no trait of schedulers: greed="},
	{"scheduler greed=x", "no trait of schedulers: greed=x"},
	{"scheduler greed=-1", "no trait of schedulers: greed=-1"},
	{"scheduler greed=nan", "no trait of schedulers: greed=nan"},
	{"scheduler greed=inf", "no trait of schedulers: greed=inf"},
	{"scheduler tasks=1.5", "no trait of schedulers: tasks=1.5"},
	{"scheduler tasks=1000001", "no trait of schedulers: tasks=1000001"},
	{"at", "at what time does what happen?"},
	{"at 3secs", "at what time does what happen?"},
	{"at noon kill master", "at what time does what happen?"},
	{"at 9999999days kill master", "at what time does what happen?"},
	{"at 3secs explode master", "nothing that can happen: explode"},
	{"at 3secs kill", "kill: something is missing"},
	{"at 3secs kill nobody", "kill: not possible with nobody"},
	{"at 3secs kill agent", "kill: not possible with agent"},
	{"at 3secs kill agent1000", "kill: not possible with agent1000"},
	{"at 3secs kill agent-1", "kill: not possible with agent-1"},
	{"at 3secs kill master now", "kill: what is now?"},
	{"at 3secs crash scheduler0", "crash: not possible with scheduler0"},
	{"at 3secs finish agent0", "finish: not possible with agent0"},
	{"at 3secs cut master", "cut: something is missing"},
	{"at 3secs partition master", "partition: something is missing"},
	{"at 3secs partition master 3", "partition: not possible with 3"},
	{"at 3secs partition master 3secs blind", "partition: what is blind?"},
	{"at 3secs doom master befor", "doom: what is befor?"},
	{"at 3secs torn-write agent0 0", "torn-write: not possible with 0"},
	{"at 3secs repeat 1000001", "repeat: not possible with 1000001"},
	{"at 3secs operator", "nothing that can happen: operator"},
	{"at 3secs operator dance", "nothing that can happen: dance"},
	{"at 3secs operator kill agent0", "nothing that can happen: kill"},
	{"at 3secs operator drain", "drain: something is missing"},
	{"at 3secs operator drain master", "drain: not possible with master"},
	{"at 3secs operator drain agent0 slowly", "drain: what is slowly?"},
	{"at 3secs operator quota a 1", "quota: something is missing"},
	{"at 3secs operator quota a 1 many", "quota: not possible with many"},
	{"at 3secs operator weight a -1", "weight: not possible with -1"},
	{"at 3secs operator teardown agent0", "teardown: not possible with agent0"},
};

Test(lab_scenario, what_is_wrong_is_told_with_its_line)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char *text = xprintf("# first\nagents 1\n%s\nagents 2\n", wrong[i].line);
		struct scenario *s = NULL;
		struct err err = {{0}};

		cr_expect_eq(scenario_parse(text, &s, &err), ERR_INVALID, "%s", wrong[i].line);
		cr_expect(strstr(err.text, "line 3: ") && strstr(err.text, wrong[i].words),
			  "%s: %s", wrong[i].line, err.text);
		cr_expect_null(s);
		free(text);
	}
}

static void expect_too_many(const char *line, int count, const char *words)
{
	struct buf text = BUF_INIT;
	struct scenario *s;
	struct err err = {{0}};

	for (int i = 0; i < count; i++)
		buf_printf(&text, "%s\n", line);
	cr_expect_eq(scenario_parse(text.data, &s, &err), ERR_INVALID);
	cr_expect(strstr(err.text, words), "%s", err.text);
	buf_free(&text);
}

Test(lab_scenario, too_many)
{
	expect_too_many("agent cpus:1", LAB_PARTS_MAX + 1, "line 1001: too many agents");
	expect_too_many("scheduler", LAB_PARTS_MAX + 1, "line 1001: too many schedulers");
	expect_too_many("a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", 1,
			"line 1: too many words");
	expect_too_many("at 1secs operator quota "
			"0123456789012345678901234567890123456789012345678901234567890123 0 1",
			1, "quota: not possible with 0123");
}

/* ---- files ---------------------------------------------------------------------------- */

static int load(const char *bytes, size_t len, struct err *err)
{
	char path[] = "/tmp/lab_scenario.XXXXXX";
	int fd = mkstemp(path), rv;
	struct scenario *s = NULL;

	cr_assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
	rv = scenario_load(path, &s, err);
	cr_expect(rv == 0 || strstr(err->text, path), "%s", err->text);
	unlink(path);
	scenario_free(s);
	return rv;
}

Test(lab_scenario, files)
{
	struct scenario *s = NULL;
	struct err err = {{0}};
	char *large;

	cr_expect_eq(load("agents 2\n", 9, &err), 0);
	cr_expect_eq(load("", 0, &err), 0);
	cr_expect_eq(load("agents 2\n\nagents x", 18, &err), ERR_INVALID);
	cr_expect(strstr(err.text, "line 3: "), "%s", err.text);
	cr_expect_eq(load("agents\0 2", 9, &err), ERR_INVALID);
	cr_expect(strstr(err.text, "no text, or too long"), "%s", err.text);
	large = xmalloc(SCENARIO_BYTES_MAX + 1);
	memset(large, '\n', SCENARIO_BYTES_MAX + 1);
	cr_expect_eq(load(large, SCENARIO_BYTES_MAX + 1, &err), ERR_INVALID);
	free(large);
	cr_expect_eq(scenario_load("/nowhere/at/all", &s, &err), ERR_IO);
	cr_expect(strstr(err.text, "/nowhere/at/all"), "%s", err.text);
}
