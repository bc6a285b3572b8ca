/* Reading the standard output of a job's tasks from their agents. */
#include <stdlib.h>
#include <string.h>

#include "cli/job/job.h"
#include "cli/job/sandbox_file.h"
#include "client/address.h"
#include "client/credential.h"
#include "net/client.h"

#define LOOK_AGAIN_MS 200    /* --follow: pause between two looks */
#define READ_TIMEOUT_MS 5000 /* an agent that does not answer costs the output, not the job */
#define FIRST_LINE_MAX 512
#define LINE_MAX_SHOWN 65536 /* longer lines are shown in pieces */

static void look_cb(uv_timer_t *timer)
{
	job_output_read(timer->data);
}

static void keep_first_line(struct job_task *task, const struct buf *data)
{
	struct buf *line = &task->first_line;

	for (size_t i = 0; i < data->len && !task->first_line_whole; i++) {
		if (data->data[i] == '\n')
			task->first_line_whole = true;
		else
			buf_putc(line, data->data[i]);
		if (line->len >= FIRST_LINE_MAX)
			task->first_line_whole = true;
	}
}

static void show_lines(struct job_task *task, const struct buf *data)
{
	size_t done = 0;

	buf_append(&task->partial, data->data, data->len);
	while (done < task->partial.len) {
		const char *line = task->partial.data + done;
		const char *newline = memchr(line, '\n', task->partial.len - done);
		size_t len = newline ? (size_t)(newline - line) : task->partial.len - done;

		if (!newline && len < LINE_MAX_SHOWN)
			break;
		job_report_line(task, line, len);
		done += len + (newline ? 1 : 0);
	}
	buf_consume(&task->partial, done);
}

/* What to do after one read: `got` bytes more were there. */
static void job_output_go_on(struct job_task *task, size_t got)
{
	bool follow = task->job->options->follow;

	if (task->progress == JOB_OVER && (got == 0 || !follow)) {
		if (follow && task->partial.len > 0)
			job_report_line(task, task->partial.data, task->partial.len);
		job_output_done(task);
	} else if (got > 0 || task->progress == JOB_OVER) {
		job_output_read(task);
	} else {
		uv_timer_start(&task->look, look_cb, LOOK_AGAIN_MS, 0);
	}
}

static void job_output_answered_cb(void *context, const struct http_answer *answer)
{
	struct job_task *task = context;
	bool was_over = task->over_when_asked;
	struct buf data = BUF_INIT;
	struct err err;

	task->reading = false;
	if (answer->status == 200)
		(void)sandbox_file_data(answer->body.data, answer->body.len, &data, &err);
	keep_first_line(task, &data);
	if (task->job->options->follow && data.len > 0)
		show_lines(task, &data);
	task->offset += data.len;
	/* Nothing new before the end is not nothing new after it. */
	if (data.len == 0 && task->progress == JOB_OVER && !was_over)
		job_output_read(task);
	else
		job_output_go_on(task, data.len);
	buf_free(&data);
}

static bool open_reader(struct job_task *task)
{
	struct err err;
	char *host;
	int port;

	if (task->reader)
		return true;
	if (!task->agent_address ||
	    address_parse(task->agent_address, 5051, &host, &port, &err) < 0)
		return false;
	task->reader = http_client_create(task->job->loop, host, port);
	free(host);
	return true;
}

void job_output_read(struct job_task *task)
{
	const struct job_options *options = task->job->options;
	const char *headers[] = {NULL, NULL, NULL};
	struct buf path = BUF_INIT;
	char *file = NULL, *authorization = NULL;

	if (task->reading || task->job->ending)
		return; /* the read under way goes on by itself */
	if (!open_reader(task)) {
		job_output_done(task);
		return;
	}
	uv_timer_stop(&task->look);
	/* The executor of a group links the sandboxes of its tasks. */
	if (task->job->executor)
		file = xprintf("tasks/%s/stdout", task->id);
	sandbox_file_path(&path, scheduler_driver_id(task->job->driver),
			  file ? task->job->executor : task->id, file ? file : "stdout",
			  task->offset);
	free(file);
	if (!options->follow)
		buf_printf(&path, "&length=%d", FIRST_LINE_MAX);
	task->reading = true;
	task->over_when_asked = task->progress == JOB_OVER;
	/* The agent may ask who reads, as the master does. */
	if (options->principal && options->secret) {
		authorization = credential_basic(options->principal, options->secret);
		headers[0] = "Authorization";
		headers[1] = authorization;
	}
	http_client_send(task->reader, "GET", path.data, headers, "", 0, READ_TIMEOUT_MS,
			 job_output_answered_cb, task);
	free(authorization);
	buf_free(&path);
}
