/* The scheduler of `mesita run`; see job.h. */
#include "cli/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/client.h"

/* ---- the end ------------------------------------------------------------- */

static void close_timer(struct job_task *task)
{
	if (!uv_is_closing((uv_handle_t *)&task->timer))
		uv_close((uv_handle_t *)&task->timer, NULL);
}

static void torn_down_cb(void *context)
{
	struct job *job = context;

	scheduler_driver_close(job->driver);
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&job->signals[i], NULL);
	for (int i = 0; i < job->options->instances; i++) {
		if (job->tasks[i].reader)
			http_client_close(job->tasks[i].reader);
		job->tasks[i].reader = NULL;
		close_timer(&job->tasks[i]);
	}
}

static void end_job(struct job *job)
{
	if (job->ending)
		return;
	job->ending = true;
	scheduler_driver_teardown(job->driver, torn_down_cb);
}

static void failed_cb(void *context, const char *why)
{
	struct job *job = context;

	if (!job->failure)
		job->failure = xstrdup(why);
	end_job(job);
}

static void signal_cb(uv_signal_t *handle, int signal)
{
	struct job *job = handle->data;

	(void)signal;
	job->interrupted = true;
	end_job(job);
}

void job_output_done(struct job_task *task)
{
	struct job *job = task->job;

	if (task->progress != JOB_OVER)
		return;
	task->progress = JOB_REPORTED;
	job_report_state(job, task);
	if (++job->over == job->options->instances)
		end_job(job);
}

/* ---- offers -------------------------------------------------------------- */

/* Milli-units of a scalar that anybody may use. */
static int64_t available(Mesos__Resource *const *list, size_t count, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i]->name, name) && list[i]->scalar &&
		    list[i]->n_reservations == 0 && !list[i]->revocable)
			sum += (int64_t)(list[i]->scalar->value * 1000 + 0.5);
	return sum;
}

static const char *const scalars[] = {"cpus", "mem", "disk", "gpus"};

#define SCALARS (sizeof(scalars) / sizeof(*scalars))

/* Whether one more task fits into what is left; takes it out if so. */
static bool take_share(int64_t left[SCALARS], const int64_t want[SCALARS])
{
	for (size_t i = 0; i < SCALARS; i++)
		if (want[i] > left[i])
			return false;
	for (size_t i = 0; i < SCALARS; i++)
		left[i] -= want[i];
	return true;
}

static struct job_task *next_pending(struct job *job)
{
	while (job->next_pending < job->options->instances &&
	       job->tasks[job->next_pending].progress != JOB_PENDING)
		job->next_pending++;
	return job->next_pending < job->options->instances ? &job->tasks[job->next_pending] : NULL;
}

static void remember_agent(struct job_task *task, const Mesos__Offer *offer)
{
	const Mesos__Address *address = offer->url ? offer->url->address : NULL;

	task->agent_id = xstrdup(offer->agent_id->value);
	task->agent_name = address ? xprintf("%s:%d", offer->hostname, address->port)
				   : xstrdup(offer->hostname);
	if (address)
		task->agent_address =
			xprintf("%s:%d", address->ip ? address->ip : address->hostname,
				address->port);
}

static Mesos__TaskInfo *make_task(struct arena *arena, struct job_task *task,
				  const Mesos__Offer *offer)
{
	Mesos__TaskInfo *info = proto_copy_to(arena, task->job->options->task);

	info->name = task->id;
	info->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	info->task_id->value = task->id;
	info->agent_id = offer->agent_id;
	return info;
}

/* Launches what fits on the offer; an ACCEPT without tasks declines it. */
static void use_offer(struct job *job, Mesos__Offer *offer)
{
	const Mesos__TaskInfo *model = job->options->task;
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Accept accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT;
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT, *operations = &operation;
	Mesos__Offer__Operation__Launch launch = MESOS__OFFER__OPERATION__LAUNCH__INIT;
	Mesos__Filters filters = MESOS__FILTERS__INIT;
	int64_t left[SCALARS], want[SCALARS];
	struct job_task *task;
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; i < SCALARS; i++) {
		left[i] = available(offer->resources, offer->n_resources, scalars[i]);
		want[i] = available(model->resources, model->n_resources, scalars[i]);
	}
	while ((task = next_pending(job)) && take_share(left, want)) {
		task->progress = JOB_LAUNCHED;
		remember_agent(task, offer);
		proto_push(&arena, launch.n_task_infos, launch.task_infos,
			   make_task(&arena, task, offer));
	}
	operation.has_type = 1;
	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation.launch = &launch;
	filters.has_refuse_seconds = 1;
	/* Freed resources are wanted at once while tasks wait. */
	filters.refuse_seconds = next_pending(job) ? 0.2 : 3600;
	accept.n_offer_ids = 1;
	accept.offer_ids = &offer->id;
	accept.n_operations = 1;
	accept.operations = &operations;
	accept.filters = &filters;
	call.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT;
	call.accept = &accept;
	scheduler_driver_call(job->driver, &call);
	arena_free(&arena);
}

static void suppress_when_done(struct job *job)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	if (job->suppressed || next_pending(job))
		return;
	job->suppressed = true;
	call.type = MESOS__SCHEDULER__CALL__TYPE__SUPPRESS;
	scheduler_driver_call(job->driver, &call);
}

