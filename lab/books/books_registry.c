/* The master's registry: which agents are admitted, unreachable or gone, and what operators
 * were told is done. */
#include "lab/books/books_registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_kills.h"
#include "lab/books/books_roles.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

/* An admitted agent that is away: until its pings or its time to reregister are over. */
#define AWAY_HIGH (10 * MINUTE + 75 * SECOND + MINUTE)
#define AUDIT_EVERY (5 * SECOND)
#define SETTLED (10 * SECOND)
#define IDLE_AUDITS 2

#define MASTER "master"

struct known_agent *books_known(struct books *b, const char *id)
{
	struct known_agent *k;

	HASH_FIND_STR(b->known, id, k);
	if (k)
		return k;
	k = xcalloc(1, sizeof(*k));
	k->id = xstrdup(id);
	list_init(&k->changed);
	HASH_ADD_KEYPTR(hh, b->known, k->id, strlen(k->id), k);
	return k;
}

/* It will hear later of what is stored now; when it goes on, after something else perhaps that
 * waited, too. */
bool books_master_paused(const struct books *b)
{
	return b->master && b->master->paused_until >= b->world->now;
}

/* ---- what is written -------------------------------------------------------------- */

static bool is_closed(struct books *b, bool departed, struct slice value)
{
	const Mesita__StoredDeparted *away;
	const Mesita__StoredAgent *agent;
	struct err err;

	arena_free(&b->arena);
	if (departed) {
		away = proto_unpack(&mesita__stored_departed__descriptor, &b->arena, value.data,
				    value.len, &err);
		return away && away->deactivated;
	}
	agent = proto_unpack(&mesita__stored_agent__descriptor, &b->arena, value.data, value.len,
			     &err);
	return agent && agent->deactivated;
}

void books_registry_written(struct books *b, const char *kind, const char *id, struct slice value)
{
	struct known_agent *k = books_known(b, id);

	if (list_empty(&k->changed))
		list_append(&b->changed, &k->changed);
	if (!strcmp(kind, "agent")) {
		if (value.data && !k->admitted)
			k->seen = b->world->now;
		k->admitted = value.data != NULL;
	}
	if (value.data && !strcmp(kind, "gone") && !books_master_paused(b))
		books_agent_gone(b, id);
	else if (value.data && strcmp(kind, "gone"))
		k->closed = is_closed(b, !strcmp(kind, "unreachable"), value);
}

void books_maintenance_written(struct books *b, struct slice value)
{
	struct err err;

	arena_free(&b->maintenance_arena);
	b->maintenance = value.data
				 ? proto_unpack(&mesita__stored_maintenance__descriptor,
						&b->maintenance_arena, value.data, value.len, &err)
				 : NULL;
}

void books_forget_registry(struct books *b)
{
	struct known_agent *k, *next;

	HASH_ITER (hh, b->known, k, next)
		k->admitted = k->closed = false;
	books_maintenance_written(b, (struct slice){NULL, 0});
}

void books_check_registry(struct books *b)
{
	struct known_agent *k;
	struct view *v;

	if (books_master_paused(b))
		return;
	while ((k = list_first(&b->changed, struct known_agent, changed))) {
		bool admitted = books_stored(b, MASTER, AFTER_KILL, "agent/%s", k->id);
		bool away = books_stored(b, MASTER, AFTER_KILL, "unreachable/%s", k->id);
		bool gone = books_stored(b, MASTER, AFTER_KILL, "gone/%s", k->id);

		list_remove(&k->changed);
		if (admitted + away + gone > 1)
			world_fail(b->world,
				   "agents: %s is more than one of admitted, unreachable and gone",
				   k->id);
		v = books_view(b, k->id);
		if (v && k->closed && admitted && !list_empty(&v->offers))
			world_fail(b->world, "offers: %s is of agent %s, which is deactivated",
				   list_first(&v->offers, struct offered, by_view)->id, k->id);
	}
}

/* ---- what is said of agents ------------------------------------------------------- */

