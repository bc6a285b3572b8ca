/* Groups that ran out of memory: how the kernel says so, and in which words Mesos does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/memory/arena.h"
#include "base/time/duration.h"

static int open_v1(const char *path)
{
	char file[PATH_MAX + 32], text[32];
	struct err err = {""};
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), control, rv = -1;

	snprintf(file, sizeof(file), "%s/memory.oom_control", path);
	control = open(file, O_RDONLY | O_CLOEXEC);
	if (event >= 0 && control >= 0) {
		snprintf(text, sizeof(text), "%d %d", event, control);
		rv = cgroups_write(path, "cgroup.event_control", text, &err);
	}
	if (control >= 0)
		close(control);
	if (rv == 0)
		return event;
	if (event >= 0)
		close(event);
	return -1;
}

int cgroups_oom_open(const struct cgroups *cgroups, const char *id)
{
	char path[PATH_MAX], file[PATH_MAX + 32];

	if (!cgroups_path(cgroups, CGROUPS_MEMORY, id, path))
		return -1;
	if (!cgroups->unified)
		return open_v1(path);
	snprintf(file, sizeof(file), "%s/memory.events", path);
	return open(file, O_RDONLY | O_CLOEXEC);
}

bool cgroups_oom_rearm(const struct cgroups *cgroups, int fd)
{
	char sink[4096];
	ssize_t got;

	/* Reading it is what makes it quiet; what it says is read anew by name. */
	if (cgroups->unified)
		got = pread(fd, sink, sizeof(sink), 0);
	else
		got = read(fd, sink, sizeof(uint64_t));
	return !cgroups->unified && got == (ssize_t)sizeof(uint64_t);
}

static uint64_t number_or_zero(const char *path, const char *file, const char *key)
{
	uint64_t value = 0;

	return cgroups_read_number(path, file, key, &value) ? value : 0;
}

static void put_statistics(const char *path, const char *parting, struct buf *out)
{
	char *text = cgroups_read(path, "memory.stat"), *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		size_t key = strcspn(line, " ");

		buf_printf(out, "%.*s%s%s\n", (int)key, line, parting,
			   line[key] ? line + key + 1 : "");
	}
	free(text);
}

static bool read_v1(const char *path, bool told, struct cgroups_oom *oom)
{
	char limit[DURATION_TEXT], most[DURATION_TEXT];

	/* Kernels before 4.13 count none here, and the others after they have told. */
	if (!told && !number_or_zero(path, "memory.oom_control", "oom_kill") &&
	    !number_or_zero(path, "memory.oom_control", "under_oom"))
		return false;
	oom->bytes = number_or_zero(path, "memory.max_usage_in_bytes", NULL);
	buf_printf(&oom->text,
		   "Memory limit exceeded: Requested: %s Maximum Used: %s\n\nMEMORY STATISTICS: \n",
		   bytes_format(number_or_zero(path, "memory.limit_in_bytes", NULL), limit),
		   bytes_format(oom->bytes, most));
	put_statistics(path, " ", &oom->text);
	return true;
}

static bool read_v2(const char *path, struct cgroups_oom *oom)
{
	/* Of its own limit, not of those inside of it. */
	if (!number_or_zero(path, "memory.events.local", "oom"))
		return false;
	oom->bytes = number_or_zero(path, "memory.max", NULL);
	buf_printf(&oom->text, "Memory limit exceeded: \nMEMORY STATISTICS post-OOM: \n");
	put_statistics(path, ": ", &oom->text);
	return true;
}

bool cgroups_oom_read(const struct cgroups *cgroups, const char *id, bool told,
		      struct cgroups_oom *oom)
{
	char path[PATH_MAX];

	*oom = (struct cgroups_oom){.text = BUF_INIT};
	if (!cgroups_path(cgroups, CGROUPS_MEMORY, id, path))
		return false;
	return cgroups->unified ? read_v2(path, oom) : read_v1(path, told, oom);
}
