/* What `mesita run` prints: progress while it runs, a table at the end; or one JSON
 * object a line for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/job.h"

#define EXITED "Command exited with status "

int job_exit_code(const struct job_task *task)
{
	const char *found = task->message ? strstr(task->message, EXITED) : NULL;

	return found ? atoi(found + strlen(EXITED)) : -1;
}

static const char *state_name(const struct job_task *task)
{
	return proto_enum_name(&mesos__task_state__descriptor, task->state, SPELL_V1);
}

void job_report_subscribed(const struct job *job)
{
	if (job->options->json)
		return;
	printf("Subscribed as framework %s, running %d task%s\n", scheduler_driver_id(job->driver),
	       job->options->instances, job->options->instances == 1 ? "" : "s");
	fflush(stdout);
}

static void report_json(const struct job_task *task)
{
	struct buf line = BUF_INIT;
	struct json_writer w;
	int code = job_exit_code(task);

	jw_init(&w, &line);
	jw_begin_object(&w);
	jw_kv_string(&w, "task", task->id);
	jw_kv_string(&w, "state", state_name(task));
	jw_kv_string(&w, "agent", task->agent_id);
	jw_kv_string(&w, "address", task->agent_name);
	if (code >= 0)
		jw_kv_int(&w, "exit_code", code);
	jw_kv_string(&w, "message", task->message);
	jw_kv_string(&w, "output", task->first_line.data);
	jw_end_object(&w);
	puts(line.data);
	fflush(stdout);
	buf_free(&line);
}

void job_report_state(const struct job *job, const struct job_task *task)
{
	if (job->options->json) {
		report_json(task);
		return;
	}
	printf("[%*d/%d] %s %s%s%s\n", job->options->instances > 99 ? 4 : 2, job->over + 1,
	       job->options->instances, task->id, state_name(task),
	       task->message && *task->message ? ": " : "", task->message ? task->message : "");
	fflush(stdout);
}

void job_report_line(const struct job_task *task, const char *line, size_t len)
{
	if (task->job->options->json)
		return;
	if (task->job->options->instances > 1)
		printf("%s: ", task->id);
	fwrite(line, 1, len, stdout);
	putchar('\n');
	fflush(stdout);
}

static void add_row(struct cli_table *table, const struct job_task *task)
{
	char code[16] = "-";

	if (job_exit_code(task) >= 0)
		snprintf(code, sizeof(code), "%d", job_exit_code(task));
	cli_table_add(table, task->id);
	cli_table_add(table, state_name(task));
	cli_table_add(table, task->agent_name ? task->agent_name : "-");
	cli_table_add(table, code);
	cli_table_add(table, task->first_line.data);
}

void job_report_end(const struct job *job)
{
	static const char *const names[] = {"TASK", "STATE", "AGENT", "EXIT", "OUTPUT"};
	struct cli_table table;
	int finished = 0;

	if (job->options->json)
		return;
	cli_table_init(&table, sizeof(names) / sizeof(*names));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cli_table_add(&table, names[i]);
	for (int i = 0; i < job->options->instances; i++) {
		add_row(&table, &job->tasks[i]);
		finished += job->tasks[i].state == MESOS__TASK_STATE__TASK_FINISHED;
	}
	printf("\n");
	cli_table_print(&table);
	printf("\n%d of %d tasks finished%s\n", finished, job->options->instances,
	       job->interrupted ? " (interrupted)" : "");
}
