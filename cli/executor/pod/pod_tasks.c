/* A task of a group: from LAUNCH_GROUP to its last update.
 *
 * Happy path: TASK_STARTING and LAUNCH_CONTAINER; when all of the group are answered TASK_RUNNING
 * and WAIT_CONTAINER; the container ends: TASK_FINISHED or TASK_FAILED.
 * Failures: a container that is not launched is TASK_FAILED with the agent's words. One that fails
 * or is killed has the others of its group killed. While the agent is away nothing is asked; once
 * it is back everything is asked again: a launch that it knows is answered 202.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "cli/executor/executor_command.h"
#include "cli/executor/pod/pod.h"

#define KILL_GRACE_DEFAULT (3 * SECOND)
#define AGAIN_MS 1000
#define SPAN_MAX (3650 * DAY) /* longer ones are taken for this */

static void launch_answered(void *context, const struct http_answer *answer);
static void wait_answered(void *context, const struct http_answer *answer);

struct pod_task *pod_find(struct pod *pod, const char *task_id)
{
	struct pod_task *task;

	HASH_FIND_STR(pod->tasks, task_id, task);
	return task;
}

static int64_t bounded(int64_t span)
{
	return span < 0 ? 0 : span > SPAN_MAX ? SPAN_MAX : span;
}

static void start_timer(uv_timer_t *timer, uv_timer_cb callback, int64_t span)
{
	uv_timer_start(timer, callback, span > 0 ? (uint64_t)(span / MILLISECOND) : 0, 0);
}

/* ---- updates ------------------------------------------------------------- */

/* Fills in what every status has. */
static void task_send(struct pod_task *task, Mesos__TaskStatus *status)
{
	Mesos__ContainerStatus container = MESOS__CONTAINER_STATUS__INIT;
	struct check_report report;
	struct arena arena;

	arena_init(&arena);
	container.container_id = pod_container_id(&arena, task);
	status->task_id = task->info->task_id;
	status->container_status = &container;
	if (!status->check_status)
		status->check_status = check_report_empty(&report, task->info);
	executor_driver_update(task->pod->driver, status);
	arena_free(&arena);
}

static void task_tell(struct pod_task *task, Mesos__TaskState state)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;

	status.state = state;
	task_send(task, &status);
}

/* ---- the end ------------------------------------------------------------- */

static void task_closed_cb(uv_handle_t *handle)
{
	struct pod_task *task = handle->data;

	if (--task->handles)
		return;
	proto_free(task->info);
	free(task->container);
	free(task->launch_error);
	free(task);
}

void pod_task_close(struct pod_task *task)
{
	pod_drop_calls(task);
	checker_close(task->checker);
	HASH_DEL(task->pod->tasks, task);
	uv_close((uv_handle_t *)&task->again, task_closed_cb);
	uv_close((uv_handle_t *)&task->escalation, task_closed_cb);
	uv_close((uv_handle_t *)&task->completion, task_closed_cb);
}

static void kill_others(struct pod_task *ended)
{
	struct pod_task *task, *next;

	HASH_ITER (hh, ended->pod->tasks, task, next) {
		if (task->group == ended->group && task != ended)
			pod_kill(task, pod_grace(NULL, task->info->kill_policy));
	}
}

static void task_over(struct pod_task *task, Mesos__TaskStatus *status)
{
	struct pod *pod = task->pod;

	if (pod->unhealthy) {
		status->has_healthy = 1;
		status->healthy = 0;
	}
	task_send(task, status);
	if (status->state != MESOS__TASK_STATE__TASK_FINISHED)
		kill_others(task);
	pod_task_close(task);
	pod_end_if_done(pod);
}

static Mesos__TaskState end_state(const struct pod_task *task, bool good)
{
	if (task->timed_out)
		return MESOS__TASK_STATE__TASK_FAILED;
	if (task->killed)
		return MESOS__TASK_STATE__TASK_KILLED;
	return good ? MESOS__TASK_STATE__TASK_FINISHED : MESOS__TASK_STATE__TASK_FAILED;
}

/* It is not known how it ended. */
static void task_lost_sight(struct pod_task *task, bool known_to_agent)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	const char *unknown = known_to_agent
				      ? "Command terminated with unknown status"
				      : "Unable to retrieve command's termination information";

	status.state = known_to_agent ? MESOS__TASK_STATE__TASK_FAILED : end_state(task, false);
	status.message = task->launch_error ? task->launch_error : (char *)unknown;
	task_over(task, &status);
}

