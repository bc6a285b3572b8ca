#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_oracle_internal.h"

#define YEAR_SECONDS 31536000

static void filter_remove(struct ofilter *filter)
{
	resources_free(&filter->refused);
	filter->used = false;
}

void oracle_filters_remove(struct oracle *o, int framework, int agent, int role)
{
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (filter->used && !filter->inverse &&
		    (framework < 0 || filter->framework == framework) &&
		    (agent < 0 || filter->agent == agent) && (role < 0 || filter->role == role))
			filter_remove(filter);
	}
}

void oracle_inverse_filters_remove(struct oracle *o, int framework, int agent)
{
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (filter->used && filter->inverse &&
		    (framework < 0 || filter->framework == framework) &&
		    (agent < 0 || filter->agent == agent))
			filter_remove(filter);
	}
}

/* 0: no filter at all. */
static int64_t duration_of(double seconds)
{
	if (isnan(seconds) || seconds < 0)
		seconds = ALLOCATOR_REFUSE_DEFAULT;
	if (seconds > YEAR_SECONDS)
		seconds = YEAR_SECONDS;
	return (int64_t)(seconds * 1e9);
}

static struct ofilter *filter_new(struct oracle *o)
{
	int i = 0;

	while (i < FILTERS && o->filters[i].used)
		i++;
	if (i == FILTERS)
		abort();
	o->filters[i] = (struct ofilter){.used = true, .born = o->batches};
	return &o->filters[i];
}

void oracle_filter_create(struct oracle *o, int64_t now, int framework, int agent, int role,
			  const struct resources *allocated, double seconds)
{
	int64_t duration = duration_of(seconds);

	if (duration == 0)
		return;
	if (duration < o->options.allocation_interval)
		duration = o->options.allocation_interval;
	struct ofilter *filter = filter_new(o);
	filter->framework = framework;
	filter->agent = agent;
	filter->role = role;
	filter->since = now;
	filter->deadline = now + duration;
	resources_allocate(o->options.shapes, allocated, NULL, &filter->refused);
}

bool oracle_filtered(struct oracle *o, int framework, int agent, int role,
		     const struct resources *offer)
{
	for (int i = 0; i < FILTERS; i++) {
		const struct ofilter *filter = &o->filters[i];

		if (filter->used && !filter->inverse && filter->framework == framework &&
		    filter->agent == agent && filter->role == role &&
		    resources_contain(&filter->refused, offer))
			return true;
	}
	return false;
}

bool oracle_inverse_filtered(const struct oracle *o, int framework, int agent)
{
	for (int i = 0; i < FILTERS; i++) {
		const struct ofilter *filter = &o->filters[i];

		if (filter->used && filter->inverse && filter->framework == framework &&
		    filter->agent == agent)
			return true;
	}
	return false;
}

/* A filter ends at its time; that of an offer not before one batch was run over it. */
void oracle_filters_end(struct oracle *o, int64_t now)
{
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (filter->used && filter->deadline <= now &&
		    (filter->inverse || filter->born < o->batches))
			filter_remove(filter);
	}
}

size_t oracle_filter_count(const struct oracle *o)
{
	size_t count = 0;

	for (int i = 0; i < FILTERS; i++)
		count += o->filters[i].used && !o->filters[i].inverse;
	return count;
}

/* -- maintenance -- */

void oracle_set_unavailability(struct oracle *o, const char *agent, bool scheduled)
{
	int index = oracle_agent_index(o, agent);

	if (index < 0)
		return;
	o->agents[index].window = scheduled;
	memset(o->agents[index].outstanding, 0, sizeof(o->agents[index].outstanding));
	oracle_inverse_filters_remove(o, -1, index);
	oracle_trigger(o, index);
}

void oracle_end_inverse(struct oracle *o, int64_t now, const char *framework, const char *agent,
			const struct allocator_filter *filter)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);

	if (a < 0 || f < 0)
		return;
	o->agents[a].outstanding[f] = false;
	if (filter && duration_of(filter->refuse_seconds) > 0) {
		struct ofilter *made = filter_new(o);

		made->inverse = true;
		made->framework = f;
		made->agent = a;
		made->deadline = now + duration_of(filter->refuse_seconds);
	}
}

bool oracle_inverse_outstanding(struct oracle *o, const char *framework, const char *agent)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);

	return a >= 0 && f >= 0 && o->agents[a].outstanding[f];
}
