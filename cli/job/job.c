/* The scheduler of `mesita run`; see job.h. */
#include "cli/job/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time/clock.h"
#include "net/client.h"
#include "proto/states.h"

#define OFFER_WAIT (5 * SECOND) /* without a launch, before saying so */

/* ---- the end ------------------------------------------------------------- */

static void close_reader(struct job_task *task)
{
	if (task->reader)
		http_client_close(task->reader);
	task->reader = NULL;
}

static void torn_down_cb(void *context)
{
	struct job *job = context;

	if (job->torn_down)
		return;
	job->torn_down = true;
	scheduler_driver_close(job->driver);
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&job->signals[i], NULL);
	uv_close((uv_handle_t *)&job->watch, NULL);
	for (int i = 0; i < job->options->instances; i++) {
		close_reader(&job->tasks[i]);
		uv_close((uv_handle_t *)&job->tasks[i].look, NULL);
		uv_close((uv_handle_t *)&job->tasks[i].kill, NULL);
	}
}

static void end_job(struct job *job)
{
	if (job->ending)
		return;
	job->ending = true;
	uv_timer_stop(&job->watch);
	scheduler_driver_teardown(job->driver, torn_down_cb);
}

void job_fail(struct job *job, const char *why)
{
	if (!job->failure)
		job->failure = xstrdup(why);
	end_job(job);
}

static void job_failed_cb(void *context, const char *why)
{
	job_fail(context, why);
}

/* The first signal tears the framework down, the second does not wait for that. */
static void job_signal_cb(uv_signal_t *handle, int signal)
{
	struct job *job = handle->data;

	(void)signal;
	if (job->interrupted) {
		torn_down_cb(job);
		return;
	}
	job->interrupted = true;
	if (!job->ending && job->subscribed)
		job_report_note(job, "interrupted, killing the tasks");
	end_job(job);
}

void job_output_done(struct job_task *task)
{
	struct job *job = task->job;

	if (task->progress != JOB_OVER)
		return;
	task->progress = JOB_REPORTED;
	close_reader(task);
	uv_timer_stop(&task->look);
	uv_timer_stop(&task->kill);
	job_report_over(task);
	if (++job->over == job->options->instances)
		end_job(job);
}

/* ---- updates ------------------------------------------------------------- */

/* The ids are ours: <task_id>, or <task_id>.<number>; those of a group are its own. */
static struct job_task *job_find_task(struct job *job, const char *id)
{
	size_t prefix = job->options->group ? 0 : strlen(job->options->task_id);
	int number = 1;

	for (int i = 0; job->options->group && i < job->options->instances; i++)
		if (!strcmp(job->tasks[i].id, id))
			return &job->tasks[i];
	if (job->options->group)
		return NULL;
	if (job->options->instances > 1) {
		if (strncmp(id, job->options->task_id, prefix) || id[prefix] != '.')
			return NULL;
		number = atoi(id + prefix + 1);
	}
	if (number < 1 || number > job->options->instances || strcmp(job->tasks[number - 1].id, id))
		return NULL;
	return &job->tasks[number - 1];
}

/* Whether nothing more can become of the task. TASK_UNKNOWN is an answer to our
 * reconciliation: nobody has heard of it. */
static bool job_is_over(Mesos__TaskState state)
{
	return task_state_terminal(state) || state == MESOS__TASK_STATE__TASK_UNKNOWN;
}

/* The master did not take the launch: the offer was gone. */
static bool launch_came_to_nothing(const struct job_task *task, const Mesos__TaskStatus *status)
{
	return !task->was_running && status->has_reason &&
	       status->reason == MESOS__TASK_STATUS__REASON__REASON_INVALID_OFFERS;
}

static void kill_cb(uv_timer_t *timer)
{
	job_kill(timer->data);
}

static void task_running(struct job_task *task)
{
	struct job *job = task->job;

	if (task->was_running)
		return;
	task->was_running = true;
	job->running++;
	if (job->options->kill_after)
		uv_timer_start(&task->kill, kill_cb,
			       (uint64_t)(job->options->kill_after / MILLISECOND), 0);
	if (job->options->follow)
		job_output_read(task);
}

static void task_over(struct job_task *task)
{
	task->progress = JOB_OVER;
	task->job->running -= task->was_running;
	if (task->has_sandbox && task->agent_address && task->job->options->style != JOB_EXECUTE)
		job_output_read(task);
	else
		job_output_done(task);
}

