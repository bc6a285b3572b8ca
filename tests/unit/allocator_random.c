/* The random sorter: the seed decides, and over many seeds the weights do. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/roles/roles.h"
#include "allocator_kit.h"
#include "allocator_named.h"
#include "base/random.h"

#define SEEDS 4000

/* A lab with the random sorter. */
static struct lab open_random(struct rng *rng, uint64_t seed)
{
	struct allocator_options options = {.allocation_interval = SECOND, .random = rng};

	rng_seed(rng, seed);
	return lab_open(&options);
}

static void set_weight(struct lab *lab, const char *role, double weight)
{
	alloc_role_find(lab->a, role)->node.weight = weight;
}

/* Where each of the numbers of ways went, in percent, is near what it should be: within
 * four standard deviations. */
static void expect_part(int count, double part)
{
	double deviation = sqrt(part * (1 - part) / SEEDS);

	cr_assert_float_eq((double)count / SEEDS, part, 4 * deviation + 1e-9, "%d of %d, not %f",
			   count, SEEDS, part);
}

Test(allocator_random, lottery_gives_each_ticket_once)
{
	struct lottery lottery = {0};
	char items[100];
	struct rng rng;

	rng_seed(&rng, 7);
	cr_assert_null(lottery_draw(&lottery, &rng));
	for (int i = 0; i < 100; i++)
		lottery_add(&lottery, &items[i], i % 3 == 0 ? 0 : i % 3 == 1 ? NAN : pow(10, i));
	lottery_begin(&lottery);
	for (int round = 0; round < 50; round++) {
		int draws = round % 2 ? 100 : 10;
		bool seen[100] = {0};

		lottery_again(&lottery);
		for (int i = 0; i < draws; i++) {
			char *item = lottery_draw(&lottery, &rng);

			cr_assert_not_null(item);
			cr_assert_not(seen[item - items]);
			seen[item - items] = true;
		}
		if (draws == 100)
			cr_assert_null(lottery_draw(&lottery, &rng));
	}
	lottery_free(&lottery);
}

/* What is discarded comes no more, until the lottery begins anew. */
Test(allocator_random, lottery_discards)
{
	struct lottery lottery = {0};
	char items[5];
	struct rng rng;

	rng_seed(&rng, 7);
	for (int i = 0; i < 5; i++)
		lottery_add(&lottery, &items[i], i + 1);
	lottery_begin(&lottery);
	lottery_draw(&lottery, &rng);
	void *gone = lottery_draw(&lottery, &rng);
	lottery_discard(&lottery);
	for (int round = 0; round < 20; round++) {
		lottery_again(&lottery);
		for (int i = 0; i < 4; i++)
			cr_assert_neq(lottery_draw(&lottery, &rng), gone);
		cr_assert_null(lottery_draw(&lottery, &rng));
	}
	lottery_begin(&lottery);
	for (int i = 0; i < 5; i++)
		cr_assert_not_null(lottery_draw(&lottery, &rng));
	cr_assert_null(lottery_draw(&lottery, &rng));
	lottery_free(&lottery);
}

/* The order of draws is that of weights 1, 2 and 5 without putting back. */
Test(allocator_random, lottery_follows_weights)
{
	static const double weights[] = {1, 2, 5};
	struct lottery lottery = {0};
	int orders[3][3] = {{0}};
	struct rng rng;

	rng_seed(&rng, 1);
	for (int i = 0; i < 3; i++)
		lottery_add(&lottery, (void *)&weights[i], weights[i]);
	lottery_begin(&lottery);
	for (int i = 0; i < SEEDS; i++) {
		lottery_again(&lottery);
		long first = (const double *)lottery_draw(&lottery, &rng) - weights;
		long second = (const double *)lottery_draw(&lottery, &rng) - weights;

		orders[first][second]++;
	}
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			expect_part(orders[i][j],
				    i == j ? 0 : weights[i] / 8 * weights[j] / (8 - weights[i]));
	}
	lottery_free(&lottery);
}

/* One agent, so the first in the order takes it. */
static char *taker(uint64_t seed)
{
	struct rng rng;
	struct lab lab = open_random(&rng, seed);
	char *grants;

	lab_framework(&lab, "f1", "a");
	lab_framework(&lab, "f2", "b/x");
	lab_framework(&lab, "f3", "b/y");
	lab_framework(&lab, "f4", "b");
	lab_framework(&lab, "f5", "b");
	set_weight(&lab, "b", 3);
	set_weight(&lab, "b/x", 2);
	lab_agent(&lab, "s1", "cpus:1;mem:128");
	grants = lab_event(&lab);
	lab_close(&lab);
	return grants;
}

