/* The guardian of `mesita local`: starts the daemons and kills everything below
 * it when the supervisor is gone (see local/cmd_local.c). */
#ifndef CLI_EXECUTOR_GUARDIAN_H
#define CLI_EXECUTOR_GUARDIAN_H

#include <sys/types.h>

#include "base/err.h"

/* Forks the guardian. `alive` is our end of its command channel: when it closes, for
 * whatever reason, the guardian kills all, removes the directory `own_dir` (NULL: none)
 * and exits. */
int guardian_fork(const char *own_dir, pid_t *guardian, int *alive, struct err *err);
/* Has the guardian start a program; its output goes to `log` (appended), or to our
 * standard error when NULL. The guardian ends everything when one of its programs
 * ends, and keeps the directory then. */
int guardian_start(int alive, char *const *argv, const char *log, struct err *err);
/* Has the guardian keep the directory. */
void guardian_keep(int alive);

#endif
