/* Weighted draws by a tree of sums. A sum is always computed from its two halves, so that
 * putting tickets back restores it to the last bit. */
#include "allocator/sorting/lottery.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

/* Smaller weights (products along a deep tree) count as this: each ticket comes some time. */
#define WEIGHT_MIN 1e-300

void lottery_free(struct lottery *lottery)
{
	free(lottery->items);
	free(lottery->weights);
	free(lottery->sums);
	free(lottery->drawn);
	*lottery = (struct lottery){0};
}

void lottery_clear(struct lottery *lottery)
{
	lottery->count = lottery->taken = lottery->discarded = 0;
}

void lottery_add(struct lottery *lottery, void *item, double weight)
{
	if (lottery->count == lottery->cap) {
		uint32_t cap = lottery->cap ? lottery->cap * 2 : 1;

		lottery->items = xrealloc(lottery->items, cap * sizeof(*lottery->items));
		lottery->weights = xrealloc(lottery->weights, cap * sizeof(*lottery->weights));
		lottery->drawn = xrealloc(lottery->drawn, cap * sizeof(*lottery->drawn));
		lottery->sums = xrealloc(lottery->sums, 2 * cap * sizeof(*lottery->sums));
		lottery->cap = cap;
	}
	lottery->items[lottery->count] = item;
	/* Not a number counts as little, too. */
	lottery->weights[lottery->count++] = weight > WEIGHT_MIN ? weight : WEIGHT_MIN;
}

void lottery_begin(struct lottery *lottery)
{
	double *sums = lottery->sums;

	lottery->taken = lottery->discarded = 0;
	for (uint32_t i = 0; i < lottery->cap; i++)
		sums[lottery->cap + i] = i < lottery->count ? lottery->weights[i] : 0;
	for (uint32_t i = lottery->cap; i-- > 1;)
		sums[i] = sums[2 * i] + sums[2 * i + 1];
}

static void set_weight(struct lottery *lottery, uint32_t ticket, double weight)
{
	uint32_t i = lottery->cap + ticket;

	lottery->sums[i] = weight;
	while ((i /= 2) > 0)
		lottery->sums[i] = lottery->sums[2 * i] + lottery->sums[2 * i + 1];
}

void lottery_again(struct lottery *lottery)
{
	while (lottery->taken > 0) {
		uint32_t ticket = lottery->drawn[--lottery->taken];

		set_weight(lottery, ticket, lottery->weights[ticket]);
	}
}

void *lottery_draw(struct lottery *lottery, struct rng *rng)
{
	const double *sums = lottery->sums;
	uint32_t i = 1;

	if (lottery->taken + lottery->discarded == lottery->count)
		return NULL;
	double at = rng_unit(rng) * sums[1];
	while (i < lottery->cap) {
		i *= 2;
		/* Rounding may lead past the last ticket; a half without any is never entered. */
		if (sums[i] > 0 && (at < sums[i] || !(sums[i + 1] > 0)))
			continue;
		at -= sums[i];
		i++;
	}
	uint32_t ticket = i - lottery->cap;
	lottery->drawn[lottery->taken++] = ticket;
	set_weight(lottery, ticket, 0);
	return lottery->items[ticket];
}

void lottery_discard(struct lottery *lottery)
{
	lottery->taken--;
	lottery->discarded++;
}
