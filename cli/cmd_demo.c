/* `mesita demo`: how dominant resource fairness shares an agent out. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/demo.h"

struct demo_flags {
	const char *agent;
	const char *weights;
	bool json;
};

#define AT(member) offsetof(struct demo_flags, member)

static const struct flag demo_table[] = {
	{"agent", NULL, FLAG_STRING, AT(agent), "cpus:9;mem:18432", "What there is to share.", NULL,
	 NULL},
	{"weights", NULL, FLAG_STRING, AT(weights), NULL,
	 "How much more of it some may have: A=2,B=1.", NULL, NULL},
	{"json", NULL, FLAG_BOOL, AT(json), "false", "One JSON object a step.", NULL, NULL},
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

/* Those of the paper. */
static const char *const demo_frameworks[] = {"A=cpus:1;mem:4096", "B=cpus:3;mem:1024"};

int cmd_demo(int argc, char **argv)
{
	struct demo_flags values;
	struct flags flags;
	struct buf out = BUF_INIT;
	struct err err = {""};
	int status;

	if (cli_flags(&flags, demo_table, sizeof(demo_table) / sizeof(*demo_table), &values,
		      "mesita demo [NAME=TASK...]: dominant resource fairness, step by step.\n"
		      "A task is written as in --agent; without any, A and B are those of the "
		      "paper: mesita demo 'A=cpus:1;mem:4096' 'B=cpus:3;mem:1024'",
		      argc, argv, &status) != 0)
		return status;
	struct demo_options options = {.agent = values.agent,
				       .frameworks = demo_frameworks,
				       .framework_count = 2,
				       .weights = values.weights,
				       .json = values.json};
	if (flags.positional_count > 0) {
		options.frameworks = flags.positional;
		options.framework_count = flags.positional_count;
	}
	if (demo_run(&options, &out, &err) != 0) {
		fprintf(stderr, "mesita demo: %s\n", err.text);
		status = 1;
	} else {
		fwrite(out.data, 1, out.len, stdout);
	}
	buf_free(&out);
	cli_flags_free(&flags);
	return status;
}
