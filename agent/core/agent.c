/* Life of the agent core: creation, the step that routes an event to its handler, timers.
 *
 * A step sets `out` and `now`, routes, writes the batch of store operations and settles
 * what the event left behind. Messages of a type nobody handles are logged and dropped. */
#include "agent/core/objects.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/agent_core.h"
#include "agent/core/authentication.h"
#include "agent/core/drain.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/orders.h"
#include "agent/core/registration.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/total.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/store/orphans.h"
#include "agent/core/store/recovery.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

/* ---- creation ------------------------------------------------------------ */

static const char *keep(struct agent *agent, const char *text)
{
	return text ? arena_strdup(&agent->arena, text) : NULL;
}

static void copy_options(struct agent *agent, const struct agent_options *options)
{
	struct agent_options *own = &agent->options;
	const char **list;
	size_t count = 0;

	*own = *options;
	own->ip = keep(agent, options->ip);
	own->hostname = keep(agent, options->hostname);
	own->version = keep(agent, options->version);
	own->work_dir = keep(agent, options->work_dir);
	own->launcher_program = keep(agent, options->launcher_program);
	own->principal = keep(agent, options->principal);
	own->secret = keep(agent, options->secret);
	own->reconfiguration_policy = keep(agent, options->reconfiguration_policy);
	own->libprocess_ip = keep(agent, options->libprocess_ip);
	own->executor_secret.data = arena_memdup(&agent->arena, options->executor_secret.data,
						 options->executor_secret.len);
	own->native_library = keep(agent, options->native_library);
	own->domain = proto_copy_to(&agent->arena, options->domain);
	while (options->executor_environment && options->executor_environment[count])
		count++;
	list = arena_alloc(&agent->arena, (count + 1) * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = keep(agent, options->executor_environment[i]);
	own->executor_environment = list;
	own->resources = NULL; /* from here on in `info` */
	own->oversubscribed = NULL;
	own->attributes = NULL;
	own->attribute_count = 0;
}

static void make_info(struct agent *agent, const struct agent_options *options)
{
	Mesos__AgentInfo info = MESOS__AGENT_INFO__INIT;

	info.hostname = (char *)options->hostname;
	info.has_port = 1;
	info.port = options->port;
	info.has_checkpoint = 1;
	info.checkpoint = 1;
	info.domain = options->domain;
	info.n_attributes = options->attribute_count;
	info.attributes = (Mesos__Attribute **)options->attributes;
	resources_to_messages(&agent->arena, options->resources, &info.n_resources,
			      &info.resources);
	agent->info = proto_copy(&info);
}

int agent_create(const struct agent_options *options, struct agent **out, struct err *err)
{
	struct agent *agent;

	if (options->registration_backoff_factor > AGENT_BACKOFF_MAX)
		return err_set(err, ERR_INVALID,
			       "Invalid value for --registration_backoff_factor: it must not be "
			       "above 1mins");
	if (strcmp(options->reconfiguration_policy, "equal") != 0 &&
	    strcmp(options->reconfiguration_policy, "additive") != 0)
		return err_set(err, ERR_INVALID,
			       "Unknown option for 'reconfiguration_policy' flag '%s'. Please use "
			       "one of 'equal' or 'additive'",
			       options->reconfiguration_policy);
	agent = xcalloc(1, sizeof(*agent));
	arena_init(&agent->arena);
	list_init(&agent->completed);
	list_init(&agent->waiters);
	list_init(&agent->collectables);
	list_init(&agent->orphans);
	list_init(&agent->changes);
	list_init(&agent->orders);
	list_init(&agent->removing);
	copy_options(agent, options);
	make_info(agent, options);
	if (options->oversubscribed)
		resources_copy(&agent->oversubscribed, options->oversubscribed);
	agent->pid = xprintf("slave(1)@%s:%d", options->ip, options->port);
	agent->ping_timeout = AGENT_PING_TIMEOUT;
	agent->recovery_time = -1;
	agent->register_timer.kind = TIMER_REGISTER;
	agent->ping_timer.kind = TIMER_PING;
	agent->proof.timer.kind = TIMER_PROOF;
	agent->redetect_timer.kind = TIMER_REDETECT;
	agent->recovery_timer.kind = TIMER_RECOVERY;
	*out = agent;
	return 0;
}

void agent_destroy(struct agent *agent)
{
	struct framework *framework, *next;

	if (!agent)
		return;
	agent_nested_free_all(agent);
	HASH_ITER (hh, agent->frameworks, framework, next)
		agent_framework_free(agent, framework);
	list_for_each (framework, next, &agent->completed, link) {
		list_remove(&framework->link);
		agent_framework_free(agent, framework);
	}
	agent_free_waiters(agent);
	agent_free_orphans(agent);
	agent_free_changes(agent);
	agent_orders_free(agent);
	agent_free_removals(agent);
	agent_operations_free(agent);
	agent_authentication_free(agent);
	proto_free(agent->drain);
	resources_free(&agent->checkpointed);
	resources_free(&agent->total);
	resources_free(&agent->oversubscribed);
	timers_free(&agent->timers);
	proto_free(agent->info);
	proto_free(agent->loaded_info);
	free(agent->pid);
	free(agent->master);
	free(agent->batch);
	arena_free(&agent->arena);
	free(agent);
}

/* ---- messages ------------------------------------------------------------ */

typedef void message_handler(struct agent *agent, const char *from, void *message);

#define HANDLER(name, Type)                                                                        \
	static void on_##name(struct agent *agent, const char *from, void *message)                \
	{                                                                                          \
		agent_handle_##name(agent, from, (Mesos__Internal__##Type *)message);              \
	}

HANDLER(registered, SlaveRegisteredMessage)
HANDLER(reregistered, SlaveReregisteredMessage)
HANDLER(ping, PingSlaveMessage)
HANDLER(run_task, RunTaskMessage)
HANDLER(run_task_group, RunTaskGroupMessage)
HANDLER(kill_task, KillTaskMessage)
HANDLER(acknowledgement, StatusUpdateAcknowledgementMessage)
HANDLER(update_framework, UpdateFrameworkMessage)
HANDLER(shutdown_framework, ShutdownFrameworkMessage)
HANDLER(shutdown_executor, ShutdownExecutorMessage)
HANDLER(register_executor, RegisterExecutorMessage)
HANDLER(reregister_executor, ReregisterExecutorMessage)
HANDLER(executor_update, StatusUpdateMessage)
HANDLER(checkpoint_resources, CheckpointResourcesMessage)
HANDLER(apply_operation, ApplyOperationMessage)
HANDLER(acknowledge_operation, AcknowledgeOperationStatusMessage)
HANDLER(reconcile_operations, ReconcileOperationsMessage)
HANDLER(drain, DrainSlaveMessage)

static void on_shutdown(struct agent *agent, const char *from, void *message)
{
	Mesos__Internal__ShutdownMessage *shutdown = message;

	agent_handle_shutdown(agent, from, shutdown->message ? shutdown->message : "");
}

static void on_to_executor(struct agent *agent, const char *from, void *message)
{
	agent_handle_to_executor(agent, from, message);
}

static void on_to_framework(struct agent *agent, const char *from, void *message)
{
	agent_handle_to_framework(agent, from, message);
}

static const struct route {
	const ProtobufCMessageDescriptor *type;
	message_handler *handle;
	bool order; /* of the master, carried out in its turn */
} routes[] = {
	{&mesos__internal__status_update_acknowledgement_message__descriptor, on_acknowledgement,
	 false},
	{&mesos__internal__run_task_message__descriptor, on_run_task, true},
	{&mesos__internal__status_update_message__descriptor, on_executor_update, false},
	{&mesos__internal__ping_slave_message__descriptor, on_ping, false},
	{&mesos__internal__kill_task_message__descriptor, on_kill_task, true},
	{&mesos__internal__framework_to_executor_message__descriptor, on_to_executor, true},
	{&mesos__internal__executor_to_framework_message__descriptor, on_to_framework, false},
	{&mesos__internal__register_executor_message__descriptor, on_register_executor, false},
	{&mesos__internal__reregister_executor_message__descriptor, on_reregister_executor, false},
	{&mesos__internal__update_framework_message__descriptor, on_update_framework, true},
	{&mesos__internal__shutdown_framework_message__descriptor, on_shutdown_framework, true},
	{&mesos__internal__shutdown_executor_message__descriptor, on_shutdown_executor, true},
	{&mesos__internal__run_task_group_message__descriptor, on_run_task_group, true},
	{&mesos__internal__slave_registered_message__descriptor, on_registered, true},
	{&mesos__internal__slave_reregistered_message__descriptor, on_reregistered, true},
	{&mesos__internal__checkpoint_resources_message__descriptor, on_checkpoint_resources, true},
	{&mesos__internal__apply_operation_message__descriptor, on_apply_operation, true},
	{&mesos__internal__acknowledge_operation_status_message__descriptor,
	 on_acknowledge_operation, false},
	{&mesos__internal__reconcile_operations_message__descriptor, on_reconcile_operations, true},
	{&mesos__internal__drain_slave_message__descriptor, on_drain, true},
	{&mesos__internal__shutdown_message__descriptor, on_shutdown, false},
};

void agent_handle_message(struct agent *agent, const char *from, ProtobufCMessage *message)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (routes[i].type == message->descriptor) {
			if (!routes[i].order || !agent_order_keep(agent, from, message))
				routes[i].handle(agent, from, message);
			return;
		}
	}
	log_warning("Dropped %s from %s: this agent did not announce to handle it",
		    message->descriptor->name, from);
}

