/* The default executor, `mesita default-executor`: runs the tasks of groups, each in a container
 * inside of its own, which it has the agent make (the operator API). Its files alone include this.
 *
 *	pod.c		its life, what the agent tells it
 *	pod_tasks.c	a task's life: launched, waited for, killed, told
 *	pod_calls.c	calls to the agent
 *	pod_launch.c	what a task's container is launched with
 *	pod_probe.c	commands of checks, in containers inside of a task's
 */
#ifndef CLI_EXECUTOR_POD_POD_H
#define CLI_EXECUTOR_POD_POD_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "base/random.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "cli/executor/checker.h"
#include "cli/executor/probe.h"
#include "client/executor.h"
#include "net/client.h"

#define POD_AGENT_PATH "/slave(1)/api/v1"

struct pod {
	uv_loop_t loop;
	struct rng rng;
	struct executor_driver *driver;
	char *host; /* the agent's */
	int port;
	char *authorization; /* heap, or NULL */
	char *container;     /* id of our own; NULL before SUBSCRIBED */
	const char *sandbox;
	struct pod_task *tasks;	     /* by id; those that are not over */
	struct http_client *remover; /* of what probes left; NULL before the first */
	struct list stale;	     /* containers of probes that were ended before their time */
	uint64_t last_group;
	bool tells_killing; /* the framework has TASK_KILLING_STATE */
	bool unhealthy;	    /* a task was killed for that */
	bool shutting_down;
	bool began; /* there was a group */
	uv_timer_t last_wait;
	uv_signal_t children;
	int exit_status;
	bool ending;
};

enum pod_stage {
	POD_LAUNCHING, /* its container was asked for */
	POD_READY,     /* that was answered, others of the group were not */
	POD_RUNNING,   /* or it could not be launched; its end is waited for */
};

struct pod_task {
	UT_hash_handle hh;
	struct pod *pod;
	uint64_t group;
	Mesos__TaskInfo *info; /* heap */
	char *container;       /* UUID text */
	enum pod_stage stage;
	char *launch_error; /* heap; NULL: it was launched */
	bool killed;	    /* by KILL, SHUTDOWN, its group, or for being unhealthy; or will be */
	bool timed_out;	    /* by max_completion_time */
	int64_t kill_time;
	int64_t kill_deadline;	    /* when SIGKILL follows; 0 = no kill */
	struct http_client *client; /* for what takes its time: the launch, then the wait */
	struct http_client *killer;
	uv_timer_t again; /* waits, or kills, once more */
	uv_timer_t escalation;
	uv_timer_t completion;
	struct checker *checker;
	int handles; /* open ones; it is freed with the last */
};

/* -- pod.c -- */

/* A task is over: ends when nothing is left to be done. */
void pod_end_if_done(struct pod *pod);

/* -- pod_tasks.c -- */

void pod_launch(struct pod *pod, const Mesos__TaskGroupInfo *group);
struct pod_task *pod_find(struct pod *pod, const char *task_id);
/* Signals it, and after the grace period (ns) kills it. One that is not launched yet is killed once
 * it is. */
void pod_kill(struct pod_task *task, int64_t grace);
int64_t pod_grace(const Mesos__KillPolicy *first, const Mesos__KillPolicy *second);
/* The agent is back: what was asked of it is asked again. */
void pod_resume(struct pod *pod);
void pod_pause(struct pod *pod);
/* Nothing is told of it any more. Frees itself from the loop. */
void pod_task_close(struct pod_task *task);

/* -- pod_calls.c -- */

/* `answer->status` 0: the agent could not be reached. */
typedef void pod_answered(void *context, const struct http_answer *answer);
/* By clients of the task's own: no call waits for another task's. */
void pod_call_launch(struct pod_task *task, pod_answered *answered);
void pod_call_wait(struct pod_task *task, pod_answered *answered);
void pod_call_kill(struct pod_task *task, int signal, pod_answered *answered);
/* No answer comes any more. */
void pod_drop_calls(struct pod_task *task);
/* Of an answer with status 200. In the arena; NULL: it does not parse. */
const Mesos__Agent__Response__WaitContainer *pod_read_wait(struct arena *arena,
							   const struct http_answer *answer);

/* Any call, by a client. */
void pod_send(struct http_client *client, const struct pod *pod, const Mesos__Agent__Call *call,
	      int timeout_ms, pod_answered *answered, void *context);
/* Headers of calls, ended by NULL; `records`: the answer is a stream of those. */
#define POD_HEADERS 9
void pod_headers(const struct pod *pod, bool records, const char *headers[POD_HEADERS]);

/* -- pod_probe.c -- */

/* A probe_commander, whose context is the task. */
struct probe *pod_probe_start(void *task, const Mesos__CommandInfo *command,
			      enum probe_outcome *outcome, struct err *err);
void pod_probes_close(struct pod *pod);

/* -- pod_launch.c -- */

/* In the arena; points into the task. */
Mesos__Agent__Call__LaunchContainer *pod_launch_make(struct arena *arena,
						     const struct pod_task *task);
/* Ids of the task's container and our own, in the arena. */
Mesos__ContainerID *pod_container_id(struct arena *arena, const struct pod_task *task);
/* Links tasks/<task id> in our sandbox to the task's. */
void pod_link_sandbox(const struct pod_task *task);

#endif
