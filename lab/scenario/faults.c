#include "lab/scenario/faults.h"
#include "lab/keeper/keeper.h"
#include "lab/parts/scheduler_part.h"
#include "lab/world/disk.h"

#include <math.h>

/* ---- choices ------------------------------------------------------------------ */

static double unit(struct faults *f)
{
	return rng_unit(&f->rng);
}

static int faults_below(struct faults *f, int count)
{
	return (int)(unit(f) * count);
}

static int64_t around(struct faults *f, int64_t span)
{
	return (int64_t)(-log(1 - unit(f)) * (double)span);
}

/* Masters are few and matter most. */
static bool picks_master(struct faults *f)
{
	return faults_below(f, f->cluster->agent_count + f->cluster->scheduler_count + 2) < 2;
}

/* Only that which acts matters, mostly. */
static struct master_part *any_master(struct faults *f)
{
	const struct cluster *c = f->cluster;
	struct master_part *acts = cluster_master(c);

	if (c->master_count == 1)
		return c->masters[0];
	return acts && unit(f) < 0.6 ? acts : c->masters[faults_below(f, c->master_count)];
}

static struct agent_part *any_agent(struct faults *f)
{
	return f->cluster->agents[faults_below(f, f->cluster->agent_count)];
}

static struct process *any_process(struct faults *f)
{
	const struct cluster *c = f->cluster;
	int at = faults_below(f, c->agent_count + c->scheduler_count);

	if (picks_master(f))
		return master_part_process(any_master(f));
	if (at < c->agent_count)
		return agent_part_process(c->agents[at]);
	return scheduler_part_process(c->schedulers[at - c->agent_count]);
}

static struct disk *any_disk(struct faults *f)
{
	struct disk *disk = picks_master(f) || !f->cluster->agent_count
				    ? master_part_disk(f->cluster->masters[0])
				    : NULL;

	return disk || !f->cluster->agent_count ? disk : agent_part_disk(any_agent(f));
}

static struct conn *any_conn(struct faults *f)
{
	struct list *conns = &f->cluster->world->conns;
	struct conn *conn, *next;
	int count = 0;

	list_for_each (conn, next, conns, link)
		count++;
	count = faults_below(f, count);
	list_for_each (conn, next, conns, link) {
		if (count-- == 0)
			return conn;
	}
	return NULL;
}

/* ---- faults --------------------------------------------------------------------- */

static void faults_cut(struct faults *f)
{
	struct conn *conn = any_conn(f);

	if (!conn)
		return;
	world_log(f->cluster->world, "connection %llu breaks", (unsigned long long)conn->number);
	conn_break(conn);
}

static void half_open(struct faults *f)
{
	struct conn *conn = any_conn(f);
	enum conn_side side = faults_below(f, 2) ? CONN_SERVER : CONN_CLIENT;
	bool black_hole;

	if (!conn)
		return;
	world_log(f->cluster->world, "connection %llu breaks for its %s alone",
		  (unsigned long long)conn->number, side == CONN_CLIENT ? "server" : "client");
	black_hole = unit(f) < 0.3;
	conn_half_open(conn, side, around(f, MINUTE), black_hole);
}

static void partition(struct faults *f)
{
	struct world *w = f->cluster->world;
	struct process *p = any_process(f);
	int64_t until = w->now + around(f, unit(f) < 0.2 ? 2 * MINUTE : 10 * SECOND);
	double u = unit(f);

	if (!p)
		return;
	if (u < 0.7)
		p->deaf_until = until;
	if (u > 0.3)
		p->mute_until = until;
	world_log(w, "%s is cut off until %.3f (%s)", p->name, (double)(until - w->begin) / SECOND,
		  u >= 0.7   ? "mute"
		  : u <= 0.3 ? "deaf"
			     : "both");
}

static void kill_something(struct faults *f, bool crash)
{
	const struct cluster *c = f->cluster;
	int at = faults_below(f, c->agent_count + c->scheduler_count);

	if (picks_master(f))
		master_part_kill(any_master(f), crash);
	else if (at < c->agent_count)
		agent_part_kill(c->agents[at], crash);
	else
		scheduler_part_kill(c->schedulers[at - c->agent_count]);
}

/* As by SIGSTOP, or with its virtual machine. */
static void pause_something(struct faults *f)
{
	const struct cluster *c = f->cluster;
	int64_t span = around(f, unit(f) < 0.2 ? 2 * MINUTE : 10 * SECOND);
	struct process *p = picks_master(f) || !c->agent_count ? master_part_process(any_master(f))
							       : agent_part_process(any_agent(f));

	if (p)
		process_pause(p, span);
}

/* Dies as the next letter comes in: instead of reading it, or with it read. */
static void doom(struct faults *f)
{
	struct process *p = any_process(f);

	if (!p)
		return;
	p->doom = faults_below(f, 2) ? DOOM_BEFORE : DOOM_AFTER;
	world_log(f->cluster->world, "%s will die %s its next letter", p->name,
		  p->doom == DOOM_BEFORE ? "before" : "after");
}

static void fail_disk(struct faults *f, bool full)
{
	struct world *w = f->cluster->world;
	struct disk *disk = any_disk(f);

	if (!disk)
		return;
	disk->failing_until = w->now + around(f, 30 * SECOND);
	disk->full = full;
	world_log(w, "the disk of %s %s until %.3f", disk->name,
		  full ? "is full" : "cannot be synced",
		  (double)(disk->failing_until - w->begin) / SECOND);
}

