/* `mesita local`: a master and N agents on this machine, as child processes.
 *
 * Three kinds of processes: the supervisor (this command), one guardian, and below
 * the guardian the daemons with their executors and tasks. The guardian is a child
 * subreaper in a session of its own, holds the reading end of a pipe whose writing end
 * the supervisor keeps, and kills everything below it when that pipe closes. So
 * Ctrl-C, SIGTERM and even kill -9 of the supervisor leave no process behind: whatever
 * a task detached is still a descendant of the guardian.
 *
 * The address is printed only when all agents are registered.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/guardian.h"

#define READY_TIMEOUT (30 * SECOND)
#define READY_POLL_MS 5
#define AGENTS_MAX 1000

struct local_flags {
	int64_t agents;
	const char *ip;
	int64_t port;
	const char *resources;
	const char *work_dir;
	const char *allocation_interval;
	bool json;
	bool verbose;
};

#define AT(member) offsetof(struct local_flags, member)

static const struct flag local_table[] = {
	{"agents", "num_slaves", FLAG_INT, AT(agents), "3", "Number of agents.", NULL, NULL},
	{"ip", NULL, FLAG_STRING, AT(ip), "127.0.0.1", "Address to listen on.", NULL, NULL},
	{"port", NULL, FLAG_INT, AT(port), "5050", "Port of the master; 0 takes any free one.", NULL,
	 NULL},
	{"resources", NULL, FLAG_STRING, AT(resources),
	 "cpus:4;mem:4096;disk:4096;ports:[31000-32000]", "Resources of each agent.", NULL, NULL},
	{"work_dir", NULL, FLAG_PATH, AT(work_dir), NULL,
	 "Where to keep state and sandboxes (default: a new directory in /tmp, removed at the end).",
	 NULL, NULL},
	{"allocation_interval", NULL, FLAG_STRING, AT(allocation_interval), "100ms",
	 "Time between two allocations.", NULL, NULL},
	{"json", NULL, FLAG_BOOL, AT(json), "false", "Say where the cluster is as one line of JSON.",
	 NULL, NULL},
	{"verbose", NULL, FLAG_BOOL, AT(verbose), "false", "Show the daemons' logs here.", NULL,
	 NULL},
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

struct cluster {
	const struct local_flags *flags;
	char *work_dir;
	bool own_dir; /* made by us: removed at the end */
	char *program;
	char *master; /* "ip:port" */
	int alive;    /* writing end of the guardian's pipe */
	pid_t guardian;
};

/* ---- starting ------------------------------------------------------------ */

static int make_work_dir(struct cluster *c, struct err *err)
{
	char template[] = "/tmp/mesita-local.XXXXXX";

	if (c->flags->work_dir) {
		c->work_dir = xstrdup(c->flags->work_dir);
		if (mkdir(c->work_dir, 0755) < 0 && errno != EEXIST)
			return err_set(err, ERR_IO, "cannot make --work_dir=%s: %s", c->work_dir,
				       strerror(errno));
		return 0;
	}
	if (!mkdtemp(template))
		return err_set(err, ERR_IO, "cannot make a directory in /tmp: %s", strerror(errno));
	c->work_dir = xstrdup(template);
	c->own_dir = true;
	return chmod(c->work_dir, 0755) < 0 ? err_set(err, ERR_IO, "chmod: %s", strerror(errno)) : 0;
}

static char *log_path(const struct cluster *c, const char *name)
{
	return c->flags->verbose ? NULL : xprintf("%s/%s.log", c->work_dir, name);
}

static int start_master(struct cluster *c, struct err *err)
{
	char *log = log_path(c, "master");
	char *argv[] = {c->program,
			"master",
			xprintf("--ip=%s", c->flags->ip),
			xprintf("--port=%d", (int)c->flags->port),
			xprintf("--work_dir=%s/master", c->work_dir),
			xprintf("--port_file=%s/master.port", c->work_dir),
			"--hostname=localhost",
			xprintf("--allocation_interval=%s", c->flags->allocation_interval),
			NULL};
	int rv = guardian_start(c->alive, argv, log, err);

	for (int i = 2; i < 6; i++)
		free(argv[i]);
	free(argv[7]);
	free(log);
	return rv;
}

