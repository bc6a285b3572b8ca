/* A URI becomes a file: copied, downloaded (fetch_net.c), or got by hadoop. */
#include "agent/containers/fetch/fetch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"

#define COPY_SIZE (1024 * 1024)

static int copy_bytes(int from, int to, const char *source, struct err *err)
{
	char *data = xmalloc(COPY_SIZE);
	ssize_t got, put = 0;

	while ((got = read(from, data, COPY_SIZE)) > 0)
		for (ssize_t done = 0; done < got; done += put)
			if ((put = write(to, data + done, (size_t)(got - done))) < 0) {
				got = -1;
				break;
			}
	free(data);
	if (got < 0)
		return err_set(err, ERR_IO, "Failed to copy '%s': %s", source, strerror(errno));
	return 0;
}

int fetch_copy_file(const char *source, const char *target, uint64_t most, struct err *err)
{
	struct stat info;
	int from = open(source, O_RDONLY | O_CLOEXEC), to, rv;

	if (from < 0 || fstat(from, &info)) {
		rv = err_set(err, ERR_IO, "Failed to open '%s': %s", source, strerror(errno));
		if (from >= 0)
			close(from);
		return rv;
	}
	if (S_ISDIR(info.st_mode)) {
		close(from);
		return err_set(err, ERR_INVALID, "'%s' is a directory", source);
	}
	if (most && (uint64_t)info.st_size > most) {
		close(from);
		return err_set(err, ERR_LIMIT, "'%s' is too large", source);
	}
	to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, info.st_mode & 0777);
	if (to < 0)
		rv = err_set(err, ERR_IO, "Failed to create '%s': %s", target, strerror(errno));
	else
		rv = copy_bytes(from, to, source, err);
	close(from);
	if (to >= 0 && close(to) && rv == 0)
		rv = err_set(err, ERR_IO, "Failed to write '%s': %s", target, strerror(errno));
	return rv;
}

static int download_hadoop(struct fetch *fetch, const char *uri, const char *target,
			   struct err *err)
{
	const char *home = fetch->hadoop_home ? fetch->hadoop_home : getenv("HADOOP_HOME");
	char *argv[] = {home ? arena_printf(&fetch->arena, "%s/bin/hadoop", home) : "hadoop",
			"fs",
			"-copyToLocal",
			(char *)uri,
			(char *)target,
			NULL};
	int rv;

	log_info("Downloading resource with Hadoop client from '%s' to '%s'", uri, target);
	rv = fetch_run_program(argv, NULL, NULL, NULL, err);
	return rv < 0 ? err_wrap(err, rv, "HDFS copyToLocal failed") : 0;
}

int fetch_download(struct fetch *fetch, const char *uri, const char *target, uint64_t most,
		   struct err *err)
{
	const char *path;
	int rv = fetch_local_path(&fetch->arena, uri, fetch->frameworks_home, &path, err);

	if (rv < 0)
		return rv;
	if (path)
		return fetch_copy_file(path, target, most, err);
	if (fetch_is_net(uri))
		return fetch_net(fetch, uri, target, most, err);
	return download_hadoop(fetch, uri, target, err);
}
