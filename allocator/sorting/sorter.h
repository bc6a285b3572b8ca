/* Names of resources by number, what there is of them, and shares of it. */
#ifndef ALLOCATOR_SORTING_SORTER_H
#define ALLOCATOR_SORTING_SORTER_H

#include "allocator/objects.h"

uint32_t alloc_pool_number(struct pool *pool, const char *name);
uint32_t alloc_pool_shape(struct pool *pool, const struct resource_shape *shape); /* of its name */
void alloc_pool_exclude(struct pool *pool, const char *name);
void alloc_pool_change(struct pool *pool, const struct resources *old, const struct resources *new);
void alloc_pool_free(struct pool *pool);
void alloc_node_init(struct sorter_node *node, const char *name);
void alloc_node_free(struct sorter_node *node);
void alloc_node_add(struct sorter_node *node, uint32_t name, int64_t milli);
void alloc_node_touch(struct sorter_node *node);
double alloc_node_share(const struct pool *pool, const struct sorter_node *node);
void alloc_node_compute(const struct pool *pool, struct sorter_node *node); /* its key */
int alloc_node_order(const struct sorter_node *a, const struct sorter_node *b);

#endif
