/* `mesita exec TASK PROGRAM [ARGUMENT...]`: runs a program where a task runs, with its environment,
 * directory and limits, and our input and output. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/exec/exec_session.h"

struct exec_flags {
	const char *master;
	const char *principal, *secret;
	const char *framework;
	const char *user;
	bool interactive;
	bool tty;
};

#define AT(member) offsetof(struct exec_flags, member)

static const struct flag exec_table[] = {
	{"master", NULL, FLAG_STRING, AT(master), CLI_DEFAULT_MASTER,
	 "Address of the master, host:port.", NULL, NULL},
	{"framework", NULL, FLAG_STRING, AT(framework), NULL,
	 "Framework of the task, where several have a task of that id.", NULL, NULL},
	{"interactive", NULL, FLAG_BOOL, AT(interactive), "false",
	 "What is typed or piped in goes to the program. Also -i.", NULL, NULL},
	{"tty", NULL, FLAG_BOOL, AT(tty), "false",
	 "The program has a terminal. Also -t; -it for a shell.", NULL, NULL},
	{"user", NULL, FLAG_STRING, AT(user), NULL, "User to run as (default: the task's).", NULL,
	 NULL},
	CLI_LOGIN(struct exec_flags),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

#define USAGE                                                                                      \
	"Usage: mesita exec [--master=HOST:PORT] [-i] [-t] TASK PROGRAM [ARGUMENT...]\n"           \
	"The exit status is that of the program; 128 and the number of the signal that ended "     \
	"it;\n"                                                                                    \
	"125 if it could not be run."

/* -i, -t, -it, -ti; false: none of them. */
static bool take_letters(const char *argument, struct exec_flags *target)
{
	if (argument[0] != '-' || !argument[1] ||
	    strspn(argument + 1, "it") != strlen(argument + 1))
		return false;
	target->interactive = target->interactive || strchr(argument, 'i');
	target->tty = target->tty || strchr(argument, 't');
	return true;
}

static int exec_in(const struct exec_flags *flags, const char *id, char *const *command,
		   struct err *err)
{
	struct exec_request request = {
		.authorization = cli_authorization(),
		.user = flags->user,
		.command = command,
		.interactive = flags->interactive,
		.tty = flags->tty,
	};
	struct arena arena;
	int status = EXEC_FAILED;

	arena_init(&arena);
	if (exec_find(&arena, flags->master, id, flags->framework, &request, err) == 0)
		status = exec_session_run(&request, err);
	arena_free(&arena);
	return status;
}

int cmd_exec(int argc, char **argv)
{
	struct exec_flags target = {0}, letters = {0};
	struct flags flags;
	struct err err = {{0}};
	int status = EXEC_FAILED, own = 0, kept = 0;

	/* What follows the task is the program's own. */
	for (; own < argc && argv[own][0] == '-'; own++)
		if (!take_letters(argv[own], &letters))
			argv[kept++] = argv[own];
	if (cli_flags(&flags, exec_table, sizeof(exec_table) / sizeof(*exec_table), &target, USAGE,
		      kept, argv, &status))
		return status;
	target.interactive = target.interactive || letters.interactive;
	target.tty = target.tty || letters.tty;
	cli_log_in(target.principal, target.secret);
	status = EXEC_FAILED;
	if (argc - own < 2)
		fprintf(stderr, "mesita exec: name a task (see `mesita ps`) and a program\n");
	else
		status = exec_in(&target, argv[own], argv + own + 1, &err);
	if (err.text[0])
		fprintf(stderr, "mesita exec: %s\n", err.text);
	cli_flags_free(&flags);
	return status;
}
