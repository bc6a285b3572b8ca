/* `mesita logs TASK`: prints what a task wrote, and with --follow goes on. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/job/sandbox_file.h"
#include "cli/job/task_place.h"

#define FOLLOW_PAUSE_MS 300 /* between two looks at a file that did not grow */

struct logs_flags {
	const char *master;
	const char *principal, *secret;
	const char *framework;
	const char *file;
	bool follow;
	bool standard_error;
};

#define AT(member) offsetof(struct logs_flags, member)

static const struct flag logs_table[] = {
	{"master", NULL, FLAG_STRING, AT(master), CLI_DEFAULT_MASTER,
	 "Address of the master, host:port.", NULL, NULL},
	{"framework", NULL, FLAG_STRING, AT(framework), NULL,
	 "Framework of the task, where several have a task of that id.", NULL, NULL},
	{"file", NULL, FLAG_STRING, AT(file), "stdout", "File of the sandbox to show.", NULL, NULL},
	{"stderr", NULL, FLAG_BOOL, AT(standard_error), "false", "The same as --file=stderr.", NULL,
	 NULL},
	{"follow", NULL, FLAG_BOOL, AT(follow), "false", "Go on until the task is over.", NULL,
	 NULL},
	CLI_LOGIN(struct logs_flags),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

/* Where a task's files are. */
struct place {
	const char *agent; /* "host:port" */
	const char *framework;
	const char *executor;
};

/* Prints what is new since `offset`; returns how much, or a negative code: ERR_NOT_FOUND
 * when there is no such file (yet). */
static long print_more(const struct place *place, const char *file, size_t offset, struct err *err)
{
	struct buf path = BUF_INIT, body = BUF_INIT, data = BUF_INIT;
	long count;
	int status;

	sandbox_file_path(&path, place->framework, place->executor, file, offset);
	status = cli_http(place->agent, "GET", path.data, NULL, &body, err);
	if (status == 200)
		count = sandbox_file_data(body.data ? body.data : "", body.len, &data, err);
	else if (status > 0)
		count = err_set(err, status == 404 ? ERR_NOT_FOUND : ERR_STATE,
				"the agent %s has no file '%s' of that task (%d): its sandbox may "
				"be gone, or it did not start",
				place->agent, file, status);
	else
		count = err_wrap(err, ERR_IO, "cannot reach the task's agent");
	if (count == 0) {
		fwrite(data.data, 1, data.len, stdout);
		fflush(stdout);
		count = (long)data.len;
	}
	buf_free(&path);
	buf_free(&body);
	buf_free(&data);
	return count;
}

/* There is more to come: neither over, nor out of reach. */
static bool is_live(const char *state)
{
	return !cli_state_over(state) && strcmp(state, "TASK_UNREACHABLE");
}

/* 1: the task lives, 0: it is over; or a negative code. */
static int ask_if_live(const struct logs_flags *flags, const char *id, struct err *err)
{
	struct arena arena;
	const struct json *task;
	int rv;

	arena_init(&arena);
	task = cli_find_task(&arena, flags->master, id, flags->framework, err);
	rv = task ? is_live(json_get_string(task, "state")) : ERR_NOT_FOUND;
	arena_free(&arena);
	return rv;
}

static int show(const struct logs_flags *flags, const struct place *place, const char *id,
		const char *file, struct err *err)
{
	const struct timespec pause = {0, FOLLOW_PAUSE_MS * 1000000L};
	size_t offset = 0;
	int live = flags->follow;

	for (;;) {
		long count = print_more(place, file, offset, err);

		/* --follow waits for a task that has not started yet. */
		if (count < 0 && !(count == ERR_NOT_FOUND && live))
			return (int)count;
		offset += count > 0 ? (size_t)count : 0;
		if (count > 0)
			continue;
		if (!live)
			return 0;
		nanosleep(&pause, NULL);
		/* One more look after the end: the last bytes came before it. */
		live = ask_if_live(flags, id, err);
		if (live < 0)
			return live;
	}
}

static int logs_of(const struct logs_flags *flags, const char *id, struct err *err)
{
	struct arena arena;
	const struct json *task;
	struct place place = {0};
	const char *file;
	int rv = ERR_NOT_FOUND;

	arena_init(&arena);
	task = cli_find_task(&arena, flags->master, id, flags->framework, err);
	if (task) {
		place.framework = json_get_string(task, "framework_id");
		/* A command task has an executor of its own id. */
		place.executor = *json_get_string(task, "executor_id")
					 ? json_get_string(task, "executor_id")
					 : id;
		place.agent = cli_agent_address(&arena, flags->master,
						json_get_string(task, "slave_id"), err);
		file = flags->standard_error ? "stderr" : flags->file;
		/* A task of a group has a sandbox of its own, which its executor links. */
		if (json_get(cli_task_container(task), "parent"))
			file = arena_printf(&arena, "tasks/%s/%s", id, file);
		if (place.agent)
			rv = show(flags, &place, id, file, err);
	}
	arena_free(&arena);
	return rv;
}

int cmd_logs(int argc, char **argv)
{
	struct logs_flags target = {0};
	struct flags flags;
	struct err err = {{0}};
	int status = 0;

	if (cli_flags(&flags, logs_table, sizeof(logs_table) / sizeof(*logs_table), &target,
		      "Usage: mesita logs [--master=HOST:PORT] [--stderr] [--follow] TASK", argc,
		      argv, &status))
		return status;
	cli_log_in(target.principal, target.secret);
	if (flags.positional_count != 1) {
		fprintf(stderr, "mesita logs: name one task (see `mesita ps --all`)\n");
		status = 1;
	} else if (logs_of(&target, flags.positional[0], &err) < 0) {
		fprintf(stderr, "mesita logs: %s\n", err.text);
		status = 1;
	}
	cli_flags_free(&flags);
	return status;
}
