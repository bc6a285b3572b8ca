/* The oracle's sorter: the tree of roles with its virtual leaves as
 * real nodes, sorted anew each time. */
#ifndef TESTS_UNIT_ALLOCATOR_ORACLE_SORTER_H
#define TESTS_UNIT_ALLOCATOR_ORACLE_SORTER_H

#include "proto/resources.h"

#define ORACLE_AGENTS 6
#define ORACLE_SORTED 16
#define ORACLE_PATH 64
#define ORACLE_NAMES 4 /* of scalars: cpus, mem, disk, gpus */

/* Amounts by name, in thousandths. */
struct amounts {
	int64_t of[ORACLE_NAMES];
};

extern const char *const oracle_names[ORACLE_NAMES];
int oracle_name(const char *name); /* -1: not one of these */
/* The scalars of `r` among them; a shared one counts once. */
void amounts_add(struct amounts *to, const struct resources *r);

struct onode {
	char path[ORACLE_PATH]; /* "a/." for a virtual leaf */
	struct onode *parent;
	struct onode *children[ORACLE_SORTED];
	size_t count;
	bool leaf;
	bool active;
	uint64_t gifts;
	struct resources held[ORACLE_AGENTS]; /* by agent */
	double key;			      /* when last sorted */
};

struct osorter {
	struct onode root;
};

/* What a sort depends on beside the tree. */
struct oscale {
	struct amounts pool;
	bool excluded[ORACLE_NAMES];
	double (*weight)(const void *context, const char *path); /* of a role; NULL: all 1 */
	const void *context;
};

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
/* Divided by the weight. */
double osorter_share(struct osorter *s, const char *client, const struct oscale *scale);
/* Active clients in order; returns their number. */
size_t osorter_sort(struct osorter *s, const struct oscale *scale,
		    char out[ORACLE_SORTED][ORACLE_PATH]);

#endif
