/* The table of stakes finds what is in it, and only that, through growth and removal. */
#include <criterion/criterion.h>

#include "allocator/agents/stakes.h"
#include "allocator/objects.h"
#include "base/random.h"

#define AGENTS 60
#define LEAVES 40

Test(allocator_stake_table, agrees_with_an_array)
{
	static struct alloc_agent agents[AGENTS];
	static struct leaf leaves[LEAVES];
	static struct stake stakes[AGENTS][LEAVES];
	static bool present[AGENTS][LEAVES];
	struct stake_table table = {0};
	uint32_t count = 0;
	struct rng rng;

	rng_seed(&rng, 3);
	cr_assert_null(stake_table_find(&table, &agents[0], &leaves[0]));
	for (int step = 0; step < 60000; step++) {
		/* Fills and empties in turns. */
		bool add = rng_next(&rng) % 10 < (step / 10000 % 2 ? 2 : 8);
		size_t i = rng_next(&rng) % AGENTS, j = rng_next(&rng) % LEAVES;
		struct stake *stake = &stakes[i][j];

		stake->key = (struct stake_key){&agents[i], &leaves[j]};
		if (present[i][j] != add) {
			if (add)
				stake_table_add(&table, stake);
			else
				stake_table_delete(&table, stake);
			present[i][j] = add;
			count += add ? 1 : -1;
		}
		cr_assert_eq(table.count, count);
		if (step % 1000 > 0)
			continue;
		for (i = 0; i < AGENTS; i++) {
			for (j = 0; j < LEAVES; j++)
				cr_assert_eq(stake_table_find(&table, &agents[i], &leaves[j]),
					     present[i][j] ? &stakes[i][j] : NULL);
		}
	}
	stake_table_free(&table);
}
