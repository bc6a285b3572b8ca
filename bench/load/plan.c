/* Flags of the load generator and the checks of what they ask for; see plan.h. */
#include "bench/load/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "bench/load/measure/pollers.h"
#include "client/address.h"

/* A master that falls behind queues so much for an address, then gives it up. */
#define AGENTS_A_CONNECTION 1000

#define FLAG_OWNER plan
#include "base/flags/flag_rows.h"

/* clang-format off */
static struct flag table[] = {
	TEXT(master, NULL, "Address of the master, host:port."),
	TEXT(standbys, "", "Masters that may lead after it, host:port with commas (--failover)."),
	TEXT(ip, "127.0.0.1", "Address at which the agents listen."),
	INTEGER(agents, "100", "Simulated agents."),
	INTEGER(connections, "0", "Connections of the agents to the master, and of it to them; 0: one for each 1000."),
	NUMBER(agent_cpus, "4", "Processors of an agent."),
	NUMBER(agent_mem, "8192", "Memory of an agent in MB."),
	INTEGER(schedulers, "1", "Simulated schedulers."),
	BOOLEAN(others, "false", "Tasks of schedulers that are not simulated end at once."),
	INTEGER(drivers, "0", "So many of them are v0 drivers over libprocess; the others are on the v1 API."),
	TEXT(encoding, "protobuf", "Of the scheduler API: protobuf or json."),
	TEXT(principal, NULL, "Who the schedulers of the v1 API are (HTTP Basic)."),
	TEXT(secret, NULL, "The secret of --principal."),
	INTEGER(tasks, "0", "Tasks to launch in all; 0: as many as the duration allows."),
	TIME(duration, "0secs", "Launch for so long; 0: until all tasks were launched."),
	TIME(lead, "0secs", "How long the schedulers have their first offers before they launch."),
	NUMBER(rate, "0", "Tasks a second to launch; 0: as fast as the offers allow."),
	INTEGER(inflight, "0", "Tasks under way at most; 0: what fits on the agents."),
	INTEGER(tasks_per_offer, "0", "Tasks launched on one offer at most; 0: what fits."),
	NUMBER(task_cpus, "0.1", "Processors of a task."),
	NUMBER(task_mem, "32", "Memory of a task in MB."),
	TIME(task_length, "0secs", "How long a task runs."),
	TIME(task_spread, "0secs", "Standard deviation of the length."),
	BOOLEAN(mix, "false", "Tasks as people's: labels, environment, reservations, lives of 0, 1 and 30 s."),
	BOOLEAN(waiting, "false", "Schedulers of the v1 API wait for each call's answer before the next."),
	INTEGER(seed, "1", "Of the lengths."),
	TIME(stall, "60secs", "Without any progress for so long the run has failed."),
	INTEGER(master_pid, "0", "Process to take the master's figures from; 0: who listens there."),
	NUMBER(kill, "0", "Share of the tasks that run until they are killed."),
	NUMBER(reconcile, "0", "Share of the tasks that are asked for while they run."),
	NUMBER(decline, "0", "Share of the offers that are declined, for a second."),
	INTEGER(probes, "0", "Frameworks that come one after the other and start one task each."),
	TIME(probe_after, "0secs", "When the first comes, after launching began."),
	TIME(probe_pause, "500ms", "Between two of them."),
	BOOLEAN(hold, "false", "Tasks run until all do, whatever --task_length says."),
	BOOLEAN(failover, "false", "As --hold; then wait until the master died and came back."),
	TIME(reregister_spread, "0secs", "Over so long agents come back to a new master."),
	BOOLEAN(drain, "true", "Wait for all tasks to end, held ones one by one; or just leave."),
	INTEGER(pollers, "0", "Clients that poll without pause while tasks are launched."),
	TEXT(poll, "/state", "What they ask for: a path, or a call of the operator API."),
	TEXT(poll_encoding, "json", "Of the call's answer: json or protobuf."),
	TIME(poll_lead, "0secs", "Poll for so long before anything else is done."),
	TIME(stall_probe, "0secs", "Ask /health so often, to see the master's loop stand still."),
	BOOLEAN(cut, "false", "When launching is over end what runs, whatever its length."),
	BOOLEAN(leave, "true", "Take frameworks and agents out of the master at the end."),
	INTEGER(memory_max, "8192", "Memory of this process at most, in MB."),
	BOOLEAN(echo, "true", "Measure the loopback limit after the run."),
	BOOLEAN(json, "false", "Print the figures as JSON, not as a table."),
	FLAG_TABLE_END,
};
/* clang-format on */

static int check_range(const char *name, int64_t value, int64_t min, int64_t max, struct err *err)
{
	if (value >= min && value <= max)
		return 0;
	return err_set(err, ERR_INVALID, "--%s=%ld: must be from %ld to %ld", name, (long)value,
		       (long)min, (long)max);
}

static int check_amount(const char *name, double value, double min, struct err *err)
{
	if (isfinite(value) && value >= min && value <= 1e9)
		return 0;
	return err_set(err, ERR_INVALID, "--%s=%g: must be from %g to 1e9", name, value, min);
}

