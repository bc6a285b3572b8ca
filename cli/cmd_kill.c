/* `mesita kill TASK | FRAMEWORK`: kills one task, or tears a framework down. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "net/http.h"

struct kill_flags {
	const char *master;
	const char *principal, *secret;
	const char *framework;
};

static const struct flag kill_table[] = {
	{"master", NULL, FLAG_STRING, offsetof(struct kill_flags, master), CLI_DEFAULT_MASTER,
	 "Address of the master, host:port.", NULL, NULL},
	{"framework", NULL, FLAG_STRING, offsetof(struct kill_flags, framework), NULL,
	 "Framework of the task, where several have a task of that id.", NULL, NULL},
	CLI_LOGIN(struct kill_flags),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

/* The framework of the one live task of this id; NULL with `err` set if there is
 * none, or more than one. */
static const char *framework_of(struct arena *arena, const struct kill_flags *flags,
				const char *task_id, struct err *err)
{
	struct buf path = BUF_INIT;
	const struct json *tasks;
	const char *found = NULL;

	buf_puts(&path, "/tasks?limit=1000&task_id=");
	http_encode(&path, task_id);
	tasks = cli_get_json(arena, flags->master, path.data, err);
	buf_free(&path);
	if (!tasks)
		return NULL;
	tasks = json_get(tasks, "tasks");
	for (size_t i = 0; tasks && i < tasks->count; i++) {
		const char *framework = json_get_string(&tasks->items[i], "framework_id");

		if (cli_state_over(json_get_string(&tasks->items[i], "state")) ||
		    (flags->framework && strcmp(flags->framework, framework)))
			continue;
		if (found) {
			err_set(err, ERR_INVALID,
				"several frameworks have a task '%s': name one with --framework=ID",
				task_id);
			return NULL;
		}
		found = framework;
	}
	if (!found)
		err_set(err, ERR_NOT_FOUND,
			"no running task and no framework has the id '%s' (see `mesita ps`)",
			task_id);
	return found;
}

static bool is_framework(struct arena *arena, const char *master, const char *id)
{
	struct buf path = BUF_INIT;
	struct err err;
	const struct json *answer, *frameworks;

	buf_puts(&path, "/frameworks?framework_id=");
	http_encode(&path, id);
	answer = cli_get_json(arena, master, path.data, &err);
	buf_free(&path);
	frameworks = answer ? json_get(answer, "frameworks") : NULL;
	return frameworks && frameworks->count > 0;
}

static int cmd_kill_post(const char *master, const char *path, const char *framework,
			 const char *task, struct err *err)
{
	struct buf form = BUF_INIT, body = BUF_INIT;
	int status;

	buf_puts(&form, "frameworkId=");
	http_encode(&form, framework);
	if (task) {
		buf_puts(&form, "&taskId=");
		http_encode(&form, task);
	}
	status = cli_http(master, "POST", path, form.data, &body, err);
	if (status >= 300)
		status = err_set(err, ERR_INVALID, "the master refused (%d): %s", status,
				 body.data ? body.data : "");
	buf_free(&form);
	buf_free(&body);
	return status;
}

static int kill_one(struct arena *arena, const struct kill_flags *flags, const char *id,
		    struct err *err)
{
	const char *framework;
	int rv;

	if (!flags->framework && is_framework(arena, flags->master, id)) {
		rv = cmd_kill_post(flags->master, "/teardown", id, NULL, err);
		if (rv >= 0)
			printf("framework %s is torn down\n", id);
		return rv;
	}
	framework = framework_of(arena, flags, id, err);
	if (!framework)
		return ERR_NOT_FOUND;
	rv = cmd_kill_post(flags->master, "/kill-task", framework, id, err);
	if (rv >= 0)
		printf("task %s of framework %s is being killed\n", id, framework);
	return rv;
}

int cmd_kill(int argc, char **argv)
{
	struct kill_flags target = {0};
	struct flags flags;
	struct arena arena;
	int status = 0;

	if (cli_flags(&flags, kill_table, sizeof(kill_table) / sizeof(*kill_table), &target,
		      "Usage: mesita kill [--master=HOST:PORT] TASK|FRAMEWORK...", argc, argv,
		      &status))
		return status;
	cli_log_in(target.principal, target.secret);
	if (flags.positional_count == 0) {
		fprintf(stderr,
			"mesita kill: name the task or framework to kill (see `mesita ps`)\n");
		status = 1;
	}
	arena_init(&arena);
	for (size_t i = 0; i < flags.positional_count; i++) {
		struct err err = {{0}};

		if (kill_one(&arena, &target, flags.positional[i], &err) < 0) {
			fprintf(stderr, "mesita kill: %s\n", err.text);
			status = 1;
		}
	}
	arena_free(&arena);
	cli_flags_free(&flags);
	return status;
}
