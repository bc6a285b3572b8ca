/* A job of `mesita run`: N instances of a command, as a scheduler of its own on the
 * public v1 API; or one group of tasks. job.c is its life and takes the master's events,
 * job_launch.c uses offers, job_group.c those for a group, job_output.c reads outputs from the
 * agents, job_report.c prints. */
#ifndef CLI_JOB_JOB_H
#define CLI_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/memory/buf.h"
#include "client/scheduler.h"
#include "proto/proto.h"

enum job_style {
	JOB_TEXT,    /* progress, and a table at the end */
	JOB_JSON,    /* one object a line */
	JOB_EXECUTE, /* the lines of mesos-execute, which scripts match */
};

struct job_options {
	const char *master;  /* "host:port" */
	const char *name;    /* of the framework */
	const char *task_id; /* of the task; with several instances a number follows */
	const char *role;
	const char *user;
	const char *principal; /* or NULL */
	const char *secret;    /* of the principal, or NULL: it is not said to the master */
	int instances;
	bool checkpoint;
	bool partition_aware;
	bool follow; /* show the tasks' output as it grows */
	enum job_style style;
	int64_t kill_after; /* ns; 0 = never */
	int64_t patience;   /* ns: how long to try to reach a master at first */
	/* What to run: complete but for task_id and agent_id. NULL: a group. */
	const Mesos__TaskInfo *task;
	/* Complete but for agent_ids; as many tasks as `instances`, all on one agent. */
	const Mesos__TaskGroupInfo *group;
};

enum job_progress { JOB_PENDING, JOB_LAUNCHED, JOB_OVER, JOB_REPORTED };

struct job_task {
	struct job *job;
	char *id;
	enum job_progress progress;
	Mesos__TaskState state;
	bool was_running;
	bool has_sandbox;
	int launches;
	char *agent_id;
	char *agent_name;    /* host name and port of the offer */
	char *agent_address; /* "ip:port" of the agent's HTTP */
	char *message;	     /* of the last status */
	const char *reason;  /* likewise; NULL: none */
	struct buf first_line;
	bool first_line_whole;
	struct buf partial;   /* --follow: a line that is not whole yet */
	size_t offset;	      /* bytes read of the output */
	bool reading;	      /* a request for output is under way */
	bool over_when_asked; /* ... that was sent after the task's end */
	struct http_client *reader;
	uv_timer_t look; /* --follow: next look */
	uv_timer_t kill; /* --kill_after */
};

struct job {
	const struct job_options *options;
	uv_loop_t *loop;
	struct scheduler_driver *driver;
	struct job_task *tasks;
	int next_pending; /* first that may still be pending */
	int running;	  /* tasks that were said to run and are not over */
	int over;	  /* tasks in JOB_REPORTED */
	bool subscribed;  /* once */
	bool suppressed;
	bool waiting_told; /* that no offer is large enough */
	int groups;	   /* launched so far */
	char *executor;	   /* id of the group's executor; NULL: the tasks have their own */
	char *last_offer;  /* what the last one that was too small had; NULL */
	bool interrupted;
	bool ending; /* TEARDOWN was sent */
	bool torn_down;
	char *unreachable; /* why the last try to subscribe failed; NULL */
	char *failure;	   /* why the job cannot go on; NULL */
	uv_signal_t signals[2];
	uv_timer_t watch; /* for a master, then for offers */
};

/* Runs the job to its end; returns the exit status: 0 only if every task finished (as
 * mesos-execute: if every task came to an end). */
int job_run(const struct job_options *options, struct err *err);
/* The job cannot go on. */
void job_fail(struct job *job, const char *why);

/* -- job_launch.c -- */
void job_launch_on(struct job *job, Mesos__Scheduler__Event__Offers *offers);
/* Notes that the task is launched on that offer. */
void job_launch_note(struct job_task *task, const Mesos__Offer *offer);
/* Milli-units of a scalar that anybody may use. */
int64_t job_available(Mesos__Resource *const *list, size_t count, const char *name);
/* ACCEPTs the offer for the operation. */
void job_launch_accept(struct job *job, Mesos__Offer *offer, Mesos__Offer__Operation *operation);
/* A task whose launch came to nothing is to be launched again; false: often enough. */
bool job_launch_again(struct job_task *task);
void job_kill(struct job_task *task);

/* -- job_group.c -- */
/* Launches the group if it is to be launched and fits the offer; false: not on this one. */
bool job_group_launch(struct job *job, Mesos__Offer *offer, struct arena *arena);

/* -- job_output.c -- */
/* Starts reading a task's standard output; job_output_done() is called when the task
 * is over and its first line (or, with --follow, all of it) is read. */
void job_output_read(struct job_task *task);
void job_output_done(struct job_task *task);

/* -- job_report.c -- */
void job_report_subscribed(const struct job *job);
void job_report_launch(const struct job_task *task);
void job_report_status(const struct job_task *task, const Mesos__TaskStatus *status);
void job_report_kill(const struct job_task *task);
void job_report_over(const struct job_task *task); /* job->over does not count it yet */
void job_report_line(const struct job_task *task, const char *line, size_t len);
/* A remark for people, on standard error. */
void job_report_note(const struct job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void job_report_end(const struct job *job);
/* Exit code of a finished command by the executor's message, -1 if there is none. */
int job_exit_code(const char *message);

#endif
