/* What is written behind. */
#ifndef MASTER_CORE_STORE_WARM_H
#define MASTER_CORE_STORE_WARM_H

#include "master/core/objects.h"

void warm_task(struct master *m, struct task *t);
void warm_task_now(struct master *m, struct task *t); /* however many others there are */
void warm_framework(struct master *m, struct framework *f);
void warm_agent(struct master *m, struct agent *a);
void warm_executor(struct master *m, struct executor *e);
void warm_completed(struct master *m, struct completed_task *c);
void warm_drop_task(struct master *m, struct task *t);
void warm_drop_framework(struct master *m, struct framework *f);
void warm_drop_executor(struct master *m, struct executor *e);
void warm_drop_completed(struct master *m, struct completed_task *c);
/* Deletes the record of the key kind '/' a ['/' b ['/' c]]. */
void warm_delete(struct master *m, const char *kind, const char *a, const char *b, const char *c);
/* Writes what changed since the last time: everything, or what must not wait longer. */
void warm_flush(struct master *m, bool all);
/* Writes now if something cannot wait, or starts the timer. */
void warm_end_step(struct master *m);
void warm_look_for_rush(struct master *m); /* with its timer */
void *warm_stored_agent(struct arena *arena, const struct agent *a);

#endif
