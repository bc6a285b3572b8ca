/* `mesita local`: a master and N agents on this machine, as child processes.
 *
 * Three kinds of processes: the supervisor (this command), one guardian, and below
 * the guardian the daemons with their executors and tasks. The guardian is a child
 * subreaper in a session of its own, holds one end of a channel whose other end only the
 * supervisor has, and kills everything below it when that closes. So Ctrl-C, SIGTERM
 * and even kill -9 of the supervisor leave no process behind: whatever a task detached
 * is still a descendant of the guardian.
 *
 * The address is printed only when all agents are registered. A daemon that ends takes
 * the cluster down; its log is kept then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time/clock.h"
#include "cli/cli.h"
#include "cli/executor/guardian.h"
#include "net/tls/authority.h"

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
	bool own_addresses;
	bool check_origin;
	bool tls;
	bool json;
	bool verbose;
};

#define AT(member) offsetof(struct local_flags, member)

static const struct flag local_table[] = {
	{"agents", "num_slaves", FLAG_INT, AT(agents), "3", "Number of agents.", NULL, NULL},
	{"ip", NULL, FLAG_STRING, AT(ip), "127.0.0.1", "Address to listen on.", NULL, NULL},
	{"port", NULL, FLAG_INT, AT(port), "5050", "Port of the master; 0 takes any free one.",
	 NULL, NULL},
	{"own_addresses", NULL, FLAG_BOOL, AT(own_addresses), "true",
	 "Give each agent a loopback address of its own, 127.0.0.2 and so on, and port 5051, as if "
	 "it was a machine of its own (only with --ip=127.0.0.1). Otherwise all are \"localhost\" "
	 "at "
	 "free ports.",
	 NULL, NULL},
	{"check_origin", NULL, FLAG_BOOL, AT(check_origin), "true",
	 "Refuse requests that pages of other sites make browsers send. Names of this machine but "
	 "localhost are not known then.",
	 NULL, NULL},
	{"resources", NULL, FLAG_STRING, AT(resources),
	 "cpus:4;mem:4096;disk:4096;ports:[31000-32000]", "Resources of each agent.", NULL, NULL},
	{"work_dir", NULL, FLAG_PATH, AT(work_dir), NULL,
	 "Where to keep state and sandboxes (default: a new directory in /tmp, removed at the "
	 "end).",
	 NULL, NULL},
	{"allocation_interval", NULL, FLAG_STRING, AT(allocation_interval), "100ms",
	 "Time between two allocations.", NULL, NULL},
	{"tls", NULL, FLAG_BOOL, AT(tls), "false",
	 "Let everything speak TLS, with an authority and certificates made for this cluster.",
	 NULL, NULL},
	{"json", NULL, FLAG_BOOL, AT(json), "false",
	 "Say where the cluster is as one line of JSON.", NULL, NULL},
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
	int alive;    /* our end of the guardian's channel */
	pid_t guardian;
	struct tls_authority *authority; /* with --tls */
	sigset_t signals;		 /* those that end us, and SIGCHLD: blocked, waited for */
	bool interrupted;
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
	/* Tasks may run as other users. */
	return chmod(c->work_dir, 0755) < 0 ? err_set(err, ERR_IO, "chmod: %s", strerror(errno))
					    : 0;
}

static char *log_path(const struct cluster *c, const char *name)
{
	return c->flags->verbose ? NULL : xprintf("%s/%s.log", c->work_dir, name);
}

/* What a cluster before us left in --work_dir says where that one was. */
static void forget_port(const struct cluster *c)
{
	char *path = xprintf("%s/master.port", c->work_dir);

	unlink(path);
	free(path);
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
			c->flags->check_origin ? "--check_origin" : "--no-check_origin",
			xprintf("--allocation_interval=%s", c->flags->allocation_interval),
			NULL};
	int rv = guardian_start(c->alive, argv, log, err);

	for (int i = 2; i < 6; i++)
		free(argv[i]);
	free(argv[8]);
	free(log);
	return rv;
}

/* Where agent `number` (from 1) is. Frameworks look for agents at 5051 and tell them apart by their
 * hostnames, as machines are. The cluster of the default port has 127.0.0.2, 127.0.0.3, ...; one of
 * another port has 127.<port / 256>.<port % 256>.2, ..., so that clusters stand side by side. */
