#include "lab/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define LAB_NUMBERS 1000000
#define UNDO_EVERY (5 * SECOND)
#define OPERATE(name) MESOS__MASTER__CALL__TYPE__##name

static const char *const quota_roles[2] = {"a", "b"};

/* What a call is about, for an answer that comes later. */
enum subject { ABOUT_NOTHING, ABOUT_QUOTA, ABOUT_SCHEDULE, ABOUT_REACTIVATION, ABOUT_STOP };

static uint64_t number_of(enum subject subject, int at)
{
	return (uint64_t)subject * LAB_NUMBERS + (uint64_t)at;
}

static int below(struct rng *rng, int count)
{
	return (int)(rng_unit(rng) * count);
}

/* ---- answers ---------------------------------------------------------------------- */

/* Of what undoes something. */
static void on_answer(void *context, uint64_t number, int status, const char *text)
{
	struct operators *o = context;
	int at = (int)(number % LAB_NUMBERS);
	bool done = status == 200;

	switch (number / LAB_NUMBERS) {
	case ABOUT_QUOTA:
		if (done)
			o->quota[at] = false;
		break;
	case ABOUT_SCHEDULE:
		if (done)
			o->schedule = false;
		for (int i = 0; done && i < o->cluster->agent_count; i++)
			o->agents[i].scheduled = false;
		break;
	case ABOUT_REACTIVATION:
		if (done || (text && strstr(text, "not deactivated")))
			o->agents[at].closed = false;
		break;
	case ABOUT_STOP:
		if (done || (text && strstr(text, "not in DOWN mode")))
			o->agents[at].down = false;
		break;
	default:
		break;
	}
}

/* Whether it was taken, or may yet be. */
static bool ask(struct operators *o, Mesos__Master__Call *call, enum subject subject, int at)
{
	uint64_t number = number_of(subject, at);
	int status;

	call->has_type = true;
	status = master_part_operate(o->cluster->master, call, number, on_answer, o);
	world_log(
		o->cluster->world, "an operator's %s is answered %d",
		proto_enum_name(&mesos__master__call__type__descriptor, (int)call->type, SPELL_V1),
		status);
	return status == 0 || status == 200;
}

/* ---- agents -------------------------------------------------------------------------- */

static void note_id(struct operators *o, int at, const char *id)
{
	free(o->agents[at].id);
	o->agents[at].id = xstrdup(id);
}

static void close_agent(struct operators *o, struct rng *rng)
{
	int at = below(rng, o->cluster->agent_count);
	const char *id = agent_part_id(o->cluster->agents[at]);
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__DeactivateAgent deactivate =
		MESOS__MASTER__CALL__DEACTIVATE_AGENT__INIT;
	Mesos__Master__Call__DrainAgent drain = MESOS__MASTER__CALL__DRAIN_AGENT__INIT;
	Mesos__Master__Duration grace = MESOS__MASTER__DURATION__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;

	if (!id || o->agents[at].closed)
		return;
	agent.value = (char *)id;
	if (below(rng, 2)) {
		call.type = OPERATE(DEACTIVATE_AGENT);
		call.deactivate_agent = &deactivate;
		deactivate.agent_id = &agent;
	} else {
		call.type = OPERATE(DRAIN_AGENT);
		call.drain_agent = &drain;
		drain.agent_id = &agent;
		grace.has_seconds = true;
		grace.seconds = below(rng, 60);
		drain.max_grace_period = below(rng, 2) ? &grace : NULL;
	}
	if (ask(o, &call, ABOUT_NOTHING, at)) {
		note_id(o, at, id);
		o->agents[at].closed = true;
	}
}

static void reactivate(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__ReactivateAgent reactivate =
		MESOS__MASTER__CALL__REACTIVATE_AGENT__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;
	const char *id = agent_part_id(o->cluster->agents[at]);

	/* It registered anew since. */
	if (id && strcmp(id, o->agents[at].id)) {
		o->agents[at].closed = false;
		return;
	}
	agent.value = o->agents[at].id;
	call.type = OPERATE(REACTIVATE_AGENT);
	call.reactivate_agent = &reactivate;
	reactivate.agent_id = &agent;
	ask(o, &call, ABOUT_REACTIVATION, at);
}

