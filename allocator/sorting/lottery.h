/* Draws without putting back: each of the tickets left comes next with the chance that its
 * weight has among theirs. That is the order of keys u^(1/weight), u uniform, from the
 * largest down, at the logarithm of the number of tickets for each draw that is made. */
#ifndef ALLOCATOR_LOTTERY_H
#define ALLOCATOR_LOTTERY_H

#include <stdint.h>

#include "base/random.h"

struct lottery {
	void **items;
	double *weights;
	double *sums; /* a binary tree: [1] all that is left, [2i] and [2i+1] its halves */
	uint32_t *drawn;
	uint32_t count;
	uint32_t cap;	/* a power of two */
	uint32_t taken; /* of `drawn` */
	uint32_t discarded;
};

void lottery_free(struct lottery *lottery);
void lottery_clear(struct lottery *lottery);
/* Before the first draw. */
void lottery_add(struct lottery *lottery, void *item, double weight);
void lottery_begin(struct lottery *lottery);
/* Puts back what was drawn. */
void lottery_again(struct lottery *lottery);
void *lottery_draw(struct lottery *lottery, struct rng *rng); /* NULL when all are drawn */
/* Never puts back the one that was drawn last. */
void lottery_discard(struct lottery *lottery);

#endif
