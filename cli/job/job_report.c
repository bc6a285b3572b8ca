/* What `mesita run` prints: progress while it runs, a table at the end; or one JSON
 * object a line for programs; or what mesos-execute prints. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "cli/cli.h"
#include "cli/job/job.h"

static const char *const exited[] = {"Command exited with status ",
				     "Container exited with status "};

int job_exit_code(const char *message)
{
	int code = 0;
	const char *at = "";

	for (size_t i = 0; message && i < sizeof(exited) / sizeof(exited[0]); i++)
		if (str_has_prefix(message, exited[i]))
			at = message + strlen(exited[i]);
	if (!*at)
		return -1;
	for (; *at; at++) {
		if (*at < '0' || *at > '9' || code > 255)
			return -1;
		code = 10 * code + (*at - '0');
	}
	return code > 255 ? -1 : code;
}

static const char *state_name(Mesos__TaskState state)
{
	return proto_enum_name(&mesos__task_state__descriptor, state, SPELL_V1);
}

/* A line that shows the present state and is written over by the next one. */
static bool has_status_line(const struct job *job)
{
	return job->options->style == JOB_TEXT && !job->options->follow && isatty(STDOUT_FILENO);
}

static void clear_status_line(const struct job *job)
{
	if (has_status_line(job))
		fputs("\r\033[K", stdout);
}

static void draw_status_line(const struct job *job, int over)
{
	if (has_status_line(job) && over < job->options->instances && !job->ending)
		printf("%d of %d over, %d running", over, job->options->instances, job->running);
	fflush(stdout);
}

