/* Stakes by agent and leaf: open addressing, with a part of the hash beside each pointer, so
 * that finding one in hundreds of thousands takes two or three accesses to memory.
 *
 * Keys are addresses of ours, which nobody outside chooses; nothing walks the table, so its
 * order does not matter.
 */
#include <stdlib.h>

#include "allocator/agents/stakes.h"
#include "allocator/objects.h"
#include "base/memory/arena.h"

#define CAP_MIN 64

static uint32_t hash_key(const struct alloc_agent *agent, const struct leaf *leaf)
{
	uint64_t h = (uint64_t)(uintptr_t)agent * UINT64_C(0x9e3779b97f4a7c15);

	h ^= (uint64_t)(uintptr_t)leaf * UINT64_C(0xc2b2ae3d27d4eb4f);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(h >> 32);
}

/* Where the stake is, or the free slot where it would be. */
static uint32_t find_slot(const struct stake_table *table, uint32_t hash,
			  const struct alloc_agent *agent, const struct leaf *leaf)
{
	uint32_t i = hash & (table->cap - 1);

	for (;; i = (i + 1) & (table->cap - 1)) {
		const struct stake_slot *slot = &table->slots[i];

		if (!slot->stake || (slot->hash == hash && slot->stake->key.agent == agent &&
				     slot->stake->key.leaf == leaf))
			return i;
	}
}

struct stake *stake_table_find(const struct stake_table *table, const struct alloc_agent *agent,
			       const struct leaf *leaf)
{
	if (table->count == 0)
		return NULL;
	return table->slots[find_slot(table, hash_key(agent, leaf), agent, leaf)].stake;
}

static void resize(struct stake_table *table, uint32_t cap)
{
	struct stake_table next = {xcalloc(cap, sizeof(*next.slots)), table->count, cap};

	for (uint32_t i = 0; i < table->cap; i++) {
		const struct stake_slot *slot = &table->slots[i];
		uint32_t at = slot->hash & (cap - 1);

		if (!slot->stake)
			continue;
		while (next.slots[at].stake)
			at = (at + 1) & (cap - 1);
		next.slots[at] = *slot;
	}
	free(table->slots);
	*table = next;
}

void stake_table_add(struct stake_table *table, struct stake *stake)
{
	uint32_t hash = hash_key(stake->key.agent, stake->key.leaf);

	if (table->count >= table->cap - table->cap / 4)
		resize(table, table->cap ? table->cap * 2 : CAP_MIN);
	table->slots[find_slot(table, hash, stake->key.agent, stake->key.leaf)] =
		(struct stake_slot){stake, hash};
	table->count++;
}

void stake_table_delete(struct stake_table *table, const struct stake *stake)
{
	uint32_t mask = table->cap - 1;
	uint32_t hole = find_slot(table, hash_key(stake->key.agent, stake->key.leaf),
				  stake->key.agent, stake->key.leaf);

	table->count--;
	/* What was put off by it moves up, so that no search ends too early. */
	for (uint32_t i = (hole + 1) & mask; table->slots[i].stake; i = (i + 1) & mask) {
		uint32_t home = table->slots[i].hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole].stake = NULL;
	if (table->cap > CAP_MIN && table->count < table->cap / 8)
		resize(table, table->cap / 2);
}

void stake_table_free(struct stake_table *table)
{
	free(table->slots);
	*table = (struct stake_table){0};
}