static void agent_address(const struct cluster *c, int number, char ip[INET_ADDRSTRLEN])
{
	uint32_t port = (uint32_t)atoi(strrchr(c->master, ':') + 1);
	uint32_t net = port == CLI_DEFAULT_PORT ? 0 : port << 8;
	struct in_addr address = {
		htonl((INADDR_LOOPBACK & 0xff000000) + net + 1 + (uint32_t)number)};

	inet_ntop(AF_INET, &address, ip, INET_ADDRSTRLEN);
}

static bool has_own_addresses(const struct local_flags *flags)
{
	return flags->own_addresses && !strcmp(flags->ip, "127.0.0.1");
}

static int start_agent(struct cluster *c, int number, struct err *err)
{
	char name[32], ip[INET_ADDRSTRLEN];
	bool own = has_own_addresses(c->flags);
	char *log;
	int rv;

	agent_address(c, number, ip);
	snprintf(name, sizeof(name), "agent-%d", number);
	log = log_path(c, name);
	char *argv[] = {c->program,
			"agent",
			xprintf("--ip=%s", own ? ip : c->flags->ip),
			own ? "--port=5051" : "--port=0",
			xprintf("--master=%s", c->master),
			xprintf("--work_dir=%s/%s", c->work_dir, name),
			xprintf("--runtime_dir=%s/%s.run", c->work_dir, name),
			xprintf("--resources=%s", c->flags->resources),
			xprintf("--hostname=%s", own ? ip : "localhost"),
			"--registration_backoff_factor=10ms",
			"--launcher=posix",
			c->flags->check_origin ? "--check_origin" : "--no-check_origin",
			NULL};
	rv = guardian_start(c->alive, argv, log, err);
	free(argv[2]);
	for (int i = 4; i < 9; i++)
		free(argv[i]);
	free(log);
	return rv;
}

/* ---- TLS --------------------------------------------------------------------- */

static char *tls_path(const struct cluster *c, const char *name)
{
	return xprintf("%s/tls/%s.pem", c->work_dir, name);
}

/* The environment of everything that is started later, this command's own connections too. */
static void set_tls_environment(const struct cluster *c)
{
	static const struct {
		const char *name, *file;
	} files[] = {{"CA_FILE", "ca"}, {"CERT_FILE", "cert"}, {"KEY_FILE", "key"}};
	static const char *const truths[] = {"ENABLED", "VERIFY_SERVER_CERT", "VERIFY_IPADD"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *name = xprintf("LIBPROCESS_SSL_%s", files[i].name);
		char *path = tls_path(c, files[i].file);

		setenv(name, path, 1);
		free(name);
		free(path);
	}
	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		char *name = xprintf("LIBPROCESS_SSL_%s", truths[i]);

		setenv(name, "true", 1);
		free(name);
	}
}

/* A certificate for the master's address, and those of the agents once the master's is known. */
static int issue_certificate(struct cluster *c, struct err *err)
{
	size_t count = c->master && has_own_addresses(c->flags) ? (size_t)c->flags->agents : 0;
	const char **addresses = xcalloc(count + 1, sizeof(*addresses));
	char(*agents)[INET_ADDRSTRLEN] = xcalloc(count + 1, sizeof(*agents));
	char *cert = tls_path(c, "cert"), *key = tls_path(c, "key");
	int rv;

	addresses[0] = c->flags->ip;
	for (size_t i = 0; i < count; i++) {
		agent_address(c, (int)i + 1, agents[i]);
		addresses[i + 1] = agents[i];
	}
	rv = tls_authority_issue(c->authority, addresses, count + 1, cert, key, err);
	free(cert);
	free(key);
	free(agents);
	free(addresses);
	return rv;
}

static int prepare_tls(struct cluster *c, struct err *err)
{
	char *directory = xprintf("%s/tls", c->work_dir), *path = tls_path(c, "ca");
	int rv = 0;

	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		rv = err_set(err, ERR_IO, "cannot make %s: %s", directory, strerror(errno));
	if (rv == 0)
		rv = tls_authority_create(path, &c->authority, err);
	if (rv == 0)
		rv = issue_certificate(c, err);
	if (rv == 0)
		set_tls_environment(c);
	free(directory);
	free(path);
	return rv;
}

/* ---- waiting ------------------------------------------------------------- */

static bool guardian_alive(const struct cluster *c)
{
	return waitpid(c->guardian, NULL, WNOHANG) == 0;
}

/* Waits a little; false: no use to wait on, a daemon ended or we were asked to end. */
static bool wait_more(struct cluster *c, int64_t deadline)
{
	const struct timespec pause = {0, READY_POLL_MS * 1000000L};
	int signal = sigtimedwait(&c->signals, NULL, &pause);

	c->interrupted |= signal > 0 && signal != SIGCHLD;
	return !c->interrupted && guardian_alive(c) && clock_now() < deadline;
}

