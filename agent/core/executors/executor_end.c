/* The end of executors: their container could not be started, broke a limit, or is over; what their
 * tasks are told of it, and when nothing of them is left.
 *
 * Each live task gets one update, with the reason that was noted first: by whoever destroyed the
 * container, or by what it broke; else "Executor terminated". */
#include "agent/core/executors/executors.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/limits.h"
#include "agent/core/nested/nested.h"
#include "agent/core/objects.h"
#include "agent/core/paths.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/store/orphans.h"
#include "agent/core/store/recovery.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

#define UNKNOWN_STATUS (-1)
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- why it ends ----------------------------------------------------------- */

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

/* ---- what its tasks hear ------------------------------------------------------ */

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

static void end_task(struct agent *agent, struct executor *executor, const struct task *task,
		     Mesos__TaskState state, Mesos__TaskStatus__Reason reason, const char *text)
{
	Mesos__Internal__StatusUpdate *update =
		agent_draft_update(agent, executor->framework, task->record->task_id->value,
				   executor->id, state, reason, text);

	if (executor->pending_limitation)
		update->status->limitation =
			proto_copy_to(&agent->out->arena, executor->pending_limitation);
	agent_update(agent, NULL, update);
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
				end_task(agent, executor, task, state, reason, text);
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

void agent_handle_container_networked(struct agent *agent, const struct agent_event *event)
{
	struct executor *executor =
		agent_container_find(agent, event->container_networked.container);

	if (!executor)
		return;
	proto_free(executor->networked);
	executor->networked = proto_copy(event->container_networked.status);
	if (executor->checkpoint)
		agent_store_networks(executor, agent);
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

void agent_handle_container_limited(struct agent *agent, const struct agent_event *event)
{
	struct executor *executor = agent_container_find(agent, event->container_limited.container);
	Mesos__TaskStatus__Reason reason = event->container_limited.reason;

	if (agent_nested_limited(agent, event))
		return;
	if (!executor || executor->state == EXECUTOR_TERMINATED || executor->pending)
		return;
	log_warning("Container %s of executor '%s' of framework %s is destroyed: %.*s",
		    executor->container, executor->id, executor->framework->id,
		    (int)strcspn(event->container_limited.text, "\n"),
		    event->container_limited.text);
	agent_executor_set_pending(executor,
				   reason == REASON(CONTAINER_UPDATE_FAILED)
					   ? agent_gone_state(executor->framework)
					   : MESOS__TASK_STATE__TASK_FAILED,
				   reason, event->container_limited.text);
	executor->pending_limitation = proto_copy(agent_limitation(agent, event));
	agent_executor_destroy(agent, executor);
}
