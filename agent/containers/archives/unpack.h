/* Archives of strangers become directories, by libarchive: nothing is written outside of the
 * directory, nothing goes through a link, and what grows without end is refused. */
#ifndef AGENT_CONTAINERS_ARCHIVES_UNPACK_H
#define AGENT_CONTAINERS_ARCHIVES_UNPACK_H

#include <stdbool.h>

#include "base/err.h"

enum unpack_kind {
	UNPACK_FILES, /* they are ours, whoever they belonged to */
	UNPACK_TREE,  /* all as it was, owners too */
	/* Likewise for overlayfs: what the layer removes is a device 0:0, and a directory that
	 * hides those below it is marked as opaque. */
	UNPACK_LAYER,
};

/* A tar or zip, of any compression, into a directory, which is made if it is not there. The process
 * works in it meanwhile. ERR_INVALID: it is none, or leads out; ERR_LIMIT: too much is in it. */
int unpack_archive(int archive, const char *directory, enum unpack_kind kind, struct err *err);
/* What is compressed, and no archive, into a file that is open for writing. */
int unpack_stream(int compressed, int target, struct err *err);

#endif
