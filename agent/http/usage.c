#include "agent/http/usage.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"
#include "agent/core/show.h"
#include "agent/shell.h"

/* ---- on a thread of the pool ------------------------------------------------- */

static void usage_measure(struct process_list *all, struct usage *usage)
{
	Mesos__ResourceStatistics *counted = &usage->counted;
	double tick = (double)sysconf(_SC_CLK_TCK);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	counted->has_cpus_user_time_secs = counted->has_cpus_system_time_secs = 1;
	counted->has_mem_rss_bytes = 1;
	process_list_mark(all, (pid_t)usage->pid);
	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = &all->items[i];

		if (!p->member)
			continue;
		counted->cpus_user_time_secs += (double)p->user_ticks / tick;
		counted->cpus_system_time_secs += (double)p->system_ticks / tick;
		counted->mem_rss_bytes += p->rss_pages * page;
	}
}

static void usage_work(struct slow_job *slow)
{
	struct usage_turns *turns = container_of(slow, struct usage_turns, slow);
	struct process_list all;

	process_list_read(&all);
	for (size_t i = 0; i < turns->usages.count; i++) {
		struct usage *usage = &turns->usages.items[i];

		usage_measure(&all, usage);
		if (usage->group)
			cgroups_measure(turns->shell->groups, usage->group, &usage->counted);
	}
	process_list_free(&all);
}

/* ---- on the loop -------------------------------------------------------------- */

static void usage_add_pid(void *context, const char *container)
{
	struct usage_turns *turns = context;
	struct usages *usages = &turns->usages;
	int64_t pid = containers_pid(turns->shell->containers, container);

	if (!pid)
		return;
	usages->items = xrealloc(usages->items, (usages->count + 1) * sizeof(*usages->items));
	usages->items[usages->count++] = (struct usage){
		.pid = pid,
		.group = turns->shell->groups && cgroups_has(turns->shell->groups, container)
				 ? xstrdup(container)
				 : NULL,
		.counted = MESOS__RESOURCE_STATISTICS__INIT,
	};
}

static void usage_add(void *context, const struct shown_container *c)
{
	struct usage_turns *turns = context;

	usage_add_pid(turns, c->container);
	agent_show_each_inside(turns->shell->steps.core, c->container, usage_add_pid, turns);
}

static int compare_usages(const void *a, const void *b)
{
	int64_t left = ((const struct usage *)a)->pid, right = ((const struct usage *)b)->pid;

	return (left > right) - (left < right);
}

/* For all who wait. */
static void usage_walk(struct usage_turns *turns)
{
	const struct agent_view all = {.agent = turns->shell->steps.core};
	struct usages *usages = &turns->usages;
	struct usage_ask *ask;

	while ((ask = list_first(&turns->waiting, struct usage_ask, link))) {
		list_remove(&ask->link);
		list_append(&turns->asking, &ask->link);
	}
	turns->walking = true;
	agent_show_each_container(&all, usage_add, turns);
	agent_show_each_standalone(&all, usage_add, turns);
	if (usages->count)
		qsort(usages->items, usages->count, sizeof(*usages->items), compare_usages);
	slow_add(turns->shell->slow, &turns->lane, &turns->slow);
}

static void usage_tell(struct list *to, const struct usages *usages)
{
	struct usage_ask *ask;

	while ((ask = list_first(to, struct usage_ask, link))) {
		list_remove(&ask->link);
		ask->done(ask, usages);
	}
}

static void usage_done(struct slow_job *slow, bool canceled)
{
	struct usage_turns *turns = container_of(slow, struct usage_turns, slow);

	/* What the walk was for is over when it was canceled: see usage_close(). */
	if (!canceled)
		usage_tell(&turns->asking, &turns->usages);
	for (size_t i = 0; i < turns->usages.count; i++)
		free(turns->usages.items[i].group);
	free(turns->usages.items);
	turns->usages = (struct usages){0};
	turns->walking = false;
	if (!list_empty(&turns->waiting))
		usage_walk(turns);
}

void usage_init(struct usage_turns *turns, struct agent_shell *shell)
{
	*turns = (struct usage_turns){.shell = shell,
				      .slow = {.work = usage_work, .done = usage_done}};
	list_init(&turns->waiting);
	list_init(&turns->asking);
	slow_lane_init(&turns->lane);
}

void usage_close(struct usage_turns *turns)
{
	usage_tell(&turns->asking, NULL);
	usage_tell(&turns->waiting, NULL);
}

void usage_read(struct usage_turns *turns, struct usage_ask *ask)
{
	list_append(&turns->waiting, &ask->link);
	if (!turns->walking)
		usage_walk(turns);
}

const struct usage *usage_find(const struct usages *usages, int64_t pid)
{
	const struct usage wanted = {.pid = pid};

	return usages->count ? bsearch(&wanted, usages->items, usages->count,
				       sizeof(*usages->items), compare_usages)
			     : NULL;
}
