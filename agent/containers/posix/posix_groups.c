/* Containers that have a control group of their own: made before the first process, which is born
 * in it; watched for running out of memory; killed as one; removed when nothing is left in it. */
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

#define MEGABYTE (1024 * 1024)

struct posix_oom {
	uv_poll_t poll;
	struct posix_container *container;
	int fd;
};

/* ---- limits ------------------------------------------------------------------------ */

static void cannot_limit(struct posix_container *container, const char *why)
{
	char *text = xprintf("Failed to update resources for container: %s", why);
	struct agent_event event = {
		.type = AGENT_CONTAINER_LIMITED,
		.container_limited = {
			.container = container->id,
			.reason = MESOS__TASK_STATUS__REASON__REASON_CONTAINER_UPDATE_FAILED,
			.text = text,
		}};

	containers_limited(container->owner->containers, &event);
	free(text);
}

static void apply_limits(struct posix_container *container)
{
	struct err err = {""};

	container->limits_changed = false;
	if (cgroups_update(container->owner->options.groups, container->id, &container->limits,
			   &err) < 0)
		cannot_limit(container, err.text);
}

void posix_limit(void *context, const char *id, const struct agent_limits *limits)
{
	struct posix_container *container = posix_find(context, id);

	container->limits = *limits;
	container->limits_changed = true;
	/* A thread may be making its group: then it is told after that. */
	if (container->grouped)
		apply_limits(container);
}

/* On a thread. */
int posix_group_make(struct posix_container *container, const struct agent_launch *launch,
		     struct err *err)
{
	int rv =
		cgroups_make(container->owner->options.groups, container->id, &launch->limits, err);

	return rv < 0 ? err_wrap(err, rv, "Failed to prepare isolator") : rv;
}

void posix_group_made(struct posix_container *container)
{
	container->grouped = true;
	if (container->limits_changed)
		apply_limits(container);
}

/* ---- memory ------------------------------------------------------------------------- */

static void tell_oom(struct posix_container *container, struct cgroups_oom *oom)
{
	struct agent_event event = {
		.type = AGENT_CONTAINER_LIMITED,
		.container_limited = {
			.container = container->id,
			.reason = MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_MEMORY,
			.text = oom->text.data,
			.resource = "mem",
			.amount = (double)(oom->bytes / MEGABYTE),
		}};

	containers_limited(container->owner->containers, &event);
	buf_free(&oom->text);
}

static void look_for_oom(struct posix_container *container, bool told)
{
	struct cgroups_oom oom;

	if (cgroups_oom_read(container->owner->options.groups, container->id, told, &oom))
		tell_oom(container, &oom);
}

static void oom_closed_cb(uv_handle_t *handle)
{
	struct posix_oom *oom = handle->data;

	close(oom->fd);
	free(oom);
}

static void oom_cb(uv_poll_t *poll, int status, int events)
{
	struct posix_oom *oom = poll->data;

	bool told = cgroups_oom_rearm(oom->container->owner->options.groups, oom->fd);

	look_for_oom(oom->container, told);
}

void posix_group_watch(struct posix_container *container)
{
	const struct posix_options *options = &container->owner->options;
	int fd = container->grouped ? cgroups_oom_open(options->groups, container->id) : -1;
	struct posix_oom *oom;
	bool told;

	if (fd < 0)
		return;
	oom = container->oom = xcalloc(1, sizeof(*oom));
	oom->container = container;
	oom->fd = fd;
	oom->poll.data = oom;
	uv_poll_init(options->loop, &oom->poll, fd);
	told = cgroups_oom_rearm(options->groups, fd);
	uv_poll_start(&oom->poll, cgroups_unified(options->groups) ? UV_PRIORITIZED : UV_READABLE,
		      oom_cb);
	/* While nobody watched. */
	look_for_oom(container, told);
}

void posix_group_unwatch(struct posix_container *container)
{
	if (container->oom)
		uv_close((uv_handle_t *)&container->oom->poll, oom_closed_cb);
	container->oom = NULL;
}

/* ---- the end ------------------------------------------------------------------------- */

static void remove_group(struct posix_job *job)
{
	job->alive = !cgroups_remove(job->container->owner->options.groups, job->container->id);
}

static void group_removed(struct posix_job *job)
{
	struct posix_container *container = job->container;

	if (job->alive && !posix_is_late(container)) {
		posix_clean_soon(container->owner);
		return;
	}
	if (job->alive)
		log_warning("The control group of container %s cannot be removed", container->id);
	container->grouped = false;
	posix_clean_rest(container);
}

void posix_group_clean(struct posix_container *container)
{
	look_for_oom(container, false);
	posix_group_unwatch(container);
	posix_begin_job(container, remove_group, group_removed,
			xcalloc(1, sizeof(struct posix_job)));
}

void posix_group_drop(struct posix_container *container)
{
	posix_group_unwatch(container);
	if (container->grouped)
		posix_begin_job(container, remove_group, NULL,
				xcalloc(1, sizeof(struct posix_job)));
}
