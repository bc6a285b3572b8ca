/* After a restart: what was loaded (load.c) goes on.
 *
 * Happy path: agent_start(): processes are watched again, v0
 * executors are called back, v1 ones subscribe; when all are back the agent registers and
 * sends the heads of the streams.
 * Failures: an executor that is not back in time is destroyed (LOST/GONE), one whose
 * process is gone ends its tasks as failed; after a reboot none can live. */
#include "agent/core/store/recovery.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/drain.h"
#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/objects.h"
#include "agent/core/registration.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/total.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/store/orphans.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/updates.h"
#include "base/time/duration.h"

#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- starting ------------------------------------------------------------ */

/* Reservations and volumes stay: they belong to the machine's disks, not to the id. Containers are
 * orphans from now on. */
static void forget_all(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;
	struct stream *stream, *next_stream;
	struct task *task, *next_task;
	struct operation *operation, *next_operation;

	HASH_ITER (hh, agent->operations, operation, next_operation)
		agent_forget_operation(operation, agent);
	agent_operations_free(agent);
	if (agent->drain) {
		proto_free(agent->drain);
		agent->drain = NULL;
		agent_store_drain(agent);
	}
	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->tasks, task, next_task)
			agent_forget_task(task, agent);
		HASH_ITER (hh, framework->executors, executor, next_executor) {
			agent_leave_orphan(agent, executor);
			agent_forget_executor(executor, agent);
		}
		HASH_ITER (hh, framework->streams, stream, next_stream)
			agent_stream_close(agent, stream);
		agent_forget_framework(framework, agent);
		agent_framework_free(agent, framework);
	}
}

/* Gives up the stored identity, with all that ran under it. */
static void start_anew(struct agent *agent, const char *why)
{
	char *path = xprintf("%s/slaves/%s", agent->options.work_dir, agent_id(agent));

	log_warning("This is a new agent, and %s is no more: %s", agent_id(agent), why);
	agent_collect(agent, path);
	free(path);
	proto_free(agent->info->id);
	agent->info->id = NULL;
	agent_delete(agent, agent_key(agent, "agent/info"));
	forget_all(agent);
}

/* Takes over the identity. After a reboot an info that does not fit is forgotten. */
static int take_identity(struct agent *agent, bool rebooted, struct err *err)
{
	Mesos__AgentInfo *old = agent->loaded_info;
	int rv;

	agent->loaded_info = NULL;
	if (!old) {
		forget_all(agent);
		return 0;
	}
	rv = agent_info_compatible(agent, old, err);
	agent->info->id = proto_copy(old->id);
	proto_free(old);
	if (agent->options.start_new)
		start_anew(agent, "its link was removed");
	else if (rv < 0 && rebooted)
		start_anew(agent, err->text);
	else if (rv < 0)
		return err_wrap(err, rv,
				"Failed to perform recovery. To keep the agent id, restore the "
				"flags or see --reconfiguration_policy; to start as a new agent "
				"without the old one's tasks: rm -f %s/meta/slaves/latest",
				agent->options.work_dir);
	return 0;
}

/* Half a record: its batch was all or nothing, so this is damage. */
static bool recovery_is_whole(const struct executor *executor)
{
	return executor->info && executor->container && executor->framework->info;
}

static void drop_broken(struct agent *agent, struct executor *executor)
{
	struct task *task, *next;

	agent->counters.recovery_errors++;
	log_warning("Executor '%s' of framework %s is not whole in the store", executor->id,
		    executor->framework->id);
	for (int place = 0; place < TASK_PLACES; place++) {
		list_for_each (task, next, &executor->tasks[place], link)
			agent_forget_task(task, agent);
	}
	agent_leave_orphan(agent, executor);
	agent_forget_executor(executor, agent);
	agent_executor_free(agent, executor);
}

static void reattach(struct agent *agent, struct executor *executor, bool rebooted)
{
	struct agent_action *action;
	char *container = executor->container;
	struct task *only = list_first(&executor->tasks[TASK_LAUNCHED], struct task, link);

	executor->container = NULL;
	agent_executor_set_container(agent, executor, container);
	free(container);
	resources_add_messages(agent->options.shapes, &executor->allocated,
			       executor->info->resources, executor->info->n_resources);
	/* A command executor that never got its one task would wait for ever. */
	if (executor->generated && only && only->record->state == MESOS__TASK_STATE__TASK_STAGING)
		executor->sent_task = false;
	executor->process = CONTAINER_ASKED;
	agent_links_recover(agent, executor);
	agent->awaited++;
	if (rebooted)
		return;
	action = agent_emit(agent, AGENT_REATTACH);
	action->reattach.container = arena_strdup(&agent->out->arena, executor->container);
	action->reattach.sandbox = arena_strdup(&agent->out->arena, executor->sandbox);
	action->reattach.pid = executor->process_id;
	action->reattach.start_ticks = executor->start_ticks;
}

