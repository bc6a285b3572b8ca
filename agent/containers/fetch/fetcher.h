/* Fetching URIs into a sandbox.
 *
 * The agent checks the URIs and starts `mesita fetch` as the task's user with the
 * CommandInfo on standard input, its output in the sandbox's stdout and stderr. A
 * status other than 0 fails the container; why is in stderr. Unpacking and downloads
 * are left to tar, unzip, gzip, curl and hadoop. */
#ifndef AGENT_CONTAINERS_FETCH_FETCHER_H
#define AGENT_CONTAINERS_FETCH_FETCHER_H

#include "base/err.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

/* Are all URIs and output files of the command well-formed? */
int fetch_validate(const Mesos__CommandInfo *command, struct err *err);
/* The file name that a URI gets in the sandbox. */
int fetch_basename(const char *uri, const char **name, struct err *err);
/* The local path a URI means, in the arena; *path is NULL if it is none (but to be
 * downloaded). `home` (NULL or "" = none) is put before relative ones. */
int fetch_local_path(struct arena *arena, const char *uri, const char *home, const char **path,
		     struct err *err);

/* `mesita fetch --directory=DIR [--frameworks_home=DIR] [--hadoop_home=DIR]
 * [--stall_timeout=DURATION]`: a packed CommandInfo on standard input. Returns the
 * exit status. */
int fetch_main(int argc, char **argv);

#endif
