/* The operator API's calls about containers inside of others, and standalone ones. The older names
 * (NESTED in them) and the newer ones ask for the same, but for what stands alone. */
#include "agent/core/nested/nested.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/tasks.h"

#define DEPTH_MAX 32 /* of containers inside of one another */
#define KILL_SIGNAL 9
#define SIGNAL_MAX 64

struct wait {
	struct list link;
	uint64_t number;
	bool older; /* asked by WAIT_NESTED_CONTAINER */
};

/* What is asked, whichever call it was. */
struct container_ask {
	uint64_t number;
	const char *id; /* parent.own, or its own alone; "" if it cannot be one */
	bool older;
	bool session;
	int signal;
	Mesos__Agent__Call__LaunchContainer launch;
};

/* ---- answers --------------------------------------------------------------- */

void agent_answer(struct agent *agent, uint64_t number, int status, const char *text)
{
	struct agent_action *action = agent_emit(agent, AGENT_ANSWER);

	action->answer.number = number;
	action->answer.status = status;
	action->answer.text = arena_strdup(&agent->out->arena, text);
}

#define NEW_RESPONSE(agent, Type, name)                                                            \
	agent_new(agent, Mesos__Agent__Response__##Type,                                           \
		  mesos__agent__response__##name##__descriptor)

/* Both kinds of answer have the same fields. */
#define FILL_END(answer, nested)                                                                   \
	do {                                                                                       \
		(answer)->has_exit_status = (nested)->known;                                       \
		(answer)->exit_status = (nested)->status;                                          \
		if (!(nested)->broken)                                                             \
			break;                                                                     \
		(answer)->has_state = (answer)->has_reason = 1;                                    \
		(answer)->state = (nested)->broken->state;                                         \
		(answer)->reason = (nested)->broken->reason;                                       \
		(answer)->message = (nested)->broken->message;                                     \
		(answer)->limitation = (nested)->broken->limitation;                               \
	} while (0)

static void answer_end(struct agent *agent, const struct nested *nested, uint64_t number,
		       bool older)
{
	Mesos__Agent__Response *response =
		agent_new(agent, Mesos__Agent__Response, mesos__agent__response__descriptor);

	response->has_type = 1;
	if (older) {
		response->type = MESOS__AGENT__RESPONSE__TYPE__WAIT_NESTED_CONTAINER;
		response->wait_nested_container =
			NEW_RESPONSE(agent, WaitNestedContainer, wait_nested_container);
		FILL_END(response->wait_nested_container, nested);
	} else {
		response->type = MESOS__AGENT__RESPONSE__TYPE__WAIT_CONTAINER;
		response->wait_container = NEW_RESPONSE(agent, WaitContainer, wait_container);
		FILL_END(response->wait_container, nested);
	}
	agent_answer(agent, number, 200, "");
	/* It may be forgotten in this step. */
	agent->out->items[agent->out->count - 1].answer.response =
		nested->broken ? proto_copy_to(&agent->out->arena, response) : response;
}

void agent_nested_tell_end(struct agent *agent, struct nested *nested)
{
	struct wait *wait, *next;

	list_for_each (wait, next, &nested->waits, link)
		answer_end(agent, nested, wait->number, wait->older);
	agent_nested_drop_waits(agent, nested);
}

void agent_nested_drop_waits(struct agent *agent, struct nested *nested)
{
	struct wait *wait, *next;

	list_for_each (wait, next, &nested->waits, link) {
		list_remove(&wait->link);
		free(wait);
		agent->wait_count--;
	}
}

/* ---- launch ----------------------------------------------------------------- */

static const char *root_of(struct agent *agent, const char *id)
{
	return agent_key(agent, "%.*s", (int)strcspn(id, "."), id);
}

/* Why nothing can be launched there, or NULL. */
static const char *parent_problem(struct agent *agent, const char *id,
				  const struct executor *executor)
{
	const char *parent_id = agent_key(agent, "%.*s", (int)(strrchr(id, '.') - id), id);
	const struct nested *parent;
	bool standalone = agent_standalone_find(agent, id) != NULL;

	if (!executor && !standalone)
		return agent_key(agent, "Unable to locate executor for parent container %s",
				 parent_id);
	if (executor && (executor->destroying || executor->process == CONTAINER_WAITING ||
			 executor->process == CONTAINER_GONE))
		return agent_key(agent, "Parent container %s is in 'DESTROYING' state", parent_id);
	if (executor && !strchr(parent_id, '.'))
		return NULL;
	parent = agent_nested_find(agent, parent_id);
	if (!parent)
		return agent_key(agent, "Parent container %s does not exist", parent_id);
	if (parent->session)
		return agent_key(agent,
				 "Nested containers are not supported under debug container %s",
				 parent_id);
	return parent->state == NESTED_RUNNING
		       ? NULL
		       : agent_key(agent, "Parent container %s does not run", parent_id);
}

/* An image may. */
static bool says_what_to_run(const Mesos__ContainerInfo *info)
{
	return info && info->mesos && info->mesos->image;
}

static const char *launch_problem(struct agent *agent, const struct container_ask *ask,
				  const struct executor *executor)
{
	const Mesos__CommandInfo *command = ask->launch.command;
	const char *dot = strchr(ask->id, '.');
	const char *why = dot ? parent_problem(agent, ask->id, executor) : NULL;

	if (why)
		return why;
	if (!command || (!command->value && !says_what_to_run(ask->launch.container)))
		return "The command has no value";
	if (dot && strchr(dot + 1, '.') && (ask->launch.n_resources || ask->launch.n_limits))
		return "Resources and limits can only be set for containers that are right inside "
		       "of "
		       "an executor's";
	return NULL;
}

static void launch_container(struct agent *agent, const struct container_ask *ask)
{
	struct executor *executor = agent_container_find(agent, root_of(agent, ask->id));
	const char *why;
	struct nested *nested;

	if (agent_nested_find(agent, ask->id) || agent_container_find(agent, ask->id)) {
		agent_answer(agent, ask->number, 202, "");
		return;
	}
	why = launch_problem(agent, ask, executor);
	if (why) {
		agent_answer(agent, ask->number, 400, why);
		return;
	}
	nested = agent_nested_create(agent, ask->id);
	nested->session = ask->session;
	nested->request = ask->number;
	nested->launch = proto_copy(&ask->launch);
	agent_nested_adopt(agent, nested, executor);
	agent_store_nested(agent, nested);
	agent_wait(agent, nested->ticket, WAIT_NESTED, nested->id, NULL, NULL);
}

/* ---- the others --------------------------------------------------------------- */

static void wait_container(struct agent *agent, const struct container_ask *ask)
{
	struct nested *nested = agent_nested_find(agent, ask->id);
	struct wait *wait;

	if (!nested) {
		agent_answer(agent, ask->number, 404,
			     agent_key(agent, "Container %s cannot be found", ask->id));
		return;
	}
	if (nested->state >= NESTED_ENDED && nested->ticket <= agent->stored) {
		answer_end(agent, nested, ask->number, ask->older);
		return;
	}
	if (agent->wait_count >= AGENT_WAITS_MAX) {
		agent_answer(agent, ask->number, 503, "Too many requests wait for containers");
		return;
	}
	wait = xcalloc(1, sizeof(*wait));
	wait->number = ask->number;
	wait->older = ask->older;
	list_append(&nested->waits, &wait->link);
	agent->wait_count++;
}

static void nested_destroy(struct agent *agent, struct nested *nested)
{
	if (nested->state == NESTED_RECORDED) {
		agent_answer(agent, nested->request, 400, "Container was destroyed");
		agent_nested_forget(agent, nested);
		return;
	}
	agent_emit(agent, AGENT_DESTROY)->destroy.container =
		arena_strdup(&agent->out->arena, nested->id);
}

static void kill_container(struct agent *agent, const struct container_ask *ask)
{
	struct nested *nested = agent_nested_find(agent, ask->id);
	struct agent_action *action;
	bool live = nested && nested->state < NESTED_ENDED;

	if (!live || (nested->state != NESTED_RUNNING && ask->signal != KILL_SIGNAL)) {
		agent_answer(agent, ask->number, 404,
			     agent_key(agent,
				       "Container '%s' cannot be found (or is already killed)",
				       ask->id));
		return;
	}
	if (ask->signal < 0 || ask->signal > SIGNAL_MAX) {
		agent_answer(agent, ask->number, 400,
			     agent_key(agent, "%d is no signal", ask->signal));
		return;
	}
	agent_answer(agent, ask->number, 200, "");
	if (ask->signal == KILL_SIGNAL) {
		nested_destroy(agent, nested);
	} else {
		action = agent_emit(agent, AGENT_SIGNAL);
		action->signal.container = arena_strdup(&agent->out->arena, nested->id);
		action->signal.number = ask->signal;
	}
}

static void remove_container(struct agent *agent, const struct container_ask *ask)
{
	struct nested *nested = agent_nested_find(agent, ask->id);

	if (!agent_container_find(agent, root_of(agent, ask->id)) &&
	    !agent_standalone_find(agent, ask->id)) {
		agent_answer(agent, ask->number, 500, "Unknown root container");
	} else if (!nested) {
		agent_answer(agent, ask->number, 200, "");
	} else if (nested->state != NESTED_ENDED) {
		agent_answer(agent, ask->number, 500, "Nested container has not terminated yet");
	} else if (nested->session) {
		agent_answer(agent, ask->number, 200, "");
		agent_nested_forget(agent, nested);
	} else {
		agent_nested_set_state(nested, NESTED_REMOVING);
		nested->request = ask->number;
		list_append(&agent->removing, &nested->removing);
		agent_collect_at(agent, nested->sandbox, agent->now);
	}
}

void agent_handle_session_closed(struct agent *agent, const char *id)
{
	struct nested *nested = agent_nested_find(agent, id);

	if (nested && nested->session && nested->state < NESTED_ENDED)
		nested_destroy(agent, nested);
}

/* ---- which call it was --------------------------------------------------------- */

/* As it is written in a path and in a key. */
static bool is_container_name(const char *name)
{
	return agent_id_usable(name) && !strpbrk(name, ". ");
}

const char *agent_container_key(struct arena *arena, const Mesos__ContainerID *id)
{
	const char *text = id->value;
	int depth = 0;

	if (!is_container_name(id->value))
		return "";
	for (id = id->parent; id; id = id->parent) {
		if (!is_container_name(id->value) || ++depth > DEPTH_MAX)
			return "";
		text = arena_printf(arena, "%s.%s", id->value, text);
	}
	return text;
}

static int signal_of(bool has, int32_t signal)
{
	return has ? signal : KILL_SIGNAL;
}

static void launch_of(struct container_ask *ask, Mesos__CommandInfo *command,
		      Mesos__ContainerInfo *container)
{
	ask->launch.command = command;
	ask->launch.container = container;
}

static const Mesos__ContainerID *read_older(const Mesos__Agent__Call *call,
					    struct container_ask *ask)
{
	switch (call->type) {
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER:
		launch_of(ask, call->launch_nested_container->command,
			  call->launch_nested_container->container);
		return call->launch_nested_container->container_id;
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION:
		ask->session = true;
		launch_of(ask, call->launch_nested_container_session->command,
			  call->launch_nested_container_session->container);
		return call->launch_nested_container_session->container_id;
	case MESOS__AGENT__CALL__TYPE__WAIT_NESTED_CONTAINER:
		ask->older = true;
		return call->wait_nested_container->container_id;
	case MESOS__AGENT__CALL__TYPE__KILL_NESTED_CONTAINER:
		ask->signal = signal_of(call->kill_nested_container->has_signal,
					call->kill_nested_container->signal);
		return call->kill_nested_container->container_id;
	default:
		return call->remove_nested_container->container_id;
	}
}

static const Mesos__ContainerID *read_newer(const Mesos__Agent__Call *call,
					    struct container_ask *ask)
{
	switch (call->type) {
	case MESOS__AGENT__CALL__TYPE__LAUNCH_CONTAINER:
		ask->launch = *call->launch_container;
		return call->launch_container->container_id;
	case MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER:
		return call->wait_container->container_id;
	case MESOS__AGENT__CALL__TYPE__KILL_CONTAINER:
		ask->signal =
			signal_of(call->kill_container->has_signal, call->kill_container->signal);
		return call->kill_container->container_id;
	case MESOS__AGENT__CALL__TYPE__REMOVE_CONTAINER:
		return call->remove_container->container_id;
	default:
		return read_older(call, ask);
	}
}

/* Calls of the older names are about nothing that stands alone. */
static bool wants_parent(Mesos__Agent__Call__Type type)
{
	return type != MESOS__AGENT__CALL__TYPE__LAUNCH_CONTAINER &&
	       type != MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER &&
	       type != MESOS__AGENT__CALL__TYPE__KILL_CONTAINER &&
	       type != MESOS__AGENT__CALL__TYPE__REMOVE_CONTAINER;
}

void agent_handle_container_call(struct agent *agent, const struct agent_event *event)
{
	const Mesos__Agent__Call *call = event->container_call.call;
	struct container_ask ask = {.number = event->container_call.number};
	const Mesos__ContainerID *id;

	mesos__agent__call__launch_container__init(&ask.launch);
	id = read_newer(call, &ask);
	ask.id = agent_container_key(&agent->out->arena, id);
	ask.launch.container_id = (Mesos__ContainerID *)id;
	if (!*ask.id || (!id->parent && wants_parent(call->type))) {
		agent_answer(agent, ask.number, 400,
			     *ask.id ? "Failed to validate agent::Call: "
				       "Expecting 'container_id.parent' to be present"
				     : "Failed to validate agent::Call: 'container_id' is invalid: "
				       "neither '.', ' ' nor '/' may be in it");
		return;
	}
	switch (call->type) {
	case MESOS__AGENT__CALL__TYPE__LAUNCH_CONTAINER:
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER:
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION:
		launch_container(agent, &ask);
		break;
	case MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER:
	case MESOS__AGENT__CALL__TYPE__WAIT_NESTED_CONTAINER:
		wait_container(agent, &ask);
		break;
	case MESOS__AGENT__CALL__TYPE__KILL_CONTAINER:
	case MESOS__AGENT__CALL__TYPE__KILL_NESTED_CONTAINER:
		kill_container(agent, &ask);
		break;
	default:
		remove_container(agent, &ask);
		break;
	}
}