/* ---- steps --------------------------------------------------------------- */

static void run_timer(struct agent *agent, struct timer *timer)
{
	switch ((enum agent_timer)timer->kind) {
	case TIMER_REGISTER:
		agent_register_timeout(agent);
		break;
	case TIMER_PING:
		agent_redetect(agent, "no ping came from the master in time");
		break;
	case TIMER_REDETECT:
		agent_redetect(agent, "the link to the master broke");
		break;
	case TIMER_RECOVERY:
		agent_recovery_timeout(agent);
		break;
	case TIMER_EXECUTOR:
		agent_executor_timeout(agent, container_of(timer, struct executor, deadline));
		break;
	case TIMER_HEARTBEAT:
		agent_executor_heartbeat(agent, container_of(timer, struct executor, heartbeat));
		break;
	case TIMER_STREAM:
		agent_stream_timeout(agent, container_of(timer, struct stream, retry));
		break;
	case TIMER_PROOF:
		agent_authentication_timeout(agent);
		break;
	case TIMER_OPERATION:
		agent_operation_timeout(agent, container_of(timer, struct operation, retry));
		break;
	}
}

static void run_timers(struct agent *agent)
{
	struct timer *timer;

	while ((timer = timers_pop(&agent->timers, agent->now)))
		run_timer(agent, timer);
}

