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
#include "agent/core/executors/limits.h"
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
	proto_free(executor->pending_limitation);
	proto_free(executor->networked);
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

/* ---- tasks in and out ---------------------------------------------------- */

uint64_t agent_executor_queue(struct agent *agent, struct executor *executor, Mesos__Task *record,
			      Mesos__TaskInfo *info, uint64_t group)
{
	struct task *task = agent_task_create(executor, record, info, TASK_QUEUED);

	task->group = group;
	resources_add_messages(agent->options.shapes, &executor->allocated, record->resources,
			       record->n_resources);
	executor->bursts = executor->bursts || record->n_limits;
	agent_executor_limit(agent, executor);
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
	if (executor->state != EXECUTOR_TERMINATED)
		agent_executor_limit(agent, executor);
}

/* ---- launch -------------------------------------------------------------- */

const char *agent_executor_user(const struct agent *agent, const struct executor *executor)
{
	const Mesos__CommandInfo *command = executor->info->command;

	if (!agent->options.switch_user)
		return NULL;
	/* Not everybody may speak with Docker's daemon; in the container users are the image's. */
	if (executor->generated && agent_runs_docker(agent, executor->info->container))
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
	launch->limits = agent_executor_limits(agent, executor);
	launch->limited = true;
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
		/* What the agent before us did not come to. */
		agent_executor_limit(agent, executor);
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
