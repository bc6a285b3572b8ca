/* Containers with real processes: start, end, leftovers, destruction, reattachment,
 * fetching. `mesita init` and `mesita fetch` are this executable, called again. */
#include "agent_shell.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "agent/containers/fetch/fetcher.h"
#include "agent/containers/init/init.h"
#include "agent/containers/posix/posix.h"
#include "agent/containers/posix/process_tree.h"
#include "base/time/clock.h"

/* Runs before Criterion's main. */
static void __attribute__((constructor)) be_a_subcommand(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[0], "mesita"))
		return;
	if (!strcmp(argv[1], "init"))
		exit(init_main(argc - 2, argv + 2));
	if (!strcmp(argv[1], "fetch"))
		exit(fetch_main(argc - 2, argv + 2));
}

static uv_loop_t loop;
static const char *id; /* of the container; no test running beside may have the same */
static struct slow_pool *pool;
static struct posix *posix;
static struct containers *containers;
static struct buf events; /* what was reported, a line each */
static pid_t started_pid;
static uint64_t started_ticks;

static const char *name_of(const char *container)
{
	return strcmp(container, id) ? container : "c";
}

static void report(void *context, const struct agent_event *event)
{
	switch (event->type) {
	case AGENT_CONTAINER_STARTED:
		started_pid = (pid_t)event->container_started.pid;
		started_ticks = event->container_started.start_ticks;
		buf_printf(&events, "started %s\n", name_of(event->container_started.container));
		break;
	case AGENT_CONTAINER_FAILED:
		buf_printf(&events, "failed %s %d %s\n", name_of(event->container_failed.container),
			   event->container_failed.stage, event->container_failed.text);
		break;
	case AGENT_CONTAINER_EXITED:
		buf_printf(&events, "exited %s %d\n", name_of(event->container_exited.container),
			   event->container_exited.known ? event->container_exited.status : -1);
		break;
	default:
		buf_printf(&events, "unexpected %d\n", event->type);
	}
}

static void create(const char *program)
{
	static char path[4096];
	struct posix_options options = {
		.loop = &loop,
		.program = program,
		.runtime_dir = at("run"),
		.frameworks_home = at("home"),
		.fetcher_stall_timeout = MINUTE,
	};
	struct err err;

	if (!program) {
		cr_assert_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
		options.program = path;
	}
	options.pool = pool = slow_pool_create(&loop);
	cr_assert_eq(posix_create(&options, &posix, &err), 0, "%s", err.text);
	containers = containers_create(&posix_backend, posix, report, NULL);
	posix_answer(posix, containers);
}

