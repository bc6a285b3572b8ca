/* Operations on resources: what agents were told, and what becomes of it. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_OPERATIONS_H
#define LAB_BOOKS_BOOKS_OPERATIONS_H

#include "lab/books/records.h"

void books_operation_ordered(struct books *b, const char *to, const struct letter *letter);
void books_operation_status(struct books *b, const char *from, const struct letter *letter);
/* Its totals are the agent's own again: nothing is assumed. */
void books_operations_confirmed(struct books *b, struct view *v);
void books_undo_operations(struct books *b);
void books_free_operations(struct books *b);

#endif
