#include "agent/core/agent_view.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/executors/executors.h"
#include "agent/core/paths.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/view_objects.h"

bool agent_view_allows(const struct agent_view *v, enum acl_action action, const char *object)
{
	return acls_allow(v->acls, action, v->principal, object);
}

bool agent_view_sees_role(const struct agent_view *v, const char *role)
{
	return agent_view_allows(v, ACL_VIEW_ROLE, role);
}

bool agent_view_sees_framework(const struct agent_view *v, const struct framework *framework)
{
	return agent_view_allows(v, ACL_VIEW_FRAMEWORK, framework->info->user);
}

/* Who its processes run as, as far as is said. */
static const char *executor_user(const struct executor *executor)
{
	const Mesos__CommandInfo *command = executor->info->command;

	return command && command->user ? command->user : executor->framework->info->user;
}

bool agent_view_sees_executor(const struct agent_view *v, const struct executor *executor)
{
	return agent_view_allows(v, ACL_VIEW_EXECUTOR, executor_user(executor));
}

bool agent_view_sees_container(const struct agent_view *v, const struct executor *executor)
{
	return agent_view_allows(v, ACL_VIEW_CONTAINER, executor_user(executor));
}

bool agent_view_sees_task(const struct agent_view *v, const struct executor *executor,
			  const struct task *task)
{
	const char *user = task->record->user;

	return agent_view_allows(v, ACL_VIEW_TASK,
				 user && *user ? user : executor->framework->info->user);
}

bool agent_view_handles(const struct agent_view *v, const struct json *claims, const char *root,
			const struct container_rule *rule, const char *as)
{
	struct executor *executor = agent_container_find((struct agent *)v->agent, root);
	const char *user = executor ? executor_user(executor) : NULL;
	bool others;

	if (!executor && rule->standalone != ACL_ACTIONS)
		return !claims && agent_view_allows(v, rule->standalone, NULL);
	if (executor && claims) {
		/* What is its own runs as it does; as somebody else by the rules alone. */
		others = rule->as != ACL_ACTIONS && as && (!user || strcmp(as, user) != 0);
		return agent_executor_claimed(executor, claims) &&
		       (!others || agent_view_allows(v, rule->as, as));
	}
	return agent_view_allows(v, rule->under, user) &&
	       (rule->as == ACL_ACTIONS || agent_view_allows(v, rule->as, as ? as : user));
}

/* ---- resources ------------------------------------------------------------------------ */

static bool sees_piece(const struct agent_view *v, const struct resource_piece *piece)
{
	const char *role = resource_shape_role(piece->shape);

	return !strcmp(role, "*") || agent_view_sees_role(v, role);
}

const struct resources *agent_view_resources(const struct agent_view *v,
					     const struct resources *all, struct resources *scratch)
{
	if (!v->acls)
		return all;
	resources_clear(scratch);
	for (uint32_t i = 0; i < all->count; i++) {
		if (sees_piece(v, &all->pieces[i]))
			resources_add_piece(scratch, &all->pieces[i]);
	}
	return scratch;
}

/* ---- sandboxes -------------------------------------------------------------------------- */

static struct executor *completed_executor(const struct framework *framework, const char *id)
{
	for (const struct list *at = framework->completed.next; at != &framework->completed;
	     at = at->next) {
		struct executor *executor = list_entry(at, struct executor, link);

		if (!strcmp(executor->id, id))
			return executor;
	}
	return NULL;
}

static const struct framework *any_framework(const struct agent *agent, const char *id)
{
	struct framework *framework = agent_framework_find((struct agent *)agent, id);

	if (framework)
		return framework;
	for (const struct list *at = agent->completed.next; at != &agent->completed;
	     at = at->next) {
		framework = list_entry(at, struct framework, link);
		if (!strcmp(framework->id, id))
			return framework;
	}
	return NULL;
}

/* Of an executor that is not known any more, who may read the files of all may read these. */
bool agent_view_opens(const struct agent_view *v, const char *path)
{
	const struct framework *framework;
	const struct executor *executor = NULL;
	char *framework_id, *executor_id;

	if (!v->acls)
		return true;
	if (!agent_path_owner(v->agent, path, &framework_id, &executor_id))
		return true; /* no sandbox: nothing is there */
	framework = any_framework(v->agent, framework_id);
	if (framework)
		executor = agent_executor_find((struct framework *)framework, executor_id);
	if (framework && !executor)
		executor = completed_executor(framework, executor_id);
	free(framework_id);
	free(executor_id);
	return agent_view_allows(v, ACL_ACCESS_SANDBOX, executor ? executor_user(executor) : NULL);
}
