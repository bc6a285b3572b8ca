/* What the master made of an agent's resources, reservations and volumes: as the agent stored
 * it, and the directories of volumes on its machine. Data goes when its volume is destroyed
 * for good, and not before. */
#include "lab/books/books_volumes.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_tally.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

struct directory {
	UT_hash_handle hh;
	char *path;
	bool there;
	bool stored; /* as a volume, by the agent */
	bool filled; /* it was: there may be data */
};

/* An agent's machine. */
struct store_room {
	UT_hash_handle hh;
	char *owner;
	struct tally kept; /* reservations and volumes as written */
	struct directory *directories;
	bool told; /* this life told the master of what it found */
};

static struct store_room *room_of(struct books *b, const char *owner)
{
	struct store_room *room;

	HASH_FIND_STR(b->rooms, owner, room);
	if (room)
		return room;
	room = xcalloc(1, sizeof(*room));
	room->owner = xstrdup(owner);
	HASH_ADD_KEYPTR(hh, b->rooms, room->owner, strlen(room->owner), room);
	return room;
}

static struct directory *directory_at(struct store_room *room, const char *path)
{
	struct directory *d;

	HASH_FIND_STR(room->directories, path, d);
	if (d)
		return d;
	d = xcalloc(1, sizeof(*d));
	d->path = xstrdup(path);
	HASH_ADD_KEYPTR(hh, room->directories, d->path, strlen(d->path), d);
	return d;
}

static void directory_free(struct store_room *room, struct directory *d)
{
	HASH_DEL(room->directories, d);
	free(d->path);
	free(d);
}

/* ---- what is stored ---------------------------------------------------------------- */

/* As docs/architecture.md has them: a role's '/' is a blank. */
static void note_volume(struct store_room *room, const Mesos__Resource *r)
{
	const char *role = r->reservations[r->n_reservations - 1]->role;
	char *flat = xstrdup(role), *path;
	struct directory *d;

	for (char *at = flat; (at = strchr(at, '/'));)
		*at = ' ';
	path = xprintf("%s/volumes/roles/%s/%s", AGENT_WORK_DIR, flat, r->disk->persistence->id);
	d = directory_at(room, path);
	d->stored = d->filled = true;
	free(path);
	free(flat);
}

static void forget_stored(struct store_room *room)
{
	struct directory *d, *next;

	tally_clear(&room->kept);
	HASH_ITER (hh, room->directories, d, next)
		d->stored = false;
}

void books_resources_written(struct books *b, const char *owner, struct slice value)
{
	struct store_room *room = room_of(b, owner);
	const Mesos__Internal__CheckpointResourcesMessage *message = NULL;
	struct err err;

	forget_stored(room);
	if (!value.data)
		return;
	arena_reset(&b->arena);
	message = proto_unpack(&mesos__internal__checkpoint_resources_message__descriptor,
			       &b->arena, value.data, value.len, &err);
	if (!message)
		return;
	tally_put_messages(b, &room->kept, message->resources, message->n_resources, AS_IS);
	for (size_t i = 0; i < message->n_resources; i++) {
		const Mesos__Resource *r = message->resources[i];

		if (r->disk && r->disk->persistence && r->n_reservations)
			note_volume(room, r);
	}
}

void books_resources_lost(struct books *b, const char *owner)
{
	forget_stored(room_of(b, owner));
}

/* ---- what the agent says of it ------------------------------------------------------- */

void books_resources_life_began(struct books *b, const char *owner)
{
	room_of(b, owner)->told = false;
}

