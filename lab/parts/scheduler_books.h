/* What a model scheduler launched and asked for, and what it has heard of that. */
#ifndef LAB_PARTS_SCHEDULER_BOOKS_H
#define LAB_PARTS_SCHEDULER_BOOKS_H

#include "lab/parts/scheduler.h"

struct answer;

/* A task that is to be launched now. */
bool scheduler_has_work(const struct scheduler_part *part);
struct book *scheduler_book_add(struct scheduler_part *part, const char *agent_id);
struct book *scheduler_book_find(const struct scheduler_part *part, const char *task_id);
void scheduler_books_free(struct scheduler_part *part);
void scheduler_take_update(struct scheduler_part *part, const Mesos__TaskStatus *status);
/* What hangs, or should be over by now, is killed; with its executor if that does not help. */
void scheduler_end_tasks(struct scheduler_part *part);

/* ---- operations ------------------------------------------------------------------------ */

/* Those of the answer, if it does so. */
void scheduler_name_operations(struct scheduler_part *part, struct answer *answer,
			       const char *agent_id);
void scheduler_take_operation(struct scheduler_part *part, const Mesos__OperationStatus *status);
/* Asks of those that are not over. */
void scheduler_reconcile_operations(struct scheduler_part *part);
/* Whether all are over. */
bool scheduler_deeds_done(const struct scheduler_part *part);
void scheduler_describe_deeds(const struct scheduler_part *part, struct buf *out);
void scheduler_deeds_free(struct scheduler_part *part);

#endif