static void task_ended(struct pod_task *task, const Mesos__Agent__Response__WaitContainer *end)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	char *message = executor_command_message(end->exit_status);

	status.state = end_state(task, end->exit_status == 0);
	if (task->timed_out) {
		status.has_reason = 1;
		status.reason = MESOS__TASK_STATUS__REASON__REASON_MAX_COMPLETION_TIME_REACHED;
	}
	if (end->has_state)
		status.state = end->state;
	if (end->has_reason) {
		status.has_reason = 1;
		status.reason = end->reason;
	}
	status.limitation = end->limitation;
	if (end->message) {
		char *longer = xprintf("%s: %s", message, end->message);

		free(message);
		message = longer;
	}
	status.message = message;
	task_over(task, &status);
	free(message);
}

/* ---- killing ------------------------------------------------------------- */

int64_t pod_grace(const Mesos__KillPolicy *first, const Mesos__KillPolicy *second)
{
	if (first && first->grace_period)
		return bounded(first->grace_period->nanoseconds);
	if (second && second->grace_period)
		return bounded(second->grace_period->nanoseconds);
	return KILL_GRACE_DEFAULT;
}

static void escalation_cb(uv_timer_t *timer);

/* It is asked for again until its end is heard of. */
static void killed_hard(void *context, const struct http_answer *answer)
{
	struct pod_task *task = context;

	if (answer->status != 200)
		uv_timer_start(&task->escalation, escalation_cb, AGAIN_MS, 0);
}

static void killed_softly(void *context, const struct http_answer *answer)
{
	(void)context;
	if (answer->status != 200 && answer->status != 404)
		log_warning("the agent did not pass SIGTERM on: %d", answer->status);
}

static void escalation_cb(uv_timer_t *timer)
{
	pod_call_kill(timer->data, SIGKILL, killed_hard);
}

/* A second kill may only bring the deadline nearer. */
static void escalate_after(struct pod_task *task, int64_t grace)
{
	int64_t deadline = task->kill_time + grace;

	if (task->kill_deadline && deadline >= task->kill_deadline)
		return;
	task->kill_deadline = deadline;
	start_timer(&task->escalation, escalation_cb, deadline - clock_now());
}

static void begin_kill(struct pod_task *task, int64_t grace)
{
	task->kill_time = clock_now();
	checker_stop(task->checker);
	uv_timer_stop(&task->completion);
	pod_call_kill(task, SIGTERM, killed_softly);
	escalate_after(task, grace);
}

void pod_kill(struct pod_task *task, int64_t grace)
{
	if (task->timed_out)
		return;
	if (task->stage != POD_RUNNING) {
		task->killed = true;
		return;
	}
	if (task->kill_deadline) {
		escalate_after(task, grace);
		return;
	}
	task->killed = true;
	if (task->pod->tells_killing)
		task_tell(task, MESOS__TASK_STATE__TASK_KILLING);
	begin_kill(task, grace);
}

static void completion_cb(uv_timer_t *timer)
{
	struct pod_task *task = timer->data;

	if (task->stage != POD_RUNNING || task->kill_deadline)
		return;
	task->timed_out = true;
	begin_kill(task, 0);
}

/* ---- while it runs ------------------------------------------------------------- */

static void checked_cb(void *context, const Mesos__TaskStatus *news, bool kill)
{
	struct pod_task *task = context;
	Mesos__TaskStatus status = *news;

	task_send(task, &status);
	if (!kill)
		return;
	task->pod->unhealthy = true;
	pod_kill(task, pod_grace(NULL, task->info->kill_policy));
}

static void task_wait(struct pod_task *task)
{
	pod_call_wait(task, wait_answered);
}

static void wait_again_cb(uv_timer_t *timer)
{
	struct pod_task *task = timer->data;

	if (executor_driver_connected(task->pod->driver))
		task_wait(task);
}

static void wait_answered(void *context, const struct http_answer *answer)
{
	struct pod_task *task = context;
	const Mesos__Agent__Response__WaitContainer *end;
	struct arena arena;

	if (answer->status == 404) {
		task_lost_sight(task, false);
		return;
	}
	if (answer->status != 200) {
		uv_timer_start(&task->again, wait_again_cb, AGAIN_MS, 0);
		return;
	}
	arena_init(&arena);
	end = pod_read_wait(&arena, answer);
	if (end && end->has_exit_status)
		task_ended(task, end);
	else
		task_lost_sight(task, true);
	arena_free(&arena);
}

