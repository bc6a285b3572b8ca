/* What is left of a task in a Docker container when its executor is over, however that came: the
 * container belongs to a daemon, and does not end with our processes. A file tells an agent that
 * was started again which containers that are. */
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

#define REMOVAL_SECONDS "60"

extern char **environ;

static char *mark_path(const struct posix *posix, const char *id)
{
	return xprintf("%s/containers/%s.docker", posix->options.runtime_dir, id);
}

/* On a thread. */
int posix_docker_mark(struct posix_container *container, struct err *err)
{
	char *path = mark_path(container->owner, container->id);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), rv = 0;

	if (fd < 0)
		rv = err_set(err, ERR_IO, "Cannot make '%s': %s", path, strerror(errno));
	else
		close(fd);
	free(path);
	return rv;
}

bool posix_docker_marked(const struct posix *posix, const char *id)
{
	char *path = mark_path(posix, id);
	bool marked = access(path, F_OK) == 0;

	free(path);
	return marked;
}

void posix_docker_unmark(const struct posix_container *container)
{
	char *path = mark_path(container->owner, container->id);

	unlink(path);
	free(path);
}

static pid_t start_removal(const struct posix_container *container, struct err *err)
{
	const struct posix_options *options = &container->owner->options;
	char *name = xprintf("mesos-%s", container->id);
	char *host = options->docker_socket ? xprintf("unix://%s", options->docker_socket) : NULL;
	/* A daemon that does not answer must not hold the end of a task up for ever. */
	char *plain[] = {"timeout", "-k", "1", REMOVAL_SECONDS, (char *)options->docker, "rm", "-f",
			 "-v",	    name, NULL};
	char *told[] = {"timeout",
			"-k",
			"1",
			REMOVAL_SECONDS,
			(char *)options->docker,
			"-H",
			host,
			"rm",
			"-f",
			"-v",
			name,
			NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn spawn = {
		.program = "timeout",
		.arguments = host ? told : plain,
		.environment = environ,
		.directory = "/",
		.input = null,
		.output = null,
		.error = null,
	};
	pid_t pid = spawn_process(&spawn, err);

	close(null);
	free(host);
	free(name);
	return pid;
}

bool posix_docker_remove(struct posix_container *container)
{
	struct err err = {""};
	pid_t pid = container->owner->options.docker ? start_removal(container, &err) : -1;

	container->docker = false;
	if (pid < 0) {
		log_warning("The Docker container mesos-%s cannot be removed: %s", container->id,
			    err.text[0] ? err.text : "--containerizers has no docker");
		posix_docker_unmark(container);
		return false;
	}
	/* It is the container's process for a while; what that was is looked at after it. */
	container->before = (struct posix_before){container->pid, container->child};
	container->removing = true;
	posix_adopt(container, pid);
	return true;
}

void posix_docker_removed(struct posix_container *container)
{
	container->removing = false;
	container->pid = container->before.pid;
	container->child = container->before.child;
	posix_docker_unmark(container);
}