static void doom_write(struct faults *f)
{
	struct disk *disk = any_disk(f);

	if (!disk)
		return;
	disk->doom = 1 + faults_below(f, 5);
	world_log(f->cluster->world, "%s will crash in its write %d from now", disk->name,
		  disk->doom);
}

/* A clock does not jump within the life of a process; so its next life begins now. */
static void set_clock(struct faults *f)
{
	int64_t skew = around(f, unit(f) < 0.2 ? DAY : MINUTE);

	if (faults_below(f, 2))
		skew = -skew;
	if (picks_master(f) || !f->cluster->agent_count)
		master_part_set_clock(any_master(f), skew);
	else
		agent_part_set_clock(any_agent(f), skew);
}

/* What is hardest: it may go on as if it led still. */
static void strike_leader(struct faults *f)
{
	struct master_part *leader = cluster_master(f->cluster);
	struct process *p = leader ? master_part_process(leader) : NULL;
	int64_t span = around(f, 20 * SECOND);
	double u = unit(f);

	if (!p)
		return;
	if (u < 0.4) {
		master_part_kill(leader, u < 0.2);
	} else if (u < 0.7) {
		process_pause(p, span);
	} else {
		p->deaf_until = f->cluster->world->now + span;
		p->mute_until = u < 0.85 ? p->deaf_until : p->mute_until;
		world_log(f->cluster->world, "%s is cut off for %.3f s", p->name,
			  (double)span / SECOND);
	}
}

/* Those of ZooKeeper. */
static void strike_keeper(struct faults *f, enum world_fault fault)
{
	struct keeper *keeper = f->cluster->world->keeper;
	uint64_t draw = rng_next(&f->rng);

	if (!keeper)
		return;
	if (fault == FAULT_EXPIRY)
		keeper_expire(keeper, draw);
	else if (fault == FAULT_SERVERS)
		keeper_stop(keeper, around(f, 8 * SECOND));
	else if (fault == FAULT_SERVERS_CUT)
		keeper_cut(keeper, draw);
	else
		keeper_cut_off(keeper, draw, around(f, 10 * SECOND));
}

void faults_strike(struct faults *f, enum world_fault fault)
{
	struct world *w = f->cluster->world;

	w->faults[fault]++;
	switch (fault) {
	case FAULT_KILL:
		kill_something(f, false);
		break;
	case FAULT_CRASH:
		kill_something(f, true);
		break;
	case FAULT_CUT:
		faults_cut(f);
		break;
	case FAULT_PARTITION:
		partition(f);
		break;
	case FAULT_SLOW_DISK:
		w->slow_disks_until = w->now + around(f, 20 * SECOND);
		break;
	case FAULT_HALF_OPEN:
		half_open(f);
		break;
	case FAULT_REPEAT:
		w->repeats++;
		break;
	case FAULT_DOOM:
		doom(f);
		break;
	case FAULT_SYNC:
		fail_disk(f, false);
		break;
	case FAULT_FULL_DISK:
		fail_disk(f, true);
		break;
	case FAULT_TORN_WRITE:
		doom_write(f);
		break;
	case FAULT_CLOCK:
		set_clock(f);
		break;
	case FAULT_PAUSE:
		pause_something(f);
		break;
	case FAULT_OPERATOR:
		operators_act(&f->operators, &f->rng);
		break;
	case FAULT_EXPIRY:
	case FAULT_SERVERS:
	case FAULT_SERVERS_CUT:
	case FAULT_SERVERS_OFF:
		strike_keeper(f, fault);
		break;
	case FAULT_LEADER:
		strike_leader(f);
		break;
	case WORLD_FAULTS:
		break;
	}
}

/* ---- when ------------------------------------------------------------------------- */

/* The numbers of the next fault. */
static void number_next(struct faults *f)
{
	rng_seed(&f->rng, f->cluster->world->seed * UINT64_C(1000003) + ++f->count);
}

static void on_fault(struct happening *h)
{
	struct faults *f = container_of(h, struct faults, next);
	bool skipped = f->skip && f->skip(f->context, f->count);
	int64_t pause = around(f, f->every);
	bool alone = f->cluster->master_count == 1;
	enum world_fault fault =
		(enum world_fault)faults_below(f, alone ? ALONE_FAULTS : WORLD_FAULTS);

	if (!skipped)
		faults_strike(f, fault);
	number_next(f);
	world_after(f->cluster->world, &f->next, pause);
}

void faults_begin(struct faults *f, const struct cluster *cluster, int64_t every)
{
	f->cluster = cluster;
	f->every = every;
	f->next.run = on_fault;
	operators_init(&f->operators, cluster);
	number_next(f);
	if (every)
		world_after(cluster->world, &f->next, around(f, every));
	if (every && cluster->world->keeper)
		keeper_disturb(cluster->world->keeper);
}

void faults_end(struct faults *f)
{
	const struct cluster *c = f->cluster;
	struct process *p, *next;

	world_cancel(c->world, &f->next);
	/* What is being written stays slow, and the books are to know. */
	if (c->world->slow_disks_until > c->world->now)
		c->world->slow_disks_until = c->world->now;
	c->world->repeats = 0;
	list_for_each (p, next, &c->world->processes, link) {
		/* What was stopped has missed the time until now. */
		process_continue(p);
		p->deaf_until = p->mute_until = 0;
		p->doom = DOOM_NONE;
	}
	if (c->world->keeper)
		keeper_mend(c->world->keeper);
	else
		disk_mend(master_part_disk(c->masters[0]));
	for (int i = 0; i < c->agent_count; i++)
		disk_mend(agent_part_disk(c->agents[i]));
	operators_undo(&f->operators);
}

void faults_free(struct faults *f)
{
	operators_free(&f->operators);
}
