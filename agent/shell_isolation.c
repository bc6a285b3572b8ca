/* The parts of the shell that --isolation asks for. */
#include "agent/containers/disk_watch.h"
#include "agent/core/show.h"
#include "agent/shell.h"

static void watch_disk(void *context, const struct shown_container *c)
{
	disk_watch_add(context, c->container, c->directory, (uint64_t)(c->disk * 1024 * 1024));
}

static void list_disks(void *context, struct disk_watch *watch)
{
	const struct agent_view all = {.agent = ((struct agent_shell *)context)->steps.core};

	agent_show_each_container(&all, watch_disk, watch);
}

/* Of one that is over, or about to be, nobody hears. */
static void disk_full(void *context, const struct agent_event *event)
{
	containers_limited(((struct agent_shell *)context)->containers, event);
}

void agent_shell_watch_disks(struct agent_shell *shell)
{
	const struct disk_watch_options options = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.interval = shell->flags->container_disk_watch_interval,
		.enforced = shell->flags->enforce_container_disk_quota,
		.list = list_disks,
		.report = disk_full,
		.context = shell,
	};

	if (shell->flags->isolated.disk)
		shell->disks = disk_watch_create(&options);
}

int agent_shell_open_groups(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	const struct cgroups_options options = {
		.hierarchy = f->cgroups_hierarchy,
		.root = f->cgroups_root,
		.controllers = f->isolated.controllers,
		.every = f->isolated.every,
		.cfs = f->cgroups_enable_cfs,
		.limit_swap = f->cgroups_limit_swap,
	};

	return f->isolated.groups ? cgroups_open(&options, &shell->groups, err) : 0;
}
