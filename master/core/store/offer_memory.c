/* What the allocator must remember over a restart, so that the next offers are those that
 * would have come without it: in the store, written behind, and back (allocator.h).
 *
 * It costs little: a decline one record of about a hundred bytes and its deletion, the offers
 * of a step one count for each framework and role among them, and idle cycles nothing.
 *
 * At a restart frameworks come back one by one, and the first would be offered everything.
 * So nothing is offered until all that were connected are back, or MASTER_SETTLE has passed:
 * a framework that died with the master delays the others by no more. Agents are not waited
 * for (they may take a minute to notice); what is back is offered, in the order of before.
 */
#include "master/core/store/offer_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "allocator/allocator_memory.h"
#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/store/registry.h"
#include "master/core/store/warm.h"

/* ---- writing ------------------------------------------------------------------------- */

struct writing {
	struct master *m;
	struct registry_batch *batch;
};

static const char *memory_key(struct master *m, const struct allocator_memory *memory)
{
	struct arena *arena = &m->out->arena;
	char number[HEX16_TEXT];

	switch (memory->kind) {
	case ALLOCATOR_MEMORY_LEAF:
		return arena_join(arena, "given/", memory->framework, "/", memory->role, NULL);
	case ALLOCATOR_MEMORY_ROLE:
		return arena_join(arena, "given-role/", memory->role, NULL);
	case ALLOCATOR_MEMORY_AGENT:
		return arena_join(arena, "arrival/", memory->agent, NULL);
	case ALLOCATOR_MEMORY_FILTER:
		break;
	}
	str_hex16(number, memory->number);
	return arena_join(arena, "filter/", number, NULL);
}

static void *stored_number(struct master *m, const struct allocator_memory *memory)
{
	Mesita__StoredNumber *s =
		STEP_NEW(m, Mesita__StoredNumber, mesita__stored_number__descriptor);

	s->has_number = true;
	s->number = memory->number;
	s->has_own = memory->own != 0;
	s->own = memory->own;
	return s;
}

static void *stored_filter(struct master *m, const struct allocator_memory *memory)
{
	Mesita__StoredFilter *s =
		STEP_NEW(m, Mesita__StoredFilter, mesita__stored_filter__descriptor);

	s->framework_id = master_text(m, memory->framework);
	s->role = master_text(m, memory->role);
	s->agent_id = master_text(m, memory->agent);
	s->has_since = s->has_until = true;
	s->since = memory->since;
	s->until = memory->until;
	resources_to_messages(&m->out->arena, memory->refused, &s->n_refused, &s->refused);
	return s;
}

static void write_one(void *context, const struct allocator_memory *memory)
{
	struct writing *w = context;
	const char *key = memory_key(w->m, memory);

	if (memory->gone)
		registry_delete(w->m, w->batch, key);
	else if (memory->kind == ALLOCATOR_MEMORY_FILTER)
		registry_put(w->m, w->batch, key, stored_filter(w->m, memory));
	else
		registry_put(w->m, w->batch, key, stored_number(w->m, memory));
}

void warm_allocator(struct master *m, struct registry_batch *batch)
{
	struct writing w = {m, batch};

	allocator_changes(m->allocator, write_one, &w);
}

/* ---- reading ---------------------------------------------------------------------------- */

void recover_given(struct master *m, const char *framework, const char *role,
		   const Mesita__StoredNumber *s)
{
	struct allocator_memory memory = {
		.kind = framework ? ALLOCATOR_MEMORY_LEAF : ALLOCATOR_MEMORY_ROLE,
		.framework = framework,
		.role = role,
		.number = s->number,
		.own = s->own,
	};

	if (allocator_remember(m->allocator, m->now, &memory))
		return;
	if (framework)
		warm_delete(m, "given", framework, role, NULL);
	else
		warm_delete(m, "given-role", role, NULL, NULL);
}

void recover_arrival(struct master *m, const char *agent, const Mesita__StoredNumber *s)
{
	struct allocator_memory memory = {
		.kind = ALLOCATOR_MEMORY_AGENT,
		.agent = agent,
		.number = s->number,
	};

	if (!allocator_remember(m->allocator, m->now, &memory))
		warm_delete(m, "arrival", agent, NULL, NULL);
}

void recover_filter(struct master *m, const char *number, const Mesita__StoredFilter *s)
{
	struct resources refused = RESOURCES_INIT;
	struct allocator_memory memory = {
		.kind = ALLOCATOR_MEMORY_FILTER,
		.framework = s->framework_id,
		.role = s->role,
		.agent = s->agent_id,
		.number = strtoull(number, NULL, 16),
		.since = s->since,
		.until = s->until,
		.refused = &refused,
	};
	bool good = s->framework_id && s->role && s->agent_id &&
		    !resources_validate(s->refused, s->n_refused, NULL);

	if (good) {
		resources_add_messages(m->shapes, &refused, s->refused, s->n_refused);
		good = allocator_remember(m->allocator, m->now, &memory);
		resources_free(&refused);
	}
	if (!good)
		warm_delete(m, "filter", number, NULL, NULL);
}

/* ---- waiting for frameworks --------------------------------------------------------------- */

void master_await_framework(struct master *m, struct framework *f, bool awaited)
{
	m->awaited_frameworks += awaited;
	m->awaited_frameworks -= f->awaited;
	f->awaited = awaited;
}

void master_settle_start(struct master *m)
{
	m->settling = m->agents_in[AGENT_RECOVERED] > 0 && m->awaited_frameworks > 0;
	if (m->settling)
		timers_start(&m->timers, &m->settle, master_later(m, MASTER_SETTLE));
}

void master_settle_end(struct master *m)
{
	timers_stop(&m->timers, &m->settle);
	if (m->settling)
		log_info("offers begin: %zu of the frameworks from before are away",
			 m->awaited_frameworks);
	m->settling = false;
}

void master_settle_check(struct master *m)
{
	if (m->settling && !m->awaited_frameworks)
		master_settle_end(m);
}

/* ---- waiting for agents when there is quota --------------------------------------------- */

void master_hold_offers(struct master *m)
{
	double expected = (double)m->loaded_agents * m->options.agent_recovery_factor;
	size_t count = expected < (double)m->loaded_agents ? (size_t)expected : m->loaded_agents;

	if (!count)
		return;
	log_info("there is quota: offers wait for %zu of %zu agents", count, m->loaded_agents);
	allocator_hold(m->allocator, count,
		       master_later(m, m->options.allocation_recovery_timeout));
}
