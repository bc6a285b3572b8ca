/* Opening what the files API may show. */
#ifndef AGENT_HTTP_FILES_H
#define AGENT_HTTP_FILES_H

/* Opens `path` for reading, which must be below the sandbox that it is in, after all
 * links: /<work_dir>/slaves/x/frameworks/x/executors/x/runs/x. Returns a descriptor,
 * ERR_NOT_FOUND, or ERR_INVALID when a link leads out of the sandbox. Never blocks on a
 * pipe or device. */
int files_open_in_sandbox(const char *work_dir, const char *path);

/* "-rw-r--r--" */
void files_format_mode(unsigned mode, char out[11]);

#endif
