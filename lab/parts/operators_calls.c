/* Calls of the operator API, and what is remembered of their answers. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/parts/operators.h"
#include "lab/parts/scheduler_part.h"

#define OPERATE(name) MESOS__MASTER__CALL__TYPE__##name

/* What a call undoes, for an answer that comes later. */
enum undoing { UNDO_NOTHING, UNDO_QUOTA, UNDO_SCHEDULE, UNDO_CLOSING, UNDO_STOP };

/* A call as the number that its answer has: what it undoes, where, and how many calls about
 * the same thing were made until then. Of what was changed again since, nothing is undone. */
static uint64_t number_of(enum undoing undoing, int at, unsigned calls)
{
	return (uint64_t)undoing << 48 | (uint64_t)at << 32 | calls;
}

/* ---- answers ---------------------------------------------------------------------- */

static void on_answer(void *context, uint64_t number, int status, const char *text)
{
	struct operators *o = context;
	int at = (int)(number >> 32 & 0xffff);
	unsigned calls = (unsigned)number;
	bool done = status == 200;

	switch (number >> 48) {
	case UNDO_QUOTA:
		if (done && calls == o->roles[at].quotas)
			o->roles[at].quota = false;
		break;
	case UNDO_SCHEDULE:
		if (!done || calls != o->schedules)
			break;
		o->schedule = false;
		for (int i = 0; i < o->cluster->agent_count; i++)
			o->agents[i].scheduled = false;
		break;
	case UNDO_CLOSING:
		done = done || (text && strstr(text, "not deactivated"));
		if (done && calls == o->agents[at].closings)
			o->agents[at].closed = false;
		break;
	case UNDO_STOP:
		done = done || (text && strstr(text, "not in DOWN mode"));
		if (done && calls == o->agents[at].stops)
			o->agents[at].down = false;
		break;
	default:
		break;
	}
}

/* Whether it was taken, or may yet be. `number` is of number_of(), or 0 if it undoes nothing. */
static bool operators_calls_ask(struct operators *o, Mesos__Master__Call *call,
				Mesos__Master__Call__Type type, uint64_t number)
{
	struct master_part *master = cluster_master(o->cluster);
	int status;

	call->has_type = true;
	call->type = type;
	status = master ? master_part_operate(master, call, number, on_answer, o) : 503;
	if (!o->burying)
		world_log(o->cluster->world, "an operator's %s is answered %d",
			  proto_enum_name(&mesos__master__call__type__descriptor, (int)type,
					  SPELL_V1),
			  status);
	return status == 0 || status == 200;
}

/* ---- agents -------------------------------------------------------------------------- */

static void note_closed(struct operators *o, int at, const char *id)
{
	free(o->agents[at].id);
	o->agents[at].id = xstrdup(id);
	o->agents[at].closed = true;
	o->agents[at].closings++;
}

void operators_deactivate(struct operators *o, int at)
{
	const char *id = agent_part_id(o->cluster->agents[at]);
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__DeactivateAgent deactivate =
		MESOS__MASTER__CALL__DEACTIVATE_AGENT__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;

	if (!id)
		return;
	agent.value = (char *)id;
	call.deactivate_agent = &deactivate;
	deactivate.agent_id = &agent;
	if (operators_calls_ask(o, &call, OPERATE(DEACTIVATE_AGENT), 0))
		note_closed(o, at, id);
}

void operators_drain(struct operators *o, int at, int64_t grace_seconds, bool gone)
{
	const char *id = agent_part_id(o->cluster->agents[at]);
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__DrainAgent drain = MESOS__MASTER__CALL__DRAIN_AGENT__INIT;
	Mesos__Master__Duration grace = MESOS__MASTER__DURATION__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;

	if (!id)
		return;
	agent.value = (char *)id;
	call.drain_agent = &drain;
	drain.agent_id = &agent;
	grace.has_seconds = true;
	grace.seconds = grace_seconds;
	drain.max_grace_period = grace_seconds == NO_GRACE ? NULL : &grace;
	drain.has_mark_gone = drain.mark_gone = gone;
	if (operators_calls_ask(o, &call, OPERATE(DRAIN_AGENT), 0))
		note_closed(o, at, id);
}