void job_report_note(const struct job *job, const char *format, ...)
{
	va_list args;

	clear_status_line(job);
	fflush(stdout);
	fputs("mesita run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	draw_status_line(job, job->over);
}

void job_report_subscribed(const struct job *job)
{
	const char *id = scheduler_driver_id(job->driver);
	int count = job->options->instances;

	if (job->options->style == JOB_EXECUTE)
		printf("Subscribed with ID %s\n", id);
	else if (job->options->style == JOB_TEXT)
		printf("Running %d task%s on %s as framework %s\n", count, count == 1 ? "" : "s",
		       job->options->master, id);
	draw_status_line(job, 0);
}

void job_report_launch(const struct job_task *task)
{
	if (task->job->options->style != JOB_EXECUTE)
		return;
	printf("Submitted task '%s' to agent '%s'\n", task->id, task->agent_id);
	fflush(stdout);
}

void job_report_kill(const struct job_task *task)
{
	if (task->job->options->style != JOB_EXECUTE)
		return;
	printf("Asked to kill task '%s' on agent '%s'\n", task->id, task->agent_id);
	fflush(stdout);
}

static void report_execute(const struct job_task *task, const Mesos__TaskStatus *status)
{
	printf("Received status update %s for task '%s'\n", state_name(status->state), task->id);
	if (status->message)
		printf("  message: '%s'\n", status->message);
	if (status->has_source)
		printf("  source: %s\n", proto_enum_name(&mesos__task_status__source__descriptor,
							 status->source, SPELL_V1));
	if (status->has_reason)
		printf("  reason: %s\n", proto_enum_name(&mesos__task_status__reason__descriptor,
							 status->reason, SPELL_V1));
	if (status->has_healthy)
		printf("  healthy?: %d\n", status->healthy);
	fflush(stdout);
}

void job_report_status(const struct job_task *task, const Mesos__TaskStatus *status)
{
	const struct job *job = task->job;

	if (job->options->style == JOB_EXECUTE) {
		report_execute(task, status);
	} else if (status->state == MESOS__TASK_STATE__TASK_UNREACHABLE) {
		job_report_note(job, "%s is unreachable, waiting for its agent %s", task->id,
				task->agent_name);
	} else {
		clear_status_line(job);
		draw_status_line(job, job->over);
	}
}

/* ---- the end of a task --------------------------------------------------- */

static void put_json(const struct job_task *task, const char *line, size_t len)
{
	struct buf out = BUF_INIT;
	struct json_writer w;
	int code = job_exit_code(task->message);

	jw_init(&w, &out);
	jw_begin_object(&w);
	jw_kv_string(&w, "task", task->id);
	if (line) {
		jw_key(&w, "line");
		jw_string_n(&w, line, len);
	} else {
		jw_kv_string(&w, "state", state_name(task->state));
		jw_kv_string(&w, "agent", task->agent_id);
		jw_kv_string(&w, "address", task->agent_name);
		if (code >= 0)
			jw_kv_int(&w, "exit_code", code);
		jw_kv_string(&w, "message", task->message);
		if (!line && task->reason)
			jw_kv_string(&w, "reason", task->reason);
		jw_key(&w, "output");
		jw_string_n(&w, task->first_line.data ? task->first_line.data : "",
			    task->first_line.len);
	}
	jw_end_object(&w);
	puts(out.data);
	fflush(stdout);
	buf_free(&out);
}

/* "TASK_GONE_BY_OPERATOR" as "gone by operator": the state itself is in the table. */
static void put_state(Mesos__TaskState state)
{
	const char *name = state_name(state);

	for (name += str_has_prefix(name, "TASK_") ? 5 : 0; *name; name++)
		putchar(*name == '_' ? ' ' : *name | 0x20);
}

void job_report_over(const struct job_task *task)
{
	const struct job *job = task->job;
	int count = job->options->instances, width = snprintf(NULL, 0, "%d", count);

	if (job->options->style == JOB_JSON)
		put_json(task, NULL, 0);
	if (job->options->style != JOB_TEXT)
		return;
	clear_status_line(job);
	printf("[%*d/%d] %s ", width, job->over + 1, count, task->id);
	put_state(task->state);
	if (task->agent_name)
		printf(" on %s", task->agent_name);
	if (task->state != MESOS__TASK_STATE__TASK_FINISHED && task->message && *task->message)
		printf(": %.*s", (int)strcspn(task->message, "\n"), task->message);
	if (task->state != MESOS__TASK_STATE__TASK_FINISHED && task->reason)
		printf(" (%s)", task->reason);
	putchar('\n');
	draw_status_line(job, job->over + 1);
}

void job_report_line(const struct job_task *task, const char *line, size_t len)
{
	if (task->job->options->style == JOB_JSON) {
		put_json(task, line, len);
		return;
	}
	if (task->job->options->instances > 1)
		printf("%s | ", task->id);
	fwrite(line, 1, len, stdout);
	putchar('\n');
	fflush(stdout);
}

/* ---- the end of all ------------------------------------------------------ */

static void add_row(struct cli_table *table, const struct job_task *task)
{
	int code = job_exit_code(task->message);
	char text[16] = "-";

	if (code >= 0)
		snprintf(text, sizeof(text), "%d", code);
	cli_table_add(table, task->id);
	/* Of a task that the end of the job cut short the last state means nothing. */
	cli_table_add(table, task->progress == JOB_REPORTED ? state_name(task->state) : "-");
	cli_table_add(table, task->agent_name ? task->agent_name : "-");
	cli_table_add(table, text);
	cli_table_add(table, task->first_line.data);
}

/* Where to look for the reason of a failure. */
static void put_hint(const struct job *job)
{
	const struct job_task *task = job->tasks;
	const struct job_task *end = task + job->options->instances;
	bool elsewhere = strcmp(job->options->master, CLI_DEFAULT_MASTER) != 0;

	while (task < end && task->state != MESOS__TASK_STATE__TASK_FAILED)
		task++;
	if (task < end && task->was_running)
		printf("For the errors of %s: mesita logs%s%s --stderr %s\n", task->id,
		       elsewhere ? " --master=" : "", elsewhere ? job->options->master : "",
		       task->id);
}

void job_report_end(const struct job *job)
{
	static const char *const names[] = {"TASK", "STATE", "AGENT", "EXIT", "OUTPUT"};
	int count = job->options->instances, finished = 0;
	struct cli_table table;

	if (job->options->style != JOB_TEXT)
		return;
	clear_status_line(job);
	cli_table_init(&table, sizeof(names) / sizeof(*names));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cli_table_add(&table, names[i]);
	for (int i = 0; i < count; i++) {
		add_row(&table, &job->tasks[i]);
		finished += job->tasks[i].state == MESOS__TASK_STATE__TASK_FINISHED;
	}
	putchar('\n');
	cli_table_print(&table);
	printf("\n%d of %d task%s finished%s\n", finished, count, count == 1 ? "" : "s",
	       job->over < count ? "; those without a state were ended with the job" : "");
	put_hint(job);
	fflush(stdout);
}
