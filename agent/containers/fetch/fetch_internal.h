/* What the files of `mesita fetch` share. Nobody else includes this.
 *
 *	fetcher.c		rules, and one URI after the other
 *	fetch_download.c	a URI becomes a file
 *	fetch_net.c		downloads, by libcurl
 *	fetch_unpack.c	a file becomes what is in it
 *	fetch_target.c	nothing is written outside of the sandbox; programs that help */
#ifndef AGENT_CONTAINERS_FETCH_FETCH_INTERNAL_H
#define AGENT_CONTAINERS_FETCH_FETCH_INTERNAL_H

#include <stdbool.h>

#include "agent/containers/fetch/fetcher.h"
#include "base/memory/buf.h"

struct fetch {
	const char *directory;
	const char *frameworks_home;
	const char *hadoop_home;
	const char *cache_directory;
	const char *cache;    /* see struct fetch_claim */
	uint64_t cache_space; /* bytes that a file there may have */
	int64_t stall_timeout;
	struct arena arena;
};

/* ---- fetch_target.c ------------------------------------------------------------ */

/* A file may be made at the path, whose directory is there: what was fetched before may be links,
 * and lead elsewhere. One at the path itself is removed. */
int fetch_check_target(struct fetch *fetch, const char *path, struct err *err);
/* The directories on the way to `path`, one after the other: none is made behind a link that leads
 * elsewhere. */
int fetch_make_inside(struct fetch *fetch, char *path, struct err *err);
/* Runs a program; what it prints goes to `output` (if given), else to our stdout.
 * `input` and `target`: files to read from and write to, or NULL. */
int fetch_run_program(char *const *argv, const char *input, const char *target, struct buf *output,
		      struct err *err);

/* ---- fetch_download.c ------------------------------------------------------------ */

/* `most`: bytes that it may have, as far as that is known before; 0: any. */
int fetch_download(struct fetch *fetch, const char *uri, const char *target, uint64_t most,
		   struct err *err);
int fetch_copy_file(const char *source, const char *target, uint64_t most, struct err *err);

/* ---- fetch_net.c ----------------------------------------------------------------- */

/* http, https, ftp or ftps? */
bool fetch_is_net(const char *uri);
/* Follows redirections; what is no success of the server's (HTTP 200, FTP 226) is an error, and
 * so is a file of more than `most` bytes (0: any), or a silence of the stall timeout. A transfer
 * that breaks goes on where it was, or begins anew, a few times. */
int fetch_net(struct fetch *fetch, const char *uri, const char *target, uint64_t most,
	      struct err *err);

/* ---- fetch_unpack.c -------------------------------------------------------------- */

bool fetch_is_archive(const char *name);
/* `name` says what it is. */
int fetch_unpack(struct fetch *fetch, char *path, const char *name, struct err *err);

#endif
