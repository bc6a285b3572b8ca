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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/executor/guardian.h"
#include "cli/local/local.h"

#define AT(member) offsetof(struct local_flags, member)

static const struct flag local_table[] = {
	{"agents", "num_slaves", FLAG_INT, AT(agents), "3", "Number of agents.", NULL, NULL},
	{"masters", NULL, FLAG_INT, AT(masters), "1",
	 "Number of masters: several elect the one that leads, by a ZooKeeper that is started, "
	 "too. "
	 "They have the ports from --port on.",
	 NULL, NULL},
	{"zookeeper", NULL, FLAG_BOOL, AT(zookeeper), "false",
	 "Start a ZooKeeper for one master, too, for whoever finds masters by zk://.", NULL, NULL},
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
		if (!local_guardian_alive(c))
			return err_set(err, ERR_STATE,
				       "a daemon of the cluster ended; the logs in %s say why",
				       c->work_dir);
	}
}

static int start_all(struct cluster *c, struct arena *arena, struct err *err)
{
	const struct json *slaves;
	int rv = local_make_work_dir(c, err);

	if (rv == 0 && c->flags->tls)
		rv = local_prepare_tls(c, err);
	if (rv == 0)
		rv = guardian_fork(c->own_dir ? c->work_dir : NULL, &c->guardian, &c->alive, err);
	if (rv == 0)
		rv = local_start_masters(c, err);
	if (rv == 0)
		rv = local_wait_for_master(c, err);
	if (rv == 0 && c->flags->tls)
		rv = local_issue_certificate(c, err);
	for (int i = 1; rv == 0 && i <= c->flags->agents; i++)
		rv = local_start_agent(c, i, err);
	if (rv < 0)
		return rv;
	slaves = local_wait_for_agents(c, arena, err);
	if (!slaves)
		return ERR_STATE;
	local_say(c, slaves);
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
	free(c->group);
}

static int cmd_local_check(const struct local_flags *flags, struct err *err)
{
	if (flags->agents < 0 || flags->agents > LOCAL_AGENTS_MAX)
		return err_set(err, ERR_INVALID, "--agents must be between 0 and %d",
			       LOCAL_AGENTS_MAX);
	if (flags->masters < 1 || flags->masters > LOCAL_MASTERS_MAX)
		return err_set(err, ERR_INVALID, "--masters must be between 1 and %d",
			       LOCAL_MASTERS_MAX);
	if (flags->port < 0 || flags->port + flags->masters - 1 > 65535)
		return err_set(err, ERR_INVALID, "--port must be between 0 and 65535");
	if (local_has_zookeeper(flags) && flags->tls)
		return err_set(err, ERR_INVALID, "--tls goes with one master, and no ZooKeeper");
	return local_has_zookeeper(flags) ? local_check_zookeeper(err) : 0;
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
