/* The environment of an executor, and of a container inside of its. Nothing of the agent's own gets
 * in; a later value of a name replaces an earlier one. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "base/time/duration.h"

#define TOKEN "MESOS_EXECUTOR_AUTHENTICATION_TOKEN"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct variable {
	UT_hash_handle hh;
	const char *name; /* in the arena, as the value */
	size_t name_len;
	char *text; /* NAME=VALUE */
};

struct environment {
	struct arena *arena;
	struct variable *variables;
	unsigned count;
};

static void set_pair(struct environment *env, char *pair, size_t name_len)
{
	struct variable *variable;

	HASH_FIND(hh, env->variables, pair, name_len, variable);
	if (!variable) {
		variable = xcalloc(1, sizeof(*variable));
		variable->name = pair;
		variable->name_len = name_len;
		HASH_ADD_KEYPTR(hh, env->variables, variable->name, name_len, variable);
		env->count++;
	}
	variable->text = pair;
}

static void set(struct environment *env, const char *name, const char *value)
{
	set_pair(env, arena_printf(env->arena, "%s=%s", name, value), strlen(name));
}

static bool is_set(const struct environment *env, const char *name)
{
	struct variable *variable;

	HASH_FIND(hh, env->variables, name, strlen(name), variable);
	return variable != NULL;
}

static void set_command(struct environment *env, const Mesos__Environment *more)
{
	if (!more)
		return;
	for (size_t i = 0; i < more->n_variables; i++) {
		const Mesos__Environment__Variable *variable = more->variables[i];

		if (variable->type == MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET ||
		    !variable->value || !variable->name[0] || strchr(variable->name, '='))
			continue;
		set(env, variable->name, variable->value);
	}
}

static void set_durations(struct environment *env, const struct agent_options *options,
			  const struct executor *executor)
{
	int64_t grace = options->executor_shutdown_grace_period;
	char text[DURATION_TEXT];

	if (executor->info->shutdown_grace_period)
		grace = executor->info->shutdown_grace_period->nanoseconds;
	set(env, "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", duration_format(grace, text));
	if (!executor->framework->checkpoint)
		return;
	set(env, "MESOS_RECOVERY_TIMEOUT", duration_format(options->recovery_timeout, text));
	set(env, "MESOS_SUBSCRIPTION_BACKOFF_MAX",
	    duration_format(options->executor_reregistration_timeout, text));
}

/* Where the container sees its sandbox. */
static const char *seen_sandbox(const struct agent *agent, const Mesos__ContainerInfo *info,
				const char *sandbox)
{
	return info && info->mesos && info->mesos->image ? agent->options.sandbox_directory
							 : sandbox;
}

static void set_mesos(struct environment *env, struct agent *agent, const struct executor *executor)
{
	const struct agent_options *options = &agent->options;

	set(env, "LIBPROCESS_PORT", "0");
	if (options->native_library) {
		if (!is_set(env, "MESOS_NATIVE_JAVA_LIBRARY"))
			set(env, "MESOS_NATIVE_JAVA_LIBRARY", options->native_library);
		if (!is_set(env, "MESOS_NATIVE_LIBRARY"))
			set(env, "MESOS_NATIVE_LIBRARY", options->native_library);
	}
	set(env, "MESOS_FRAMEWORK_ID", executor->framework->id);
	set(env, "MESOS_EXECUTOR_ID", executor->id);
	set(env, "MESOS_DIRECTORY", executor->sandbox);
	set(env, "MESOS_SLAVE_ID", agent_id(agent));
	set(env, "MESOS_SLAVE_PID", agent->pid);
	set(env, "MESOS_AGENT_ENDPOINT",
	    arena_printf(env->arena, "%s:%d", options->ip, options->port));
	set(env, "MESOS_CHECKPOINT", executor->framework->checkpoint ? "1" : "0");
	set(env, "MESOS_HTTP_COMMAND_EXECUTOR", options->http_command_executor ? "1" : "0");
	set_durations(env, options, executor);
	if (options->executor_secret.len)
		set(env, TOKEN,
		    agent_executor_token(env->arena, options->executor_secret, executor));
	set(env, "MESOS_SANDBOX",
	    seen_sandbox(agent, executor->info->container, executor->sandbox));
}

static void set_executor(struct environment *env, struct agent *agent,
			 const struct executor *executor)
{
	const char *const *flag = agent->options.executor_environment;

	if (agent->options.libprocess_ip)
		set(env, "LIBPROCESS_IP", agent->options.libprocess_ip);
	for (; *flag; flag++) {
		if (strchr(*flag, '=') && **flag != '=')
			set_pair(env, arena_strdup(env->arena, *flag), strcspn(*flag, "="));
	}
	set_mesos(env, agent, executor);
	if (executor->info->command)
		set_command(env, executor->info->command->environment);
}

static void unset(struct environment *env, const char *name)
{
	struct variable *variable;

	HASH_FIND(hh, env->variables, name, strlen(name), variable);
	if (!variable)
		return;
	HASH_DEL(env->variables, variable);
	free(variable);
	env->count--;
}

/* A session has that of its parent, but for what proves who an executor is, and what its command
 * says. */
static void set_nested(struct environment *env, struct agent *agent, const struct nested *nested)
{
	const struct nested *parent = agent_nested_parent(agent, nested);

	if (!nested->session)
		set(env, "MESOS_SANDBOX",
		    seen_sandbox(agent, nested->launch->container, nested->sandbox));
	else if (parent)
		set_nested(env, agent, parent);
	else
		set_executor(env, agent, nested->executor);
	unset(env, TOKEN);
	set_command(env, nested->launch->command->environment);
}

static char **environment_list(struct environment *env)
{
	struct variable *variable, *next;
	char **list;
	size_t count = 0;

	if (!is_set(env, "PATH"))
		set(env, "PATH", DEFAULT_PATH);
	list = arena_alloc(env->arena, (env->count + 1) * sizeof(*list));
	HASH_ITER (hh, env->variables, variable, next) {
		list[count++] = variable->text;
		HASH_DEL(env->variables, variable);
		free(variable);
	}
	return list;
}

char **agent_executor_environment(struct agent *agent, const struct executor *executor)
{
	struct environment env = {.arena = &agent->out->arena};

	set_executor(&env, agent, executor);
	return environment_list(&env);
}

char **agent_nested_environment(struct agent *agent, const struct nested *nested)
{
	struct environment env = {.arena = &agent->out->arena};

	set_nested(&env, agent, nested);
	return environment_list(&env);
}
