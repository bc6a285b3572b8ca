/* Which actor of the load generator a message is for. */
#include <criterion/criterion.h>

#include "bench/load/fleet/actor.h"

static const struct {
	const char *id;
	bool found;
	uint32_t number;
} ids[] = {
	{"slave(1)", true, 0},
	{"slave(12)", true, 11},
	{"slave(13)", false, 0},
	{"slave(0)", false, 0},
	{"slave(-1)", false, 0},
	{"slave( 1)", false, 0},
	{"slave()", false, 0},
	{"slave(1", false, 0},
	{"slave(1)x", false, 0},
	{"slave(18446744073709551617)", false, 0},
	{"scheduler(1)", false, 0},
	{"slave", false, 0},
	{"", false, 0},
};

Test(load_actor, numbers_of_ours_alone)
{
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		uint32_t number = 99;

		cr_expect_eq(actor_find(ids[i].id, "slave", 12, &number), ids[i].found, "%s",
			     ids[i].id);
		cr_expect_eq(number, ids[i].found ? ids[i].number : 99, "%s", ids[i].id);
	}
}
