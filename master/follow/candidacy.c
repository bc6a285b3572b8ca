#include "master/follow/candidacy.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "master/follow/following.h"
#include "net/masters/election.h"

struct candidacy {
	const struct candidacy_handlers *handlers;
	void *context;
	bool elected;
	struct election *election;
	struct following *following; /* NULL: nothing is copied, or no more */
	char *leader;		     /* heap, or NULL */
};

static void candidacy_forget_leader(struct candidacy *c)
{
	free(c->leader);
	c->leader = NULL;
}

static void candidacy_won(struct candidacy *c)
{
	char *copy = NULL;

	if (c->elected)
		return;
	log_info("elected as the leading master");
	c->elected = true;
	candidacy_forget_leader(c);
	if (c->following)
		copy = following_finish(c->following);
	c->following = NULL;
	c->handlers->elected(c->context, copy);
}

/* Mesos leads to the host's name; members of other libraries may have none. */
static char *address_for_people(const Mesos__MasterInfo *leader)
{
	return leader->hostname ? xprintf("%s:%u", leader->hostname, (unsigned)leader->port)
				: xstrdup(strchr(leader->pid, '@') + 1);
}

static void candidacy_told(void *context, const Mesos__MasterInfo *leader, bool ours)
{
	struct candidacy *c = context;

	if (ours) {
		candidacy_won(c);
		return;
	}
	if (c->elected) {
		c->handlers->over(c->context,
				  leader ? "another master was elected" : "nobody leads any more");
		return;
	}
	candidacy_forget_leader(c);
	if (c->following)
		following_turn(c->following, leader ? strchr(leader->pid, '@') + 1 : NULL);
	if (!leader) {
		log_info("no master leads");
		return;
	}
	c->leader = address_for_people(leader);
	log_info("the leading master is %s (%s)", leader->pid, c->leader);
}

static void candidacy_lost(void *context)
{
	struct candidacy *c = context;

	if (c->elected)
		c->handlers->over(c->context, "Lost candidacy as a leader");
}

static void candidacy_failed(void *context, const char *why)
{
	struct candidacy *c = context;

	c->handlers->failed(c->context, why);
}

struct candidacy *candidacy_open(const struct candidacy_options *o)
{
	static const struct election_handlers handlers = {
		.leader = candidacy_told,
		.lost = candidacy_lost,
		.failed = candidacy_failed,
	};
	struct candidacy *c = xcalloc(1, sizeof(*c));

	c->handlers = o->handlers;
	c->context = o->context;
	if (o->table)
		c->following =
			following_create(o->loop, o->table, o->group->credentials, o->address);
	c->election =
		election_open(o->loop, o->group, o->session_timeout_ms, o->info, &handlers, c);
	return c;
}

void candidacy_close(struct candidacy *c)
{
	election_close(c->election);
	if (c->following)
		following_close(c->following);
	candidacy_forget_leader(c);
	free(c);
}

const char *candidacy_leader(const struct candidacy *c)
{
	return c->leader;
}