static void reopen_agent(struct operators *o, struct rng *rng)
{
	int at = below(rng, o->cluster->agent_count);

	if (o->agents[at].closed)
		reactivate(o, at);
}

/* ---- quota and weights -------------------------------------------------------------------- */

static void add_limit(struct arena *arena, Mesos__Quota__QuotaConfig *config, const char *name,
		      double least, double most)
{
	Mesos__Quota__QuotaConfig__LimitsEntry *limit =
		PROTO_NEW(arena, Mesos__Quota__QuotaConfig__LimitsEntry,
			  mesos__quota__quota_config__limits_entry__descriptor);
	Mesos__Quota__QuotaConfig__GuaranteesEntry *guarantee =
		PROTO_NEW(arena, Mesos__Quota__QuotaConfig__GuaranteesEntry,
			  mesos__quota__quota_config__guarantees_entry__descriptor);

	limit->key = guarantee->key = arena_strdup(arena, name);
	limit->value = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	limit->value->value = most;
	guarantee->value = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	guarantee->value->value = least;
	proto_push(arena, config->n_limits, config->limits, limit);
	proto_push(arena, config->n_guarantees, config->guarantees, guarantee);
}

/* None, if `most` is 0. */
static void set_quota(struct operators *o, int at, double least, double most)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateQuota update = MESOS__MASTER__CALL__UPDATE_QUOTA__INIT;
	Mesos__Quota__QuotaConfig config = MESOS__QUOTA__QUOTA_CONFIG__INIT, *list = &config;
	struct arena arena;

	arena_init(&arena);
	config.role = (char *)quota_roles[at];
	if (most > 0)
		add_limit(&arena, &config, "cpus", least, most);
	update.has_force = update.force = true;
	update.n_quota_configs = 1;
	update.quota_configs = &list;
	call.type = OPERATE(UPDATE_QUOTA);
	call.update_quota = &update;
	if (most > 0)
		o->quota[at] = ask(o, &call, ABOUT_NOTHING, at) || o->quota[at];
	else
		ask(o, &call, ABOUT_QUOTA, at);
	arena_free(&arena);
}

static void change_quota(struct operators *o, struct rng *rng)
{
	int at = below(rng, 2), most = 1 + below(rng, 8);

	if (o->quota[at] && below(rng, 2))
		set_quota(o, at, 0, 0);
	else
		set_quota(o, at, below(rng, most + 1), most);
}

static void change_weight(struct operators *o, struct rng *rng)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateWeights update = MESOS__MASTER__CALL__UPDATE_WEIGHTS__INIT;
	Mesos__WeightInfo weight = MESOS__WEIGHT_INFO__INIT, *list = &weight;

	weight.role = (char *)quota_roles[below(rng, 2)];
	weight.weight = 0.5 * (1 + below(rng, 6));
	update.n_weight_infos = 1;
	update.weight_infos = &list;
	call.type = OPERATE(UPDATE_WEIGHTS);
	call.update_weights = &update;
	ask(o, &call, ABOUT_NOTHING, 0);
}

/* ---- maintenance ------------------------------------------------------------------------------
 */

static Mesos__MachineID *machine(struct operators *o, struct arena *arena, int at)
{
	Mesos__MachineID *id = PROTO_NEW(arena, Mesos__MachineID, mesos__machine_id__descriptor);

	id->hostname = arena_strdup(arena, agent_part_name(o->cluster->agents[at]));
	id->ip = arena_strdup(arena, AGENT_IP);
	return id;
}

static Mesos__Maintenance__Window *window(struct operators *o, struct arena *arena, int at,
					  struct rng *rng)
{
	Mesos__Maintenance__Window *window = PROTO_NEW(arena, Mesos__Maintenance__Window,
						       mesos__maintenance__window__descriptor);

	proto_push(arena, window->n_machine_ids, window->machine_ids, machine(o, arena, at));
	window->unavailability =
		PROTO_NEW(arena, Mesos__Unavailability, mesos__unavailability__descriptor);
	window->unavailability->start =
		PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	window->unavailability->start->nanoseconds =
		o->cluster->world->now + below(rng, 600) * SECOND;
	return window;
}

