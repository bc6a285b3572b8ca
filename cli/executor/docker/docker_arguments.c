#include "cli/executor/docker/docker_arguments.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/texts.h"

/* Mesos' own. */
#define SHARES_PER_CPU 1024
#define SHARES_MIN 2
#define PERIOD_US 100000
#define QUOTA_MIN_US 1000
#define MEGABYTE (1024.0 * 1024)
#define MEMORY_MIN (32 * MEGABYTE)

struct list {
	struct arena *arena;
	char **items;
	size_t count;
};

static void add(struct list *list, const char *item)
{
	proto_push(list->arena, list->count, list->items, (char *)item);
}

static void add_two(struct list *list, const char *name, const char *value)
{
	add(list, name);
	add(list, value);
}

static void add_program(struct list *list, const struct docker_setting *setting)
{
	add(list, setting->program);
	if (setting->socket && *setting->socket && strcmp(setting->socket, DOCKER_SOCKET_DEFAULT))
		add_two(list, "-H", arena_printf(list->arena, "unix://%s", setting->socket));
}

static char **list_end(struct list *list)
{
	add(list, NULL);
	return list->items;
}

char **docker_arguments(struct arena *arena, const struct docker_setting *setting, ...)
{
	struct list list = {.arena = arena};
	const char *word;
	va_list words;

	add_program(&list, setting);
	va_start(words, setting);
	while ((word = va_arg(words, const char *)))
		add(&list, word);
	va_end(words);
	return list_end(&list);
}

/* ---- resources ---------------------------------------------------------------------- */

static double amount_of(const Mesos__TaskInfo *task, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < task->n_resources; i++) {
		const Mesos__Resource *r = task->resources[i];

		if (r->scalar && !strcmp(r->name, name))
			sum += r->scalar->value;
	}
	return sum;
}

/* NAN: there is none. */
static double docker_limit_of(const Mesos__TaskInfo *task, const char *name)
{
	for (size_t i = 0; i < task->n_limits; i++)
		if (task->limits[i]->key && task->limits[i]->value &&
		    !strcmp(task->limits[i]->key, name))
			return task->limits[i]->value->value;
	return NAN;
}

static void add_number(struct list *list, const char *name, double value)
{
	add_two(list, name, arena_printf(list->arena, "%.0f", value));
}

static void add_resources(struct list *list, const Mesos__TaskInfo *task)
{
	double cpus = amount_of(task, "cpus"), mem = amount_of(task, "mem") * MEGABYTE;
	double most_cpus = docker_limit_of(task, "cpus"),
	       most = docker_limit_of(task, "mem") * MEGABYTE;

	if (cpus > 0)
		add_number(list, "--cpu-shares", fmax(floor(SHARES_PER_CPU * cpus), SHARES_MIN));
	if (!isnan(most_cpus) && !isinf(most_cpus))
		add_number(list, "--cpu-quota", fmax(PERIOD_US * most_cpus, QUOTA_MIN_US));
	if (isnan(most) && mem > 0)
		add_number(list, "--memory", fmax(mem, MEMORY_MIN));
	if (isnan(most))
		return;
	if (mem > 0)
		add_number(list, "--memory-reservation", fmax(mem, MEMORY_MIN));
	if (!isinf(most))
		add_number(list, "--memory", fmax(most, MEMORY_MIN));
}

/* ---- environment, volumes ------------------------------------------------------------- */

static void add_variable(struct list *list, const char *name, const char *value)
{
	add_two(list, "-e", arena_printf(list->arena, "%s=%s", name, value ? value : ""));
}

static void docker_add_environment(struct list *list, const struct docker_setting *setting,
				   const Mesos__CommandInfo *command)
{
	const Mesos__Environment *environment = command ? command->environment : NULL;

	for (size_t i = 0; environment && i < environment->n_variables; i++) {
		const Mesos__Environment__Variable *v = environment->variables[i];

		if (!v->has_type || v->type != MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET)
			add_variable(list, v->name, v->value);
	}
	add_variable(list, "MESOS_SANDBOX", setting->mapped);
	add_variable(list, "MESOS_CONTAINER_NAME", setting->name);
}

static const char *below(struct arena *arena, const char *directory, const char *path)
{
	return *path == '/' ? path : arena_printf(arena, "%s/%s", directory, path);
}

static void add_docker_volume(struct list *list, const struct docker_setting *setting,
			      const Mesos__ContainerInfo__DockerInfo *docker,
			      const Mesos__Volume *volume)
{
	const char *mode = volume->mode == MESOS__VOLUME__MODE__RO ? "ro" : "rw";
	const char *there = below(list->arena, setting->mapped, volume->container_path);
	const char *here = volume->host_path;

	if (!here) {
		add_two(list, "-v", there);
		return;
	}
	/* A driver's volumes have names that are no paths. */
	if (!docker->volume_driver)
		here = below(list->arena, setting->sandbox, here);
	add_two(list, "-v", arena_printf(list->arena, "%s:%s:%s", here, there, mode));
}

/* ---- network ---------------------------------------------------------------------------- */

#define NETWORK(name) MESOS__CONTAINER_INFO__DOCKER_INFO__NETWORK__##name

