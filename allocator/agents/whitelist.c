/* The whitelist: only agents of the hosts in it are offered from.
 *
 * What it says of an agent is kept with the agent, so a cycle asks nothing. A change of the
 * list takes effect at the next batch: an agent that gets in counts as changed, one that
 * falls out leaves the lists of those to be seen. Nothing is taken back.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/whitelist.h"
#include "allocator/objects.h"
#include "base/memory/arena.h"

struct host {
	UT_hash_handle hh;
	char name[];
};

static void whitelist_judge(struct allocator *a, struct alloc_agent *agent)
{
	const char *hostname = agent->hostname ? agent->hostname : "";
	bool unlisted = false;
	struct host *host;

	if (a->whitelisted) {
		HASH_FIND_STR(a->whitelist, hostname, host);
		unlisted = !host;
	}
	if (unlisted == agent->unlisted)
		return;
	agent->unlisted = unlisted;
	if (unlisted) {
		list_remove(&agent->dirty);
		list_remove(&agent->spare);
		list_remove(&agent->blocked);
	} else {
		alloc_agent_change(a, agent);
	}
}

void alloc_whitelist_meet(struct allocator *a, struct alloc_agent *agent)
{
	whitelist_judge(a, agent);
}

void alloc_whitelist_name(struct allocator *a, struct alloc_agent *agent, const char *hostname)
{
	if (!strcmp(agent->hostname ? agent->hostname : "", hostname))
		return;
	free(agent->hostname);
	agent->hostname = xstrdup(hostname);
	whitelist_judge(a, agent);
	alloc_agent_mark_candidate(a, agent);
}

void alloc_whitelist_free(struct allocator *a)
{
	struct host *host, *next;

	HASH_ITER (hh, a->whitelist, host, next) {
		HASH_DEL(a->whitelist, host);
		free(host);
	}
	a->whitelisted = false;
}

void allocator_set_whitelist(struct allocator *a, const char *const *hostnames, size_t count)
{
	struct alloc_agent *agent, *next;

	alloc_whitelist_free(a);
	a->whitelisted = hostnames != NULL;
	for (size_t i = 0; hostnames && i < count; i++) {
		size_t len = strlen(hostnames[i]);
		struct host *host;

		HASH_FIND(hh, a->whitelist, hostnames[i], len, host);
		if (host)
			continue;
		host = xcalloc(1, sizeof(*host) + len + 1);
		memcpy(host->name, hostnames[i], len);
		HASH_ADD_KEYPTR(hh, a->whitelist, host->name, len, host);
	}
	HASH_ITER (hh, a->agents, agent, next)
		whitelist_judge(a, agent);
}