static int start_agent(struct cluster *c, int number, struct err *err)
{
	char name[32];
	char *log;
	int rv;

	snprintf(name, sizeof(name), "agent-%d", number);
	log = log_path(c, name);
	char *argv[] = {c->program,
			"agent",
			xprintf("--ip=%s", c->flags->ip),
			"--port=0",
			xprintf("--master=%s", c->master),
			xprintf("--work_dir=%s/%s", c->work_dir, name),
			xprintf("--runtime_dir=%s/%s.run", c->work_dir, name),
			xprintf("--resources=%s", c->flags->resources),
			"--hostname=localhost",
			"--registration_backoff_factor=10ms",
			"--launcher=posix",
			NULL};
	rv = guardian_start(c->alive, argv, log, err);
	free(argv[2]);
	for (int i = 4; i < 8; i++)
		free(argv[i]);
	free(log);
	return rv;
}

/* ---- waiting ------------------------------------------------------------- */

static void pause_briefly(void)
{
	const struct timespec pause = {0, READY_POLL_MS * 1000000L};

	nanosleep(&pause, NULL);
}

static bool guardian_alive(const struct cluster *c)
{
	return waitpid(c->guardian, NULL, WNOHANG) == 0;
}

/* The tail of a daemon's log, to say why it did not start. */
static void append_log_tail(const struct cluster *c, const char *name, struct err *err)
{
	char *path = xprintf("%s/%s.log", c->work_dir, name);
	FILE *file = fopen(path, "r");
	char line[512], last[512] = "";

	while (file && fgets(line, sizeof(line), file))
		snprintf(last, sizeof(last), "%s", line);
	if (file)
		fclose(file);
	if (*last)
		err_set(err, ERR_STATE, "the %s does not start: %s", name, last);
	free(path);
}

/* The master writes its port into a file once it listens. */
static int wait_for_master(struct cluster *c, struct err *err)
{
	int64_t deadline = clock_now() + READY_TIMEOUT;
	char *path = xprintf("%s/master.port", c->work_dir);
	int port = 0;

	while (port == 0 && clock_now() < deadline && guardian_alive(c)) {
		FILE *file = fopen(path, "r");

		if (file) {
			if (fscanf(file, "%d\n", &port) != 1)
				port = 0;
			fclose(file);
		}
		if (port == 0)
			pause_briefly();
	}
	free(path);
	if (port == 0) {
		err_set(err, ERR_STATE, "the master did not start");
		append_log_tail(c, "master", err);
		return ERR_STATE;
	}
	c->master = xprintf("%s:%d", c->flags->ip, port);
	return 0;
}

/* The registered agents, once there are enough; NULL in time. */
static const struct json *wait_for_agents(struct cluster *c, struct arena *arena, struct err *err)
{
	int64_t deadline = clock_now() + READY_TIMEOUT;

	while (clock_now() < deadline && guardian_alive(c)) {
		const struct json *slaves = cli_get_json(arena, c->master, "/slaves", err);

		slaves = slaves ? json_get(slaves, "slaves") : NULL;
		if (slaves && slaves->count >= (size_t)c->flags->agents)
			return slaves;
		arena_free(arena);
		pause_briefly();
	}
	err_set(err, ERR_STATE, "not all agents registered");
	append_log_tail(c, "agent-1", err);
	return NULL;
}

/* ---- saying -------------------------------------------------------------- */

static const char *pid_address(const char *pid)
{
	const char *at = strchr(pid, '@');

	return at ? at + 1 : pid;
}

