/* Inside proto/: shapes and values of resources. */
#ifndef PROTO_RESOURCES_RESOURCE_INTERNAL_H
#define PROTO_RESOURCES_RESOURCE_INTERNAL_H

#include "base/table.h"
#include "proto/resources.h"

/* How pieces of a shape combine (spec of Mesos: Resources' addable and subtractable). */
enum shape_mode {
	SHAPE_PLAIN,	 /* values add up */
	SHAPE_EXCLUSIVE, /* MOUNT and BLOCK disks, identified RAW ones, volumes: whole or not at all
			  */
	SHAPE_SHARED,	 /* shared volumes: equal ones are counted */
};

/* What makes two shapes the same for the algebra: all metadata but the volume of a disk and
 * the principal of a persistence. */
struct resource_identity {
	struct buf key; /* of one that is allocated: the role */
	uint32_t refs;	/* shapes that have it */
	UT_hash_handle hh;
	struct resource_identity *bare;	     /* the same without its allocation role, or NULL */
	struct resource_identity *allocated; /* those whose `bare` this is, by role */
};

struct resource_shape {
	struct resource_shapes *shapes;
	struct resource_identity *identity;
	Mesos__Resource *message; /* heap; no value. An allocated one has that of `bare` in it */
	struct buf key;		  /* the packed message; empty if allocated */
	enum shape_mode mode;
	uint32_t refs; /* pieces that have it, and shapes whose `bare` it is */
	uint32_t tag;
	UT_hash_handle hh; /* by key, or in `allocated` of another */
	/* An allocated shape is kept as another one and a role. */
	struct resource_shape *bare;	  /* the same without its allocation role, or NULL */
	struct resource_shape *allocated; /* those whose `bare` this is, by role */
};

#define PLAIN_MAX 8 /* cpus, mem, disk, ports, gpus and some */

struct resource_shapes {
	struct resource_shape *shapes;		 /* that are not allocated */
	struct resource_identity *identities;	 /* likewise */
	struct resource_shape *plain[PLAIN_MAX]; /* some of those that have but name and type */
	size_t unused;				 /* shapes without refs */
};

static inline bool same_identity(const struct resource_piece *a, const struct resource_piece *b)
{
	return a->shape == b->shape || a->shape->identity == b->shape->identity;
}

/* Appends what is the same for equal labels only, whatever their order. */
void labels_key(const Mesos__Labels *labels, struct buf *key);

/* The shape of a message in post-refinement format. */
const struct resource_shape *shape_intern(struct resource_shapes *shapes,
					  const Mesos__Resource *resource);
/* The shape with another allocation role (NULL: without). */
const struct resource_shape *shape_allocate(struct resource_shapes *shapes,
					    const struct resource_shape *shape, const char *role);
void shape_ref(const struct resource_shape *shape);
void shape_unref(const struct resource_shape *shape);

/* ---- values --------------------------------------------------------------------------- */

int64_t scalar_to_milli(double value);
double scalar_from_milli(int64_t milli);

/* By where they begin. */
void ranges_sort(struct resource_range *ranges, uint32_t count);
/* Sorts and merges in place, adjacent ones too; returns how many are left. */
uint32_t ranges_coalesce(struct resource_range *ranges, uint32_t count);

bool value_empty(const struct resource_piece *piece);
bool value_equal(const struct resource_piece *a, const struct resource_piece *b);
bool value_contains(const struct resource_piece *have, const struct resource_piece *want);
void value_add(struct resource_piece *to, const struct resource_piece *more);
void value_subtract(struct resource_piece *from, const struct resource_piece *less);
void value_copy(struct resource_piece *to, const struct resource_piece *from);
void value_free(struct resource_piece *piece);

/* The piece of a valid message in post-refinement format; it owns its value, and no
 * reference to its shape. */
struct resource_piece piece_of(struct resource_shapes *shapes, const Mesos__Resource *resource);

/* Whether the list is one that a machine may have. */
int resources_check_size(Mesos__Resource *const *list, size_t count, struct err *err);

void print_ranges(const struct resource_range *ranges, uint32_t count, struct buf *out);
void print_items(char *const *items, uint32_t count, struct buf *out);
void print_labels(const Mesos__Labels *labels, struct buf *out); /* NULL is none */

#endif
