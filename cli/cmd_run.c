/* `mesita run` (and mesos-execute): the flags of a job. */
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log/log.h"
#include "cli/cli.h"
#include "cli/job/job.h"
#include "cli/job/run_task.h"

#define INSTANCES_MAX 100000
#define PATIENCE "10secs"

#define AT(member) offsetof(struct run_flags, member)
/* clang-format off */
#define ROW(name, type, preset, help) {#name, NULL, type, AT(name), preset, help, NULL, NULL}
#define UNUSED(name) {#name, NULL, FLAG_IGNORED, 0, NULL, "Accepted, has no effect.", NULL, NULL}
/* clang-format on */

static const struct flag run_table[] = {
	ROW(master, FLAG_STRING, CLI_DEFAULT_MASTER, "Address of the master, host:port."),
	ROW(command, FLAG_STRING, NULL, "What each task runs, given to /bin/sh."),
	ROW(name, FLAG_STRING, "run", "Name of the job; tasks are <name>.<number>."),
	ROW(instances, FLAG_INT, "1", "How many tasks to run."),
	ROW(cpus, FLAG_DOUBLE, "0.1", "CPUs of a task."),
	ROW(mem, FLAG_DOUBLE, "32", "Memory of a task, MB."),
	ROW(disk, FLAG_DOUBLE, "0", "Disk of a task, MB."),
	ROW(resources, FLAG_STRING, NULL,
	    "Resources of a task in one text (cpus:1;mem:128), instead of the three above."),
	ROW(env, FLAG_STRING, NULL,
	    "Environment: a JSON object, or NAME=VALUE pairs with commas between them."),
	ROW(uris, FLAG_STRING, NULL, "URIs to fetch into the sandbox, with commas between them."),
	ROW(role, FLAG_STRING, "*", "Role to run under."),
	ROW(user, FLAG_STRING, NULL, "User to run as (default: who calls)."),
	ROW(follow, FLAG_BOOL, "false", "Show what the tasks write as they write it."),
	ROW(json, FLAG_BOOL, "false", "One JSON object a task instead of tables."),
	ROW(shell, FLAG_BOOL, "true",
	    "Whether --command is for /bin/sh; otherwise it is a program."),
	ROW(checkpoint, FLAG_BOOL, "false", "Tasks outlive a restart of their agent."),
	ROW(partition_aware, FLAG_BOOL, "true", "Tasks on lost agents are unreachable, not lost."),
	ROW(kill_after, FLAG_DURATION, "0ns", "Kill each task after this time."),
	ROW(patience, FLAG_DURATION, PATIENCE, "How long to try to reach a master."),
	ROW(principal, FLAG_STRING, NULL, "Principal of the framework."),
	ROW(secret, FLAG_STRING, NULL, "Its secret (file:///path reads a file)."),
	ROW(task, FLAG_STRING, NULL, "A whole TaskInfo as JSON (file:///path reads a file)."),
	ROW(image, FLAG_STRING, NULL,
	    "Image of a container to run each task in; needs agents with "
	    "--containerizers=mesos,docker, or those that --containerizer=mesos says."),
	ROW(containerizer, FLAG_STRING, NULL,
	    "Who runs it: docker (default of `mesita run`), or mesos (of mesos-execute): the agent "
	    "itself, with --image_providers=docker."),
	{"docker_image", NULL, FLAG_STRING, AT(docker_image), NULL,
	 "The same, as mesos-execute has it.", NULL, NULL},
	ROW(appc_image, FLAG_STRING, NULL, "Not supported."),
	ROW(networks, FLAG_STRING, NULL,
	    "Networks that the container joins, ',' between their names; needs "
	    "--containerizer=mesos and agents with --network_cni_config_dir."),
	ROW(volumes, FLAG_STRING, NULL,
	    "Volumes of the container: a JSON array of Volume, or a file of it."),
	ROW(group, FLAG_STRING, NULL,
	    "A group of tasks that run and end together: a file with a TaskGroupInfo as JSON, or "
	    "that itself."),
	{"task_group", NULL, FLAG_STRING, AT(task_group), NULL,
	 "The same, as mesos-execute has it: JSON (file:///path reads a file).", NULL, NULL},
	ROW(effective_capabilities, FLAG_STRING, NULL,
	    "Capabilities that it has: a CapabilityInfo as JSON, or a file of it."),
	ROW(bounding_capabilities, FLAG_STRING, NULL, "Those that it may ever get, likewise."),
	ROW(rlimits, FLAG_STRING, NULL,
	    "Its resource limits: an RLimitInfo as JSON, or a file of it."),
	UNUSED(content_type),
	UNUSED(framework_capabilities),
	UNUSED(hadoop),
	UNUSED(hdfs),
	UNUSED(package),
	UNUSED(overwrite),
	ROW(tty, FLAG_BOOL, "false",
	    "Each task has a terminal, for `mesita attach`; it runs on then without one."),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

static int cmd_run_check(const struct run_flags *flags, struct err *err)
{
	if (flags->appc_image)
		return err_set(err, ERR_INVALID,
			       "--appc_image needs images of appc, which mesita does not have");
	if (flags->instances < 1 || flags->instances > INSTANCES_MAX)
		return err_set(err, ERR_INVALID, "--instances must be between 1 and %d",
			       INSTANCES_MAX);
	if (strcmp(flags->containerizer, "mesos") && strcmp(flags->containerizer, "docker"))
		return err_set(err, ERR_INVALID, "--containerizer is docker or mesos");
	if (!*flags->name)
		return err_set(err, ERR_INVALID, "--name must not be empty");
	if (flags->task && flags->command)
		return err_set(err, ERR_INVALID, "--task and --command do not go together");
	if (run_group_wanted(flags) && (flags->task || flags->command || flags->instances != 1))
		return err_set(err, ERR_INVALID,
			       "--group goes with none of --task, --command and --instances");
	return 0;
}

static const char *current_user(void)
{
	const struct passwd *entry = getpwuid(geteuid());

	return entry ? entry->pw_name : "root";
}

static struct job_options options_of(const struct run_flags *flags, bool execute)
{
	return (struct job_options){
		.master = flags->master,
		.name = execute ? "mesos-execute instance" : flags->name,
		.role = flags->role,
		.user = flags->user ? flags->user : current_user(),
		.principal = flags->principal,
		.secret = flags->secret,
		.instances = (int)flags->instances,
		.checkpoint = flags->checkpoint,
		.partition_aware = flags->partition_aware,
		.follow = flags->follow,
		.style = execute       ? JOB_EXECUTE
			 : flags->json ? JOB_JSON
				       : JOB_TEXT,
		.kill_after = flags->kill_after,
		.patience = flags->patience,
	};
}

static int cmd_run_run(const struct run_flags *flags, const struct flags *parsed, bool execute,
		       struct err *err)
{
	struct job_options options = options_of(flags, execute);
	struct arena arena;
	int rv = cmd_run_check(flags, err);

	if (rv == 0)
		rv = cli_secure(flags->master, err);
	if (rv < 0)
		return rv;
	arena_init(&arena);
	rv = ERR_INVALID;
	if (run_group_wanted(flags)) {
		options.group = run_group_make(&arena, flags, err);
		options.instances = options.group ? (int)options.group->n_tasks : 0;
		options.task_id = flags->name;
	} else {
		options.task = run_task_make(&arena, flags, parsed->positional,
					     parsed->positional_count, err);
		options.task_id = options.task ? options.task->task_id->value : NULL;
	}
	if (options.task || options.group)
		rv = job_run(&options, err);
	arena_free(&arena);
	return rv;
}

static int run_with(const char *program, const char *usage, bool execute, int argc, char **argv)
{
	struct run_flags target = {0};
	struct flags flags;
	struct err err = {{0}};
	int status = 0;

	if (cli_flags(&flags, run_table, sizeof(run_table) / sizeof(*run_table), &target, usage,
		      argc, argv, &status))
		return status;
	log_setup(LOG_LEVEL_WARNING, STDERR_FILENO);
	if (!target.containerizer)
		target.containerizer = execute ? "mesos" : "docker";
	status = cmd_run_run(&target, &flags, execute, &err);
	if (status < 0) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		status = 1;
	}
	cli_flags_free(&flags);
	return status;
}

int cmd_run(int argc, char **argv)
{
	return run_with("mesita run",
			"Usage: mesita run --command=COMMAND [--instances=N] [--master=HOST:PORT]\n"
			"       mesita run [--flags] -- PROGRAM [ARGUMENT...]\n"
			"       mesita run [--flags] --group=FILE",
			false, argc, argv);
}

int cmd_execute(int argc, char **argv)
{
	return run_with("mesos-execute",
			"Usage: mesos-execute --master=HOST:PORT --name=NAME --command=COMMAND",
			true, argc, argv);
}
