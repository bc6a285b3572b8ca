/* Sums of resources, by kind: a name with its reservations, volume and the rest that makes it
 * different from others of the name. Of ranges and sets the number of elements counts. */
#include "lab/books/books_tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/books/records.h"

/* ---- kinds ---------------------------------------------------------------------- */

static bool is_static(const Mesos__Resource__ReservationInfo *info)
{
	return info->has_type && info->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC;
}

static void put_reservation(struct buf *key, bool dynamic, const char *role)
{
	buf_puts(key, dynamic ? " reserved for " : " set aside for ");
	buf_puts(key, role);
}

/* Both formats of reservations come by here. */
static void put_reservations(struct buf *key, const Mesos__Resource *r, enum form form)
{
	size_t count = r->n_reservations;

	if (form == UNRESERVED && count)
		count--;
	for (size_t i = 0; i < count; i++) {
		if (form != AS_DETECTED || is_static(r->reservations[i]))
			put_reservation(key, !is_static(r->reservations[i]),
					r->reservations[i]->role ? r->reservations[i]->role : "*");
	}
	if (r->n_reservations || !r->role || !strcmp(r->role, "*") || form == UNRESERVED)
		return;
	if (!r->reservation || form != AS_DETECTED)
		put_reservation(key, r->reservation != NULL, r->role);
}

static void put_disk(struct buf *key, const Mesos__Resource__DiskInfo *disk, enum form form)
{
	if (disk->source && disk->source->path && disk->source->path->root) {
		buf_puts(key, " at ");
		buf_puts(key, disk->source->path->root);
	}
	if (disk->source && disk->source->mount && disk->source->mount->root) {
		buf_puts(key, " mounted at ");
		buf_puts(key, disk->source->mount->root);
	}
	if (disk->persistence && (form == AS_IS || form == UNRESERVED)) {
		buf_puts(key, " volume ");
		buf_puts(key, disk->persistence->id);
	}
}

static struct kind *intern(struct books *b, const char *key)
{
	struct kind *kind;

	HASH_FIND_STR(b->kind_table, key, kind);
	if (kind)
		return kind;
	kind = xcalloc(1, sizeof(*kind));
	kind->key = xstrdup(key);
	kind->number = b->kind_count;
	kind->name = kind->number;
	if (b->kind_count == b->kind_cap) {
		b->kind_cap = b->kind_cap ? 2 * b->kind_cap : 16;
		b->kinds = xrealloc(b->kinds, b->kind_cap * sizeof(struct kind *));
	}
	b->kinds[b->kind_count++] = kind;
	HASH_ADD_KEYPTR(hh, b->kind_table, kind->key, strlen(kind->key), kind);
	return kind;
}

/* Of the last reservation. */
static char *role_in(const char *key)
{
	const char *at = NULL, *next;

	for (next = key; (next = strstr(next, " for ")); next++)
		at = next + strlen(" for ");
	return at ? xstrndup(at, strcspn(at, " ")) : NULL;
}

uint32_t books_kind(struct books *b, const char *name)
{
	return intern(b, name)->number;
}

static uint32_t kind_of(struct books *b, const Mesos__Resource *r, enum form form)
{
	struct buf key = BUF_INIT;
	struct kind *kind;
	uint32_t name;

	name = intern(b, r->name)->number;
	b->kinds[name]->scalar = r->scalar != NULL;
	if (!r->n_reservations && !r->disk && !r->revocable && !r->shared &&
	    (!r->role || !strcmp(r->role, "*")))
		return name;
	buf_puts(&key, r->name);
	put_reservations(&key, r, form);
	if (r->disk)
		put_disk(&key, r->disk, form);
	if (r->revocable)
		buf_puts(&key, " revocable");
	if (r->shared && form != NO_VOLUME && form != AS_DETECTED)
		buf_puts(&key, " shared");
	kind = intern(b, key.data);
	kind->name = name;
	kind->shared = str_has_suffix(key.data, " shared");
	if (!kind->reserved)
		kind->reserved = role_in(key.data);
	buf_free(&key);
	return kind->number;
}

const char *kind_key(const struct books *b, uint32_t kind)
{
	return b->kinds[kind]->key;
}

void kinds_free(struct books *b)
{
	struct kind *kind, *next;

	HASH_ITER (hh, b->kind_table, kind, next) {
		HASH_DEL(b->kind_table, kind);
		free(kind->key);
		free(kind->reserved);
		free(kind);
	}
	free(b->kinds);
}

/* ---- sums --------------------------------------------------------------------------- */

void tally_put(struct tally *a, uint32_t kind, int64_t milli)
{
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->items[i].kind != kind)
			continue;
		a->items[i].milli += milli;
		if (!a->items[i].milli)
			a->items[i] = a->items[--a->count];
		return;
	}
	if (!milli)
		return;
	if (a->count == a->cap) {
		a->cap = a->cap ? 2 * a->cap : 8;
		a->items = xrealloc(a->items, a->cap * sizeof(*a->items));
	}
	a->items[a->count++] = (struct amount){kind, milli};
}

static int64_t value_of(const Mesos__Resource *r)
{
	int64_t sum = 0;

	if (r->scalar)
		return llround(r->scalar->value * 1000);
	for (size_t i = 0; r->ranges && i < r->ranges->n_range; i++)
		sum += (int64_t)(r->ranges->range[i]->end - r->ranges->range[i]->begin + 1);
	if (r->set)
		sum += (int64_t)r->set->n_item;
	return sum * 1000;
}

void tally_put_message(struct books *b, struct tally *a, const Mesos__Resource *r, enum form form)
{
	tally_put(a, kind_of(b, r, form), value_of(r));
}

void tally_put_messages(struct books *b, struct tally *a, Mesos__Resource *const *list,
			size_t count, enum form form)
{
	for (size_t i = 0; i < count; i++)
		tally_put_message(b, a, list[i], form);
}

void tally_put_all(struct tally *a, const struct tally *more)
{
	for (uint32_t i = 0; i < more->count; i++)
		tally_put(a, more->items[i].kind, more->items[i].milli);
}

void tally_take_all(struct tally *a, const struct tally *less)
{
	for (uint32_t i = 0; i < less->count; i++)
		tally_put(a, less->items[i].kind, -less->items[i].milli);
}

int64_t tally_of(const struct tally *a, uint32_t kind)
{
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->items[i].kind == kind)
			return a->items[i].milli;
	}
	return 0;
}

bool tally_within(const struct books *b, const struct tally *want, const struct tally *have,
		  uint32_t *which)
{
	for (uint32_t i = 0; i < want->count; i++) {
		const struct amount *item = &want->items[i];
		int64_t there = tally_of(have, item->kind);

		/* Of shared volumes everybody has all. */
		if (item->milli <= 0 || item->milli <= there ||
		    (b->kinds[item->kind]->shared && there > 0))
			continue;
		*which = item->kind;
		return false;
	}
	return true;
}

bool tally_empty(const struct tally *a)
{
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->items[i].milli)
			return false;
	}
	return true;
}

void tally_clear(struct tally *a)
{
	a->count = 0;
}

void tally_free(struct tally *a)
{
	free(a->items);
	*a = (struct tally){0};
}
