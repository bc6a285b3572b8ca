/* Executors: from launch to removal.
 *
 * Happy path: created WAITING for its checkpoint, LAUNCH, CONTAINER_STARTED, it comes
 * (REGISTERING -> RUNNING), gets its queue, runs tasks, exits, its last update is
 * acknowledged, it is removed and its sandbox scheduled for collection.
 * Failures: it never comes: destroyed, TASK_FAILED. It cannot be launched: LOST/DROPPED or
 * TASK_FAILED by stage. It dies: each of its tasks gets one update with the reason that was
 * noted when it was destroyed, else "Executor terminated". */
#include "agent/core/executors/executors.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/nested/nested.h"
#include "agent/core/objects.h"
#include "agent/core/paths.h"
#include "agent/core/registration.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/store/orphans.h"
#include "agent/core/store/recovery.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/groups.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"
#include "base/time/duration.h"

#define UNKNOWN_STATUS (-1)
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- the record ---------------------------------------------------------- */

struct executor *agent_executor_find(struct framework *framework, const char *id)
{
	struct executor *executor;

	HASH_FIND_STR(framework->executors, id, executor);
	return executor;
}

struct executor *agent_container_find(struct agent *agent, const char *container)
{
	struct executor *executor;

	HASH_FIND(hh_container, agent->containers, container, strlen(container), executor);
	return executor;
}

struct executor *agent_executor_alloc(struct framework *framework, const char *id)
{
	struct executor *executor = xcalloc(1, sizeof(*executor));

	executor->framework = framework;
	executor->id = xstrdup(id);
	executor->deadline.kind = TIMER_EXECUTOR;
	executor->heartbeat.kind = TIMER_HEARTBEAT;
	list_init(&executor->link);
	list_init(&executor->completed);
	list_init(&executor->nested);
	for (int place = 0; place < TASK_PLACES; place++)
		list_init(&executor->tasks[place]);
	HASH_ADD_KEYPTR(hh, framework->executors, executor->id, strlen(executor->id), executor);
	return executor;
}

void agent_executor_set_container(struct agent *agent, struct executor *executor,
				  const char *container)
{
	executor->container = xstrdup(container);
	executor->sandbox = agent_run_path(agent, executor->framework->id, executor->id, container);
	HASH_ADD_KEYPTR(hh_container, agent->containers, executor->container,
			strlen(executor->container), executor);
}

void agent_executor_set_stream(struct agent *agent, struct executor *executor, uint64_t stream)
{
	if (executor->stream)
		HASH_DELETE(hh_stream, agent->subscribed, executor);
	executor->stream = stream;
	if (stream)
		HASH_ADD(hh_stream, agent->subscribed, stream, sizeof(stream), executor);
}

struct executor *agent_executor_create(struct agent *agent, struct framework *framework,
				       const Mesos__ExecutorInfo *info, const char *container)
{
	struct executor *executor = agent_executor_alloc(framework, info->executor_id->value);

	executor->info = proto_copy(info);
	agent_executor_set_container(agent, executor, container);
	resources_add_messages(agent->options.shapes, &executor->allocated, info->resources,
			       info->n_resources);
	return executor;
}

void agent_executor_free(struct agent *agent, struct executor *executor)
{
	struct task *task, *next;

	for (int place = 0; place < TASK_PLACES; place++) {
		list_for_each (task, next, &executor->tasks[place], link)
			agent_task_free(task);
	}
	list_for_each (task, next, &executor->completed, link)
		agent_task_free(task);
	timers_stop(&agent->timers, &executor->deadline);
	timers_stop(&agent->timers, &executor->heartbeat);
	agent_executor_set_stream(agent, executor, 0);
	agent_links_free(executor);
	if (executor->hh_container.tbl)
		HASH_DELETE(hh_container, agent->containers, executor);
	if (executor->hh.tbl)
		HASH_DELETE(hh, executor->framework->executors, executor);
	resources_free(&executor->allocated);
	proto_free(executor->info);
	free(executor->pending_message);
	free(executor->pid);
	free(executor->sandbox);
	free(executor->container);
	free(executor->id);
	free(executor);
}

