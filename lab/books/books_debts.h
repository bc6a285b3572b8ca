/* What must follow, at once or within a minute. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_DEBTS_H
#define LAB_BOOKS_BOOKS_DEBTS_H

#include "lab/books/records.h"

enum debt_kind { DEBT_ACKNOWLEDGEMENT, DEBT_TASK, DEBT_END, DEBT_EXIT };
/* In this step, if its framework is there. */
void books_must_hear(struct books *b, struct task *t);
void books_check_heard(struct books *b);
/* Within a minute: the master tells the agent that the task's end is acknowledged; */
void books_owe_acknowledgement(struct books *b, const struct view *v, const struct update *u);
/* the agent says something of a task that it did not name; */
void books_owe_task(struct books *b, const struct view *v, struct task *t);
/* it says that the task is over, whose executor ended, and that the executor did. */
void books_owe_end(struct books *b, struct host *host, struct task *t);
void books_owe_exit(struct books *b, struct host *host, struct fw *fw, const char *executor_id);
void books_exit_told(struct books *b, const struct process *from, const struct letter *letter);
void books_collect_debts(struct books *b);
void books_free_debts(struct books *b);

#endif
