/* Reading the standard output of a job's tasks from their agents. */
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "cli/sandbox_file.h"
#include "client/address.h"
#include "net/client.h"

#define LOOK_AGAIN_MS 200   /* --follow: pause between two looks */
#define READ_TIMEOUT_MS 5000 /* an agent that does not answer costs the output, not the job */
#define FIRST_LINE_MAX 512

static void look_cb(uv_timer_t *timer)
{
	job_output_read(timer->data);
}

static void keep_first_line(struct job_task *task, const struct buf *data)
{
	size_t len = 0;

	if (task->offset > 0 || data->len == 0)
		return;
	while (len < data->len && len < FIRST_LINE_MAX && data->data[len] != '\n')
		len++;
	buf_clear(&task->first_line);
	buf_append(&task->first_line, data->data, len);
}

static void show_lines(struct job_task *task, const struct buf *data)
{
	const char *newline;

	buf_append(&task->partial, data->data, data->len);
	while (task->partial.len > 0 &&
	       (newline = memchr(task->partial.data, '\n', task->partial.len))) {
		size_t len = (size_t)(newline - task->partial.data);

		job_report_line(task, task->partial.data, len);
		buf_consume(&task->partial, len + 1);
	}
}

/* What to do after one read: `got` bytes more were there. */
static void go_on(struct job_task *task, size_t got)
{
	if (task->progress == JOB_OVER && (got == 0 || !task->job->options->follow)) {
		if (task->job->options->follow && task->partial.len > 0)
			job_report_line(task, task->partial.data, task->partial.len);
		job_output_done(task);
	} else if (got > 0) {
		job_output_read(task);
	} else {
		uv_timer_start(&task->timer, look_cb, LOOK_AGAIN_MS, 0);
	}
}

static void answered_cb(void *context, const struct http_answer *answer)
{
	struct job_task *task = context;
	struct buf data = BUF_INIT;
	struct err err;

	if (answer->status == 200)
		(void)sandbox_file_data(answer->body.data, answer->body.len, &data, &err);
	http_client_close(task->reader);
	task->reader = NULL;
	keep_first_line(task, &data);
	if (task->job->options->follow && data.len > 0)
		show_lines(task, &data);
	task->offset += data.len;
	go_on(task, data.len);
	buf_free(&data);
}

void job_output_read(struct job_task *task)
{
	struct buf path = BUF_INIT;
	struct err err;
	char *host;
	int port;

	if (task->reader || task->job->ending)
		return; /* the read under way goes on by itself */
	if (!task->agent_address ||
	    address_parse(task->agent_address, 5051, &host, &port, &err) < 0) {
		job_output_done(task);
		return;
	}
	if (!task->job->options->kill_after)
		uv_timer_stop(&task->timer);
	sandbox_file_path(&path, scheduler_driver_id(task->job->driver), task->id, "stdout",
			  task->offset);
	if (!task->job->options->follow)
		buf_printf(&path, "&length=%d", FIRST_LINE_MAX);
	task->reader = http_client_create(task->job->loop, host, port);
	http_client_send(task->reader, "GET", path.data, NULL, "", 0, READ_TIMEOUT_MS, answered_cb,
			 task);
	buf_free(&path);
	free(host);
}