bool agent_executor_idle(const struct executor *executor)
{
	return !executor->sent_task && list_empty(&executor->tasks[TASK_QUEUED]);
}

void agent_executor_set_pending(struct executor *executor, Mesos__TaskState state,
				Mesos__TaskStatus__Reason reason, const char *message)
{
	if (executor->pending)
		return;
	executor->pending = true;
	executor->pending_state = state;
	executor->pending_reason = reason;
	executor->pending_message = xstrdup(message);
}

/* ---- tasks in and out ---------------------------------------------------- */

uint64_t agent_executor_queue(struct agent *agent, struct executor *executor, Mesos__Task *record,
			      Mesos__TaskInfo *info, uint64_t group)
{
	struct task *task = agent_task_create(executor, record, info, TASK_QUEUED);

	task->group = group;
	resources_add_messages(agent->options.shapes, &executor->allocated, record->resources,
			       record->n_resources);
	/* After kill -9 nobody may run on a volume that the agent does not know. */
	task->ticket = agent->total_ticket;
	if (executor->checkpoint) {
		agent_store_task(task, agent);
		task->ticket = agent_ticket(agent);
	}
	return task->ticket;
}

/* In order, as far as checkpoints are written, volumes are there and somebody listens. */
void agent_executor_deliver(struct agent *agent, struct executor *executor)
{
	struct task *task;

	if (executor->state != EXECUTOR_RUNNING || (!executor->stream && !executor->pid) ||
	    list_empty(&executor->tasks[TASK_QUEUED]) || !agent_links_ready(agent, executor))
		return;
	while ((task = list_first(&executor->tasks[TASK_QUEUED], struct task, link)) &&
	       task->ticket <= agent->stored) {
		if (task->group) {
			agent_group_deliver(agent, executor, task->group);
			continue;
		}
		agent_tell_task(agent, executor, task);
		agent_task_move(task, TASK_LAUNCHED);
		executor->sent_task = true;
	}
}

void agent_executor_shrunk(struct agent *agent, struct executor *executor)
{
	if (executor->linked.count && executor->state != EXECUTOR_TERMINATED)
		agent_links_ready(agent, executor);
}

/* ---- launch -------------------------------------------------------------- */

const char *agent_executor_user(const struct agent *agent, const struct executor *executor)
{
	const Mesos__CommandInfo *command = executor->info->command;

	if (!agent->options.switch_user)
		return NULL;
	return command && command->user ? command->user : executor->framework->info->user;
}

static bool is_default(const struct executor *executor)
{
	return executor->info->has_type &&
	       executor->info->type == MESOS__EXECUTOR_INFO__TYPE__DEFAULT;
}

void agent_executor_launch(struct agent *agent, struct executor *executor)
{
	struct arena *arena = &agent->out->arena;
	struct agent_launch *launch;
	struct agent_volumes volumes;
	const char *user = agent_executor_user(agent, executor);

	if (executor->process != CONTAINER_WAITING || executor->state != EXECUTOR_REGISTERING ||
	    !agent_links_launch(agent, executor, &volumes))
		return;
	executor->process = CONTAINER_ASKED;
	launch = &agent_emit(agent, AGENT_LAUNCH)->launch;
	launch->container = arena_strdup(arena, executor->container);
	launch->framework_id = arena_strdup(arena, executor->framework->id);
	launch->executor_id = arena_strdup(arena, executor->id);
	launch->sandbox = arena_strdup(arena, executor->sandbox);
	launch->user = user ? arena_strdup(arena, user) : NULL;
	launch->command = is_default(executor) ? agent_default_command(agent)
					       : proto_copy_to(arena, executor->info->command);
	launch->info = proto_copy_to(arena, executor->info->container);
	launch->environment = agent_executor_environment(agent, executor);
	launch->resources = &executor->allocated;
	launch->volumes = volumes;
	timers_start(&agent->timers, &executor->deadline,
		     agent->now + agent->options.executor_registration_timeout);
}