static void job_take_update(struct job *job, const Mesos__TaskStatus *status)
{
	struct job_task *task = job_find_task(job, status->task_id->value);

	scheduler_driver_acknowledge(job->driver, status);
	if (!task || task->progress >= JOB_OVER)
		return;
	if (launch_came_to_nothing(task, status) && job_launch_again(task))
		return;
	task->state = status->state;
	free(task->message);
	task->message = xstrdup(status->message ? status->message : "");
	task->reason = status->has_reason ? proto_enum_name(&mesos__task_status__reason__descriptor,
							    (int)status->reason, SPELL_V1)
					  : NULL;
	/* A short one in a Docker container is never seen to run. */
	if (status->state == MESOS__TASK_STATE__TASK_STARTING ||
	    status->state == MESOS__TASK_STATE__TASK_RUNNING)
		task->has_sandbox = true;
	if (status->state == MESOS__TASK_STATE__TASK_RUNNING)
		task_running(task);
	job_report_status(task, status);
	if (job_is_over(status->state))
		task_over(task);
}

/* ---- the subscription ---------------------------------------------------- */

static void offers_missing_cb(uv_timer_t *timer)
{
	struct job *job = timer->data;
	const Mesos__TaskInfo *model = job->options->task; /* NULL: a group */

	if (job->waiting_told || job->running > 0 || job->over > 0 ||
	    job->tasks[0].progress != JOB_PENDING)
		return;
	job->waiting_told = true;
	if (!job->last_offer)
		job_report_note(job, "waiting: no agent offers resources yet");
	else
		job_report_note(job, "waiting: no offer holds what %s wants; the last one had %s%s",
				model ? "a task" : "the group", job->last_offer,
				model && model->n_resources
					? " (--cpus, --mem and --disk make tasks smaller)"
					: "");
}

/* What was launched may have been lost with the old connection. */
static void job_reconcile(struct job *job)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Reconcile body = MESOS__SCHEDULER__CALL__RECONCILE__INIT;
	struct arena arena;

	arena_init(&arena);
	for (int i = 0; i < job->options->instances; i++) {
		struct job_task *task = &job->tasks[i];
		Mesos__Scheduler__Call__Reconcile__Task *item;

		if (task->progress != JOB_LAUNCHED)
			continue;
		item = PROTO_NEW(&arena, Mesos__Scheduler__Call__Reconcile__Task,
				 mesos__scheduler__call__reconcile__task__descriptor);
		item->task_id = PROTO_NEW(&arena, Mesos__TaskID, mesos__task_id__descriptor);
		item->task_id->value = task->id;
		item->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
		item->agent_id->value = task->agent_id;
		proto_push(&arena, body.n_tasks, body.tasks, item);
	}
	call.type = MESOS__SCHEDULER__CALL__TYPE__RECONCILE;
	call.reconcile = &body;
	if (body.n_tasks)
		scheduler_driver_call(job->driver, &call);
	arena_free(&arena);
}

static void job_take_subscribed(struct job *job)
{
	if (job->subscribed) {
		job_report_note(job, "connected to the master again");
		job->suppressed = false;
		job_reconcile(job);
		return;
	}
	job->subscribed = true;
	job_report_subscribed(job);
	uv_timer_start(&job->watch, offers_missing_cb, OFFER_WAIT / MILLISECOND, 0);
}

static void job_event_cb(void *context, const Mesos__Scheduler__Event *event)
{
	struct job *job = context;

	if (job->ending)
		return;
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		job_take_subscribed(job);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		if (event->offers)
			job_launch_on(job, event->offers);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		if (event->update)
			job_take_update(job, event->update->status);
		break;
	default:
		break;
	}
}

static void job_disconnected_cb(void *context, const char *why)
{
	job_report_note(context, "the connection to the master broke (%s), trying again", why);
}

static void job_unreachable_cb(void *context, const char *why)
{
	struct job *job = context;

	if (job->subscribed)
		return;
	if (!job->unreachable)
		job_report_note(job, "cannot subscribe: %s; trying for %d seconds", why,
				(int)(job->options->patience / SECOND));
	free(job->unreachable);
	job->unreachable = xstrdup(why);
}

static void out_of_patience_cb(uv_timer_t *timer)
{
	struct job *job = timer->data;
	char *text = xprintf("no master takes us: %s. `mesita local` starts a cluster; "
			     "--master=HOST:PORT says where one is",
			     job->unreachable ? job->unreachable : "it does not answer");

	job_fail(job, text);
	free(text);
}

/* An ACCEPT that is refused leaves tasks that nobody will ever speak of. */
static void job_refused_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
			   const char *why)
{
	struct job *job = context;
	char *text = xprintf("the master refused a call (%d): %s", status, why);

	if (type == MESOS__SCHEDULER__CALL__TYPE__ACCEPT)
		job_fail(job, text);
	else
		job_report_note(job, "%s", text);
	free(text);
}

