/* The work directory of a cluster, and starting its agents. */
#include "cli/local/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/executor/guardian.h"

int local_make_work_dir(struct cluster *c, struct err *err)
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

char *local_log_path(const struct cluster *c, const char *name)
{
	return c->flags->verbose ? NULL : xprintf("%s/%s.log", c->work_dir, name);
}

/* Where agent `number` (from 1) is. Frameworks look for agents at 5051 and tell them apart by their
 * hostnames, as machines are. The cluster of the default port has 127.0.0.2, 127.0.0.3, ...; one of
 * another port has 127.<port / 256>.<port % 256>.2, ..., so that clusters stand side by side. */
void local_agent_address(const struct cluster *c, int number, char ip[INET_ADDRSTRLEN])
{
	uint32_t port = (uint32_t)atoi(strrchr(c->master, ':') + 1);
	uint32_t net = port == CLI_DEFAULT_PORT ? 0 : port << 8;
	struct in_addr address = {
		htonl((INADDR_LOOPBACK & 0xff000000) + net + 1 + (uint32_t)number)};

	inet_ntop(AF_INET, &address, ip, INET_ADDRSTRLEN);
}

bool local_has_own_addresses(const struct local_flags *flags)
{
	return flags->own_addresses && !strcmp(flags->ip, "127.0.0.1");
}

int local_start_agent(struct cluster *c, int number, struct err *err)
{
	char name[32], ip[INET_ADDRSTRLEN];
	bool own = local_has_own_addresses(c->flags);
	char *log;
	int rv;

	local_agent_address(c, number, ip);
	snprintf(name, sizeof(name), "agent-%d", number);
	log = local_log_path(c, name);
	char *argv[] = {c->program,
			"agent",
			xprintf("--ip=%s", own ? ip : c->flags->ip),
			own ? "--port=5051" : "--port=0",
			xprintf("--master=%s", c->group ? c->group : c->master),
			xprintf("--work_dir=%s/%s", c->work_dir, name),
			xprintf("--runtime_dir=%s/%s.run", c->work_dir, name),
			xprintf("--resources=%s", c->flags->resources),
			xprintf("--hostname=%s", own ? ip : "localhost"),
			"--registration_backoff_factor=2ms",
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