Test(allocator_random, same_seed_same_offers)
{
	char *first = taker(42), *second = taker(42);

	cr_assert_str_eq(first, second);
	free(first);
	free(second);
}

/* a 1, b 3: of b's part x has 2, y and b itself 1 each, and two frameworks share the latter. */
Test(allocator_random, roles_follow_weights_along_their_path)
{
	int count[6] = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		char *grants = taker(seed);

		count[grants[1] - '0']++;
		free(grants);
	}
	expect_part(count[1], 0.25);
	expect_part(count[2], 0.75 / 2);
	expect_part(count[3], 0.75 / 4);
	expect_part(count[4], 0.75 / 8);
	expect_part(count[5], 0.75 / 8);
}

/* Suppressed roles leave their part to their siblings. */
Test(allocator_random, silent_siblings_do_not_count)
{
	int first = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rng rng;
		struct lab lab = open_random(&rng, seed);

		lab_framework(&lab, "f1", "a");
		lab_framework(&lab, "f2", "b");
		lab_framework(&lab, "f3", "c");
		set_weight(&lab, "c", 100);
		named_suppress(lab.a, "f3", NULL, 0);
		lab_agent(&lab, "s1", "cpus:1;mem:128");
		char *grants = lab_event(&lab);
		first += grants[1] == '1';
		free(grants);
		lab_close(&lab);
	}
	expect_part(first, 0.5);
}

/* Those that revive on a settled agent are asked in the order of their weights, too. */
Test(allocator_random, wakers_follow_weights)
{
	int first = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rng rng;
		struct lab lab = open_random(&rng, seed);

		lab_framework(&lab, "f1", "a");
		lab_framework(&lab, "f2", "b");
		lab_framework(&lab, "f3", "c");
		set_weight(&lab, "a", 4);
		lab_agent(&lab, "s1", "cpus:1;mem:128");
		free(lab_event(&lab));
		for (int i = 0; i < 3; i++) {
			lab_decline(&lab, 0, 1e6);
			free(lab_tick(&lab));
		}
		lab_expect_tick(&lab, "");
		named_revive(lab.a, "f1", NULL, 0);
		named_revive(lab.a, "f2", NULL, 0);
		char *grants = lab_event(&lab);
		cr_assert_neq(grants[1], '3');
		first += grants[1] == '1';
		free(grants);
		lab_close(&lab);
	}
	expect_part(first, 0.8);
}

/* Shares do not matter: who holds nearly everything is asked as often as before. */
Test(allocator_random, ignores_what_is_held)
{
	int first = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rng rng;
		struct lab lab = open_random(&rng, seed);

		lab_framework(&lab, "f1", "a");
		lab_framework(&lab, "f2", "b");
		lab_agent(&lab, "s1", "cpus:100;mem:1280");
		lab_restore(&lab, "f1", "a", "s1", "cpus:99;mem:1000");
		char *grants = lab_event(&lab);
		first += grants[1] == '1';
		free(grants);
		lab_close(&lab);
	}
	expect_part(first, 0.5);
}

/* What a role lacks of its guarantee comes first whatever is drawn, and who has used its
 * limit up is passed by. */
Test(allocator_random, quota_is_kept)
{
	const struct allocator_amount one[] = {{"cpus", 1000}, {"mem", 128000}};
	struct allocator_quota quota = {{one, 2}, {one, 2}};
	int first = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct rng rng;
		struct lab lab = open_random(&rng, seed);

		lab_framework(&lab, "f1", "a");
		lab_framework(&lab, "f2", "b");
		lab_framework(&lab, "f3", "c");
		allocator_set_quota(lab.a, "a", &quota);
		lab_agent(&lab, "s1", "cpus:1;mem:128");
		lab_expect_event(&lab, "f1(a)@s1 cpus:1; mem:128");
		lab_agent(&lab, "s2", "cpus:2;mem:256");
		char *grants = lab_event(&lab);
		cr_assert_neq(grants[1], '1');
		first += grants[1] == '2';
		free(grants);
		lab_close(&lab);
	}
	cr_assert(first > 50 && first < 150, "%d of 200", first);
}