static void say_json(const struct cluster *c, const struct json *slaves)
{
	struct buf line = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &line);
	jw_begin_object(&w);
	jw_kv_string(&w, "master", c->master);
	jw_kv_int(&w, "pid", getpid());
	jw_kv_string(&w, "work_dir", c->work_dir);
	jw_key(&w, "agents");
	jw_begin_array(&w);
	for (size_t i = 0; i < slaves->count; i++) {
		jw_begin_object(&w);
		jw_kv_string(&w, "address",
			     pid_address(json_get_string(&slaves->items[i], "pid")));
		jw_kv_string(&w, "id", json_get_string(&slaves->items[i], "id"));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	puts(line.data);
	buf_free(&line);
}

static void say(const struct cluster *c, const struct json *slaves)
{
	if (c->flags->json) {
		say_json(c, slaves);
	} else {
		printf("The cluster is up: master %s, %zu agents, logs in %s\n", c->master,
		       slaves->count, c->work_dir);
		printf("Try:   mesita run --master=%s --command='echo hello'\n", c->master);
		printf("       mesita ps --master=%s --all\n", c->master);
		printf("Press Ctrl-C to end it.\n");
	}
	fflush(stdout);
}

/* ---- life ---------------------------------------------------------------- */

/* Returns when a signal asked to end, or the guardian did. */
static int wait_for_end(const struct cluster *c, const sigset_t *signals, struct err *err)
{
	for (;;) {
		siginfo_t info;
		int signal = sigwaitinfo(signals, &info);

		if (signal == SIGCHLD && !guardian_alive(c))
			return err_set(err, ERR_STATE, "a daemon of the cluster ended; its log in %s "
						       "says why",
				       c->work_dir);
		if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
			return 0;
	}
}

static int start_all(struct cluster *c, struct arena *arena, struct err *err)
{
	const struct json *slaves;
	int rv = make_work_dir(c, err);

	if (rv == 0)
		rv = guardian_fork(&c->guardian, &c->alive, err);
	if (rv == 0)
		rv = start_master(c, err);
	if (rv == 0)
		rv = wait_for_master(c, err);
	for (int i = 1; rv == 0 && i <= c->flags->agents; i++)
		rv = start_agent(c, i, err);
	if (rv < 0)
		return rv;
	slaves = wait_for_agents(c, arena, err);
	if (!slaves)
		return ERR_STATE;
	say(c, slaves);
	return 0;
}

static void end_all(struct cluster *c, bool keep)
{
	if (c->guardian > 0) {
		close(c->alive);
		waitpid(c->guardian, NULL, 0);
	}
	if (c->own_dir && !keep)
		guardian_remove_tree(c->work_dir);
	free(c->work_dir);
	free(c->program);
	free(c->master);
}

int cmd_local(int argc, char **argv)
{
	struct local_flags target = {0};
	struct flags flags;
	struct cluster cluster = {.flags = &target, .program = cli_self_path(), .alive = -1};
	struct arena arena;
	struct err err = {{0}};
	sigset_t signals;
	int status = 0, rv;

	if (cli_flags(&flags, local_table, sizeof(local_table) / sizeof(*local_table), &target,
		      "Usage: mesita local [--agents=N] [--port=PORT] [--resources=...] [--json]",
		      argc, argv, &status)) {
		free(cluster.program);
		return status;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	arena_init(&arena);
	if (target.agents < 0 || target.agents > AGENTS_MAX)
		rv = err_set(&err, ERR_INVALID, "--agents must be between 0 and %d", AGENTS_MAX);
	else
		rv = start_all(&cluster, &arena, &err);
	if (rv == 0)
		rv = wait_for_end(&cluster, &signals, &err);
	if (rv < 0)
		fprintf(stderr, "mesita local: %s\n", err.text);
	end_all(&cluster, rv < 0);
	arena_free(&arena);
	cli_flags_free(&flags);
	return rv < 0 ? 1 : 0;
}