static int check_values(const struct plan *p, struct err *err)
{
	int rv = check_range("agents", p->agents, 1, PLAN_AGENTS_MAX, err);

	if (rv == 0)
		rv = check_range("connections", p->connections, 0, PLAN_CONNECTIONS_MAX, err);
	if (rv == 0)
		rv = check_range("schedulers", p->schedulers, p->others ? 0 : 1,
				 PLAN_SCHEDULERS_MAX, err);
	if (rv == 0)
		rv = check_range("drivers", p->drivers, 0, p->schedulers, err);
	if (rv == 0)
		rv = check_range("tasks", p->tasks, 0, PLAN_TASKS_MAX, err);
	if (rv == 0)
		rv = check_range("inflight", p->inflight, 0, PLAN_TASKS_MAX, err);
	if (rv == 0)
		rv = check_range("tasks_per_offer", p->tasks_per_offer, 0, PLAN_TASKS_PER_OFFER_MAX,
				 err);
	if (rv == 0)
		rv = check_range("master_pid", p->master_pid, 0, INT32_MAX, err);
	if (rv == 0)
		rv = check_amount("agent_cpus", p->agent_cpus, 0.01, err);
	if (rv == 0)
		rv = check_amount("agent_mem", p->agent_mem, 1, err);
	if (rv == 0)
		rv = check_amount("task_cpus", p->task_cpus, 0.001, err);
	if (rv == 0)
		rv = check_amount("task_mem", p->task_mem, 0.01, err);
	if (rv == 0)
		rv = check_amount("rate", p->rate, 0, err);
	if (rv == 0)
		rv = check_range("probes", p->probes, 0, PLAN_PROBES_MAX, err);
	if (rv == 0)
		rv = check_range("memory_max", p->memory_max, 64, 1024 * 1024, err);
	return rv;
}

static int check_share(const char *name, double value, struct err *err)
{
	if (value >= 0 && value <= 1)
		return 0;
	return err_set(err, ERR_INVALID, "--%s=%g: must be from 0 to 1", name, value);
}

static int check_shares(const struct plan *p, struct err *err)
{
	int rv = check_share("kill", p->kill, err);

	if (rv == 0)
		rv = check_share("reconcile", p->reconcile, err);
	if (rv == 0)
		rv = check_share("decline", p->decline, err);
	if (rv == 0 && p->kill + p->reconcile > 1)
		rv = err_set(err, ERR_INVALID, "--kill and --reconcile are more than all together");
	if (rv == 0 && p->decline == 1)
		rv = err_set(err, ERR_INVALID, "--decline=1 leaves no offer to launch on");
	return rv;
}

/* Tasks that are held all have to be there at a time. */
static int check_hold(const struct plan *p, struct err *err)
{
	if (!p->hold)
		return 0;
	if (p->tasks == 0 || p->duration > 0)
		return err_set(err, ERR_INVALID,
			       "--hold and --failover need --tasks, and no "
			       "--duration");
	if (p->tasks > p->fits * p->agents)
		return err_set(err, ERR_INVALID, "%ld tasks to hold, there is room for %ld",
			       (long)p->tasks, (long)(p->fits * p->agents));
	if (p->kill > 0)
		return err_set(err, ERR_INVALID, "tasks that are held are not killed: --kill");
	if (p->probes > 0 && p->tasks == p->fits * p->agents)
		return err_set(err, ERR_INVALID, "--tasks leaves no room for --probes");
	return 0;
}

/* Of the books, the agents, their tasks and the frameworks that each knows. */
double plan_memory(const struct plan *p)
{
	double room = (double)(p->fits * p->agents);
	double tasks = (double)(p->tasks > 0 ? p->tasks : PLAN_TASKS_MAX);
	double alive = tasks < room ? tasks : room;

	return 40 * tasks + 200 * alive + 400 * (double)p->agents +
	       65536.0 * (double)(p->schedulers + p->connections);
}

static int check_memory(const struct plan *p, struct err *err)
{
	double needed = plan_memory(p) / (1024 * 1024);

	if (needed <= (double)p->memory_max)
		return 0;
	return err_set(err, ERR_INVALID, "the plan needs up to %.0f MB, --memory_max=%ld", needed,
		       (long)p->memory_max);
}

