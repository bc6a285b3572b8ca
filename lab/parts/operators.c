#include "lab/parts/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define UNDO_EVERY (5 * SECOND)
#define BURY_EVERY (30 * SECOND)

static const char *const roles[2] = {"a", "b"};

static int operators_below(struct rng *rng, int count)
{
	return (int)(rng_unit(rng) * count);
}

static int any_agent(struct operators *o, struct rng *rng)
{
	return operators_below(rng, o->cluster->agent_count);
}

/* ---- what they do by chance --------------------------------------------------------- */

/* Agents marked gone are few: what is on them is lost. */
static void close_agent(struct operators *o, struct rng *rng)
{
	int at = any_agent(o, rng),
	    grace = operators_below(rng, 2) ? operators_below(rng, 60) : NO_GRACE;
	double u = rng_unit(rng);

	if (o->agents[at].closed)
		return;
	if (u < 0.4)
		operators_deactivate(o, at);
	else
		operators_drain(o, at, grace, u > 0.85);
}

static void reopen_agent(struct operators *o, struct rng *rng)
{
	operators_reactivate(o, any_agent(o, rng));
}

static void operators_lose_agent(struct operators *o, struct rng *rng)
{
	int at = any_agent(o, rng);

	if (!operators_below(rng, 2))
		operators_mark_gone(o, at);
}

static bool has_quota(const struct operators *o, const char *role)
{
	for (int i = 0; i < o->role_count; i++) {
		if (!strcmp(o->roles[i].name, role))
			return o->roles[i].quota;
	}
	return false;
}

static void change_quota(struct operators *o, struct rng *rng)
{
	const char *role = roles[operators_below(rng, 2)];
	int most = 1 + operators_below(rng, 8);

	if (has_quota(o, role) && operators_below(rng, 2))
		operators_set_quota(o, role, 0, 0);
	else
		operators_set_quota(o, role, operators_below(rng, most + 1), most);
}

static void change_weight(struct operators *o, struct rng *rng)
{
	double weight = 0.5 * (1 + operators_below(rng, 6));

	operators_set_weight(o, roles[operators_below(rng, 2)], weight);
}

static void maintain(struct operators *o, struct rng *rng)
{
	int at = any_agent(o, rng);

	if (o->agents[at].down) {
		operators_end_maintenance(o, at);
	} else if (o->agents[at].scheduled && operators_below(rng, 2)) {
		operators_begin_maintenance(o, at);
	} else {
		int64_t span = operators_below(rng, 600) * SECOND;

		operators_schedule(o, any_agent(o, rng), span);
	}
}

static void end_framework(struct operators *o, struct rng *rng)
{
	int at = operators_below(rng, o->cluster->scheduler_count);

	if (o->cluster->scheduler_count && !operators_below(rng, 3))
		operators_tear_down(o, at);
}

void operators_act(struct operators *o, struct rng *rng)
{
	static void (*const acts[])(struct operators * o, struct rng * rng) = {
		close_agent,  close_agent,   reopen_agent, operators_lose_agent,
		change_quota, change_weight, maintain,	   end_framework};

	if (o->cluster->agent_count)
		acts[operators_below(rng, 8)](o, rng);
}

/* ---- undoing it ------------------------------------------------------------------------ */

bool operators_idle(const struct operators *o)
{
	for (int i = 0; i < o->cluster->agent_count; i++) {
		if (o->agents[i].closed || o->agents[i].down)
			return false;
	}
	for (int i = 0; i < o->role_count; i++) {
		if (o->roles[i].quota)
			return false;
	}
	return !o->schedule;
}

static void on_undo(struct happening *h)
{
	struct operators *o = container_of(h, struct operators, undo);
	bool down = false;

	for (int i = 0; i < o->role_count; i++) {
		if (o->roles[i].quota)
			operators_set_quota(o, o->roles[i].name, 0, 0);
	}
	for (int i = 0; i < o->cluster->agent_count; i++) {
		operators_reactivate(o, i);
		if (o->agents[i].closed)
			agent_part_end_deaf(o->cluster->agents[i]);
		if (o->agents[i].down)
			operators_end_maintenance(o, i);
		down = down || o->agents[i].down;
	}
	if (o->schedule && !down)
		operators_clear_schedule(o);
	if (!operators_idle(o))
		world_after(o->cluster->world, &o->undo, UNDO_EVERY);
}

/* As long as peace lasts: agents come back one after the other. */
static void on_bury(struct happening *h)
{
	struct operators *o = container_of(h, struct operators, bury);

	operators_bury(o);
	world_after(o->cluster->world, &o->bury, BURY_EVERY);
}

void operators_undo(struct operators *o)
{
	world_after(o->cluster->world, &o->bury, 0);
	if (!operators_idle(o))
		world_after(o->cluster->world, &o->undo, 0);
}

void operators_init(struct operators *o, const struct cluster *cluster)
{
	o->cluster = cluster;
	o->agents = xcalloc((size_t)cluster->agent_count + 1, sizeof(*o->agents));
	o->undo.run = on_undo;
	o->bury.run = on_bury;
}

void operators_free(struct operators *o)
{
	if (!o->agents)
		return;
	world_cancel(o->cluster->world, &o->undo);
	world_cancel(o->cluster->world, &o->bury);
	for (int i = 0; i < o->cluster->agent_count; i++)
		free(o->agents[i].id);
	for (int i = 0; i < o->role_count; i++)
		free(o->roles[i].name);
	free(o->agents);
	o->agents = NULL;
}
