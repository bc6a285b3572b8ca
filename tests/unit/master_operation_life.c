/* What an update makes of an operation, for each pair of states. */
#include <criterion/criterion.h>

#include "master/core/operations/operation_life.h"

#define STATE(name) MESOS__OPERATION_STATE__OPERATION_##name

static const struct {
	int state;
	enum operation_effect reached; /* from one that is not over */
} states[] = {
	{STATE(UNSUPPORTED), OPERATION_MOVES},
	{STATE(PENDING), OPERATION_MOVES},
	{STATE(FINISHED), OPERATION_STANDS},
	{STATE(FAILED), OPERATION_FAILS},
	{STATE(ERROR), OPERATION_FAILS},
	{STATE(DROPPED), OPERATION_FAILS},
	{STATE(UNREACHABLE), OPERATION_MOVES},
	{STATE(GONE_BY_OPERATOR), OPERATION_FAILS},
	{STATE(RECOVERING), OPERATION_MOVES},
	{STATE(UNKNOWN), OPERATION_MOVES},
	{-1, OPERATION_MOVES}, /* of a later version */
	{1000, OPERATION_MOVES},
};
#define STATES (sizeof(states) / sizeof(*states))

Test(master_operation_life, counts_what_it_knows)
{
	struct master *m = xcalloc(1, sizeof(*m));

	for (int state = -1; state <= MASTER_OPERATION_STATES; state++)
		operation_life_count(m, 3, state, 1);
	operation_life_count(m, -1, 1, 1);
	operation_life_count(m, MASTER_OPERATION_TYPES, 1, 1);
	for (int type = 0; type < MASTER_OPERATION_TYPES; type++)
		for (int state = 0; state < MASTER_OPERATION_STATES; state++)
			cr_expect_eq(m->operation_states[type][state], type == 3, "%d %d", type,
				     state);
	free(m);
}

Test(master_operation_life, each_pair_of_states)
{
	for (size_t from = 0; from < STATES; from++) {
		for (size_t to = 0; to < STATES; to++)
			cr_expect_eq(operation_effect(states[from].state, states[to].state),
				     states[from].reached == OPERATION_MOVES ? states[to].reached
									     : OPERATION_STAYS,
				     "%d to %d", states[from].state, states[to].state);
	}
}