/* Whether what is asked for can come to an end at all. */
static int check_sense(struct plan *p, struct err *err)
{
	double by_cpus = p->agent_cpus / p->task_cpus, by_mem = p->agent_mem / p->task_mem;

	if (p->tasks == 0 && p->duration == 0)
		return err_set(err, ERR_INVALID, "neither --tasks nor --duration says when to end");
	p->fits = (int64_t)((by_cpus < by_mem ? by_cpus : by_mem) + 1e-6);
	if (p->fits < 1)
		return err_set(err, ERR_INVALID,
			       "a task of %g cpus and %g MB does not fit on an agent of %g and %g",
			       p->task_cpus, p->task_mem, p->agent_cpus, p->agent_mem);
	if (p->tasks_per_offer == 0 || p->tasks_per_offer > p->fits)
		p->tasks_per_offer =
			p->fits < PLAN_TASKS_PER_OFFER_MAX ? p->fits : PLAN_TASKS_PER_OFFER_MAX;
	p->hold = p->hold || p->failover;
	if (p->connections > p->agents)
		p->connections = p->agents;
	if (p->connections == 0)
		p->connections = (p->agents + AGENTS_A_CONNECTION - 1) / AGENTS_A_CONNECTION;
	if (!p->hold && p->task_length >= p->stall)
		return err_set(err, ERR_INVALID, "--task_length must be shorter than --stall");
	/* Little's law: so many run at a time. */
	double running = p->rate * ((double)p->task_length / SECOND);
	if (running > (double)(p->fits * p->agents))
		return err_set(err, ERR_INVALID,
			       "%g tasks a second of that length need room for %.0f at a time; "
			       "there is room for %ld",
			       p->rate, running, (long)(p->fits * p->agents));
	return 0;
}

#define POLLERS_MAX 1000

static int check_polling(struct plan *p, struct err *err)
{
	p->poll_as_json = strcmp(p->poll_encoding, "json") == 0;
	if (!p->poll_as_json && strcmp(p->poll_encoding, "protobuf") != 0)
		return err_set(err, ERR_INVALID, "--poll_encoding=%s: must be protobuf or json",
			       p->poll_encoding);
	if (!pollers_target_valid(p->poll))
		return err_set(err, ERR_INVALID, "--poll=%s: neither a path nor a call", p->poll);
	if (p->stall_probe > 0 && p->stall_probe < MILLISECOND)
		return err_set(err, ERR_INVALID, "--stall_probe must be 1ms at least");
	return check_range("pollers", p->pollers, 0, POLLERS_MAX, err);
}

static char *basic_authorization(const char *principal, const char *secret)
{
	struct buf text = BUF_INIT;
	char *pair = xprintf("%s:%s", principal, secret);

	buf_puts(&text, "Basic ");
	base64_encode(&text, pair, strlen(pair));
	free(pair);
	return buf_take(&text);
}

static int parse_standbys(struct plan *p, struct err *err)
{
	char *texts = xstrdup(p->standbys), *rest = texts, *text;
	int rv = 0;

	while (rv == 0 && (text = strsep(&rest, ",")) && *text) {
		struct plan_address *standby = &p->standby[p->standby_count];

		if (p->standby_count == PLAN_STANDBYS_MAX)
			rv = err_set(err, ERR_INVALID, "more than %d", PLAN_STANDBYS_MAX);
		else
			rv = address_parse(text, 5050, &standby->host, &standby->port, err);
		p->standby_count += rv == 0;
	}
	free(texts);
	if (rv == 0 && p->standby_count > 0 && (!p->failover || p->drivers > 0))
		rv = err_set(err, ERR_INVALID, "needs --failover, and no --drivers");
	return rv < 0 ? err_wrap(err, rv, "--standbys") : 0;
}

static int check(struct plan *p, struct err *err)
{
	int rv;

	if (!p->master)
		return err_set(err, ERR_INVALID, "--master=host:port is missing");
	rv = address_parse(p->master, 5050, &p->host, &p->port, err);
	if (rv < 0)
		return err_wrap(err, rv, "--master");
	rv = parse_standbys(p, err);
	if (rv < 0)
		return rv;
	p->as_json = strcmp(p->encoding, "json") == 0;
	if (!p->as_json && strcmp(p->encoding, "protobuf") != 0)
		return err_set(err, ERR_INVALID, "--encoding=%s: must be protobuf or json",
			       p->encoding);
	if (p->principal && p->secret)
		p->authorization = basic_authorization(p->principal, p->secret);
	rv = check_values(p, err);
	if (rv == 0)
		rv = check_shares(p, err);
	if (rv == 0)
		rv = check_sense(p, err);
	if (rv == 0)
		rv = check_hold(p, err);
	if (rv == 0)
		rv = check_polling(p, err);
	return rv < 0 ? rv : check_memory(p, err);
}

int plan_parse(struct plan_flags *out, int argc, char **argv, struct err *err)
{
	struct flags *flags = &out->flags;
	struct buf help = BUF_INIT;
	int rv;

	flags->table = table;
	flags->target = &out->plan;
	flags->usage = "Usage: bench_load --master=HOST:PORT --tasks=N [flags]\n\n"
		       "Plays agents and schedulers against a master and counts.\n";
	rv = flags_parse(flags, argc - 1, argv + 1, NULL, NULL, err);
	if (rv < 0)
		return rv;
	if (flags->help_wanted) {
		flags_help(flags, &help);
		fputs(help.data, stdout);
		buf_free(&help);
		return 1;
	}
	if (flags->positional_count > 0)
		return err_set(err, ERR_INVALID, "'%s' is no flag", flags->positional[0]);
	return check(&out->plan, err);
}

void plan_free(struct plan_flags *plan)
{
	for (size_t i = 0; i < plan->plan.standby_count; i++)
		free(plan->plan.standby[i].host);
	free(plan->plan.host);
	free(plan->plan.authorization);
	flags_free(&plan->flags);
}
