/* `mesita demo`: what it prints is what the allocator does. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/demo.h"

static const char *const paper[] = {"A=cpus:1;mem:4096", "B=cpus:3;mem:1024"};

static struct demo_options paper_options(void)
{
	return (struct demo_options){
		.agent = "cpus:9;mem:18432", .frameworks = paper, .framework_count = 2};
}

/* Who launched a task, in order, as text: a letter a task. */
static void expect_launches(const struct demo_options *options, const char *expected)
{
	struct buf out = BUF_INIT, order = BUF_INIT;
	struct err err = {""};

	cr_assert_eq(demo_run(options, &out, &err), 0, "%s", err.text);
	for (const char *at = out.data; (at = strstr(at, " is offered ")); at++) {
		const char *end = strchr(at, '\n');

		if (memmem(at, (size_t)(end - at), "launches", 8))
			buf_putc(&order, at[-1]);
	}
	buf_putc(&order, '\0');
	cr_expect_str_eq(order.data, expected);
	buf_free(&out);
	buf_free(&order);
}

Test(cli_demo, case_27_as_in_the_paper, .init = cr_redirect_stdout)
{
	char *none[] = {NULL};

	cr_assert_eq(cmd_demo(0, none), 0);
	fflush(stdout);
	cr_expect_stdout_eq_str("An agent has 9 CPUs, 18 GB.\n"
				"Each task of A needs 1 CPU, 4 GB.\n"
				"Each task of B needs 3 CPUs, 1 GB.\n"
				"Who has the least dominant share is offered what is left.\n"
				"\n"
				"   1  A is offered 9 CPUs, 18 GB and launches a task.\n"
				"      A    ####..............  2/9     of mem   1 task\n"
				"      B    ..................  0                0 tasks\n"
				"\n"
				"   2  B is offered 8 CPUs, 14 GB and launches a task.\n"
				"      A    ####..............  2/9     of mem   1 task\n"
				"      B    ######............  1/3     of cpus  1 task\n"
				"\n"
				"   3  A is offered 5 CPUs, 13 GB and launches a task.\n"
				"      A    ########..........  4/9     of mem   2 tasks\n"
				"      B    ######............  1/3     of cpus  1 task\n"
				"\n"
				"   4  B is offered 4 CPUs, 9 GB and launches a task.\n"
				"      A    ########..........  4/9     of mem   2 tasks\n"
				"      B    ############......  2/3     of cpus  2 tasks\n"
				"\n"
				"   5  A is offered 1 CPU, 8 GB and launches a task.\n"
				"      A    ############......  2/3     of mem   3 tasks\n"
				"      B    ############......  2/3     of cpus  2 tasks\n"
				"\n"
				"   6  B is offered 4 GB and declines.\n"
				"      A    ############......  2/3     of mem   3 tasks\n"
				"      B    ############......  2/3     of cpus  2 tasks\n"
				"\n"
				"   7  A is offered 4 GB and declines.\n"
				"      A    ############......  2/3     of mem   3 tasks\n"
				"      B    ############......  2/3     of cpus  2 tasks\n"
				"\n"
				"Nothing more can be launched: A runs 3, B runs 2.\n");
}

Test(cli_demo, weights_change_the_order)
{
	struct demo_options options = paper_options();

	expect_launches(&options, "ABABA");
	options.weights = "A=2";
	expect_launches(&options, "ABAAB");
	options.weights = "B=2,A=1";
	expect_launches(&options, "ABBAA");
}

Test(cli_demo, frameworks_of_ones_own)
{
	const char *const three[] = {"x=cpus:1", "y=cpus:2", "z=gpus:1"};
	struct demo_options options = {
		.agent = "cpus:4;gpus:1", .frameworks = three, .framework_count = 3};

	expect_launches(&options, "xyzx");
}

/* A line a step and one for the end, each an object. */
Test(cli_demo, json)
{
	struct demo_options options = paper_options();
	struct buf out = BUF_INIT;
	struct err err = {""};
	struct arena arena;
	int lines = 0;

	arena_init(&arena);
	options.json = true;
	cr_assert_eq(demo_run(&options, &out, &err), 0, "%s", err.text);
	buf_putc(&out, '\0');
	for (char *rest = out.data, *line; (line = strsep(&rest, "\n")) && *line; lines++) {
		struct json *json = NULL;

		cr_assert_eq(json_parse(&arena, line, strlen(line), &json, &err), 0, "%s: %s", line,
			     err.text);
		const struct json *frameworks = json_get(json, "frameworks");
		cr_assert_eq(frameworks->count, 2);
		if (lines < 7) {
			cr_expect_eq(json_number(json_get(json, "step")), lines + 1);
			continue;
		}
		cr_expect_eq(json_number(json_get(json, "steps")), 7);
		for (int i = 0; i < 2; i++) {
			const struct json *share = json_get(&frameworks->items[i], "share");

			cr_expect_float_eq(json_number(share), 2.0 / 3, 1e-12);
		}
	}
	cr_expect_eq(lines, 8);
	buf_free(&out);
	arena_free(&arena);
}

Test(cli_demo, what_is_no_scenario_is_an_error)
{
	static const struct {
		const char *agent, *framework, *weights;
	} wrong[] = {
		{"cpus:9", "A", NULL},
		{"cpus:9", "=cpus:1", NULL},
		{"cpus:9", "A=", NULL},
		{"cpus:9", "A=cpus:x", NULL},
		{"cpus:9", "A=cpus(r):1", NULL},
		{"cpus:9", "A=ports:[1-2]", NULL},
		{"cpus:9", "-=cpus:1", NULL},
		{"", "A=cpus:1", NULL},
		{"ports:[1-2]", "A=cpus:1", NULL},
		{"cpus:9", "A=cpus:1", "B=1"},
		{"cpus:9", "A=cpus:1", "A"},
		{"cpus:9", "A=cpus:1", "A=0"},
		{"cpus:9", "A=cpus:1", "A=-1"},
		{"cpus:9", "A=cpus:1", "A=nan"},
		{"cpus:9", "A=cpus:1", "A=2x"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct demo_options options = {.agent = wrong[i].agent,
					       .frameworks = &wrong[i].framework,
					       .framework_count = 1,
					       .weights = wrong[i].weights};
		struct buf out = BUF_INIT;
		struct err err = {""};

		cr_expect_neq(demo_run(&options, &out, &err), 0, "case %zu", i);
		cr_expect_neq(err.text[0], '\0', "case %zu", i);
		cr_expect_eq(out.len, 0, "case %zu", i);
		buf_free(&out);
	}
}
