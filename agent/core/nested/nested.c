#include "agent/core/nested/nested.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/executors/limits.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"

/* ---- the record ---------------------------------------------------------- */

struct nested *agent_nested_find(const struct agent *agent, const char *id)
{
	struct nested *nested;

	HASH_FIND_STR(agent->nested, id, nested);
	return nested;
}

struct nested *agent_nested_create(struct agent *agent, const char *id)
{
	struct nested *nested = xcalloc(1, sizeof(*nested));

	nested->id = xstrdup(id);
	list_init(&nested->link);
	list_init(&nested->removing);
	list_init(&nested->inside);
	list_init(&nested->waits);
	HASH_ADD_KEYPTR(hh, agent->nested, nested->id, strlen(nested->id), nested);
	return nested;
}

const struct nested *agent_nested_parent(const struct agent *agent, const struct nested *nested)
{
	const char *dot = strrchr(nested->id, '.');
	struct nested *parent;

	if (!dot)
		return NULL;
	HASH_FIND(hh, agent->nested, nested->id, (unsigned)(dot - nested->id), parent);
	return parent;
}

struct nested *agent_standalone_find(const struct agent *agent, const char *id)
{
	struct nested *root;

	HASH_FIND(hh, agent->nested, id, (unsigned)strcspn(id, "."), root);
	return root && root->standalone == root ? root : NULL;
}

void agent_nested_adopt(struct agent *agent, struct nested *nested, struct executor *executor)
{
	const struct nested *parent = agent_nested_parent(agent, nested);
	const char *dot = strrchr(nested->id, '.'), *own = dot ? dot + 1 : nested->id;
	const char *above = agent->options.work_dir;

	nested->executor = executor;
	if (executor)
		list_append(&executor->nested, &nested->link);
	else
		nested->standalone = dot ? agent_standalone_find(agent, nested->id) : nested;
	if (!executor && dot)
		list_append(&nested->standalone->inside, &nested->link);
	if (parent || executor)
		above = parent ? parent->sandbox : executor->sandbox;
	nested->sandbox =
		nested->session ? xstrdup(above) : xprintf("%s/containers/%s", above, own);
}

static void nested_free(struct agent *agent, struct nested *nested)
{
	HASH_DEL(agent->nested, nested);
	list_remove(&nested->link);
	list_remove(&nested->removing);
	list_remove(&nested->inside);
	agent_nested_drop_waits(agent, nested);
	proto_free(nested->launch);
	proto_free(nested->broken);
	free(nested->sandbox);
	free(nested->id);
	free(nested);
}

static void nested_ended(struct agent *agent, struct nested *nested, bool known, int status)
{
	agent_nested_set_state(nested, NESTED_ENDED);
	nested->known = known;
	nested->status = known ? status : 0;
	if (nested->request)
		agent_answer(agent, nested->request, 400, "Container was destroyed");
	nested->request = 0;
}

static void all_over(struct agent *agent, struct list *inside)
{
	struct nested *nested, *next;

	list_for_each (nested, next, inside, link) {
		if (nested->state == NESTED_REMOVING)
			agent_answer(agent, nested->request, 200, "");
		else if (nested->state != NESTED_ENDED)
			nested_ended(agent, nested, false, 0);
		agent_nested_tell_end(agent, nested);
		agent_nested_forget(agent, nested);
	}
}

void agent_nested_forget(struct agent *agent, struct nested *nested)
{
	/* It is over, and they were before it. */
	all_over(agent, &nested->inside);
	agent_emit(agent, AGENT_CLEAR)->clear.container =
		arena_strdup(&agent->out->arena, nested->id);
	agent_forget_nested(agent, nested);
	nested_free(agent, nested);
}

void agent_nested_free_all(struct agent *agent)
{
	struct nested *nested, *next;

	HASH_ITER (hh, agent->nested, nested, next)
		nested_free(agent, nested);
}

/* ---- launch -------------------------------------------------------------- */

static const char *nested_user(struct agent *agent, const struct nested *nested)
{
	const struct nested *parent = agent_nested_parent(agent, nested);
	const Mesos__CommandInfo *command = nested->launch->command;

	if (!agent->options.switch_user)
		return NULL;
	if (command->user)
		return command->user;
	if (parent)
		return nested_user(agent, parent);
	return nested->executor ? agent_executor_user(agent, nested->executor) : NULL;
}

/* Else it shares those of what it is inside of. */
static bool has_own_limits(const Mesos__ContainerInfo *info)
{
	return info && info->linux_info && info->linux_info->has_share_cgroups &&
	       !info->linux_info->share_cgroups;
}

