/* What several masters wrote, one leading after the other: an epoch is the writing of one leader in
 * one line. What was told to be durable must be there for the next one; of what was not, the first
 * batches may be, in their order; and nobody hears of more once another one has begun. */
#ifndef LAB_ENSEMBLE_EPOCHS_H
#define LAB_ENSEMBLE_EPOCHS_H

#include "lab/world/world.h"
#include "store/store.h"

struct epoch;

struct epochs {
	struct world *world;
	const char *line; /* its name */
	/* Of a leader to which nothing was durable, the next one may know nothing: then it goes on
	 * from what that one went on from. */
	bool skips;
	struct list all; /* struct epoch.link, the present one last */
};

/* All keys and values, in any order. */
struct contents {
	struct contents_pair *pairs; /* table by key */
	uint64_t hash;
};

void contents_put(struct contents *contents, const struct store_op *op);
void contents_free(struct contents *contents);

void epochs_init(struct epochs *epochs, struct world *w, const char *line, bool skips);
void epochs_free(struct epochs *epochs);
/* How a leader begins. */
enum beginning {
	GOES_ON, /* with what the one before left */
	FORGETS, /* without that */
	TOO_LATE /* another one has taken over already, and it will notice */
};
/* A leader begins with these contents, which are taken. */
struct epoch *epoch_begin(struct epochs *epochs, const char *leader, struct contents *contents,
			  enum beginning how);
/* Another one has begun. */
bool epoch_is_over(const struct epoch *epoch);
/* It writes its batch of this number. */
void epoch_write(struct epoch *epoch, uint64_t number, const struct store_op *ops, size_t count);
/* It is told that all up to that one are durable. */
void epoch_durable(struct epoch *epoch, uint64_t number);

#endif
