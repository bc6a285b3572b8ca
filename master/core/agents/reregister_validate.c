/* Whether a ReregisterSlaveMessage is consistent: ids unique and
 * valid, everything it mentions listed, resources well-formed. One that contradicts
 * itself is ignored as a whole.
 */
#include "master/core/objects.h"

#include <stdlib.h>
#include <string.h>

#include "master/core/agents/agents.h"
#include "master/core/agents/pid.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/tasks/task_validate.h"

/* A set of texts. */
struct name {
	char *text;
	UT_hash_handle hh;
};

static bool names_have(struct name *set, const char *text)
{
	struct name *found;

	HASH_FIND(hh, set, text, strlen(text), found);
	return found != NULL;
}

static void names_add(struct name **set, char *text)
{
	struct name *name = xcalloc(1, sizeof(*name));

	name->text = text;
	HASH_ADD_KEYPTR(hh, *set, name->text, strlen(name->text), name);
}

static void names_free(struct name **set)
{
	struct name *name, *next;

	HASH_ITER (hh, *set, name, next) {
		HASH_DEL(*set, name);
		free(name->text);
		free(name);
	}
}

struct payload {
	struct master *m;
	const Mesos__Internal__ReregisterSlaveMessage *message;
	struct name *frameworks;
	struct name *executors; /* framework '/' executor */
};

static int check_frameworks(struct payload *p, struct err *err)
{
	for (size_t i = 0; i < p->message->n_frameworks; i++) {
		const Mesos__FrameworkInfo *info = p->message->frameworks[i];

		if (framework_info_validate(info, err))
			return ERR_INVALID;
		if (!info->id)
			return err_set(err, ERR_INVALID, "Framework '%s' has no id", info->name);
		if (names_have(p->frameworks, info->id->value))
			return err_set(err, ERR_INVALID,
				       "Framework has a duplicate FrameworkID: '%s'",
				       info->id->value);
		names_add(&p->frameworks, xstrdup(info->id->value));
	}
	return 0;
}

static int check_executors(struct payload *p, struct err *err)
{
	for (size_t i = 0; i < p->message->n_executor_infos; i++) {
		const Mesos__ExecutorInfo *e = p->message->executor_infos[i];
		const char *framework = e->framework_id ? e->framework_id->value : "";
		char *key;

		if (master_validate_executor_alone(e, err) ||
		    resources_validate(e->resources, e->n_resources, err))
			return ERR_INVALID;
		if (!names_have(p->frameworks, framework))
			return err_set(err, ERR_INVALID, "Executor has an invalid FrameworkID '%s'",
				       framework);
		key = xprintf("%s/%s", framework, e->executor_id->value);
		if (names_have(p->executors, key)) {
			free(key);
			return err_set(err, ERR_INVALID,
				       "Framework '%s' has a duplicate ExecutorID '%s'", framework,
				       e->executor_id->value);
		}
		names_add(&p->executors, key);
	}
	return 0;
}

static bool has_executor(struct payload *p, const Mesos__Task *task)
{
	char *key = xprintf("%s/%s", task->framework_id->value, task->executor_id->value);
	bool has = names_have(p->executors, key);

	free(key);
	return has;
}

static int reregister_validate_check_tasks(struct payload *p, struct err *err)
{
	for (size_t i = 0; i < p->message->n_tasks; i++) {
		const Mesos__Task *task = p->message->tasks[i];

		if (master_validate_id(task->task_id->value, err))
			return err_wrap(err, ERR_INVALID, "Task has an invalid TaskID");
		if (strcmp(task->agent_id->value, p->message->agent->id->value))
			return err_set(err, ERR_INVALID, "Task has an invalid AgentID '%s'",
				       task->agent_id->value);
		if (!names_have(p->frameworks, task->framework_id->value))
			return err_set(err, ERR_INVALID, "Task has an invalid FrameworkID '%s'",
				       task->framework_id->value);
		if (task->executor_id && task->state == MESOS__TASK_STATE__TASK_RUNNING &&
		    !has_executor(p, task))
			return err_set(err, ERR_INVALID, "Task has an invalid ExecutorID '%s'",
				       task->executor_id->value);
		if (resources_validate(task->resources, task->n_resources, err))
			return err_wrap(err, ERR_INVALID, "Task uses invalid resources");
	}
	return 0;
}

int master_validate_reregistration(struct master *m, const char *from,
				   const Mesos__Internal__ReregisterSlaveMessage *message,
				   struct err *err)
{
	struct payload p = {.m = m, .message = message};
	int rv = 0;

	if (!pid_valid(from))
		rv = err_set(err, ERR_INVALID, "its address cannot be reached");
	if (!rv && (!message->agent->id || !message->agent->id->value[0]))
		rv = err_set(err, ERR_INVALID, "it has no id");
	if (!rv)
		rv = master_validate_agent_info(message->agent, err);
	if (!rv)
		rv = resources_validate(message->checkpointed_resources,
					message->n_checkpointed_resources, err);
	if (!rv)
		rv = check_frameworks(&p, err);
	if (!rv)
		rv = check_executors(&p, err);
	if (!rv)
		rv = reregister_validate_check_tasks(&p, err);
	if (!rv)
		rv = master_validate_agent_version(m, message->agent, message->version, err);
	names_free(&p.frameworks);
	names_free(&p.executors);
	return rv;
}
