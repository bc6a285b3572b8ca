/* What resources are, apart from how much there is of them: name, type, reservations, disk and
 * so on. Each such shape is interned in a table, so that shapes are compared by pointer. */
#ifndef PROTO_RESOURCE_SHAPES_H
#define PROTO_RESOURCE_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/proto.h"

struct resource_shapes; /* interned metadata; one per core */
struct resource_shape;	/* name, type, allocation role, reservations, disk, ... */

struct resource_shapes *resource_shapes_create(void);
void resource_shapes_destroy(struct resource_shapes *shapes); /* after all collections */
/* A shape lives as long as a piece of a collection has it, and beyond until it is
 * collected. Clients can name resources as they like, so the owner collects now and then,
 * at a moment when nobody keeps bare shape pointers. */
size_t resource_shapes_unused(const struct resource_shapes *shapes);
void resource_shapes_collect(struct resource_shapes *shapes);

const char *resource_shape_name(const struct resource_shape *shape);
/* A number that the owner of the table keeps with a shape, to find what it knows of it; 0 at
 * first. */
uint32_t resource_shape_tag(const struct resource_shape *shape);
void resource_shape_set_tag(const struct resource_shape *shape, uint32_t tag);
Mesos__Value__Type resource_shape_type(const struct resource_shape *shape);
const char *
resource_shape_role(const struct resource_shape *shape); /* of the last reservation; "*" if none */
const char *resource_shape_allocation_role(const struct resource_shape *shape); /* NULL if none */
size_t resource_shape_reservations(const struct resource_shape *shape);		/* 0 = unreserved */
bool resource_shape_dynamic(const struct resource_shape *shape); /* dynamically reserved */
bool resource_shape_revocable(const struct resource_shape *shape);
bool resource_shape_shared(const struct resource_shape *shape);
const char *resource_shape_persistence(const struct resource_shape *shape); /* NULL = no volume */
/* Whether the algebra takes them for the same: equal but for the volume of a disk and the
 * principal of a persistence. */
bool resource_shape_same(const struct resource_shape *a, const struct resource_shape *b);

#endif
