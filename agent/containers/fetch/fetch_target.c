/* What is fetched stays inside of the sandbox, whatever archives and links would have; and programs
 * that do what others do better. */
#include "agent/containers/fetch/fetch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int fetch_run_program(char *const *argv, const char *input, const char *target, struct buf *output,
		      struct err *err)
{
	char piece[4096];
	int ends[2] = {-1, -1}, status;
	ssize_t got;
	pid_t pid;

	if (output && pipe2(ends, O_CLOEXEC))
		return err_set(err, ERR_IO, "Failed to make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		int in = open(input ? input : "/dev/null", O_RDONLY | O_CLOEXEC);
		int out = target ? open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
				 : ends[1];

		if (in < 0 || (target && out < 0)) {
			fprintf(stderr, "cannot open '%s': %s\n", in < 0 ? input : target,
				strerror(errno));
			_exit(126);
		}
		dup2(in, 0);
		if (out >= 0)
			dup2(out, 1);
		execvp(argv[0], argv);
		fprintf(stderr, "cannot run '%s': %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (output) {
		close(ends[1]);
		while (pid > 0 && (got = read(ends[0], piece, sizeof(piece))) > 0)
			buf_append(output, piece, (size_t)got);
		close(ends[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_set(err, ERR_IO, "Failed to run '%s': %s", argv[0], strerror(errno));
	if (WIFSIGNALED(status))
		return err_set(err, ERR_IO, "'%s' terminated with signal %s", argv[0],
			       strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 127)
		return err_set(err, ERR_NOT_FOUND, "'%s' is not installed", argv[0]);
	if (WEXITSTATUS(status))
		return err_set(err, ERR_IO, "'%s' exited with status %d", argv[0],
			       WEXITSTATUS(status));
	return 0;
}

static bool is_link(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

int fetch_check_target(struct fetch *fetch, const char *path, struct err *err)
{
	char *folder = arena_strdup(&fetch->arena, path), *sandbox, *real;
	size_t len;
	bool inside;

	*strrchr(folder, '/') = '\0';
	sandbox = realpath(fetch->directory, NULL);
	real = realpath(folder, NULL);
	len = sandbox ? strlen(sandbox) : 0;
	inside =
		sandbox && real && !strncmp(real, sandbox, len) && (!real[len] || real[len] == '/');
	free(sandbox);
	free(real);
	if (!inside)
		return err_set(err, ERR_INVALID, "'%s' is not inside of the sandbox", path);
	if (is_link(path) && unlink(path))
		return err_set(err, ERR_IO, "Failed to remove the link '%s': %s", path,
			       strerror(errno));
	return 0;
}

int fetch_make_inside(struct fetch *fetch, char *path, struct err *err)
{
	int rv = 0;

	for (char *at = path + strlen(fetch->directory) + 1; rv == 0; at++) {
		char c = *at;

		if (c != '/' && c)
			continue;
		*at = '\0';
		rv = is_link(path) ? 0 : fetch_check_target(fetch, path, err);
		if (rv == 0 && mkdir(path, 0755) && errno != EEXIST)
			rv = err_set(err, ERR_IO, "Failed to make '%s': %s", path, strerror(errno));
		*at = c;
		if (!c)
			break;
	}
	return rv;
}