/* The last line of a log without what the logger puts before the text; false: none. */
static bool last_line(const char *path, char out[512])
{
	FILE *file = fopen(path, "r");
	char line[512];
	const char *text;

	*out = 0;
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		text = strstr(line, "] ");
		if (*line)
			snprintf(out, 512, "%s", text ? text + 2 : line);
	}
	if (file)
		fclose(file);
	return *out;
}

/* Explains by the logs why it did not start; `names` ends with NULL. Of several daemons
 * that fail together the first one that could say why is quoted. */
static int not_started(const struct cluster *c, const char *what, char *const *names,
		       struct err *err)
{
	char line[512];

	if (c->flags->verbose)
		return err_set(err, ERR_STATE, "%s; its log is above", what);
	for (; *names; names++) {
		char *path = xprintf("%s/%s.log", c->work_dir, *names);
		bool found = last_line(path, line);

		if (found)
			err_set(err, ERR_STATE, "%s: %s\nIts log: %s", what, line, path);
		free(path);
		if (found)
			return ERR_STATE;
	}
	return err_set(err, ERR_STATE, "%s; the logs are in %s", what, c->work_dir);
}

static int master_not_started(const struct cluster *c, struct err *err)
{
	char *const names[] = {"master", NULL};

	return not_started(c, "the master did not start", names, err);
}

static int agents_not_started(const struct cluster *c, struct err *err)
{
	char *names[AGENTS_MAX + 1] = {NULL};
	int rv;

	for (int i = 0; i < c->flags->agents; i++)
		names[i] = xprintf("agent-%d", i + 1);
	rv = not_started(c, "not all agents registered", names, err);
	for (int i = 0; i < c->flags->agents; i++)
		free(names[i]);
	return rv;
}

/* The master writes its port into a file once it listens. */
static int wait_for_master(struct cluster *c, struct err *err)
{
	int64_t deadline = clock_now() + READY_TIMEOUT;
	char *path = xprintf("%s/master.port", c->work_dir);
	int port = 0;

	do {
		FILE *file = fopen(path, "r");

		if (file && fscanf(file, "%d\n", &port) != 1)
			port = 0;
		if (file)
			fclose(file);
	} while (port == 0 && wait_more(c, deadline));
	free(path);
	if (port == 0)
		return master_not_started(c, err);
	c->master = xprintf("%s:%d", c->flags->ip, port);
	return 0;
}

