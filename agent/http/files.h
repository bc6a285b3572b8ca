/* What the files API may show, and how: parts that touch the disk and may take long, for threads of
 * the pool. */
#ifndef AGENT_HTTP_FILES_H
#define AGENT_HTTP_FILES_H

#include <dirent.h>
#include <sys/stat.h>

#include "base/memory/buf.h"

/* Opens `path` for reading, which must be below the sandbox that it is in, after all
 * links: /<work_dir>/slaves/x/frameworks/x/executors/x/runs/x. Returns a descriptor,
 * ERR_NOT_FOUND, or ERR_INVALID when a link leads out of the sandbox. Never blocks on a
 * pipe or device. */
int files_open_in_sandbox(const char *work_dir, const char *path);

/* What a request names. */
struct files_place {
	const char *work_dir;
	const char *path; /* as the client says it */
	const char *real; /* where that is on the disk */
};

struct files_entry {
	const char *path; /* as the client would say it */
	const struct stat *info;
	const char *user, *group; /* names, or numbers of who has none */
};
/* Tells of the entries, sorted by name. What they point to is gone after each call. */
void files_list(const struct files_place *place, DIR *dir,
		void (*each)(void *context, const struct files_entry *entry), void *context);

/* "-rw-r--r--" */
void files_format_mode(unsigned mode, char out[11]);

#endif
