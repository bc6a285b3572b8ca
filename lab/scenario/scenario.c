#include "lab/scenario/scenario.h"

#include <stdlib.h>

#include "base/memory/arena.h"
#include "lab/scenario/scenario_internal.h"

struct scenario_due {
	struct happening happening;
	const struct scenario_event *event;
	struct faults *faults;
	size_t number;
};

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->resource_count; i++)
		free(s->resources[i]);
	for (int i = 0; i < s->character_count; i++) {
		free((char *)s->characters[i].role);
		free((char *)s->characters[i].more_roles[0]);
		free((char *)s->characters[i].more_roles[1]);
		free((char *)s->characters[i].end);
	}
	free(s->resources);
	free(s->characters);
	free(s->events);
	free(s);
}

struct scenario_frame scenario_frame(const struct scenario *s)
{
	return s->frame;
}

const char *scenario_resources(const struct scenario *s, int agent)
{
	return agent < s->resource_count ? s->resources[agent] : NULL;
}

bool scenario_character(const struct scenario *s, int number, struct scheduler_traits *out)
{
	if (number >= s->character_count)
		return false;
	*out = s->characters[number];
	return true;
}

size_t scenario_event_count(const struct scenario *s)
{
	return s->event_count;
}

/* ---- a run --------------------------------------------------------------------------- */

static void on_due(struct happening *h)
{
	struct scenario_due *due = container_of(h, struct scenario_due, happening);

	world_log(due->faults->cluster->world, "event %zu of the scenario: %s", due->number,
		  due->event->verb->name);
	if (due->event->verb->run)
		due->event->verb->run(due->faults->cluster, due->event);
	else
		due->event->verb->operate(&due->faults->operators, due->event);
}

void scenario_begin(struct scenario_play *play, const struct scenario *s, struct faults *faults,
		    const struct numbers *only)
{
	struct world *w = faults->cluster->world;

	*play = (struct scenario_play){.scenario = s, .faults = faults};
	play->due = xcalloc(s->event_count + 1, sizeof(*play->due));
	for (size_t i = 0; i < s->event_count; i++) {
		struct scenario_due *due = &play->due[i];

		due->happening.run = on_due;
		due->event = &s->events[i];
		due->faults = faults;
		due->number = i + 1;
		if (!only || numbers_have(only, i + 1))
			world_at(w, &due->happening, w->begin + due->event->when);
	}
}

void scenario_end(struct scenario_play *play)
{
	if (!play->scenario)
		return;
	for (size_t i = 0; i < play->scenario->event_count; i++)
		world_cancel(play->faults->cluster->world, &play->due[i].happening);
	free(play->due);
	*play = (struct scenario_play){0};
}