/* Only the first time nothing can be on its way to the disk. */
void books_resources_told(struct books *b, const char *owner, Mesos__Resource *const *list,
			  size_t count)
{
	struct store_room *room = room_of(b, owner);
	struct tally said = {0};
	uint32_t which;

	if (room->told)
		return;
	room->told = true;
	tally_put_messages(b, &said, list, count, AS_IS);
	if (!tally_within(b, &room->kept, &said, &which))
		world_fail(b->world, "durable: %s had stored %g of '%s', and tells of %g", owner,
			   (double)tally_of(&room->kept, which) / 1000, kind_key(b, which),
			   (double)tally_of(&said, which) / 1000);
	else if (!tally_within(b, &said, &room->kept, &which))
		world_fail(b->world, "durable: %s tells of %g of '%s', and had stored %g", owner,
			   (double)tally_of(&said, which) / 1000, kind_key(b, which),
			   (double)tally_of(&room->kept, which) / 1000);
	tally_free(&said);
}

/* Reservations and volumes: what is not the bare name. */
static void put_made(const struct books *b, struct tally *out, const struct tally *all)
{
	for (uint32_t i = 0; i < all->count; i++) {
		if (b->kinds[all->items[i].kind]->reserved)
			tally_put(out, all->items[i].kind, all->items[i].milli);
	}
}

void books_resources_confirmed(struct books *b, const struct view *v)
{
	const struct process *agent = process_at(b->world, v->address);
	const struct store_room *room = agent ? room_of(b, agent->name) : NULL;
	struct tally made = {0};
	uint32_t which;

	if (!room)
		return;
	put_made(b, &made, &v->total);
	if (!tally_within(b, &made, &room->kept, &which))
		world_fail(b->world,
			   "durable: %s said that its operations are done, and has stored %g of "
			   "'%s' instead of %g",
			   room->owner, (double)tally_of(&room->kept, which) / 1000,
			   kind_key(b, which), (double)tally_of(&made, which) / 1000);
	else if (!tally_within(b, &room->kept, &made, &which))
		world_fail(b->world,
			   "durable: %s said that its operations are done, and still has stored "
			   "%g of '%s'",
			   room->owner, (double)tally_of(&room->kept, which) / 1000,
			   kind_key(b, which));
	tally_free(&made);
}

/* ---- directories -------------------------------------------------------------------- */

void books_directory(struct books *b, const struct process *agent, const char *path,
		     enum directory_deed deed)
{
	struct store_room *room = room_of(b, agent->name);
	struct directory *d = directory_at(room, path);

	switch (deed) {
	case DIRECTORY_MADE:
		if (d->filled && !d->stored)
			world_fail(b->world,
				   "durable: a new volume of %s at %s has the data of an old one",
				   agent->name, path);
		d->there = true;
		break;
	case DIRECTORY_USED:
		if (!d->there)
			world_fail(b->world,
				   "durable: a container of %s needs the volume at %s, which is "
				   "not there",
				   agent->name, path);
		break;
	case DIRECTORY_REMOVED:
		if (d->stored)
			world_fail(b->world,
				   "durable: %s removes the data of the volume at %s, which it "
				   "has in its store",
				   agent->name, path);
		directory_free(room, d);
		break;
	}
}

/* One that was never stored may be left of a change that a kill cut short. */
void books_check_directories(struct books *b)
{
	struct store_room *room, *next;
	struct directory *d, *after;

	HASH_ITER (hh, b->rooms, room, next) {
		HASH_ITER (hh, room->directories, d, after) {
			if (d->filled && !d->stored)
				world_fail(b->world,
					   "leaks: the data of a volume that %s destroyed is left "
					   "at %s",
					   room->owner, d->path);
			else if (d->stored && !d->there)
				world_fail(b->world, "durable: the volume of %s at %s is gone",
					   room->owner, d->path);
		}
	}
}

void books_free_rooms(struct books *b)
{
	struct store_room *room, *next;
	struct directory *d, *after;

	HASH_ITER (hh, b->rooms, room, next) {
		HASH_ITER (hh, room->directories, d, after)
			directory_free(room, d);
		HASH_DEL(b->rooms, room);
		tally_free(&room->kept);
		free(room->owner);
		free(room);
	}
}