void agent_executor_arrived(struct agent *agent, struct executor *executor)
{
	agent_executor_set_state(executor, EXECUTOR_RUNNING);
	timers_stop(&agent->timers, &executor->deadline);
	if (executor->recovered) {
		executor->recovered = false;
		agent_recovery_settle(agent);
	}
}

/* ---- the way out --------------------------------------------------------- */

void agent_executor_destroy(struct agent *agent, struct executor *executor)
{
	if (executor->state == EXECUTOR_TERMINATED)
		return;
	agent_executor_set_state(executor, EXECUTOR_TERMINATING);
	timers_stop(&agent->timers, &executor->deadline);
	if (executor->process == CONTAINER_WAITING) {
		agent_executor_exited(agent, executor, UNKNOWN_STATUS, NULL);
		return;
	}
	if (executor->destroying)
		return;
	executor->destroying = true;
	agent_emit(agent, AGENT_DESTROY)->destroy.container =
		arena_strdup(&agent->out->arena, executor->container);
}

void agent_executor_shutdown(struct agent *agent, struct executor *executor)
{
	int64_t grace = agent->options.executor_shutdown_grace_period;

	if (executor->state == EXECUTOR_TERMINATING || executor->state == EXECUTOR_TERMINATED)
		return;
	log_info("Shutting down executor '%s' of framework %s", executor->id,
		 executor->framework->id);
	if (executor->process == CONTAINER_WAITING) {
		agent_executor_destroy(agent, executor);
		return;
	}
	if (executor->info->shutdown_grace_period)
		grace = executor->info->shutdown_grace_period->nanoseconds;
	if (grace < 0)
		grace = 0;
	agent_executor_set_state(executor, EXECUTOR_TERMINATING);
	agent_tell_shutdown(agent, executor);
	timers_start(&agent->timers, &executor->deadline,
		     grace > INT64_MAX - agent->now ? INT64_MAX - 1 : agent->now + grace);
}

void agent_executor_timeout(struct agent *agent, struct executor *executor)
{
	char text[DURATION_TEXT];

	if (executor->state == EXECUTOR_REGISTERING) {
		log_warning("Executor '%s' of framework %s did not register in time", executor->id,
			    executor->framework->id);
		agent_executor_set_pending(
			executor, MESOS__TASK_STATE__TASK_FAILED,
			REASON(EXECUTOR_REGISTRATION_TIMEOUT),
			agent_key(agent, "Executor did not register within %s",
				  duration_format(agent->options.executor_registration_timeout,
						  text)));
	}
	agent_executor_destroy(agent, executor);
}

void agent_send_exited_executor(struct agent *agent, const char *framework_id,
				const char *executor_id, int status)
{
	Mesos__Internal__ExitedExecutorMessage *message;

	if (!agent->info->id)
		return;
	message = agent_new(agent, Mesos__Internal__ExitedExecutorMessage,
			    mesos__internal__exited_executor_message__descriptor);
	message->agent_id = agent_own_id(agent);
	message->framework_id = agent_framework_id(agent, framework_id);
	message->executor_id = agent_executor_id(agent, executor_id);
	message->status = status;
	agent_send(agent, agent->master, message);
}

static char *exit_text(struct agent *agent, const struct executor *executor, const char *abnormal)
{
	const char *why = executor->pending ? executor->pending_message : NULL;

	if (abnormal)
		abnormal = agent_key(agent, "Abnormal executor termination: %s", abnormal);
	if (why && abnormal)
		return agent_key(agent, "%s; %s", why, abnormal);
	return agent_key(agent, "%s", why ? why : abnormal ? abnormal : "Executor terminated");
}

/* One update for each task that is not over. They move between the lists meanwhile, to
 * the terminated ones, so each list is emptied. */