/* As when the agent ends. */
static void forget(void)
{
	containers_destroy_all(containers);
	posix_close(posix);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void set_up(void)
{
	make_directory();
	id = strrchr(test_directory, '/') + 1;
	uv_loop_init(&loop);
	events = BUF_INIT;
}

static void tear_down(void)
{
	forget();
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_free(&events);
	remove_directory();
}

TestSuite(agent_shell_container, .init = set_up, .fini = tear_down, .timeout = 60);

static char *sandbox(void)
{
	return text("%s/runs/%s", test_directory, id);
}

static char *in_sandbox(const char *name)
{
	return text("%s/%s", sandbox(), name);
}

/* Launches container "c". `argv` NULL: a shell command. */
static void launch_as(const char *value, char **argv, const char *user, const char *uri)
{
	static char *environment[] = {"A=1", "PATH=/usr/bin:/bin", NULL, NULL};
	Mesos__CommandInfo command = MESOS__COMMAND_INFO__INIT;
	Mesos__CommandInfo__URI fetched = MESOS__COMMAND_INFO__URI__INIT, *uris[] = {&fetched};
	struct agent_launch launch = {
		.container = id,
		.framework_id = "f",
		.executor_id = "e",
		.sandbox = sandbox(),
		.user = user,
		.command = &command,
		.environment = environment,
	};

	environment[2] = text("MESOS_DIRECTORY=%s", launch.sandbox);
	command.value = (char *)value;
	command.has_shell = 1;
	command.shell = !argv;
	command.arguments = argv;
	while (argv && argv[command.n_arguments])
		command.n_arguments++;
	if (uri) {
		fetched.value = (char *)uri;
		command.n_uris = 1;
		command.uris = uris;
	}
	containers_launch(containers, &launch);
}

static void launch(const char *value)
{
	launch_as(value, NULL, NULL, NULL);
}

static bool is_over(void)
{
	return events.data && (strstr(events.data, "exited ") || strstr(events.data, "failed "));
}

static bool is_started(void)
{
	return events.data && strstr(events.data, "started ");
}

/* init's directory is removed on a thread. */
static bool is_tidy(void)
{
	return !rmdir(at("run/containers"));
}

static bool is_written(void)
{
	return *read_text(in_sandbox("pid"));
}

static pid_t written_pid(void)
{
	return (pid_t)atoi(read_text(in_sandbox("pid")));
}

Test(agent_shell_container, custom_executor_exits_with_its_status)
{
	create(NULL);
	launch("echo out; echo err >&2; exit 3");
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 768\n");
	cr_expect_str_eq(read_text(in_sandbox("stdout")), "out\n");
	cr_expect_str_eq(read_text(in_sandbox("stderr")), "err\n");
	run_until(&loop, is_tidy);
}

Test(agent_shell_container, signals_show_in_the_status)
{
	create(NULL);
	launch("kill -15 $$");
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 15\n");
}

Test(agent_shell_container, own_program_is_started_clean)
{
	/* Whoever was started by posix_spawn, as make starts its recipes, finds the C library's
	 * own signals 32 and 33 ignored; nobody can change that. */
	static char script[] = "sed -n -E '/^Sig(Blk|Ign)/s/[0-3][08](0{7})$/00\\1/p' "
			       "/proc/self/status; ls /proc/self/fd; "
			       "readlink /proc/self/fd/0; pwd; env | grep -v -E '^(PWD|SHLVL|_)='";
	char *argv[] = {"sh", "-c", script, NULL};
	int inherited = open("/dev/null", O_RDONLY); /* not close-on-exec */
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	create("/bin/sh");
	launch_as("/bin/sh", argv, NULL, NULL);
	run_until(&loop, is_over);
	close(inherited);
	cr_expect_str_eq(events.data, "started c\nexited c 0\n");
	cr_expect_str_eq(read_text(in_sandbox("stdout")),
			 text("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
			      "0\n1\n2\n3\n/dev/null\n%s\nA=1\nPATH=/usr/bin:/bin\n"
			      "MESOS_DIRECTORY=%s\n",
			      sandbox(), sandbox()));
}

Test(agent_shell_container, nothing_is_left_of_a_custom_executor)
{
	create(NULL);
	launch("setsid sh -c 'echo $$ >pid; exec sleep 1000' & "
	       "while ! [ -s pid ]; do sleep 0.01; done");
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 0\n");
	cr_expect_not(lives(written_pid()));
}

/* Without init the agent itself inherits the orphans. */
Test(agent_shell_container, nothing_is_left_of_an_executor_of_ours)
{
	static char script[] = "(setsid sh -c 'echo $$ >pid; exec sleep 1000' &); "
			       "while ! [ -s pid ]; do sleep 0.01; done";
	char *argv[] = {"sh", "-c", script, NULL};

	create("/bin/sh");
	launch_as("/bin/sh", argv, NULL, NULL);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 0\n");
	cr_expect_not(lives(written_pid()));
}

Test(agent_shell_container, children_that_were_there_before_are_left_alone)
{
	pid_t before = fork();

	if (before == 0) {
		pause();
		_exit(0);
	}
	create(NULL);
	launch("true");
	run_until(&loop, is_over);
	cr_expect(lives(before));
	kill(before, SIGKILL);
	waitpid(before, NULL, 0);
}

Test(agent_shell_container, destroy_kills_all_of_it)
{
	create(NULL);
	launch("trap '' TERM; setsid sh -c 'echo $$ >pid; exec sleep 1000' & sleep 1000");
	run_until(&loop, is_written);
	containers_destroy(containers, id);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 9\n");
	cr_expect_not(lives(written_pid()));
}

Test(agent_shell_container, destroying_the_unknown_is_answered)
{
	create(NULL);
	containers_destroy(containers, id);
	cr_expect_str_eq(events.data, "exited c -1\n");
}

static void start_and_forget(const char *value)
{
	create(NULL);
	launch(value);
	run_until(&loop, is_written);
	forget();
	buf_clear(&events);
	create(NULL);
}

Test(agent_shell_container, reattaches_and_learns_the_status)
{
	start_and_forget("echo $$ >pid; while ! [ -e go ]; do sleep 0.01; done; exit 4");
	containers_reattach(containers, id, started_pid, started_ticks);
	cr_expect_eq(containers_pid(containers, id), started_pid);
	write_text(in_sandbox("go"), "");
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "exited c 1024\n");
}

