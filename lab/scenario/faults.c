#include "lab/scenario/faults.h"
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

static struct agent_part *any_agent(struct faults *f)
{
	return f->cluster->agents[faults_below(f, f->cluster->agent_count)];
}

static struct process *any_process(struct faults *f)
{
	const struct cluster *c = f->cluster;
	int at = faults_below(f, c->agent_count + c->scheduler_count);

	if (picks_master(f))
		return master_part_process(c->master);
	if (at < c->agent_count)
		return agent_part_process(c->agents[at]);
	return scheduler_part_process(c->schedulers[at - c->agent_count]);
}

static struct disk *any_disk(struct faults *f)
{
	return picks_master(f) || !f->cluster->agent_count ? master_part_disk(f->cluster->master)
							   : agent_part_disk(any_agent(f));
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
		master_part_kill(c->master, crash);
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
	struct process *p = picks_master(f) || !c->agent_count ? master_part_process(c->master)
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

	disk->failing_until = w->now + around(f, 30 * SECOND);
	disk->full = full;
	world_log(w, "the disk of %s %s until %.3f", disk->name,
		  full ? "is full" : "cannot be synced",
		  (double)(disk->failing_until - w->begin) / SECOND);
}

static void doom_write(struct faults *f)
{
	struct disk *disk = any_disk(f);

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
		master_part_set_clock(f->cluster->master, skew);
	else
		agent_part_set_clock(any_agent(f), skew);
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
	enum world_fault fault = (enum world_fault)faults_below(f, WORLD_FAULTS);

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
	disk_mend(master_part_disk(c->master));
	for (int i = 0; i < c->agent_count; i++)
		disk_mend(agent_part_disk(c->agents[i]));
	operators_undo(&f->operators);
}

void faults_free(struct faults *f)
{
	operators_free(&f->operators);
}