static void route(struct agent *agent, const struct agent_event *event)
{
	switch (event->type) {
	case AGENT_DETECTED:
		agent_handle_detected(agent, event->detected.master);
		break;
	case AGENT_MESSAGE:
		if (!agent_handle_authentication(agent, event->message.from, event->message.to,
						 event->message.message))
			agent_handle_message(agent, event->message.from, event->message.message);
		break;
	case AGENT_EXITED:
		agent_handle_exited(agent, event->exited.pid);
		break;
	case AGENT_EXECUTOR_CALL:
		agent_handle_executor_call(agent, event);
		break;
	case AGENT_STREAM_CLOSED:
		agent_handle_stream_closed(agent, event->stream_closed.stream);
		break;
	case AGENT_CONTAINER_CALL:
		agent_handle_container_call(agent, event);
		break;
	case AGENT_SESSION_CLOSED:
		agent_handle_session_closed(agent, event->session_closed.container);
		break;
	case AGENT_CONTAINER_STARTED:
		agent_handle_container_started(agent, event);
		break;
	case AGENT_CONTAINER_NETWORKED:
		agent_handle_container_networked(agent, event);
		break;
	case AGENT_CONTAINER_FAILED:
		agent_handle_container_failed(agent, event);
		break;
	case AGENT_CONTAINER_LIMITED:
		agent_handle_container_limited(agent, event);
		break;
	case AGENT_CONTAINER_EXITED:
		agent_handle_container_exited(agent, event);
		break;
	case AGENT_STORED:
		agent_handle_stored(agent, event->stored.ticket);
		break;
	case AGENT_SHUTDOWN:
		agent_handle_shutdown(agent, NULL, "asked to by a signal");
		break;
	case AGENT_COLLECTED:
		agent_forget_collected(agent, event->collected.path);
		agent_nested_collected(agent, event->collected.path);
		break;
	case AGENT_VOLUMES_MADE:
		agent_handle_volumes_made(agent, event);
		break;
	case AGENT_VOLUME_REMOVED:
		agent_handle_volume_removed(agent, event->volume_removed.path);
		break;
	case AGENT_VOLUMES_LINKED:
		agent_handle_volumes_linked(agent, event);
		break;
	case AGENT_TICK:
		run_timers(agent);
		break;
	}
}

void agent_step(struct agent *agent, int64_t now, const struct agent_event *event,
		struct agent_actions *out)
{
	agent->now = now;
	agent->out = out;
	route(agent, event);
	agent_flush_store(agent);
	agent->out = NULL;
}

void agent_clock_moved(struct agent *agent, int64_t by)
{
	timers_shift(&agent->timers, by);
}

int64_t agent_next_timeout(const struct agent *agent)
{
	return timers_next(&agent->timers);
}

/* ---- looking in ---------------------------------------------------------- */

bool agent_recovering(const struct agent *agent)
{
	return !agent->started;
}

bool agent_registered(const struct agent *agent)
{
	return agent->state == STATE_RUNNING;
}

const char *agent_id(const struct agent *agent)
{
	return agent->info->id ? agent->info->id->value : "";
}
