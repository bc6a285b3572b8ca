/* The least that is worth an offer. */
#ifndef ALLOCATOR_ROLES_MINIMA_H
#define ALLOCATOR_ROLES_MINIMA_H

#include "allocator/objects.h"

int alloc_minima_parse(struct resource_shapes *shapes, const char *text, struct minima *out,
		       struct err *err);
void alloc_minima_free(struct minima *minima);
bool alloc_minima_met(const struct minima *minima, const struct resources *resources);
/* Whether they ask for some of it, or for nothing at all. */
bool alloc_minima_name(const struct minima *minima, const char *name);

#endif