void operators_reactivate(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__ReactivateAgent reactivate =
		MESOS__MASTER__CALL__REACTIVATE_AGENT__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;
	const char *id = agent_part_id(o->cluster->agents[at]);

	if (!o->agents[at].closed)
		return;
	/* It registered anew since. */
	if (id && strcmp(id, o->agents[at].id)) {
		o->agents[at].closed = false;
		return;
	}
	agent.value = o->agents[at].id;
	call.reactivate_agent = &reactivate;
	reactivate.agent_id = &agent;
	operators_calls_ask(o, &call, OPERATE(REACTIVATE_AGENT),
			    number_of(UNDO_CLOSING, at, o->agents[at].closings));
}

static void mark_gone(struct operators *o, const char *id)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__MarkAgentGone gone = MESOS__MASTER__CALL__MARK_AGENT_GONE__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;

	agent.value = (char *)id;
	call.mark_agent_gone = &gone;
	gone.agent_id = &agent;
	operators_calls_ask(o, &call, OPERATE(MARK_AGENT_GONE), 0);
}

void operators_mark_gone(struct operators *o, int at)
{
	const char *id = agent_part_id(o->cluster->agents[at]);

	if (id)
		mark_gone(o, id);
}

/* ---- quota and weights -------------------------------------------------------------------- */

static int role_number(struct operators *o, const char *name)
{
	for (int i = 0; i < o->role_count; i++) {
		if (!strcmp(o->roles[i].name, name))
			return i;
	}
	if (o->role_count == OPERATED_ROLES)
		return -1;
	o->roles[o->role_count].name = xstrdup(name);
	return o->role_count++;
}

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

void operators_set_quota(struct operators *o, const char *role, double least, double most)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateQuota update = MESOS__MASTER__CALL__UPDATE_QUOTA__INIT;
	Mesos__Quota__QuotaConfig config = MESOS__QUOTA__QUOTA_CONFIG__INIT, *list = &config;
	int at = role_number(o, role);
	struct arena arena;

	if (at < 0)
		return;
	arena_init(&arena);
	config.role = (char *)role;
	if (most > 0)
		add_limit(&arena, &config, "cpus", least, most);
	update.has_force = update.force = true;
	update.n_quota_configs = 1;
	update.quota_configs = &list;
	call.update_quota = &update;
	o->roles[at].quotas++;
	if (most > 0)
		o->roles[at].quota = operators_calls_ask(o, &call, OPERATE(UPDATE_QUOTA), 0) ||
				     o->roles[at].quota;
	else
		operators_calls_ask(o, &call, OPERATE(UPDATE_QUOTA),
				    number_of(UNDO_QUOTA, at, o->roles[at].quotas));
	arena_free(&arena);
}

void operators_set_weight(struct operators *o, const char *role, double value)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateWeights update = MESOS__MASTER__CALL__UPDATE_WEIGHTS__INIT;
	Mesos__WeightInfo weight = MESOS__WEIGHT_INFO__INIT, *list = &weight;

	weight.role = (char *)role;
	weight.weight = value;
	update.n_weight_infos = 1;
	update.weight_infos = &list;
	call.update_weights = &update;
	operators_calls_ask(o, &call, OPERATE(UPDATE_WEIGHTS), 0);
}

/* ---- maintenance --------------------------------------------------------------------------- */

static Mesos__MachineID *machine(struct operators *o, struct arena *arena, int at)
{
	Mesos__MachineID *id = PROTO_NEW(arena, Mesos__MachineID, mesos__machine_id__descriptor);

	id->hostname = arena_strdup(arena, agent_part_name(o->cluster->agents[at]));
	id->ip = arena_strdup(arena, AGENT_IP);
	return id;
}

static Mesos__Maintenance__Window *window(struct operators *o, struct arena *arena, int at,
					  int64_t later)
{
	Mesos__Maintenance__Window *window = PROTO_NEW(arena, Mesos__Maintenance__Window,
						       mesos__maintenance__window__descriptor);

	proto_push(arena, window->n_machine_ids, window->machine_ids, machine(o, arena, at));
	window->unavailability =
		PROTO_NEW(arena, Mesos__Unavailability, mesos__unavailability__descriptor);
	window->unavailability->start =
		PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	window->unavailability->start->nanoseconds = o->cluster->world->now + later;
	return window;
}

