/* See probe.h. */
#include "bench/load/schedulers/probe.h"

#include "bench/load/schedulers/scheduler.h"

bool probes_over(const struct load *load)
{
	const struct probes *p = &load->probes;

	return p->done >= load->plan.probes;
}

static void begin(struct load *load, int64_t now)
{
	struct probes *p = &load->probes;

	p->current = scheduler_create_probe(load, load->scheduler_count, now);
	load->schedulers[load->scheduler_count++] = p->current;
}

static void end(struct load *load, int64_t now)
{
	struct probes *p = &load->probes;

	load->schedulers[load->scheduler_count - 1] = NULL;
	scheduler_close(p->current);
	p->current = NULL;
	p->done++;
	p->next = now + load->plan.probe_pause;
}

void probe_step(struct load *load, int64_t now)
{
	struct probes *p = &load->probes;

	if (probes_over(load))
		return;
	if (p->next == 0)
		p->next = load->launching_since + load->plan.probe_after;
	if (!p->current && now >= p->next)
		begin(load, now);
	else if (p->current && scheduler_torn_down(p->current))
		end(load, now);
	else if (p->current && scheduler_probed(p->current))
		scheduler_teardown(p->current);
}
