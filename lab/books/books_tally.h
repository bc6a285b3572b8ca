/* Sums of resources, by kind. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_TALLY_H
#define LAB_BOOKS_BOOKS_TALLY_H

#include "base/memory/arena.h"
#include "base/table.h"
#include "lab/books/books.h"
#include "proto/proto.h"

/* What can be told apart: a name, with its reservations and its volume. */
struct kind {
	UT_hash_handle hh;
	char *key;
	uint32_t number; /* in books.kinds */
	uint32_t name;	 /* number of the kind that is the bare name */
	bool shared;
	bool scalar;
	char *reserved; /* the role that it is reserved for, or NULL */
};

struct amount {
	uint32_t kind;
	int64_t milli;
};

struct tally {
	struct amount *items;
	uint32_t count, cap;
};

/* A message as it is, or as what it is made of. */
enum form {
	AS_IS,
	UNRESERVED,  /* less its last reservation */
	NO_VOLUME,   /* the disk below the volume */
	AS_DETECTED, /* less dynamic reservations and volume */
};

struct books;
void tally_put(struct tally *a, uint32_t kind, int64_t milli); /* may be negative */
void tally_put_message(struct books *b, struct tally *a, const Mesos__Resource *r, enum form form);
void tally_put_messages(struct books *b, struct tally *a, Mesos__Resource *const *list,
			size_t count, enum form form);
void tally_put_all(struct tally *a, const struct tally *more);
void tally_take_all(struct tally *a, const struct tally *less);
int64_t tally_of(const struct tally *a, uint32_t kind);
/* Whether `want` is in `have`; else *which is the kind that is not. */
bool tally_within(const struct books *b, const struct tally *want, const struct tally *have,
		  uint32_t *which);
bool tally_empty(const struct tally *a);
void tally_clear(struct tally *a); /* keeps the memory */
void tally_free(struct tally *a);
uint32_t books_kind(struct books *b, const char *name); /* a bare one */
const char *kind_key(const struct books *b, uint32_t kind);
void kinds_free(struct books *b);

#endif