void books_said_lost(struct books *b, const char *agent_id)
{
	if (books_would_return(b, MASTER, "agent/%s", agent_id))
		world_fail(b->world,
			   "durable: agent %s is said to be lost, and after a crash it would be "
			   "admitted",
			   agent_id);
}

void books_said_admitted(struct books *b, const char *agent_id)
{
	struct known_agent *k = books_known(b, agent_id);

	if (k->told)
		world_fail(b->world, "agents: the id %s is given a second time", agent_id);
	k->told = true;
}

void books_said_back(struct books *b, const char *agent_id)
{
	books_known(b, agent_id)->seen = b->world->now;
}

static bool is_down(const struct books *b, const Mesos__MachineID *id)
{
	for (size_t i = 0; b->maintenance && i < b->maintenance->n_machines; i++) {
		const Mesos__MachineInfo *m = b->maintenance->machines[i];

		if (m->mode == MESOS__MACHINE_INFO__MODE__DOWN &&
		    (!id || !strcmp(m->id->hostname, id->hostname)))
			return true;
	}
	return false;
}

bool books_wanted_away(const struct books *b, const char *agent_id)
{
	return is_down(b, NULL) || books_stored(b, MASTER, AFTER_CRASH, "gone/%s", agent_id);
}

/* ---- what becomes of agents that are away ----------------------------------------- */

void books_registry_began(struct books *b)
{
	struct known_agent *k, *next;

	HASH_ITER (hh, b->known, k, next)
		k->seen = b->world->now;
}

/* The master offers what it has every second. */
static void audit_offers(struct books *b)
{
	struct view *v, *next;

	HASH_ITER (hh, b->views, v, next) {
		bool usable = v->connected && !v->leaving && b->world->now - v->since > SETTLED &&
			      !books_known(b, v->id)->closed && !books_unsure(b, v);

		v->idle = usable && books_is_wanted(b, v) ? v->idle + 1 : 0;
		if (v->idle > IDLE_AUDITS)
			world_fail(b->world,
				   "shares: something is free on agent %s for a long time, and who "
				   "waits for it is not offered it",
				   v->id);
	}
}

void books_audit_agents(struct books *b)
{
	const struct process *master = b->master;
	struct known_agent *k, *next;

	b->audit_at = b->world->now + AUDIT_EVERY;
	books_note_slowness(b);
	if (master)
		books_audit_kills(b);
	if (master && !process_paused(master) && master->paused_until + SETTLED < b->world->now)
		audit_offers(b);
	HASH_ITER (hh, b->known, k, next) {
		const struct view *v = books_view(b, k->id);

		if (!k->admitted || !master || (v && v->connected))
			k->seen = b->world->now;
		else if (master->paused_until > k->seen)
			k->seen = master->paused_until;
		if (b->world->now - k->seen <= AWAY_HIGH)
			continue;
		world_fail(b->world,
			   "agents: %s is admitted, away for %" PRId64 " s and not marked "
			   "unreachable",
			   k->id, (b->world->now - k->seen) / SECOND);
	}
}

/* ---- operators -------------------------------------------------------------------- */

#define OPERATED(name) MESOS__MASTER__CALL__TYPE__##name

static void books_registry_expect(struct books *b, bool holds, const Mesos__Master__Call *call)
{
	if (!holds)
		world_fail(b->world,
			   "durable: an operator's %s is said to be done, and would be undone by "
			   "a crash",
			   proto_enum_name(&mesos__master__call__type__descriptor, (int)call->type,
					   SPELL_V1));
}

static bool has_quota(struct books *b, const Mesos__Quota__QuotaConfig *config)
{
	const struct role *role = books_role(b, config->role);
	bool any = config->n_limits || config->n_guarantees;

	for (size_t i = 0; i < config->n_limits; i++) {
		if (fabs((double)tally_of(&role->limits, books_kind(b, config->limits[i]->key)) -
			 config->limits[i]->value->value * 1000) > 0.5)
			return false;
	}
	for (size_t i = 0; i < config->n_guarantees; i++) {
		if (fabs((double)tally_of(&role->guarantees,
					  books_kind(b, config->guarantees[i]->key)) -
			 config->guarantees[i]->value->value * 1000) > 0.5)
			return false;
	}
	return any ? books_stored(b, MASTER, AFTER_CRASH, "quota/%s", config->role)
		   : !books_would_return(b, MASTER, "quota/%s", config->role);
}

