/* `mesita attach TASK`: our terminal is that of a task which has one, until it ends or we detach.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time/clock.h"
#include "cli/cli.h"
#include "cli/exec/exec_session.h"
#include "cli/job/task_place.h"

/* How long the master may take to hear how a task ended whose terminal is gone. */
#define END_WAIT (10 * SECOND)
#define END_PAUSE_MS 50

struct attach_flags {
	const char *master;
	const char *principal, *secret;
	const char *framework;
	bool input;
};

#define AT(member) offsetof(struct attach_flags, member)

static const struct flag attach_table[] = {
	{"master", NULL, FLAG_STRING, AT(master), CLI_DEFAULT_MASTER,
	 "Address of the master, host:port.", NULL, NULL},
	{"framework", NULL, FLAG_STRING, AT(framework), NULL,
	 "Framework of the task, where several have a task of that id.", NULL, NULL},
	{"stdin", NULL, FLAG_BOOL, AT(input), "true", "What is typed or piped in goes to the task.",
	 NULL, NULL},
	CLI_LOGIN(struct attach_flags),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

#define USAGE                                                                                      \
	"Usage: mesita attach [--master=HOST:PORT] [--no-stdin] TASK\n"                            \
	"The keys Ctrl-P Ctrl-Q leave the task to itself. The exit status is 0 if it finished or " \
	"was left,\n"                                                                              \
	"1 if it ended otherwise, 125 if there is no terminal to attach to."

/* "TASK_FINISHED" or the like, in the arena; "" if it is not known in time. */
static const char *await_end(struct arena *arena, const struct attach_flags *flags, const char *id)
{
	int64_t deadline = clock_now() + END_WAIT;

	do {
		struct err err;
		const struct json *task =
			cli_find_task(arena, flags->master, id, flags->framework, &err);

		if (task && cli_state_over(json_get_string(task, "state")))
			return json_get_string(task, "state");
		nanosleep(&(struct timespec){.tv_nsec = END_PAUSE_MS * MILLISECOND}, NULL);
	} while (clock_now() < deadline);
	return "";
}

static int attach_to(const struct attach_flags *flags, const char *id, struct err *err)
{
	struct exec_request request = {
		.authorization = cli_authorization(),
		.interactive = flags->input,
		.tty = true,
	};
	struct arena arena;
	int status = EXEC_FAILED;

	arena_init(&arena);
	if (exec_find(&arena, flags->master, id, flags->framework, &request, err) == 0)
		status = exec_session_run(&request, err);
	if (status == EXEC_DETACHED) {
		fprintf(stderr, "\ndetached from '%s', which goes on\n", id);
		status = 0;
	} else if (status == 0) {
		const char *state = await_end(&arena, flags, id);

		status = strcmp(state, "TASK_FINISHED") ? 1 : 0;
		if (status)
			fprintf(stderr, "task '%s': %s\n", id,
				*state ? state : "its terminal is gone");
	}
	arena_free(&arena);
	return status;
}

int cmd_attach(int argc, char **argv)
{
	struct attach_flags target = {0};
	struct flags flags;
	struct err err = {{0}};
	int status;

	if (cli_flags(&flags, attach_table, sizeof(attach_table) / sizeof(*attach_table), &target,
		      USAGE, argc, argv, &status))
		return status;
	cli_log_in(target.principal, target.secret);
	status = EXEC_FAILED;
	if (flags.positional_count != 1)
		fprintf(stderr, "mesita attach: name one task (see `mesita ps`)\n");
	else
		status = attach_to(&target, flags.positional[0], &err);
	if (err.text[0])
		fprintf(stderr, "mesita attach: %s\n", err.text);
	cli_flags_free(&flags);
	return status;
}
