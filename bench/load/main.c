/* bench_load: plays many agents and many schedulers over real sockets against a master,
 * mesita's or Mesos', and tells how it did.
 *
 *   bench_load --master=HOST:PORT --agents=1000 --schedulers=10 --tasks=100000
 *
 * Exit status: 0 all is well, 1 something was lost or the master failed, 2 an impossible plan. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log/log.h"
#include "bench/load/clockwork.h"
#include "bench/load/measure/pollers.h"
#include "bench/load/measure/report.h"
#include "net/client.h"
#include "net/tls/tls.h"

#define SPARE_FILES 64

/* What the plan counts on is less; beyond that the process ends, not the machine. */
static int limit_memory(const struct plan *plan, struct err *err)
{
	rlim_t bytes = (rlim_t)plan->memory_max * 1024 * 1024;
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

#ifdef __SANITIZE_ADDRESS__
	return 0; /* Its shadow of the memory would count. */
#endif
	if (setrlimit(RLIMIT_DATA, &limit) != 0)
		return err_set(err, ERR_LIMIT, "--memory_max=%ld: %s", (long)plan->memory_max,
			       strerror(errno));
	return 0;
}

/* Two connections a scheduler; of agents one there and one back, and what listens. */
static int raise_file_limit(const struct plan *plan, struct err *err)
{
	bool loopback = strcmp(plan->ip, "127.0.0.1") == 0;
	uint64_t needed = 2 * (uint64_t)(plan->schedulers + plan->probes) +
			  (loopback ? 2 : 3) * (uint64_t)plan->connections + SPARE_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
		return 0;
	if (limit.rlim_max < needed)
		return err_set(err, ERR_LIMIT, "%lu files are needed, %lu are allowed",
			       (unsigned long)needed, (unsigned long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return err_set(err, ERR_LIMIT, "cannot open %lu files: %s", (unsigned long)needed,
			       strerror(errno));
	return 0;
}

/* Whether anybody listens there, to say so at once. */
static int find_master(struct plan *plan, struct err *err)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
	char port[16];
	int fd, rv;

	snprintf(port, sizeof(port), "%d", plan->port);
	rv = getaddrinfo(plan->host, port, &hints, &found);
	if (rv != 0)
		return err_set(err, ERR_NOT_FOUND, "%s: %s", plan->host, gai_strerror(rv));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rv = fd < 0 ? -1 : connect(fd, found->ai_addr, found->ai_addrlen);
	if (rv != 0)
		rv = err_set(err, ERR_NOT_FOUND, "no master at %s:%d: %s", plan->host, plan->port,
			     strerror(errno));
	if (fd >= 0)
		close(fd);
	freeaddrinfo(found);
	return rv;
}

/* What crossed the wires of the run, echoed. */
static int measure_limit(const struct load *load, struct echo *echo, struct err *err)
{
	const struct snapshot *before = &load->before, *after = &load->after;

	echo->messages = after->messages - before->messages;
	echo->bytes = after->sockets.sent + after->sockets.received - before->sockets.sent -
		      before->sockets.received;
	echo->connections = after->sockets.count;
	echo->master_pid = load->master_pid;
	return echo_measure(echo, err);
}

/* What crossed the wires until all were back, echoed. */
static int measure_failover_limit(struct load *load, struct err *err)
{
	struct failover_figures *f = &load->failover_figures;
	struct echo echo = {
		.messages = f->messages,
		.bytes = f->bytes,
		.connections = f->connections,
		.master_pid = load->master_pid,
	};
	int rv = f->all > 0 && f->messages > 1 ? echo_measure(&echo, err) : 0;

	f->echo = echo.seconds;
	return rv;
}

static int run(struct load *load, struct err *err)
{
	struct echo echo = {0};
	int rv = raise_file_limit(&load->plan, err);

	if (rv == 0)
		rv = limit_memory(&load->plan, err);
	if (rv == 0)
		rv = find_master(&load->plan, err);
	if (rv == 0)
		rv = load_run(load, err);
	else
		return rv;
	if (rv == 0 && load->plan.echo)
		rv = load->plan.failover ? measure_failover_limit(load, err)
					 : measure_limit(load, &echo, err);
	if (load->after.time > 0)
		report_print(load, rv == 0 && echo.seconds > 0 ? &echo : NULL);
	books_close(&load->books);
	pollers_close(load->pollers);
	return rv;
}

int main(int argc, char **argv)
{
	static struct load load;
	static struct plan_flags flags;
	struct err err = {0};
	int rv;

	log_setup(LOG_LEVEL_WARNING, STDERR_FILENO);
	rv = plan_parse(&flags, argc, argv, &err);
	if (rv == 0)
		rv = tls_from_environment(true, &load.tls, &err);
	if (rv == 0) {
		load.plan = flags.plan;
		http_clients_secure(load.tls);
		rv = run(&load, &err);
		if (rv < 0)
			rv = 1;
	} else {
		rv = rv < 0 ? 2 : 0;
	}
	if (rv > 0)
		fprintf(stderr, "bench_load: %s\n", err.text);
	tls_free(load.tls);
	plan_free(&flags);
	return rv;
}
