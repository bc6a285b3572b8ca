/* Reading a file of a task's sandbox through its agent (/files/read). */
#ifndef CLI_JOB_SANDBOX_FILE_H
#define CLI_JOB_SANDBOX_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/memory/buf.h"

/* Appends to `path` the request that reads from `offset`. The executor's sandbox is
 * named virtually: it needs no knowledge of the agent's directories. */
void sandbox_file_path(struct buf *path, const char *framework, const char *executor,
		       const char *file, size_t offset);
/* Appends the data of a 200 answer to `out`; ERR_INVALID for other JSON. */
int sandbox_file_data(const char *body, size_t len, struct buf *out, struct err *err);

#endif