/* The registered agents, once there are enough; NULL if that does not come true. */
static const struct json *wait_for_agents(struct cluster *c, struct arena *arena, struct err *err)
{
	int64_t deadline = clock_now() + READY_TIMEOUT;

	do {
		const struct json *slaves;

		arena_free(arena);
		slaves = cli_get_json(arena, c->master, "/slaves", err);
		slaves = slaves ? json_get(slaves, "slaves") : NULL;
		if (slaves && slaves->count >= (size_t)c->flags->agents)
			return slaves;
	} while (wait_more(c, deadline));
	agents_not_started(c, err);
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
	if (c->flags->tls)
		jw_kv_string(&w, "ca_file", getenv("LIBPROCESS_SSL_CA_FILE"));
	jw_key(&w, "agents");
	jw_begin_array(&w);
	for (size_t i = 0; i < slaves->count; i++) {
		jw_begin_object(&w);
		jw_kv_string(&w, "address", pid_address(json_get_string(&slaves->items[i], "pid")));
		jw_kv_string(&w, "id", json_get_string(&slaves->items[i], "id"));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	puts(line.data);
	buf_free(&line);
}

/* What to add to the other commands so that they find this cluster. */
static char *master_flag(const struct cluster *c)
{
	if (c->flags->tls)
		return xprintf(" --master=https://%s", c->master);
	return strcmp(c->master, CLI_DEFAULT_MASTER) ? xprintf(" --master=%s", c->master)
						     : xstrdup("");
}

static void say_text(const struct cluster *c, const struct json *slaves)
{
	char *flag = master_flag(c);

	printf("A cluster of %zu agent%s is up, its master is at %s.\n", slaves->count,
	       slaves->count == 1 ? "" : "s", c->master);
	printf("Logs and sandboxes: %s%s\n\n", c->work_dir,
	       c->own_dir ? " (removed at the end)" : "");
	printf("In another terminal:\n");
	if (c->flags->tls)
		printf("  export LIBPROCESS_SSL_CA_FILE=%s/tls/ca.pem\n", c->work_dir);
	printf("  mesita run%s --command='echo hello' --instances=6\n", flag);
	printf("  mesita ps%s --all\n", flag);
	if (c->flags->tls)
		printf("  curl --cacert $LIBPROCESS_SSL_CA_FILE https://%s/state\n", c->master);
	printf("\nCtrl-C ends the cluster and everything in it.\n");
	free(flag);
}

static void cmd_local_say(const struct cluster *c, const struct json *slaves)
{
	if (c->flags->json)
		say_json(c, slaves);
	else
		say_text(c, slaves);
	fflush(stdout);
}

/* ---- life ---------------------------------------------------------------- */

static void block_signals(struct cluster *c)
{
	sigemptyset(&c->signals);
	sigaddset(&c->signals, SIGTERM);
	sigaddset(&c->signals, SIGINT);
	sigaddset(&c->signals, SIGHUP);
	sigaddset(&c->signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &c->signals, NULL);
}

/* Returns when a signal asked to end, or the guardian did. */
static int wait_for_end(const struct cluster *c, struct err *err)
{
	for (;;) {
		int signal = sigwaitinfo(&c->signals, NULL);

		if (signal > 0 && signal != SIGCHLD)
			return 0;
		if (!guardian_alive(c))
			return err_set(err, ERR_STATE,
				       "a daemon of the cluster ended; the logs in %s say why",
				       c->work_dir);
	}
}

static int start_all(struct cluster *c, struct arena *arena, struct err *err)
{
	const struct json *slaves;
	int rv = make_work_dir(c, err);

	if (rv == 0 && c->flags->tls)
		rv = prepare_tls(c, err);
	if (rv == 0)
		rv = guardian_fork(c->own_dir ? c->work_dir : NULL, &c->guardian, &c->alive, err);
	if (rv == 0) {
		forget_port(c);
		rv = start_master(c, err);
	}
	if (rv == 0)
		rv = wait_for_master(c, err);
	if (rv == 0 && c->flags->tls)
		rv = issue_certificate(c, err);
	for (int i = 1; rv == 0 && i <= c->flags->agents; i++)
		rv = start_agent(c, i, err);
	if (rv < 0)
		return rv;
	slaves = wait_for_agents(c, arena, err);
	if (!slaves)
		return ERR_STATE;
	cmd_local_say(c, slaves);
	return 0;
}

static void end_all(struct cluster *c, bool keep_logs)
{
	if (c->guardian > 0) {
		if (keep_logs)
			guardian_keep(c->alive);
		close(c->alive);
		waitpid(c->guardian, NULL, 0);
	}
	tls_authority_free(c->authority);
	free(c->work_dir);
	free(c->master);
}

static int cmd_local_check(const struct local_flags *flags, struct err *err)
{
	if (flags->agents < 0 || flags->agents > AGENTS_MAX)
		return err_set(err, ERR_INVALID, "--agents must be between 0 and %d", AGENTS_MAX);
	if (flags->port < 0 || flags->port > 65535)
		return err_set(err, ERR_INVALID, "--port must be between 0 and 65535");
	return 0;
}

static int cmd_local_run(const struct local_flags *flags)
{
	struct cluster cluster = {.flags = flags, .program = cli_self_path(), .alive = -1};
	struct arena arena;
	struct err err = {{0}};
	int rv = cmd_local_check(flags, &err);

	block_signals(&cluster);
	arena_init(&arena);
	if (rv == 0)
		rv = start_all(&cluster, &arena, &err);
	if (rv == 0)
		rv = wait_for_end(&cluster, &err);
	if (rv < 0 && !cluster.interrupted)
		fprintf(stderr, "mesita local: %s\n", err.text);
	end_all(&cluster, rv < 0 && !cluster.interrupted);
	arena_free(&arena);
	free(cluster.program);
	return rv == 0 ? 0 : cluster.interrupted ? 130 : 1;
}

int cmd_local(int argc, char **argv)
{
	struct local_flags target = {0};
	struct flags flags;
	int status = 0;

	if (cli_flags(&flags, local_table, sizeof(local_table) / sizeof(*local_table), &target,
		      "Usage: mesita local [--agents=N] [--port=PORT] [--resources=...] [--json]",
		      argc, argv, &status))
		return status;
	if (cli_no_arguments(&flags, "local") == 0)
		status = cmd_local_run(&target);
	else
		status = 1;
	cli_flags_free(&flags);
	return status;
}