static void nested_launch(struct agent *agent, struct nested *nested)
{
	struct arena *arena = &agent->out->arena;
	const struct nested *parent = agent_nested_parent(agent, nested);
	const struct executor *executor = nested->executor;
	const char *user = nested_user(agent, nested);
	struct agent_launch *launch = &agent_emit(agent, AGENT_LAUNCH)->launch;

	agent_nested_set_state(nested, NESTED_ASKED);
	launch->container = arena_strdup(arena, nested->id);
	launch->framework_id = arena_strdup(arena, executor ? executor->framework->id : "");
	launch->executor_id = arena_strdup(arena, executor ? executor->id : "");
	launch->sandbox = arena_strdup(arena, nested->sandbox);
	launch->session = nested->session;
	launch->user = user ? arena_strdup(arena, user) : NULL;
	launch->command = proto_copy_to(arena, nested->launch->command);
	launch->info = proto_copy_to(arena, nested->launch->container);
	if (parent || executor)
		launch->above = proto_copy_to(arena, parent ? parent->launch->container
							    : executor->info->container);
	launch->environment = agent_nested_environment(agent, nested);
	launch->limited = nested->standalone == nested || has_own_limits(nested->launch->container);
	if (launch->limited)
		launch->limits = agent_launch_limits(agent, nested->launch);
	if (parent || executor)
		agent_nested_share(arena, launch, parent ? parent->sandbox : executor->sandbox);
}

void agent_nested_follow(struct agent *agent, const char *id)
{
	struct nested *nested = agent_nested_find(agent, id);

	/* Its end is told with the last of its records. */
	if (!nested || nested->ticket > agent->stored)
		return;
	if (nested->state == NESTED_RECORDED && (nested->executor || nested->standalone))
		nested_launch(agent, nested);
	else if (nested->state == NESTED_ENDED || nested->state == NESTED_REMOVING)
		agent_nested_tell_end(agent, nested);
}

/* ---- what the shell tells ------------------------------------------------- */

bool agent_nested_started(struct agent *agent, const struct agent_event *event)
{
	struct nested *nested = agent_nested_find(agent, event->container_started.container);
	uint64_t request;

	if (!nested)
		return false;
	agent_nested_set_state(nested, NESTED_RUNNING);
	nested->process_id = event->container_started.pid;
	nested->start_ticks = event->container_started.start_ticks;
	agent_store_nested(agent, nested);
	request = nested->request;
	nested->request = 0;
	if (!request)
		return true;
	agent_answer(agent, request, 200, "");
	if (nested->session)
		agent->out->items[agent->out->count - 1].answer.session =
			arena_strdup(&agent->out->arena, nested->id);
	return true;
}

bool agent_nested_failed(struct agent *agent, const struct agent_event *event)
{
	struct nested *nested = agent_nested_find(agent, event->container_failed.container);
	const char *text = event->container_failed.text;

	if (!nested)
		return false;
	log_warning("Container %s could not be started: %s", nested->id, text);
	agent->counters.container_launch_errors++;
	if (nested->request)
		agent_answer(agent, nested->request, 400, text);
	nested->request = 0;
	agent_nested_forget(agent, nested);
	return true;
}

bool agent_nested_exited(struct agent *agent, const struct agent_event *event)
{
	struct nested *nested = agent_nested_find(agent, event->container_exited.container);

	if (!nested)
		return false;
	if (nested->state == NESTED_ENDED || nested->state == NESTED_REMOVING)
		return true;
	log_info("Container %s ended with status %d%s", nested->id, event->container_exited.status,
		 event->container_exited.known ? "" : ", as far as is known");
	nested_ended(agent, nested, event->container_exited.known, event->container_exited.status);
	if (!nested->executor && !nested->standalone) {
		agent_nested_forget(agent, nested);
		return true;
	}
	agent_store_nested(agent, nested);
	agent_wait(agent, nested->ticket, WAIT_NESTED, nested->id, NULL, NULL);
	return true;
}

bool agent_nested_limited(struct agent *agent, const struct agent_event *event)
{
	struct nested *nested = agent_nested_find(agent, event->container_limited.container);
	Mesos__Agent__Response__WaitContainer why = MESOS__AGENT__RESPONSE__WAIT_CONTAINER__INIT;

	if (!nested)
		return false;
	if (nested->broken || nested->state >= NESTED_ENDED)
		return true;
	why.has_state = 1;
	why.state = MESOS__TASK_STATE__TASK_FAILED;
	why.has_reason = 1;
	why.reason = event->container_limited.reason;
	why.message = (char *)event->container_limited.text;
	why.limitation = agent_limitation(agent, event);
	nested->broken = proto_copy(&why);
	/* Its end is stored after it. */
	agent_store_nested_broken(agent, nested);
	agent_emit(agent, AGENT_DESTROY)->destroy.container =
		arena_strdup(&agent->out->arena, nested->id);
	return true;
}

void agent_nested_collected(struct agent *agent, const char *path)
{
	struct nested *nested, *next;

	list_for_each (nested, next, &agent->removing, removing) {
		if (strcmp(nested->sandbox, path) != 0)
			continue;
		agent_answer(agent, nested->request, 200, "");
		agent_nested_forget(agent, nested);
		return;
	}
}

void agent_nested_over(struct agent *agent, struct executor *executor)
{
	all_over(agent, &executor->nested);
}
