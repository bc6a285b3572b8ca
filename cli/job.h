/* A job of `mesita run`: N instances of a command, as a scheduler of its own on the
 * public v1 API. Launches on offers, acknowledges updates, reads outputs from the
 * agents, and reports through job_report.c. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "client/scheduler.h"
#include "proto/proto.h"

struct job_options {
	const char *master; /* "host:port" */
	const char *name;
	const char *role;
	const char *user;
	const char *principal; /* or NULL */
	int instances;
	bool checkpoint;
	bool partition_aware;
	bool follow;       /* show the tasks' output as it grows */
	bool json;
	int64_t kill_after; /* ns; 0 = never */
	/* What to run: complete but for task_id, name and agent_id. */
	const Mesos__TaskInfo *task;
};

enum job_progress { JOB_PENDING, JOB_LAUNCHED, JOB_OVER, JOB_REPORTED };

struct job_task {
	struct job *job;
	char *id;
	enum job_progress progress;
	Mesos__TaskState state;
	bool was_running;
	char *agent_id;
	char *agent_name;    /* host name of the offer */
	char *agent_address; /* "ip:port" of the agent's HTTP */
	char *message;       /* of the last status */
	struct buf first_line;
	struct buf partial;  /* --follow: a line that is not whole yet */
	size_t offset;       /* --follow: bytes seen */
	bool reading;        /* a request for output is under way */
	struct http_client *reader;
	uv_timer_t timer;    /* --follow: next look; --kill_after */
};

struct job {
	const struct job_options *options;
	uv_loop_t *loop;
	struct scheduler_driver *driver;
	struct job_task *tasks;
	int next_pending; /* first that may still be pending */
	int over;         /* tasks in JOB_REPORTED */
	bool suppressed;
	bool interrupted;
	bool ending;      /* TEARDOWN was sent */
	char *failure;    /* why the job cannot go on; NULL */
	uv_signal_t signals[2];
};

/* Runs the job to its end; returns the exit status: 0 only if every task finished. */
int job_run(const struct job_options *options, struct err *err);

/* -- job_output.c -- */
/* Starts reading a task's standard output; job_output_done() is called when the task
 * is over and its first line (or, with --follow, all of it) is read. */
void job_output_read(struct job_task *task);
void job_output_done(struct job_task *task);

/* -- job_report.c -- */
void job_report_subscribed(const struct job *job);
void job_report_state(const struct job *job, const struct job_task *task);
void job_report_line(const struct job_task *task, const char *line, size_t len);
void job_report_end(const struct job *job);
/* Exit code of a finished command by the executor's message, -1 if there is none. */
int job_exit_code(const struct job_task *task);

#endif
