/* What can happen in a scenario. Nothing happens to a part that is not there, or not alive. */
#include <string.h>

#include "lab/keeper/keeper.h"
#include "lab/scenario/scenario_internal.h"
#include "lab/world/disk.h"

/* The one that acts, or the first. */
static struct master_part *master_of(const struct cluster *c)
{
	struct master_part *master = cluster_master(c);

	return master ? master : c->masters[0];
}

static struct process *process_of(const struct cluster *c, struct part_name name)
{
	switch (name.kind) {
	case PART_MASTER:
		return master_part_process(master_of(c));
	case PART_AGENT:
		return name.number < c->agent_count ? agent_part_process(c->agents[name.number])
						    : NULL;
	default:
		return name.number < c->scheduler_count
			       ? scheduler_part_process(c->schedulers[name.number])
			       : NULL;
	}
}

static struct disk *disk_of(const struct cluster *c, struct part_name name)
{
	if (name.kind == PART_MASTER)
		return master_part_disk(master_of(c));
	return name.number < c->agent_count ? agent_part_disk(c->agents[name.number]) : NULL;
}

static void end_life(const struct cluster *c, struct part_name name, bool crash)
{
	if (name.kind == PART_MASTER)
		master_part_kill(master_of(c), crash);
	else if (name.kind == PART_AGENT && name.number < c->agent_count)
		agent_part_kill(c->agents[name.number], crash);
	else if (name.kind == PART_SCHEDULER && name.number < c->scheduler_count)
		scheduler_part_kill(c->schedulers[name.number]);
}

static void do_kill(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_KILL]++;
	end_life(c, e->part, false);
}

static void do_crash(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_CRASH]++;
	end_life(c, e->part, true);
}

static void do_partition(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!p)
		return;
	c->world->faults[FAULT_PARTITION]++;
	if (strcmp(e->word, "mute"))
		p->deaf_until = c->world->now + e->span;
	if (strcmp(e->word, "deaf"))
		p->mute_until = c->world->now + e->span;
}

/* All connections between the two. */
static void do_cut(const struct cluster *c, const struct scenario_event *e)
{
	struct process *a = process_of(c, e->part), *b = process_of(c, e->other);
	struct conn *conn, *next;

	if (!a || !b)
		return;
	c->world->faults[FAULT_CUT]++;
	list_for_each (conn, next, &c->world->conns, link) {
		if ((conn->of[0].process == a && conn->of[1].process == b) ||
		    (conn->of[0].process == b && conn->of[1].process == a))
			conn_break(conn);
	}
}

/* The first part does not learn of it in this span. */
static void do_half_open(const struct cluster *c, const struct scenario_event *e)
{
	struct process *a = process_of(c, e->part), *b = process_of(c, e->other);
	struct conn *conn, *next;

	if (!a || !b)
		return;
	c->world->faults[FAULT_HALF_OPEN]++;
	list_for_each (conn, next, &c->world->conns, link) {
		if (conn->of[0].process == a && conn->of[1].process == b)
			conn_half_open(conn, CONN_CLIENT, e->span, false);
		else if (conn->of[0].process == b && conn->of[1].process == a)
			conn_half_open(conn, CONN_SERVER, e->span, false);
	}
}

static void do_doom(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!p)
		return;
	c->world->faults[FAULT_DOOM]++;
	p->doom = strcmp(e->word, "after") ? DOOM_BEFORE : DOOM_AFTER;
}

static void fail_disk(const struct cluster *c, const struct scenario_event *e, bool full)
{
	struct disk *disk = disk_of(c, e->part);

	if (!disk)
		return;
	c->world->faults[full ? FAULT_FULL_DISK : FAULT_SYNC]++;
	disk->failing_until = c->world->now + e->span;
	disk->full = full;
}

static void do_sync_fails(const struct cluster *c, const struct scenario_event *e)
{
	fail_disk(c, e, false);
}

static void do_full_disk(const struct cluster *c, const struct scenario_event *e)
{
	fail_disk(c, e, true);
}

static void do_torn_write(const struct cluster *c, const struct scenario_event *e)
{
	struct disk *disk = disk_of(c, e->part);

	if (!disk)
		return;
	c->world->faults[FAULT_TORN_WRITE]++;
	disk->doom = e->count;
}

static void do_slow_disks(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_SLOW_DISK]++;
	c->world->slow_disks_until = c->world->now + e->span;
}

