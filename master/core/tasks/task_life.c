#include "master/core/tasks/task_life.h"

#include "master/core/journal.h"
#include "proto/states.h"

enum phase { ALIVE, AWAY, OVER, PHASES };

static enum phase phase_of(Mesos__TaskState state)
{
	if (state == MESOS__TASK_STATE__TASK_UNREACHABLE)
		return AWAY;
	return task_state_terminal(state) ? OVER : ALIVE;
}

/* One that is AWAY holds nothing any more. It may come back with its agent, or end there. */
static const enum task_effect effects[PHASES][PHASES] = {
	[ALIVE] = {[ALIVE] = LIFE_MOVES, [AWAY] = LIFE_ENDS, [OVER] = LIFE_ENDS},
	[AWAY] = {[ALIVE] = LIFE_MOVES, [AWAY] = LIFE_MOVES, [OVER] = LIFE_MOVES},
	[OVER] = {[ALIVE] = LIFE_STAYS, [AWAY] = LIFE_STAYS, [OVER] = LIFE_STAYS},
};

enum task_effect task_effect(Mesos__TaskState from, Mesos__TaskState to)
{
	return effects[phase_of(from)][phase_of(to)];
}

enum task_effect task_life_move(struct master *m, struct task *t, Mesos__TaskState to)
{
	enum task_effect effect = task_effect(t->record.state, to);

	if (effect != LIFE_STAYS) {
		task_record_set_state(&t->record, to);
		journal_task(m, JOURNAL_TASK_CHANGED, t);
	}
	return effect;
}