static void task_run(struct pod_task *task)
{
	static const struct checker_handlers handlers = {.update = checked_cb,
							 .command = pod_probe_start};
	bool was_killed = task->killed;

	task->stage = POD_RUNNING;
	task_wait(task);
	if (task->launch_error)
		return;
	pod_link_sandbox(task);
	task_tell(task, MESOS__TASK_STATE__TASK_RUNNING);
	if (was_killed) {
		task->killed = false;
		pod_kill(task, pod_grace(NULL, task->info->kill_policy));
		return;
	}
	task->checker = checker_start(&task->pod->loop, task->info, &handlers, task);
	if (task->info->max_completion_time)
		start_timer(&task->completion, completion_cb,
			    bounded(task->info->max_completion_time->nanoseconds));
}

/* ---- launch ---------------------------------------------------------------------- */

static void run_group_if_ready(struct pod *pod, uint64_t group)
{
	struct pod_task *task, *next;

	HASH_ITER (hh, pod->tasks, task, next) {
		if (task->group == group && task->stage == POD_LAUNCHING)
			return;
	}
	HASH_ITER (hh, pod->tasks, task, next) {
		if (task->group == group && task->stage == POD_READY)
			task_run(task);
	}
}

static void launch_again_cb(uv_timer_t *timer)
{
	struct pod_task *task = timer->data;

	if (executor_driver_connected(task->pod->driver))
		pod_call_launch(task, launch_answered);
}

static void launch_answered(void *context, const struct http_answer *answer)
{
	struct pod_task *task = context;

	if (answer->status == 0 || answer->status == 503) {
		uv_timer_start(&task->again, launch_again_cb, AGAIN_MS, 0);
		return;
	}
	if (answer->status != 200 && answer->status != 202)
		task->launch_error = xstrndup(answer->body.data, answer->body.len);
	task->stage = POD_READY;
	run_group_if_ready(task->pod, task->group);
}

static void open_timers(struct pod_task *task)
{
	uv_timer_t *timers[] = {&task->again, &task->escalation, &task->completion};

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		uv_timer_init(&task->pod->loop, timers[i]);
		timers[i]->data = task;
	}
	task->handles = sizeof(timers) / sizeof(*timers);
}

static void task_create(struct pod *pod, const Mesos__TaskInfo *info)
{
	struct pod_task *task = xcalloc(1, sizeof(*task));
	uint8_t uuid[UUID_BYTES];
	char text[UUID_TEXT];

	uuid_make(&pod->rng, uuid);
	uuid_format(uuid, text);
	task->pod = pod;
	task->group = pod->last_group;
	task->info = proto_copy(info);
	task->container = xstrdup(text);
	open_timers(task);
	HASH_ADD_KEYPTR(hh, pod->tasks, task->info->task_id->value,
			strlen(task->info->task_id->value), task);
	task_tell(task, MESOS__TASK_STATE__TASK_STARTING);
	pod_call_launch(task, launch_answered);
}

void pod_launch(struct pod *pod, const Mesos__TaskGroupInfo *group)
{
	pod->last_group++;
	pod->began = true;
	for (size_t i = 0; i < group->n_tasks; i++) {
		if (pod_find(pod, group->tasks[i]->task_id->value))
			log_error("task '%s' was launched twice", group->tasks[i]->task_id->value);
		else
			task_create(pod, group->tasks[i]);
	}
}

/* ---- the agent goes and comes ------------------------------------------------------ */

void pod_pause(struct pod *pod)
{
	struct pod_task *task, *next;

	HASH_ITER (hh, pod->tasks, task, next)
		pod_drop_calls(task);
}

void pod_resume(struct pod *pod)
{
	struct pod_task *task, *next;

	HASH_ITER (hh, pod->tasks, task, next) {
		uv_timer_stop(&task->again);
		if (task->stage == POD_LAUNCHING)
			pod_call_launch(task, launch_answered);
		else if (task->stage == POD_RUNNING)
			task_wait(task);
		if (task->kill_deadline)
			start_timer(&task->escalation, escalation_cb,
				    task->kill_deadline - clock_now());
	}
}
