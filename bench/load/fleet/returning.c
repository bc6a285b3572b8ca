/* Agents of the fleet that come back to a new master: each says who it is and what runs on
 * it, as often as it takes, with some thousands under way at a time. The plan may spread
 * them over time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/fleet/agents_internal.h"

static void describe_run(struct fleet *f, const struct run *run, struct agent_task *out)
{
	struct record *record;
	uint32_t number;

	books_task_id(&f->load->books, run->number, out->id);
	record = books_find(&f->load->books, out->id, &number);
	out->framework = f->frameworks[record->scheduler];
	out->state = run->state;
	out->uuid = run->uuid;
	out->time = record->sent;
}

void fleet_ask_back(struct fleet *f, uint32_t agent, int64_t now)
{
	struct actor *a = &f->agents[agent];
	struct agent_task *tasks;
	struct arena arena;
	size_t count = 0;

	for (struct run *run = a->runs; run; run = run->next)
		count++;
	arena_init(&arena);
	tasks = arena_alloc(&arena, (count + 1) * sizeof(*tasks));
	count = 0;
	for (struct run *run = a->runs; run; run = run->next)
		describe_run(f, run, &tasks[count++]);
	buf_clear(&f->body);
	agent_message_reregister(&f->load->plan,
				 &(struct agent_self){.number = agent,
						      .id = a->id,
						      .port = wires_port(f->wires, agent),
						      .tasks = tasks,
						      .count = count},
				 &f->load->rng, &f->body);
	wires_link(f->wires, agent, f->master);
	fleet_send(f, agent, f->master, "ReregisterSlaveMessage");
	timers_start(&f->timers, &a->again, now + FLEET_REGISTER_AGAIN);
	arena_free(&arena);
}

/* How many may have asked by now. */
static uint32_t due(const struct fleet *f, int64_t now)
{
	const struct plan *plan = &f->load->plan;
	double agents = (double)plan->agents, since = (double)(now - f->returning_since);
	uint32_t most = f->returned + FLEET_OUTSTANDING, count = (uint32_t)plan->agents;

	if (plan->reregister_spread > 0 && since < (double)plan->reregister_spread)
		count = (uint32_t)(agents * since / (double)plan->reregister_spread);
	return count < most ? count : most;
}

void fleet_return_more(struct fleet *f, int64_t now)
{
	if (!f->returning)
		return;
	for (uint32_t most = due(f, now); f->asked_back < most; f->asked_back++)
		fleet_ask_back(f, f->asked_back, now);
}

void fleet_returned_one(struct fleet *f, uint32_t agent, const struct agent_order *order,
			int64_t now)
{
	struct actor *a = &f->agents[agent];

	if (!f->returning || !a->id || strcmp(a->id, order->id) != 0) {
		load_fail(f->load, "agent %u is told that it came back as %s", agent + 1,
			  order->id);
		return;
	}
	if (order->asked_for > 0)
		books_violate(&f->load->books, "the master misses %zu tasks on agent %u",
			      order->asked_for, agent + 1);
	if (a->returned)
		return;
	a->returned = true;
	f->returned++;
	timers_stop(&f->timers, &a->again);
	fleet_return_more(f, now);
}

/* ---- what the clockwork says --------------------------------------------------- */

void fleet_lost_master(struct fleet *f)
{
	f->returning = false;
	f->asked_back = f->returned = 0;
	for (int64_t i = 0; i < f->load->plan.agents; i++) {
		f->agents[i].returned = false;
		timers_stop(&f->timers, &f->agents[i].again);
	}
}

void fleet_return(struct fleet *f, int64_t now)
{
	const struct plan *plan = &f->load->plan;

	/* It may be another one. */
	snprintf(f->master, sizeof(f->master), "master@%s:%d", plan->host, plan->port);
	f->returning = true;
	f->returning_since = now;
	fleet_return_more(f, now);
}

uint32_t fleet_returned(const struct fleet *f)
{
	return f->returned;
}