/* ---- updates ------------------------------------------------------------- */

static struct job_task *find_task(struct job *job, const char *id)
{
	for (int i = 0; i < job->options->instances; i++)
		if (!strcmp(job->tasks[i].id, id))
			return &job->tasks[i];
	return NULL;
}

static bool is_terminal(Mesos__TaskState state)
{
	switch (state) {
	case MESOS__TASK_STATE__TASK_STAGING:
	case MESOS__TASK_STATE__TASK_STARTING:
	case MESOS__TASK_STATE__TASK_RUNNING:
	case MESOS__TASK_STATE__TASK_KILLING:
	case MESOS__TASK_STATE__TASK_UNREACHABLE:
	case MESOS__TASK_STATE__TASK_UNKNOWN:
		return false;
	default:
		return true;
	}
}

static void kill_cb(uv_timer_t *timer)
{
	struct job_task *task = timer->data;
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill kill = MESOS__SCHEDULER__CALL__KILL__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;

	task_id.value = task->id;
	kill.task_id = &task_id;
	call.type = MESOS__SCHEDULER__CALL__TYPE__KILL;
	call.kill = &kill;
	scheduler_driver_call(task->job->driver, &call);
}

static void task_running(struct job_task *task)
{
	const struct job_options *options = task->job->options;

	if (task->was_running)
		return;
	task->was_running = true;
	if (options->kill_after)
		uv_timer_start(&task->timer, kill_cb, (uint64_t)(options->kill_after / MILLISECOND),
			       0);
	if (options->follow)
		job_output_read(task);
}

static void take_update(struct job *job, const Mesos__TaskStatus *status)
{
	struct job_task *task = find_task(job, status->task_id->value);

	scheduler_driver_acknowledge(job->driver, status);
	if (!task || task->progress >= JOB_OVER)
		return;
	task->state = status->state;
	free(task->message);
	task->message = xstrdup(status->message ? status->message : "");
	if (status->state == MESOS__TASK_STATE__TASK_RUNNING)
		task_running(task);
	if (!is_terminal(status->state))
		return;
	task->progress = JOB_OVER;
	if (task->was_running && task->agent_address)
		job_output_read(task);
	else
		job_output_done(task);
}

static void event_cb(void *context, const Mesos__Scheduler__Event *event)
{
	struct job *job = context;

	if (job->ending)
		return;
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		job_report_subscribed(job);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		for (size_t i = 0; event->offers && i < event->offers->n_offers; i++)
			use_offer(job, event->offers->offers[i]);
		suppress_when_done(job);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		if (event->update)
			take_update(job, event->update->status);
		break;
	default:
		break;
	}
}

static void disconnected_cb(void *context, const char *why)
{
	(void)context;
	log_warning("the connection to the master broke (%s), trying again", why);
}

static void refused_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
		       const char *why)
{
	(void)context;
	(void)type;
	log_warning("the master refused a call (%d): %s", status, why);
}

/* ---- life ---------------------------------------------------------------- */

static void fill_framework(const struct job_options *options, struct arena *arena,
			   Mesos__FrameworkInfo *info)
{
	static const Mesos__FrameworkInfo__Capability__Type types[] = {
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE,
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT,
		MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE,
	};
	size_t count = options->partition_aware ? 3 : 2;

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

static void make_tasks(struct job *job)
{
	int count = job->options->instances;

	job->tasks = xcalloc((size_t)count, sizeof(*job->tasks));
	for (int i = 0; i < count; i++) {
		struct job_task *task = &job->tasks[i];

		task->job = job;
		task->id = count == 1 ? xstrdup(job->options->name)
				      : xprintf("%s.%d", job->options->name, i + 1);
		task->state = MESOS__TASK_STATE__TASK_STAGING;
		uv_timer_init(job->loop, &task->timer);
		task->timer.data = task;
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
		if (job->tasks[i].state != MESOS__TASK_STATE__TASK_FINISHED)
			return 1;
	return 0;
}

static int start(struct job *job, struct err *err)
{
	static const int signals[2] = {SIGINT, SIGTERM};
	static const struct scheduler_handlers handlers = {event_cb, disconnected_cb, failed_cb,
							   refused_cb};
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct arena arena;
	int rv;

	arena_init(&arena);
	fill_framework(job->options, &arena, &info);
	rv = scheduler_driver_create(job->loop, job->options->master, &info, &handlers, job,
				     &job->driver, err);
	arena_free(&arena);
	if (rv < 0)
		return rv;
	make_tasks(job);
	for (int i = 0; i < 2; i++) {
		uv_signal_init(job->loop, &job->signals[i]);
		job->signals[i].data = job;
		uv_signal_start(&job->signals[i], signal_cb, signals[i]);
	}
	return 0;
}

int job_run(const struct job_options *options, struct err *err)
{
	uv_loop_t loop;
	struct job job = {.options = options, .loop = &loop};
	int rv;

	uv_loop_init(&loop);
	rv = start(&job, err);
	if (rv == 0) {
		uv_run(&loop, UV_RUN_DEFAULT);
		job_report_end(&job);
		rv = exit_status(&job, err);
		free_tasks(&job);
		free(job.failure);
	}
	uv_loop_close(&loop);
	return rv;
}