static void end_tasks(struct agent *agent, struct executor *executor, Mesos__TaskState state,
		      Mesos__TaskStatus__Reason reason, const char *text)
{
	static const enum task_place live[] = {TASK_LAUNCHED, TASK_QUEUED};
	struct framework *framework = executor->framework;
	struct task *task, *next;

	for (int i = 0; i < 2; i++) {
		list_for_each (task, next, &executor->tasks[live[i]], link) {
			if (framework->terminating)
				agent_task_complete(agent, task);
			else
				agent_make_update(agent, framework, task->record->task_id->value,
						  executor->id, state, reason, text);
		}
	}
}

static void end_process(struct agent *agent, struct executor *executor)
{
	executor->process = CONTAINER_GONE;
	timers_stop(&agent->timers, &executor->deadline);
	timers_stop(&agent->timers, &executor->heartbeat);
	if (executor->stream)
		agent_end_stream(agent, executor->stream);
	agent_executor_set_stream(agent, executor, 0);
	agent_executor_set_state(executor, EXECUTOR_TERMINATED);
	agent->counters.executors_terminated++;
}

void agent_executor_exited(struct agent *agent, struct executor *executor, int status,
			   const char *abnormal)
{
	struct framework *framework = executor->framework;
	bool was_awaited = executor->recovered;

	if (executor->state == EXECUTOR_TERMINATED)
		return;
	end_process(agent, executor);
	agent_nested_over(agent, executor);
	end_tasks(agent, executor,
		  executor->pending ? executor->pending_state : MESOS__TASK_STATE__TASK_FAILED,
		  executor->pending ? executor->pending_reason : REASON(EXECUTOR_TERMINATED),
		  exit_text(agent, executor, abnormal));
	/* The master does not know those that were generated. */
	if (!executor->generated)
		agent_send_exited_executor(agent, framework->id, executor->id, status);
	executor->recovered = false;
	agent_executor_settle(agent, executor);
	if (was_awaited)
		agent_recovery_settle(agent);
}

static void schedule_collection(struct agent *agent, struct executor *executor)
{
	char *path = agent_executor_path(agent, executor->framework->id, executor->id);

	agent_collect(agent, executor->sandbox);
	agent_collect(agent, path);
	free(path);
}

/* Of a framework that is shut down. Its updates go with it: a store that kept them without
 * their task would make an agent that is killed now send them for ever. */
static void give_up_task(struct agent *agent, struct task *task)
{
	struct framework *framework = task->executor->framework;
	struct stream *stream = agent_stream_find(framework, task->record->task_id->value);

	if (stream && framework->terminating)
		agent_stream_close(agent, stream);
	agent_task_complete(agent, task);
}

void agent_executor_settle(struct agent *agent, struct executor *executor)
{
	struct framework *framework = executor->framework;
	bool forced = framework->terminating || agent->state == STATE_TERMINATING;
	struct task *task, *next;

	if (executor->state != EXECUTOR_TERMINATED)
		return;
	for (int place = 0; place < TASK_PLACES; place++) {
		if (!forced && !list_empty(&executor->tasks[place]))
			return;
		list_for_each (task, next, &executor->tasks[place], link)
			give_up_task(agent, task);
	}
	if (executor->checkpoint)
		agent_forget_executor(executor, agent);
	schedule_collection(agent, executor);
	HASH_DELETE(hh_container, agent->containers, executor);
	executor->hh_container.tbl = NULL;
	HASH_DELETE(hh, framework->executors, executor);
	executor->hh.tbl = NULL;
	list_append(&framework->completed, &executor->link);
	if (++framework->completed_count >
	    (unsigned)agent->options.max_completed_executors_per_framework) {
		executor = list_first(&framework->completed, struct executor, link);
		list_remove(&executor->link);
		framework->completed_count--;
		agent_executor_free(agent, executor);
	}
	agent_framework_settle(agent, framework);
}

/* ---- events -------------------------------------------------------------- */