Test(agent_shell_container, finds_a_container_whose_pid_was_not_stored)
{
	start_and_forget("echo $$ >pid; sleep 1000");
	containers_reattach(containers, id, 0, 0);
	run_until(&loop, is_started);
	cr_expect_str_eq(events.data, "started c\n");
	containers_destroy(containers, id);
	run_until(&loop, is_over);
	cr_expect_not(lives(written_pid()));
}

Test(agent_shell_container, a_reused_pid_is_not_the_container)
{
	create(NULL);
	containers_reattach(containers, id, getpid(), 1);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "exited c -1\n");
}

Test(agent_shell_container, unknown_users_fail_the_sandbox)
{
	create(NULL);
	launch_as("true", NULL, "no-such-user", NULL);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data,
			 text("failed c %d Failed to create executor directory '%s': Failed to "
			      "chown directory to 'no-such-user': No such user 'no-such-user'\n",
			      AGENT_STAGE_SANDBOX, sandbox()));
}

Test(agent_shell_container, programs_that_are_not_there_fail_the_launch)
{
	char *argv[] = {"x", NULL};

	create("/no/such/program");
	launch_as("/no/such/program", argv, NULL, NULL);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data,
			 text("failed c %d Failed to execute '/no/such/program': No such file or "
			      "directory\n",
			      AGENT_STAGE_LAUNCH));
}

Test(agent_shell_container, root_switches_the_user)
{
	if (geteuid())
		cr_skip_test("needs root");
	create(NULL);
	launch_as("id -un; id -gn; echo x >file; echo $$ >pid", NULL, "daemon", NULL);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 0\n");
	cr_expect_str_eq(read_text(in_sandbox("stdout")), "daemon\ndaemon\n");
}

Test(agent_shell_container, fetches_before_it_starts)
{
	create(NULL);
	write_text(at("data.txt"), "payload");
	launch_as("cat data.txt", NULL, NULL, text("file://%s", at("data.txt")));
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "started c\nexited c 0\n");
	cr_expect_str_eq(read_text(in_sandbox("stdout")), "payload");
	cr_expect_eq(containers_counters(containers)->fetches_succeeded, 1);
}

Test(agent_shell_container, failed_fetches_fail_the_launch)
{
	create(NULL);
	launch_as("true", NULL, NULL, "/no/such/file");
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data,
			 text("failed c %d Failed to fetch all URIs for container '%s': "
			      "exited with status 1\n",
			      AGENT_STAGE_LAUNCH, id));
	cr_expect_not_null(
		strstr(read_text(in_sandbox("stderr")), "Failed to fetch '/no/such/file'"));
	cr_expect_eq(containers_counters(containers)->fetches_failed, 1);
	/* Nothing of it is left. */
	run_until(&loop, is_tidy);
}

Test(agent_shell_container, destroy_ends_a_fetch)
{
	create(NULL);
	cr_assert_eq(mkfifo(at("pipe"), 0600), 0);
	launch_as("true", NULL, NULL, at("pipe")); /* hangs: nobody writes */
	containers_destroy(containers, id);
	run_until(&loop, is_over);
	cr_expect_str_eq(events.data, "exited c -1\n");
}

static bool fetcher_is_gone(void)
{
	return !lives((pid_t)atoi(read_text(at("fetcher"))));
}

/* The process that reads the pipe says who it is. */
static bool fetcher_is_there(void)
{
	pid_t *children = process_children();
	bool found = false;

	for (pid_t *pid = children; *pid && !found; pid++) {
		found = strstr(read_text(text("/proc/%d/cmdline", (int)*pid)), "mesita") != NULL;
		if (found)
			write_text(at("fetcher"), text("%d", (int)*pid));
	}
	free(children);
	return found;
}

Test(agent_shell_container, the_end_of_the_agent_ends_a_fetch)
{
	create(NULL);
	cr_assert_eq(mkfifo(at("pipe"), 0600), 0);
	launch_as("true", NULL, NULL, at("pipe")); /* hangs: nobody writes */
	run_until(&loop, fetcher_is_there);
	forget();
	create(NULL);
	run_until(&loop, fetcher_is_gone);
	cr_expect_null(events.data);
}