static bool operators_calls_post(struct operators *o, Mesos__Maintenance__Schedule *schedule,
				 enum undoing undoing)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__UpdateMaintenanceSchedule update =
		MESOS__MASTER__CALL__UPDATE_MAINTENANCE_SCHEDULE__INIT;

	update.schedule = schedule;
	call.update_maintenance_schedule = &update;
	return operators_calls_ask(o, &call, OPERATE(UPDATE_MAINTENANCE_SCHEDULE),
				   number_of(undoing, 0, ++o->schedules));
}

void operators_schedule(struct operators *o, int more, int64_t later)
{
	Mesos__Maintenance__Schedule schedule = MESOS__MAINTENANCE__SCHEDULE__INIT;
	int count = o->cluster->agent_count;
	struct arena arena;

	arena_init(&arena);
	for (int i = 0; i < count; i++) {
		if (o->agents[i].down || i == more)
			proto_push(&arena, schedule.n_windows, schedule.windows,
				   window(o, &arena, i, later));
	}
	if (operators_calls_post(o, &schedule, UNDO_NOTHING)) {
		o->schedule = true;
		for (int i = 0; i < count; i++)
			o->agents[i].scheduled = o->agents[i].down || i == more;
	}
	arena_free(&arena);
}

void operators_clear_schedule(struct operators *o)
{
	Mesos__Maintenance__Schedule schedule = MESOS__MAINTENANCE__SCHEDULE__INIT;

	operators_calls_post(o, &schedule, UNDO_SCHEDULE);
}

void operators_begin_maintenance(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__StartMaintenance start = MESOS__MASTER__CALL__START_MAINTENANCE__INIT;
	struct arena arena;

	arena_init(&arena);
	proto_push(&arena, start.n_machines, start.machines, machine(o, &arena, at));
	call.start_maintenance = &start;
	o->agents[at].stops++;
	o->agents[at].down =
		operators_calls_ask(o, &call, OPERATE(START_MAINTENANCE), 0) || o->agents[at].down;
	arena_free(&arena);
}

void operators_end_maintenance(struct operators *o, int at)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__StopMaintenance stop = MESOS__MASTER__CALL__STOP_MAINTENANCE__INIT;
	struct arena arena;

	arena_init(&arena);
	proto_push(&arena, stop.n_machines, stop.machines, machine(o, &arena, at));
	call.stop_maintenance = &stop;
	operators_calls_ask(o, &call, OPERATE(STOP_MAINTENANCE),
			    number_of(UNDO_STOP, at, o->agents[at].stops));
	arena_free(&arena);
}

/* ---- frameworks ------------------------------------------------------------------------------ */

static bool operators_calls_tear_down(struct operators *o, const char *framework_id)
{
	Mesos__Master__Call call = MESOS__MASTER__CALL__INIT;
	Mesos__Master__Call__Teardown teardown = MESOS__MASTER__CALL__TEARDOWN__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)framework_id;
	teardown.framework_id = &id;
	call.teardown = &teardown;
	return operators_calls_ask(o, &call, OPERATE(TEARDOWN), 0);
}

void operators_tear_down(struct operators *o, int scheduler)
{
	struct scheduler_part *part = o->cluster->schedulers[scheduler];
	const char *id = scheduler_part_framework(part);

	if (id && operators_calls_tear_down(o, id))
		scheduler_part_doom(part);
}

static bool is_present(const struct operators *o, const char *id)
{
	for (int i = 0; i < o->cluster->agent_count; i++) {
		const char *present = agent_part_id(o->cluster->agents[i]);

		if (present && !strcmp(present, id))
			return true;
	}
	return false;
}

void operators_bury(struct operators *o)
{
	const struct cluster *c = o->cluster;
	const char *id;

	o->burying = true;
	for (int i = 0; i < c->scheduler_count; i++) {
		for (int at = 0; (id = scheduler_part_abandoned(c->schedulers[i], at)); at++)
			operators_calls_tear_down(o, id);
		/* An agent may not even have heard of an id that it had. */
		id = scheduler_part_waits_for(c->schedulers[i]);
		if (id && !is_present(o, id))
			mark_gone(o, id);
	}
	for (int i = 0; i < c->agent_count; i++) {
		for (int at = 0; (id = agent_part_former_id(c->agents[i], at)); at++)
			mark_gone(o, id);
	}
	o->burying = false;
}