void agent_handle_container_started(struct agent *agent, const struct agent_event *event)
{
	const char *container = event->container_started.container;
	struct executor *executor = agent_container_find(agent, container);

	if (agent_nested_started(agent, event))
		return;
	if (!executor || executor->process == CONTAINER_GONE) {
		log_warning("Destroying container %s: nobody needs it", container);
		agent_emit(agent, AGENT_DESTROY)->destroy.container =
			arena_strdup(&agent->out->arena, container);
		return;
	}
	executor->process = CONTAINER_UP;
	executor->process_id = event->container_started.pid;
	executor->start_ticks = event->container_started.start_ticks;
	if (executor->checkpoint)
		agent_store_process(executor, agent);
}

/* The sandbox could not be made: the executor never was. */
static void drop_executor(struct agent *agent, struct executor *executor, const char *text)
{
	struct framework *framework = executor->framework;

	end_process(agent, executor);
	end_tasks(agent, executor, agent_dropped_state(framework), REASON(EXECUTOR_TERMINATED),
		  text);
	if (!executor->generated)
		agent_send_exited_executor(agent, framework->id, executor->id, UNKNOWN_STATUS);
	agent_executor_settle(agent, executor);
}

void agent_handle_container_failed(struct agent *agent, const struct agent_event *event)
{
	struct executor *executor = agent_container_find(agent, event->container_failed.container);
	const char *text = event->container_failed.text;

	if (agent_nested_failed(agent, event))
		return;
	if (!executor || executor->state == EXECUTOR_TERMINATED)
		return;
	log_warning("Container %s of executor '%s' could not be started: %s", executor->container,
		    executor->id, text);
	agent->counters.container_launch_errors++;
	if (event->container_failed.stage == AGENT_STAGE_SANDBOX && !executor->pending) {
		drop_executor(agent, executor, text);
		return;
	}
	if (event->container_failed.stage == AGENT_STAGE_TYPE) {
		agent_executor_exited(agent, executor, UNKNOWN_STATUS, text);
		return;
	}
	agent_executor_set_pending(executor, MESOS__TASK_STATE__TASK_FAILED,
				   REASON(CONTAINER_LAUNCH_FAILED),
				   agent_key(agent, "Failed to launch container: %s", text));
	agent_executor_exited(agent, executor, UNKNOWN_STATUS, NULL);
}

void agent_handle_container_exited(struct agent *agent, const struct agent_event *event)
{
	struct executor *executor = agent_container_find(agent, event->container_exited.container);

	if (agent_nested_exited(agent, event))
		return;
	if (!executor)
		agent_orphan_exited(agent, event->container_exited.container);
	if (!executor || executor->state == EXECUTOR_TERMINATED)
		return;
	log_info("Executor '%s' of framework %s ended with status %d%s", executor->id,
		 executor->framework->id, event->container_exited.status,
		 event->container_exited.known ? "" : ", as far as is known");
	agent_executor_exited(agent, executor,
			      event->container_exited.known ? event->container_exited.status
							    : UNKNOWN_STATUS,
			      NULL);
}

void agent_handle_shutdown_executor(struct agent *agent, const char *from,
				    Mesos__Internal__ShutdownExecutorMessage *message)
{
	struct framework *framework;
	struct executor *executor;

	if (!agent_from_master(agent, from, "ShutdownExecutorMessage") || !message->framework_id ||
	    !message->executor_id)
		return;
	if (agent->state == STATE_RECOVERING || agent->state == STATE_DISCONNECTED) {
		log_warning("Dropped the shutdown of executor '%s': the agent is %s",
			    message->executor_id->value, agent_state_name(agent->state));
		return;
	}
	framework = agent_framework_find(agent, message->framework_id->value);
	executor = framework ? agent_executor_find(framework, message->executor_id->value) : NULL;
	if (!executor) {
		log_warning("Dropped the shutdown of executor '%s' of framework %s: it is unknown",
			    message->executor_id->value, message->framework_id->value);
		return;
	}
	agent_executor_shutdown(agent, executor);
}
