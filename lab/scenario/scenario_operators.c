/* What operators do in a scenario. Nothing happens to a part that is not there. */
#include <string.h>

#include "lab/scenario/scenario_internal.h"

/* -1: it is not there. */
static int agent_of(struct operators *o, const struct scenario_event *e)
{
	o->cluster->world->faults[FAULT_OPERATOR]++;
	return e->part.number < o->cluster->agent_count ? e->part.number : -1;
}

static void do_deactivate(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_deactivate(o, at);
}

static void do_reactivate(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_reactivate(o, at);
}

static void do_drain(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_drain(o, at, NO_GRACE, !strcmp(e->word, "gone"));
}

static void do_mark_gone(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_mark_gone(o, at);
}

static void do_quota(struct operators *o, const struct scenario_event *e)
{
	o->cluster->world->faults[FAULT_OPERATOR]++;
	operators_set_quota(o, e->role, e->amounts[0], e->amounts[1]);
}

static void do_weight(struct operators *o, const struct scenario_event *e)
{
	o->cluster->world->faults[FAULT_OPERATOR]++;
	operators_set_weight(o, e->role, e->amounts[0]);
}

static void do_schedule(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_schedule(o, at, e->span);
}

static void do_begin_maintenance(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_begin_maintenance(o, at);
}

static void do_end_maintenance(struct operators *o, const struct scenario_event *e)
{
	int at = agent_of(o, e);

	if (at >= 0)
		operators_end_maintenance(o, at);
}

static void do_teardown(struct operators *o, const struct scenario_event *e)
{
	o->cluster->world->faults[FAULT_OPERATOR]++;
	if (e->part.number < o->cluster->scheduler_count)
		operators_tear_down(o, e->part.number);
}

static const struct verb verbs[] = {
	{"deactivate", "A", "", NULL, do_deactivate},
	{"reactivate", "A", "", NULL, do_reactivate},
	{"drain", "A", "gone", NULL, do_drain},
	{"mark-gone", "A", "", NULL, do_mark_gone},
	{"quota", "RFF", "", NULL, do_quota},
	{"weight", "RF", "", NULL, do_weight},
	{"schedule", "AD", "", NULL, do_schedule},
	{"begin-maintenance", "A", "", NULL, do_begin_maintenance},
	{"end-maintenance", "A", "", NULL, do_end_maintenance},
	{"teardown", "S", "", NULL, do_teardown},
};

const struct verb *operator_verb_find(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}
