/* The streams of sessions: three pipes, or a terminal for all. Our ends are handed to who speaks
 * with the client; those of the process are closed with its start. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"

static int open_pipes(struct posix_container *container, struct err *err)
{
	struct spawn *spawn = &container->start->spawn;
	int *theirs[3] = {&spawn->input, &spawn->output, &spawn->error}, pair[2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pair, O_CLOEXEC))
			return err_set(err, ERR_IO, "Failed to create a pipe: %s", strerror(errno));
		*theirs[i] = pair[i > 0];
		container->streams[i] = pair[i == 0];
	}
	return 0;
}

static int open_terminal(struct posix_container *container, const Mesos__TTYInfo *info,
			 struct err *err)
{
	struct spawn *spawn = &container->start->spawn;
	int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (ours < 0 || grantpt(ours) || unlockpt(ours) || ptsname_r(ours, name, sizeof(name))) {
		err_set(err, ERR_IO, "Failed to make a terminal: %s", strerror(errno));
		if (ours >= 0)
			close(ours);
		return ERR_IO;
	}
	container->streams[0] = ours;
	container->streams[1] = fcntl(ours, F_DUPFD_CLOEXEC, 0);
	spawn->input = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	spawn->output = fcntl(spawn->input, F_DUPFD_CLOEXEC, 0);
	spawn->error = fcntl(spawn->input, F_DUPFD_CLOEXEC, 0);
	if (container->streams[1] < 0 || spawn->error < 0)
		return err_set(err, ERR_IO, "Failed to open '%s': %s", name, strerror(errno));
	/* It is the user's, who may open it again. */
	if (container->start->switches_user &&
	    fchown(spawn->input, container->start->user.uid, container->start->user.gid))
		return err_set(err, ERR_IO, "Failed to chown '%s': %s", name, strerror(errno));
	if (info->window_size) {
		struct winsize size = {.ws_row = (unsigned short)info->window_size->rows,
				       .ws_col = (unsigned short)info->window_size->columns};

		ioctl(ours, TIOCSWINSZ, &size);
	}
	return 0;
}

int posix_session_open(struct posix_container *container, const Mesos__ContainerInfo *info,
		       struct err *err)
{
	container->start->tty = info && info->tty_info;
	return container->start->tty ? open_terminal(container, info->tty_info, err)
				     : open_pipes(container, err);
}

void posix_session_close(struct posix_container *container)
{
	for (int i = 0; i < 3; i++) {
		if (container->streams[i] >= 0)
			close(container->streams[i]);
		container->streams[i] = -1;
	}
}

bool posix_take_streams(struct posix *posix, const char *id, int streams[3], bool *tty)
{
	struct posix_container *container = posix_find(posix, id);

	if (!container || container->streams[0] < 0)
		return false;
	*tty = container->streams[2] < 0;
	for (int i = 0; i < 3; i++) {
		streams[i] = container->streams[i];
		container->streams[i] = -1;
	}
	return true;
}