static void do_repeat(const struct cluster *c, const struct scenario_event *e)
{
	c->world->faults[FAULT_REPEAT]++;
	c->world->repeats += e->count;
}

static void do_clock(const struct cluster *c, const struct scenario_event *e)
{
	int64_t skew = strcmp(e->word, "back") ? e->span : -e->span;

	if (e->part.kind == PART_AGENT && e->part.number >= c->agent_count)
		return;
	c->world->faults[FAULT_CLOCK]++;
	if (e->part.kind == PART_MASTER)
		master_part_set_clock(master_of(c), skew);
	else
		agent_part_set_clock(c->agents[e->part.number], skew);
}

static void do_pause(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!p)
		return;
	c->world->faults[FAULT_PAUSE]++;
	process_pause(p, e->span);
}

/* ---- ZooKeeper, if there are several masters ---- */

static void do_servers_down(const struct cluster *c, const struct scenario_event *e)
{
	if (!c->world->keeper)
		return;
	c->world->faults[FAULT_SERVERS]++;
	keeper_stop(c->world->keeper, e->span);
}

static void do_servers_off(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!c->world->keeper || !p)
		return;
	c->world->faults[FAULT_SERVERS_OFF]++;
	keeper_cut_off_process(c->world->keeper, p, e->span);
}

static void do_expire(const struct cluster *c, const struct scenario_event *e)
{
	struct process *p = process_of(c, e->part);

	if (!c->world->keeper || !p)
		return;
	c->world->faults[FAULT_EXPIRY]++;
	keeper_expire_process(c->world->keeper, p);
}

static void do_desert(const struct cluster *c, const struct scenario_event *e)
{
	if (e->part.number >= c->scheduler_count)
		return;
	c->world->faults[FAULT_KILL]++;
	scheduler_part_desert(c->schedulers[e->part.number]);
}

static void do_fail_over(const struct cluster *c, const struct scenario_event *e)
{
	if (e->part.number >= c->scheduler_count)
		return;
	c->world->faults[FAULT_KILL]++;
	scheduler_part_fail_over(c->schedulers[e->part.number]);
}

/* More than it could have done fails the run. */
static void do_expect(const struct cluster *c, const struct scenario_event *e)
{
	struct scheduler_counts counts;

	if (e->part.number >= c->scheduler_count)
		return;
	counts = scheduler_part_counts(c->schedulers[e->part.number]);
	if (counts.finished < (uint64_t)e->count)
		world_fail(c->world,
			   "the scenario: %llu tasks of scheduler%d have finished, of %d expected",
			   (unsigned long long)counts.finished, e->part.number, e->count);
}

static void do_finish(const struct cluster *c, const struct scenario_event *e)
{
	if (e->part.number < c->scheduler_count)
		scheduler_part_finish(c->schedulers[e->part.number]);
}

static void do_teardown(const struct cluster *c, const struct scenario_event *e)
{
	do_finish(c, e);
	if (e->part.number < c->scheduler_count)
		scheduler_part_teardown(c->schedulers[e->part.number]);
}

static const struct verb verbs[] = {
	{"kill", "P", "", do_kill, NULL},
	{"crash", "H", "", do_crash, NULL},
	{"partition", "PD", "deaf mute", do_partition, NULL},
	{"cut", "PP", "", do_cut, NULL},
	{"half-open", "PPD", "", do_half_open, NULL},
	{"doom", "P", "before after", do_doom, NULL},
	{"sync-fails", "HD", "", do_sync_fails, NULL},
	{"full-disk", "HD", "", do_full_disk, NULL},
	{"torn-write", "HN", "", do_torn_write, NULL},
	{"slow-disks", "D", "", do_slow_disks, NULL},
	{"repeat", "N", "", do_repeat, NULL},
	{"clock", "HD", "ahead back", do_clock, NULL},
	{"pause", "HD", "", do_pause, NULL},
	{"servers-down", "D", "", do_servers_down, NULL},
	{"servers-off", "PD", "", do_servers_off, NULL},
	{"expire", "P", "", do_expire, NULL},
	{"desert", "S", "", do_desert, NULL},
	{"fail-over", "S", "", do_fail_over, NULL},
	{"expect", "SN", "", do_expect, NULL},
	{"finish", "S", "", do_finish, NULL},
	{"teardown", "S", "", do_teardown, NULL},
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}