/* ---- life ---------------------------------------------------------------- */

static void fill_framework(const struct job_options *options, struct arena *arena,
			   Mesos__FrameworkInfo *info)
{
	static const Mesos__FrameworkInfo__Capability__Type types[] = {
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE,
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT,
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__TASK_KILLING_STATE,
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE,
	};
	size_t count = options->partition_aware ? 4 : 3;

	info->name = (char *)options->name;
	info->user = (char *)options->user;
	info->principal = (char *)options->principal;
	info->has_checkpoint = 1;
	info->checkpoint = options->checkpoint;
	info->n_roles = 1;
	info->roles = arena_alloc(arena, sizeof(*info->roles));
	info->roles[0] = (char *)options->role;
	for (size_t i = 0; i < count; i++) {
		Mesos__FrameworkInfo__Capability *capability =
			PROTO_NEW(arena, Mesos__FrameworkInfo__Capability,
				  mesos__framework_info__capability__descriptor);

		capability->has_type = 1;
		capability->type = types[i];
		proto_push(arena, info->n_capabilities, info->capabilities, capability);
	}
}

static char *new_id(const struct job_options *options, int i)
{
	if (options->group)
		return xstrdup(options->group->tasks[i]->task_id->value);
	return options->instances == 1 ? xstrdup(options->task_id)
				       : xprintf("%s.%d", options->task_id, i + 1);
}

static void make_tasks(struct job *job)
{
	int count = job->options->instances;

	job->tasks = xcalloc((size_t)count, sizeof(*job->tasks));
	for (int i = 0; i < count; i++) {
		struct job_task *task = &job->tasks[i];

		task->job = job;
		task->id = new_id(job->options, i);
		task->state = MESOS__TASK_STATE__TASK_STAGING;
		uv_timer_init(job->loop, &task->look);
		uv_timer_init(job->loop, &task->kill);
		task->look.data = task->kill.data = task;
	}
}

static void free_tasks(struct job *job)
{
	for (int i = 0; i < job->options->instances; i++) {
		struct job_task *task = &job->tasks[i];

		free(task->id);
		free(task->agent_id);
		free(task->agent_name);
		free(task->agent_address);
		free(task->message);
		buf_free(&task->first_line);
		buf_free(&task->partial);
	}
	free(job->tasks);
}

static int exit_status(const struct job *job, struct err *err)
{
	if (job->interrupted)
		return 130;
	if (job->failure)
		return err_set(err, ERR_STATE, "%s", job->failure);
	for (int i = 0; i < job->options->instances; i++)
		if (job->tasks[i].state != MESOS__TASK_STATE__TASK_FINISHED &&
		    job->options->style != JOB_EXECUTE)
			return 1;
	return 0;
}

static int job_start(struct job *job, struct err *err)
{
	static const int signals[2] = {SIGINT, SIGTERM};
	static const struct scheduler_handlers handlers = {
		.event = job_event_cb,
		.disconnected = job_disconnected_cb,
		.failed = job_failed_cb,
		.refused = job_refused_cb,
		.unreachable = job_unreachable_cb,
	};
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct arena arena;
	int rv;

	arena_init(&arena);
	fill_framework(job->options, &arena, &info);
	struct scheduler_options options = {
		.master = job->options->master,
		.info = &info,
		.principal = job->options->secret ? job->options->principal : NULL,
		.secret = job->options->secret,
	};
	rv = scheduler_driver_create(job->loop, &options, &handlers, job, &job->driver, err);
	arena_free(&arena);
	if (rv < 0)
		return rv;
	make_tasks(job);
	uv_timer_init(job->loop, &job->watch);
	job->watch.data = job;
	uv_timer_start(&job->watch, out_of_patience_cb,
		       (uint64_t)(job->options->patience / MILLISECOND), 0);
	for (int i = 0; i < 2; i++) {
		uv_signal_init(job->loop, &job->signals[i]);
		job->signals[i].data = job;
		uv_signal_start(&job->signals[i], job_signal_cb, signals[i]);
	}
	return 0;
}

int job_run(const struct job_options *options, struct err *err)
{
	uv_loop_t loop;
	struct job job = {.options = options, .loop = &loop};
	int rv;

	uv_loop_init(&loop);
	rv = job_start(&job, err);
	if (rv == 0) {
		uv_run(&loop, UV_RUN_DEFAULT);
		if (job.subscribed)
			job_report_end(&job);
		rv = exit_status(&job, err);
		free_tasks(&job);
		free(job.failure);
		free(job.unreachable);
		free(job.last_offer);
		free(job.executor);
	}
	uv_loop_close(&loop);
	return rv;
}