static void call_back(struct agent *agent, struct executor *executor)
{
	Mesos__Internal__ReconnectExecutorMessage *message;

	if (!executor->pid)
		return;
	message = agent_new(agent, Mesos__Internal__ReconnectExecutorMessage,
			    mesos__internal__reconnect_executor_message__descriptor);
	message->agent_id = agent_own_id(agent);
	agent_link(agent, AGENT_LINK, executor->pid);
	agent_send(agent, executor->pid, message);
}

static void revive_framework(struct agent *agent, struct framework *framework, bool rebooted)
{
	struct executor *executor, *next;
	struct stream *known, *next_known;

	HASH_ITER (hh, framework->streams, known, next_known)
		agent_stream_recover(known);
	HASH_ITER (hh, framework->executors, executor, next) {
		if (!recovery_is_whole(executor)) {
			drop_broken(agent, executor);
			continue;
		}
		reattach(agent, executor, rebooted);
		if (!rebooted)
			call_back(agent, executor);
	}
	if (!framework->info) {
		struct stream *stream, *next_stream;

		agent->counters.recovery_errors++;
		HASH_ITER (hh, framework->streams, stream, next_stream)
			agent_stream_close(agent, stream);
		agent_forget_framework(framework, agent);
		agent_framework_free(agent, framework);
		return;
	}
	agent_framework_settle(agent, framework);
}

static void end_all(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;

	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->executors, executor, next_executor)
			agent_executor_exited(agent, executor, -1, "unknown container");
	}
}

static void resume_collection(struct agent *agent)
{
	struct collectable *collectable, *next;

	list_for_each (collectable, next, &agent->collectables, link) {
		struct agent_action *action = agent_emit(agent, AGENT_COLLECT);

		action->collect.path = arena_strdup(&agent->out->arena, collectable->path);
		action->collect.when = collectable->when;
		list_remove(&collectable->link);
		free(collectable);
	}
}

static void recovered(struct agent *agent)
{
	timers_stop(&agent->timers, &agent->recovery_timer);
	agent->recovery_time = agent->now - agent->recovery_began;
	agent_set_state(agent, STATE_DISCONNECTED);
	log_info("Finished recovery");
	agent_drain_resume(agent);
	agent_begin_registration(agent);
}

static void recovery_begin(struct agent *agent, bool rebooted)
{
	struct framework *framework, *next;

	HASH_ITER (hh, agent->frameworks, framework, next)
		revive_framework(agent, framework, rebooted);
	agent_nested_revive(agent, rebooted);
	agent_destroy_orphans(agent, rebooted);
	resume_collection(agent);
	agent_operations_recover(agent);
	agent->started = true;
	if (rebooted)
		end_all(agent);
	if (agent->options.recover_cleanup)
		agent_handle_shutdown(agent, NULL, "--recover=cleanup");
	else if (agent->state == STATE_RECOVERING && agent->awaited == 0)
		recovered(agent);
	else if (agent->state == STATE_RECOVERING)
		timers_start(&agent->timers, &agent->recovery_timer,
			     agent->now + agent->options.executor_reregistration_timeout +
				     AGENT_RECOVERY_MARGIN);
}

int agent_start(struct agent *agent, int64_t now, bool rebooted, struct agent_actions *out,
		struct err *err)
{
	int rv;

	agent->now = now;
	agent->out = out;
	agent->recovery_began = now;
	rv = agent_total_recover(agent, err);
	if (rv == 0)
		rv = take_identity(agent, rebooted, err);
	if (rv == 0) {
		agent_new_version(agent);
		recovery_begin(agent, rebooted);
		agent_flush_store(agent);
	}
	agent->out = NULL;
	return rv;
}

/* ---- waiting ------------------------------------------------------------- */

void agent_recovery_settle(struct agent *agent)
{
	if (agent->awaited > 0)
		agent->awaited--;
	if (agent->started && agent->state == STATE_RECOVERING && agent->awaited == 0)
		recovered(agent);
}

/* Does not wait for the destruction: it may take its time. */
void agent_recovery_timeout(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;
	char text[DURATION_TEXT];

	if (agent->state != STATE_RECOVERING)
		return;
	duration_format(agent->options.executor_reregistration_timeout, text);
	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->executors, executor, next_executor) {
			if (executor->state != EXECUTOR_REGISTERING)
				continue;
			agent_executor_set_pending(
				executor, agent_gone_state(framework),
				REASON(EXECUTOR_REREGISTRATION_TIMEOUT),
				agent_key(agent, "Executor did not reregister within %s", text));
			agent_executor_destroy(agent, executor);
		}
	}
	if (agent->state == STATE_RECOVERING)
		recovered(agent);
}
