/* `mesita`: picks the part to run by the first argument, or by the name it was
 * called under (mesos-master and so on, for tools that start Mesos' programs). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/containers/fetch/fetcher.h"
#include "agent/containers/init/init.h"
#include "agent/containers/network/network.h"
#include "agent/containers/pull/pull.h"
#include "agent/server.h"
#include "base/time/clock.h"
#include "cli/cli.h"
#include "master/server.h"
#include "store/format.h"
#include "webui/assets.h"

/* A daemon that fails lives at least this long: whoever starts it again at once, as
 * supervisors do, must not spin. */
#define DAEMON_LIFE_MIN (100 * MILLISECOND)

static int cmd_master(int argc, char **argv);
static int cmd_agent(int argc, char **argv);
static int cmd_version(int argc, char **argv);
static int cmd_help(int argc, char **argv);

static const struct {
	const char *name;
	const char *link; /* program name of Mesos that stands for it, or NULL */
	int (*run)(int argc, char **argv);
	const char *summary; /* NULL: not for people */
} commands[] = {
	{"local", "mesos-local", cmd_local, "start a whole cluster on this machine"},
	{"run", NULL, cmd_run, "run a command as tasks and wait for them"},
	{"execute", "mesos-execute", cmd_execute, NULL},
	{"ps", NULL, cmd_ps, "list tasks"},
	{"logs", NULL, cmd_logs, "show the output of a task"},
	{"exec", NULL, cmd_exec, "run a program inside of a task"},
	{"attach", NULL, cmd_attach, "use the terminal of a task"},
	{"kill", NULL, cmd_kill, "kill a task or a whole framework"},
	{"resolve", "mesos-resolve", cmd_resolve, "say which master leads"},
	{"registry", NULL, cmd_registry, "move what masters know to ZooKeeper, or back"},
	{"demo", NULL, cmd_demo, "show dominant resource fairness, step by step"},
	{"master", "mesos-master", cmd_master, "be a master"},
	{"agent", "mesos-agent", cmd_agent, "be an agent"},
	{"slave", "mesos-slave", cmd_agent, NULL},
	{"executor", "mesos-executor", executor_main, "run one command task (started by an agent)"},
	{"default-executor", "mesos-default-executor", default_executor_main,
	 "run the tasks of groups (started by an agent)"},
	{"fetch", "mesos-fetcher", fetch_main, NULL},
	{"init", NULL, init_main, NULL},
	{"network", NULL, network_main, NULL},
	{"pull", NULL, pull_main, NULL},
	{"version", NULL, cmd_version, "print the version"},
	{"help", NULL, cmd_help, "print this"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static int run_daemon(int (*daemon)(int argc, char **argv), int argc, char **argv)
{
	int64_t begin = clock_now(), lived;
	int status = daemon(argc, argv);

	lived = clock_now() - begin;
	if (status != 0 && lived < DAEMON_LIFE_MIN)
		nanosleep(&(struct timespec){.tv_nsec = DAEMON_LIFE_MIN - lived}, NULL);
	return status;
}

static int cmd_master(int argc, char **argv)
{
	return run_daemon(master_main, argc, argv);
}

static int cmd_agent(int argc, char **argv)
{
	return run_daemon(agent_main, argc, argv);
}

/* For programs with --json. */
static int cmd_version(int argc, char **argv)
{
	bool json = argc > 0 && !strcmp(argv[0], "--json");
	struct asset page;

	if (argc > json) {
		fprintf(stderr, "Usage: mesita version [--json]\n");
		return 1;
	}
	if (json)
		printf("{\"name\":\"mesita\",\"version\":\"%s\",\"store_format\":%d,\"webui\":%s}"
		       "\n",
		       MESITA_VERSION, STORE_FORMAT,
		       webui_asset("index.html", &page) ? "true" : "false");
	else
		printf("mesita %s\n", MESITA_VERSION);
	return 0;
}

static int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("mesita runs schedulers written for Apache Mesos.\n\n"
	       "Usage: mesita COMMAND [--flags] [arguments]\n\nCommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary)
			printf("  %-9s  %s\n", commands[i].name, commands[i].summary);
	printf("\n`mesita COMMAND --help` lists a command's flags.\n"
	       "To try it: `mesita local` in one terminal, `mesita run --command='echo hello'` in "
	       "another.\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *program =
		argc > 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	if (argc < 1)
		return 1;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].link && !strcmp(program, commands[i].link))
			return commands[i].run(argc - 1, argv + 1);
	if (argc < 2) {
		cmd_help(0, NULL);
		return 1;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_help(0, NULL);
	if (!strcmp(argv[1], "--version"))
		return cmd_version(0, NULL);
	fprintf(stderr, "mesita: there is no command '%s'. `mesita help` lists them.\n", argv[1]);
	return 1;
}
