/* Resource algebra: scalars in milli-units,
 * ranges, sets; identity by name, role/reservations, disk, revocable, shared,
 * provider and allocation role.
 *
 * A `struct resources` is a small array of pieces, each a piece of metadata
 * (interned in a `struct resource_shapes`, compared by pointer) and a value.
 * Values are owned by the collection. Every operation on valid input succeeds;
 * invalid resources never get in (resource_validate first). All collections that
 * meet in an operation use the same shapes table.
 */
#ifndef PROTO_RESOURCES_H
#define PROTO_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/proto.h"
#include "proto/resource_shapes.h"

/* Scalars above this are refused: 9e15 units would overflow the int64 of
 * milli-units soon after. */
#define RESOURCE_SCALAR_MAX 9e12
/* In one list; ports, say, have 32768 ranges at most. */
#define RESOURCES_MAX 2000
#define RESOURCE_PARTS_MAX 100000 /* ranges and items of sets, together */

struct resource_range {
	uint64_t begin; /* inclusive */
	uint64_t end;	/* inclusive */
};

struct resource_piece {
	const struct resource_shape *shape;
	int64_t milli;		       /* SCALAR: thousandths */
	struct resource_range *ranges; /* RANGES: ascending, coalesced */
	char **items;		       /* SET */
	uint32_t count;		       /* of ranges or items */
	uint32_t shares;	       /* shared volume: how many copies; else 1 */
};

struct resources {
	struct resource_piece *pieces;
	uint32_t count;
	uint32_t cap;
};

#define RESOURCES_INIT ((struct resources){0})

/* -- from and to messages -- */

/* Structural rules, on either format.
 * Error texts are Mesos'. */
int resource_validate(const Mesos__Resource *resource, struct err *err);
int resources_validate(Mesos__Resource *const *list, size_t count, struct err *err);
#define ROLE_COMPONENTS_MAX 64
#define ROLE_LENGTH_MAX 4096
bool role_valid(const char *role, struct err *err);
bool role_is_strict_subrole(const char *role, const char *ancestor); /* "a/b" of "a" */

/* In-place normalisation of a message (arena): pre- to post-refinement format. */
void resource_upgrade(struct arena *arena, Mesos__Resource *resource);
/* And back, from post-refinement format; false when a refined reservation cannot be expressed. */
bool resource_downgrade(struct arena *arena, Mesos__Resource *resource);
/* "Endpoint" format, from post-refinement format: both representations filled where possible. */
void resource_endpoint_format(struct arena *arena, Mesos__Resource *resource);

/* Adds a message (validated; either format). Empty ones vanish. */
void resources_add_message(struct resource_shapes *shapes, struct resources *to,
			   const Mesos__Resource *resource);
void resources_add_messages(struct resource_shapes *shapes, struct resources *to,
			    Mesos__Resource *const *list, size_t count);
/* Messages in post-refinement format, in the arena; *list is set to an array. */
Mesos__Resource *resource_piece_to_message(struct arena *arena, const struct resource_piece *piece);
void resources_to_messages(struct arena *arena, const struct resources *from, size_t *count,
			   Mesos__Resource ***list);
/* --resources: text grammar or JSON array, with the command-line rules. */
/* First half: messages in post-refinement format, not validated; those of no value are
 * among them (they keep their name from being auto-detected). */
int resources_parse_messages(struct arena *arena, const char *text, const char *default_role,
			     size_t *count, Mesos__Resource ***list, struct err *err);
int resources_parse(struct resource_shapes *shapes, const char *text, const char *default_role,
		    struct resources *out, struct err *err);

/* -- algebra -- */
void resources_free(struct resources *r);
void resources_clear(struct resources *r);
void resources_copy(struct resources *to,
		    const struct resources *from); /* `to` uninitialised or empty */
/* Gives back the memory that was kept for more pieces: for what is kept long and does not grow. */
void resources_trim(struct resources *r);
void resources_add(struct resources *to, const struct resources *more);
void resources_add_piece(struct resources *to, const struct resource_piece *piece);
/* What is not there is ignored; nothing gets negative. */
void resources_subtract(struct resources *from, const struct resources *less);
void resources_subtract_piece(struct resources *from, const struct resource_piece *piece);
bool resources_contain(const struct resources *have, const struct resources *want);
bool resources_equal(const struct resources *a, const struct resources *b);
bool resources_empty(const struct resources *r);
/* Whether a piece is a shared volume, or revocable. */
bool resources_are_scalars(const struct resources *r); /* no ranges, no sets */
bool resources_have_shared(const struct resources *r);
bool resources_have_revocable(const struct resources *r);

/* The same resources with another allocation role (NULL removes it). `out` is
 * uninitialised, empty, or `from` itself. */
void resources_allocate(struct resource_shapes *shapes, const struct resources *from,
			const char *role, struct resources *out);
/* Sum of the milli-units of a name, whatever its metadata (ranges and sets: their
 * number of elements, in units of 1000). */
int64_t resources_quantity(const struct resources *r, const char *name);
/* Total of one piece likewise. */
int64_t resource_piece_quantity(const struct resource_piece *piece);

/* Text as Mesos prints it: "cpus(allocated: *):1; mem:128"; "{}" when empty. */
void resources_print(const struct resources *r, struct buf *out);
/* A message in any format likewise. */
void resource_print(const Mesos__Resource *resource, struct buf *out);

/* The "modelled" JSON object of v0 endpoints: cpus, gpus,
 * mem, disk always present; ranges and sets as text; revocable as <name>_revocable. */
void resources_write_model(const struct resources *r, struct json_writer *w);

#endif
