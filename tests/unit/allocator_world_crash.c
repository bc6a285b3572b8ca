/* The store of what an allocator remembers, as its owner keeps it. */
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_memory.h"
#include "allocator_named.h"
#include "allocator_world.h"
#include "base/memory/arena.h"
#include "base/table.h"

struct memory_entry {
	UT_hash_handle hh;
	char *key;
	struct allocator_memory memory; /* texts and resources are its own */
	struct resources refused;
};

static void entry_free(struct world *world, struct memory_entry *entry)
{
	HASH_DEL(world->memory, entry);
	free((char *)entry->memory.framework);
	free((char *)entry->memory.role);
	free((char *)entry->memory.agent);
	resources_free(&entry->refused);
	free(entry->key);
	free(entry);
}

void world_forget(struct world *world)
{
	struct memory_entry *entry, *next;

	HASH_ITER (hh, world->memory, entry, next)
		entry_free(world, entry);
}

static char *key_of(const struct allocator_memory *m)
{
	switch (m->kind) {
	case ALLOCATOR_MEMORY_LEAF:
		return xprintf("leaf %s %s", m->framework, m->role);
	case ALLOCATOR_MEMORY_ROLE:
		return xprintf("role %s", m->role);
	case ALLOCATOR_MEMORY_AGENT:
		return xprintf("agent %s", m->agent);
	default:
		return xprintf("filter %llu", (unsigned long long)m->number);
	}
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void store(void *context, const struct allocator_memory *memory)
{
	struct world *world = context;
	struct memory_entry *entry;
	char *key = key_of(memory);

	HASH_FIND_STR(world->memory, key, entry);
	if (entry)
		entry_free(world, entry);
	if (memory->gone) {
		free(key);
		return;
	}
	entry = xcalloc(1, sizeof(*entry));
	entry->key = key;
	entry->memory = *memory;
	entry->memory.framework = copy(memory->framework);
	entry->memory.role = copy(memory->role);
	entry->memory.agent = copy(memory->agent);
	if (memory->refused)
		resources_copy(&entry->refused, memory->refused);
	entry->memory.refused = &entry->refused;
	HASH_ADD_KEYPTR(hh, world->memory, entry->key, strlen(entry->key), entry);
}

void world_remember(struct world *world)
{
	if (world->options.remembers)
		allocator_changes(world->a, store, world);
}

static int by_kind(struct memory_entry *a, struct memory_entry *b)
{
	return (int)a->memory.kind - (int)b->memory.kind;
}

static void remember(void *context)
{
	struct world *world = context;
	struct memory_entry *entry, *next;

	HASH_SORT(world->memory, by_kind);
	HASH_ITER (hh, world->memory, entry, next) {
		if (!named_remember(world->next, world->now, &entry->memory))
			entry_free(world, entry);
	}
	for (unsigned i = 0; i < SCRIPT_AGENTS; i++)
		world_tell_place(world, world->next, i);
}

void world_crash(struct world *world)
{
	if (!world->options.remembers || allocator_create(&world->options, &world->next, NULL) != 0)
		return;
	if (oracle_crash(world->o, world->now, world->next, remember, world)) {
		named_destroy(world->a);
		world->a = world->next;
	} else {
		named_destroy(world->next);
	}
	world->next = NULL;
}