/* All that are down, and maybe one more; none if `rng` is NULL. */
static void post_schedule(struct operators *o, struct rng *rng)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateMaintenanceSchedule update =
		MESOS__MASTER__CALL__UPDATE_MAINTENANCE_SCHEDULE__INIT;
	Mesos__Maintenance__Schedule schedule = MESOS__MAINTENANCE__SCHEDULE__INIT;
	int count = o->cluster->agent_count, more = rng ? below(rng, count) : -1;
	struct arena arena;

	arena_init(&arena);
	for (int i = 0; rng && i < count; i++) {
		if (o->agents[i].down || i == more)
			proto_push(&arena, schedule.n_windows, schedule.windows,
				   window(o, &arena, i, rng));
	}
	update.schedule = &schedule;
	call.type = OPERATE(UPDATE_MAINTENANCE_SCHEDULE);
	call.update_maintenance_schedule = &update;
	if (ask(o, &call, rng ? ABOUT_NOTHING : ABOUT_SCHEDULE, 0) && rng) {
		o->schedule = true;
		for (int i = 0; i < count; i++)
			o->agents[i].scheduled = o->agents[i].down || i == more;
	}
	arena_free(&arena);
}

static void start_maintenance(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__StartMaintenance start = MESOS__MASTER__CALL__START_MAINTENANCE__INIT;
	struct arena arena;

	arena_init(&arena);
	proto_push(&arena, start.n_machines, start.machines, machine(o, &arena, at));
	call.type = OPERATE(START_MAINTENANCE);
	call.start_maintenance = &start;
	o->agents[at].down = ask(o, &call, ABOUT_NOTHING, at) || o->agents[at].down;
	arena_free(&arena);
}

static void stop_maintenance(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__StopMaintenance stop = MESOS__MASTER__CALL__STOP_MAINTENANCE__INIT;
	struct arena arena;

	arena_init(&arena);
	proto_push(&arena, stop.n_machines, stop.machines, machine(o, &arena, at));
	call.type = OPERATE(STOP_MAINTENANCE);
	call.stop_maintenance = &stop;
	ask(o, &call, ABOUT_STOP, at);
	arena_free(&arena);
}

static void maintain(struct operators *o, struct rng *rng)
{
	int at = below(rng, o->cluster->agent_count);

	if (o->agents[at].down)
		stop_maintenance(o, at);
	else if (o->agents[at].scheduled && below(rng, 2))
		start_maintenance(o, at);
	else
		post_schedule(o, rng);
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

void operators_act(struct operators *o, struct rng *rng)
{
	static void (*const acts[])(struct operators * o, struct rng * rng) = {
		close_agent, reopen_agent, change_quota, change_weight, maintain};

	if (o->cluster->agent_count)
		acts[below(rng, 5)](o, rng);
}

bool operators_idle(const struct operators *o)
{
	for (int i = 0; i < o->cluster->agent_count; i++) {
		if (o->agents[i].closed || o->agents[i].down)
			return false;
	}
	return !o->quota[0] && !o->quota[1] && !o->schedule;
}

static void on_undo(struct happening *h)
{
	struct operators *o = container_of(h, struct operators, undo);
	bool down = false;

	for (int i = 0; i < 2; i++) {
		if (o->quota[i])
			set_quota(o, i, 0, 0);
	}
	for (int i = 0; i < o->cluster->agent_count; i++) {
		if (o->agents[i].closed)
			reactivate(o, i);
		if (o->agents[i].down)
			stop_maintenance(o, i);
		down = down || o->agents[i].down;
	}
	if (o->schedule && !down)
		post_schedule(o, NULL);
	if (!operators_idle(o))
		world_after(o->cluster->world, &o->undo, UNDO_EVERY);
}

void operators_undo(struct operators *o)
{
	if (!operators_idle(o))
		world_after(o->cluster->world, &o->undo, 0);
}

void operators_init(struct operators *o, const struct cluster *cluster)
{
	o->cluster = cluster;
	o->agents = xcalloc((size_t)cluster->agent_count + 1, sizeof(*o->agents));
	o->undo.run = on_undo;
}

void operators_free(struct operators *o)
{
	if (!o->agents)
		return;
	world_cancel(o->cluster->world, &o->undo);
	for (int i = 0; i < o->cluster->agent_count; i++)
		free(o->agents[i].id);
	free(o->agents);
	o->agents = NULL;
}
