/* Waiting until a cluster is there, or saying why it is not. */
#include "cli/local/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time/clock.h"

#define READY_TIMEOUT (30 * SECOND)
#define READY_POLL_MS 5

bool local_guardian_alive(const struct cluster *c)
{
	return waitpid(c->guardian, NULL, WNOHANG) == 0;
}

/* Waits a little; false: no use to wait on, a daemon ended or we were asked to end. */
static bool wait_more(struct cluster *c, int64_t deadline)
{
	const struct timespec pause = {0, READY_POLL_MS * 1000000L};
	int signal = sigtimedwait(&c->signals, NULL, &pause);

	c->interrupted |= signal > 0 && signal != SIGCHLD;
	return !c->interrupted && local_guardian_alive(c) && clock_now() < deadline;
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
	char *const names[] = {c->group ? "master-1" : "master", NULL};

	return not_started(c, "the master did not start", names, err);
}

static int agents_not_started(const struct cluster *c, struct err *err)
{
	char *names[LOCAL_AGENTS_MAX + 1] = {NULL};
	int rv;

	for (int i = 0; i < c->flags->agents; i++)
		names[i] = xprintf("agent-%d", i + 1);
	rv = not_started(c, "not all agents registered", names, err);
	for (int i = 0; i < c->flags->agents; i++)
		free(names[i]);
	return rv;
}

/* The master writes its port into a file once it listens. */
int local_wait_for_master(struct cluster *c, struct err *err)
{
	int64_t deadline = clock_now() + READY_TIMEOUT;
	char *path = local_master_path(c, 1, "port");
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
const struct json *local_wait_for_agents(struct cluster *c, struct arena *arena, struct err *err)
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