static bool has_weight(struct books *b, const Mesos__WeightInfo *info)
{
	return fabs(books_role(b, info->role)->weight - info->weight) < 1e-9 &&
	       books_stored(b, MASTER, AFTER_CRASH, "weight/%s", info->role);
}

/* Orders for one that is gone since mean nothing. */
static bool has_order(struct books *b, const Mesos__AgentID *id, bool closed)
{
	if (books_stored(b, MASTER, AFTER_CRASH, "agent/%s", id->value) ||
	    books_stored(b, MASTER, AFTER_CRASH, "unreachable/%s", id->value))
		return books_known(b, id->value)->closed == closed;
	return true;
}

static bool machines_are(struct books *b, Mesos__MachineID *const *list, size_t count, bool down)
{
	for (size_t i = 0; i < count; i++) {
		if (is_down(b, list[i]) != down)
			return false;
	}
	return books_stored(b, MASTER, AFTER_CRASH, "maintenance/schedule");
}

static bool has_schedule(struct books *b, const Mesos__Maintenance__Schedule *schedule)
{
	size_t count = 0;

	for (size_t i = 0; i < schedule->n_windows; i++)
		count += schedule->windows[i]->n_machine_ids;
	return books_stored(b, MASTER, AFTER_CRASH, "maintenance/schedule") &&
	       b->maintenance->n_machines == count;
}

void books_operated(struct books *b, const Mesos__Master__Call *call, bool overtaken)
{
	/* What was ordered next may be stored already. */
	if (overtaken || books_master_paused(b))
		return;
	switch (call->type) {
	case OPERATED(UPDATE_QUOTA):
		for (size_t i = 0; i < call->update_quota->n_quota_configs; i++)
			books_registry_expect(b, has_quota(b, call->update_quota->quota_configs[i]),
					      call);
		break;
	case OPERATED(UPDATE_WEIGHTS):
		for (size_t i = 0; i < call->update_weights->n_weight_infos; i++)
			books_registry_expect(
				b, has_weight(b, call->update_weights->weight_infos[i]), call);
		break;
	case OPERATED(DEACTIVATE_AGENT):
		books_registry_expect(b, has_order(b, call->deactivate_agent->agent_id, true),
				      call);
		break;
	case OPERATED(DRAIN_AGENT):
		books_registry_expect(b, has_order(b, call->drain_agent->agent_id, true), call);
		break;
	case OPERATED(REACTIVATE_AGENT):
		books_registry_expect(b, has_order(b, call->reactivate_agent->agent_id, false),
				      call);
		break;
	case OPERATED(MARK_AGENT_GONE):
		books_registry_expect(b,
				      books_stored(b, MASTER, AFTER_CRASH, "gone/%s",
						   call->mark_agent_gone->agent_id->value),
				      call);
		break;
	case OPERATED(UPDATE_MAINTENANCE_SCHEDULE):
		books_registry_expect(
			b, has_schedule(b, call->update_maintenance_schedule->schedule), call);
		break;
	case OPERATED(START_MAINTENANCE):
		books_registry_expect(b,
				      machines_are(b, call->start_maintenance->machines,
						   call->start_maintenance->n_machines, true),
				      call);
		break;
	case OPERATED(STOP_MAINTENANCE):
		books_registry_expect(b,
				      machines_are(b, call->stop_maintenance->machines,
						   call->stop_maintenance->n_machines, false),
				      call);
		break;
	default:
		break;
	}
}

void books_free_registry(struct books *b)
{
	struct known_agent *k, *next;

	HASH_ITER (hh, b->known, k, next) {
		HASH_DEL(b->known, k);
		tally_free(&k->total);
		free(k->id);
		free(k);
	}
	arena_free(&b->maintenance_arena);
}
