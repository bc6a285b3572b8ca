/* What an update makes of a task, for each pair of states. */
#include <criterion/criterion.h>

#include "master/core/tasks/task_life.h"
#include "proto/states.h"

#define STATES 14

static bool is_away(int state)
{
	return state == MESOS__TASK_STATE__TASK_UNREACHABLE;
}

Test(master_task_life, each_pair_of_states)
{
	for (int from = 0; from < STATES; from++) {
		for (int to = 0; to < STATES; to++) {
			enum task_effect effect = task_effect(from, to), expected = LIFE_MOVES;

			if (task_state_terminal(from))
				expected = LIFE_STAYS;
			else if (!is_away(from) && (is_away(to) || task_state_terminal(to)))
				expected = LIFE_ENDS;
			cr_expect_eq(effect, expected, "%d to %d: %d", from, to, effect);
		}
	}
}
