/* See failover.h. */
#include "bench/load/failover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/fleet/agents.h"
#include "bench/load/schedulers/scheduler.h"
#include "net/client.h"

#define LOOK_EVERY (10 * MILLISECOND)
#define LOOK_TIMEOUT_MS 60000
#define RETRY_EVERY (50 * MILLISECOND)
#define QUESTION "{\"type\":\"GET_HEALTH\"}"

struct failover {
	struct load *load;
	struct http_client *client; /* NULL between two questions */
	int64_t next;
	uint64_t messages; /* until a master was found */
	size_t asked;	   /* whom last: the old address (0), then the standbys */
	bool asking;
	bool found;
};

struct failover *failover_create(struct load *load)
{
	struct failover *f = xcalloc(1, sizeof(*f));

	f->load = load;
	return f;
}

void failover_close(struct failover *f)
{
	if (!f)
		return;
	if (f->client)
		http_client_close(f->client);
	free(f);
}

void failover_announce(void)
{
	fprintf(stderr, "bench_load: ready for failover\n");
}

void failover_begin(struct failover *f, int64_t now)
{
	struct failover_figures *figures = &f->load->failover_figures;

	memset(figures, 0, sizeof(*figures));
	figures->broke = now;
	f->found = false;
	f->next = now;
	fleet_lost_master(f->load->fleet);
}

/* ---- is there a new one ------------------------------------------------------------ */

/* A master that has not read its registry yet says 503, one that does not lead 307. */
static void answered_cb(void *context, const struct http_answer *answer)
{
	struct failover *f = context;

	f->asking = false;
	if (f->found || answer->status != 200)
		return;
	f->found = true;
	fprintf(stderr, "bench_load: a master answers\n");
}

/* The next one of the addresses at which a master may come. */
static void next_address(struct failover *f, const char **host, int *port)
{
	const struct plan *plan = &f->load->plan;

	f->asked = (f->asked + 1) % (plan->standby_count + 1);
	*host = f->asked ? plan->standby[f->asked - 1].host : plan->host;
	*port = f->asked ? plan->standby[f->asked - 1].port : plan->port;
}

/* The one that answered is the master from now on; the old one may follow it one day. */
static void adopt_address(struct failover *f)
{
	struct plan *plan = &f->load->plan;
	struct plan_address old = {plan->host, plan->port};

	if (!f->asked)
		return;
	plan->host = plan->standby[f->asked - 1].host;
	plan->port = plan->standby[f->asked - 1].port;
	plan->standby[f->asked - 1] = old;
	f->asked = 0;
}

void failover_look(struct failover *f, int64_t now)
{
	static const char *const headers[] = {"Content-Type", "application/json", "Accept",
					      "application/json", NULL};
	const char *host;
	int port;

	if (f->found || f->asking || now < f->next)
		return;
	if (f->client)
		http_client_close(f->client);
	next_address(f, &host, &port);
	f->client = http_client_create(&f->load->loop, host, port);
	f->asking = true;
	f->next = now + LOOK_EVERY;
	http_client_send(f->client, "POST", "/api/v1", headers, QUESTION, strlen(QUESTION),
			 LOOK_TIMEOUT_MS, answered_cb, f);
}

bool failover_found(const struct failover *f)
{
	return f->found;
}

/* ---- coming back -------------------------------------------------------------------- */

static uint64_t messages_so_far(const struct load *load)
{
	const struct books *books = &load->books;

	return books->calls + books->events + books->to_agents + books->from_agents;
}

void failover_return(struct failover *f, int64_t now)
{
	struct load *load = f->load;

	if (load->failover_figures.found == 0) {
		load->failover_figures.found = now;
		f->messages = messages_so_far(load);
		adopt_address(f);
		load->master_pid = process_find(load->plan.port);
		fleet_return(load->fleet, now);
		f->next = now;
	}
	fleet_return_more(load->fleet, now);
	if (now < f->next)
		return;
	f->next = now + RETRY_EVERY;
	for (size_t i = 0; i < load->scheduler_count; i++)
		if (load->schedulers[i])
			scheduler_return(load->schedulers[i]);
}

static bool all_subscribed(const struct load *load)
{
	for (size_t i = 0; i < load->scheduler_count; i++)
		if (load->schedulers[i] && !scheduler_subscribed(load->schedulers[i]))
			return false;
	return true;
}

bool failover_complete(struct failover *f, int64_t now)
{
	struct load *load = f->load;
	struct failover_figures *figures = &load->failover_figures;
	bool agents = fleet_returned(load->fleet) >= (uint32_t)load->plan.agents;
	bool frameworks = all_subscribed(load);
	struct socket_figures sockets;

	if (agents && figures->agents == 0)
		figures->agents = now;
	if (frameworks && figures->frameworks == 0)
		figures->frameworks = now;
	if (!agents || !frameworks)
		return false;
	figures->all = now;
	process_read(load->master_pid, &figures->master);
	/* All connections are new ones. */
	sockets_read(&sockets);
	figures->messages = messages_so_far(load) - f->messages;
	figures->bytes = sockets.sent + sockets.received;
	figures->connections = sockets.count;
	return true;
}

void failover_check(struct load *load)
{
	const struct books *books = &load->books;
	/* Those of probes are over. */
	uint32_t alive = books->launched - books->dropped - books->done;

	if (books->confirmed != alive)
		load_fail(load, "the new master knows %u of %u tasks", books->confirmed, alive);
}