static int add_network(struct list *list, const Mesos__ContainerInfo *info, struct err *err)
{
	const Mesos__ContainerInfo__DockerInfo *docker = info->docker;
	Mesos__ContainerInfo__DockerInfo__Network network =
		docker->has_network ? docker->network : NETWORK(HOST);
	const char *name = network == NETWORK(BRIDGE) ? "bridge" : "host";

	if (network == NETWORK(NONE))
		name = "none";
	if (network == NETWORK(USER)) {
		if (info->n_network_infos != 1 || !info->network_infos[0]->name)
			return err_set(
				err, ERR_INVALID,
				"Multiple or no network infos are not supported for a user-defined "
				"network: one with a name is needed");
		name = info->network_infos[0]->name;
	}
	add_two(list, "--net", name);
	if (info->hostname && network == NETWORK(HOST))
		return err_set(err, ERR_INVALID, "Unable to set hostname with host network mode");
	if (info->hostname)
		add_two(list, "--hostname", info->hostname);
	if (docker->n_port_mappings && network != NETWORK(BRIDGE) && network != NETWORK(USER))
		return err_set(
			err, ERR_INVALID,
			"Port mappings are only supported for bridge and user-defined networks");
	for (size_t i = 0; i < docker->n_port_mappings; i++) {
		const Mesos__ContainerInfo__DockerInfo__PortMapping *port =
			docker->port_mappings[i];

		add_two(list, "-p",
			arena_printf(list->arena, "%u:%u%s%s", port->host_port,
				     port->container_port, port->protocol ? "/" : "",
				     port->protocol ? port->protocol : ""));
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void add_command(struct list *list, const Mesos__CommandInfo *command, bool shell)
{
	if (shell) {
		add_two(list, "-c", command->value);
		return;
	}
	if (command && command->value)
		add(list, command->value);
	for (size_t i = 0; command && i < command->n_arguments; i++)
		add(list, command->arguments[i]);
}

char **docker_run_arguments(struct arena *arena, const struct docker_setting *setting,
			    const Mesos__TaskInfo *task, struct err *err)
{
	const Mesos__ContainerInfo *info = task->container;
	const Mesos__ContainerInfo__DockerInfo *docker = info->docker;
	const Mesos__CommandInfo *command = task->command;
	bool shell = command && command->value && (!command->has_shell || command->shell);
	struct list list = {.arena = arena};

	if (!docker || !docker->image)
		return err_set(err, ERR_INVALID, "No docker info found in container info"), NULL;
	add_program(&list, setting);
	add(&list, "run");
	if (docker->has_privileged && docker->privileged)
		add(&list, "--privileged");
	add_resources(&list, task);
	docker_add_environment(&list, setting, command);
	for (size_t i = 0; i < info->n_volumes; i++)
		add_docker_volume(&list, setting, docker, info->volumes[i]);
	add_two(&list, "-v", arena_printf(arena, "%s:%s", setting->sandbox, setting->mapped));
	if (docker->volume_driver)
		add_two(&list, "--volume-driver", docker->volume_driver);
	if (add_network(&list, info, err) < 0)
		return NULL;
	/* The image's own entry point would take the shell for an argument. */
	if (shell)
		add_two(&list, "--entrypoint", "/bin/sh");
	for (size_t i = 0; i < docker->n_parameters; i++)
		add(&list, arena_printf(arena, "--%s=%s", docker->parameters[i]->key,
					docker->parameters[i]->value));
	add_two(&list, "--name", setting->name);
	add(&list, docker->image);
	add_command(&list, command, shell);
	return list_end(&list);
}

/* ---- health --------------------------------------------------------------------------------- */

static void check_inside(struct arena *arena, const struct docker_setting *setting,
			 Mesos__HealthCheck *check)
{
	Mesos__CommandInfo *command = check->command;
	bool shell = !command->has_shell || command->shell;
	struct list list = {.arena = arena};

	add_program(&list, setting);
	add_two(&list, "exec", setting->name);
	if (shell)
		add_two(&list, "/bin/sh", "-c");
	add(&list, command->value);
	/* The first of them is the program's own name. */
	for (size_t i = 1; !shell && i < command->n_arguments; i++)
		add(&list, command->arguments[i]);
	command->has_shell = 1;
	command->shell = 0;
	command->value = list.items[0];
	command->n_arguments = list.count;
	command->arguments = list.items;
}

Mesos__TaskInfo *docker_checked_task(struct arena *arena, const struct docker_setting *setting,
				     const Mesos__TaskInfo *task, struct err *err)
{
	const Mesos__ContainerInfo__DockerInfo *docker = task->container->docker;
	bool host = !docker->has_network || docker->network == NETWORK(HOST);
	Mesos__TaskInfo *checked;

	if (!task->health_check)
		return NULL;
	checked = proto_copy_to(arena, task);
	checked->check = NULL;
	if (checked->health_check->command && checked->health_check->command->value) {
		check_inside(arena, setting, checked->health_check);
	} else if (!host) {
		err_set(err, ERR_INVALID,
			"HTTP and TCP health checks need the host's network: none is made");
		return NULL;
	}
	return checked;
}

/* ---- what became of it ----------------------------------------------------------------------- */

/* The first network that gave it an address. */
static const char *address_of(const struct json *settings)
{
	const struct json *networks = json_get(settings, "Networks");
	const char *address = json_get_string(settings, "IPAddress");

	for (size_t i = 0; !*address && networks && i < networks->count; i++)
		address = json_get_string(&networks->items[i], "IPAddress");
	return address;
}

const char *docker_inspected(struct arena *arena, const char *output, size_t len)
{
	const struct json *state, *running, *settings;
	struct err err = {""};
	struct json *all;

	if (json_parse(arena, output, len, &all, &err) < 0 || all->type != JSON_ARRAY ||
	    !all->count)
		return NULL;
	state = json_get(&all->items[0], "State");
	running = state ? json_get(state, "Running") : NULL;
	if (!running || running->type != JSON_BOOL || !running->boolean)
		return NULL;
	settings = json_get(&all->items[0], "NetworkSettings");
	return settings ? address_of(settings) : "";
}
