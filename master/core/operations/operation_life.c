#include "master/core/operations/operation_life.h"

#include "proto/states.h"

enum phase { OPEN, DONE, FAILED, PHASES };

static enum phase phase_of(int state)
{
	if (state == MESOS__OPERATION_STATE__OPERATION_FINISHED)
		return DONE;
	return operation_state_terminal(state) ? FAILED : OPEN;
}

static const enum operation_effect effects[PHASES][PHASES] = {
	[OPEN] = {[OPEN] = OPERATION_MOVES, [DONE] = OPERATION_STANDS, [FAILED] = OPERATION_FAILS},
	[DONE] = {[OPEN] = OPERATION_STAYS, [DONE] = OPERATION_STAYS, [FAILED] = OPERATION_STAYS},
	[FAILED] = {[OPEN] = OPERATION_STAYS, [DONE] = OPERATION_STAYS, [FAILED] = OPERATION_STAYS},
};

enum operation_effect operation_effect(int from, int to)
{
	return effects[phase_of(from)][phase_of(to)];
}

void operation_life_count(struct master *m, int type, int state, int change)
{
	if (type >= 0 && type < MASTER_OPERATION_TYPES && state >= 0 &&
	    state < MASTER_OPERATION_STATES)
		m->operation_states[type][state] += (uint64_t)(int64_t)change;
}

enum operation_effect operation_life_move(struct master *m, struct operation *o,
					  const Mesos__OperationStatus *to)
{
	int type = o->info->info->type, from = o->info->latest_status->state;
	enum operation_effect effect = operation_effect(from, to->state);

	if (effect == OPERATION_STAYS)
		return effect;
	operation_life_count(m, type, from, -1);
	operation_life_count(m, type, to->state, 1);
	proto_free(o->info->latest_status);
	o->info->latest_status = proto_copy(to);
	return effect;
}
