/* The four situations of a workload: full grant, all filtered, a hundredth of the agents
 * changed, one framework revived; and what leads up to them. */
#ifndef BENCH_ALLOCATOR_SITUATIONS_H
#define BENCH_ALLOCATOR_SITUATIONS_H

#include "bench/allocator/cluster.h"
#include "bench/allocator/meter.h"
#include "bench/allocator/report.h"

struct figures {
	double grant_ms;
	double offer_ns; /* of the full grant */
	double offer_instructions;
	double add_agents_ms; /* with the cycle that follows */
	double idle_us;
	double idle_instructions;
	double changed_ms;
	double revived_ms;
	double agent_bytes;
};

/* `pairs`: of agent and framework, how many may be filtered. If there are more, the frameworks
 * beyond fall silent instead of declining. */
struct figures situations_run(const struct report *report, struct meter *meter,
			      const struct workload *workload, int agents, int frameworks,
			      int pairs);
/* One of many cycles that give nothing. */
struct cost situations_idle(struct meter *meter, struct cluster *c);

#endif
