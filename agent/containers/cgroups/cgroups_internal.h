/* What the files of control groups share. Nobody else includes this.
 *
 *	cgroups.c	making, entering, killing, removing
 *	cgroups_find.c	what the machine has
 *	cgroups_user.c	a part of it that was delegated to a user
 *	cgroups_limits.c	what is written into them
 *	cgroups_memory.c	running out of memory
 *	cgroups_measure.c	what they count
 *	cgroups_files.c	reading and writing the kernel's files */
#ifndef AGENT_CONTAINERS_CGROUPS_CGROUPS_INTERNAL_H
#define AGENT_CONTAINERS_CGROUPS_CGROUPS_INTERNAL_H

#include <limits.h>

#include "agent/containers/cgroups/cgroups.h"

struct cgroups {
	bool unified;
	bool cfs;
	bool limit_swap;
	unsigned controllers;
	char *mounts[CGROUPS_CONTROLLERS]; /* v1: where each is; v2: all the same. NULL: unused */
	char *root;
};

/* ---- cgroups.c --------------------------------------------------------------- */

/* Its directory for the controller; false: that is not used, or the path is too long. */
bool cgroups_path(const struct cgroups *cgroups, enum cgroups_controller controller, const char *id,
		  char path[PATH_MAX]);

/* ---- cgroups_find.c ---------------------------------------------------------- */

const char *cgroups_controller_name(const struct cgroups *cgroups,
				    enum cgroups_controller controller);
int cgroups_find(struct cgroups *cgroups, const struct cgroups_options *options, struct err *err);
/* v2: hands the controllers that are used to what is inside of the directory. */
int cgroups_delegate(const struct cgroups *cgroups, const char *path, struct err *err);

/* ---- cgroups_user.c ---------------------------------------------------------- */

/* v2: the directory below which groups are ours to make, heap: the hierarchy's own for root; else
 * the one that this process was started in, if it was delegated to us. What runs there, this
 * process included, is moved into a group of its own below it: who hands controllers on has no
 * processes. */
int cgroups_find_top(const char *hierarchy, char **top, struct err *err);

/* ---- cgroups_limits.c -------------------------------------------------------- */

/* `first`: nothing was set before, else hard memory is but raised. */
int cgroups_limit(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		  bool first, struct err *err);

/* ---- cgroups_files.c --------------------------------------------------------- */

int cgroups_write(const char *directory, const char *file, const char *text, struct err *err);
/* The whole of it, heap, ended by 0; NULL: it cannot be read. */
char *cgroups_read(const char *directory, const char *file);
/* The only number in it, or that after `key` and a space; false: none. "max" is UINT64_MAX. */
bool cgroups_read_number(const char *directory, const char *file, const char *key, uint64_t *value);
/* The number after `key` and a space at the beginning of a line. */
bool cgroups_line_number(const char *text, const char *key, uint64_t *value);

#endif
