/* The hold after a restart: nothing is offered until so many agents were added, or until a
 * time. With the first few agents alone quota could not be kept.
 *
 * Events of the hold ask for no cycle, then or later; batches see what they changed. The
 * agent that makes the number full gets a cycle at once.
 */
#include "allocator/agents/hold.h"
#include "allocator/cycle/cycle.h"
#include "allocator/objects.h"

void allocator_hold(struct allocator *a, size_t agents, int64_t until)
{
	a->held = agents > 0;
	a->hold_agents = agents;
	a->hold_until = until;
}

void alloc_hold_count(struct allocator *a)
{
	if (!a->held || --a->hold_agents > 0)
		return;
	a->held = false;
	alloc_candidates_clear(a);
}

bool alloc_hold_keeps(struct allocator *a, int64_t now)
{
	if (a->held && now >= a->hold_until)
		a->held = false;
	return a->held;
}
