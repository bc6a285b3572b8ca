/* The oracle's sorter: the tree of roles with its virtual leaves as
 * real nodes, sorted anew each time. */
#ifndef TESTS_UNIT_ALLOCATOR_ORACLE_SORTER_H
#define TESTS_UNIT_ALLOCATOR_ORACLE_SORTER_H

#include "proto/resources.h"

#define ORACLE_AGENTS 8
#define ORACLE_SORTED 64

struct onode {
	char path[64]; /* "a/." for a virtual leaf */
	struct onode *parent;
	struct onode *children[16];
	size_t count;
	bool leaf;
	bool active;
	uint64_t gifts;
	struct resources held[ORACLE_AGENTS]; /* by agent */
};

struct osorter {
	struct onode root;
};

/* Sum over all agents of the scalars of a name in the pool; shared ones once. */
typedef int64_t (*oracle_pool)(void *context, const char *name);

void osorter_init(struct osorter *s);
void osorter_free(struct osorter *s);
bool osorter_has(struct osorter *s, const char *client);
void osorter_add(struct osorter *s, const char *client);
void osorter_remove(struct osorter *s, const char *client);
void osorter_activate(struct osorter *s, const char *client, bool active);
/* `gift`: counts as one more. */
void osorter_allocated(struct osorter *s, const char *client, int agent,
		       const struct resources *more, bool gift);
void osorter_unallocated(struct osorter *s, const char *client, int agent,
			 const struct resources *less);
double osorter_share(struct osorter *s, const char *client, oracle_pool pool, void *context);
/* Active clients in order; returns their number. */
size_t osorter_sort(struct osorter *s, oracle_pool pool, void *context,
		    char out[ORACLE_SORTED][64]);

#endif
