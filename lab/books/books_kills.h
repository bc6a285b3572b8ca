/* Orders to kill, and who was told of them. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_KILLS_H
#define LAB_BOOKS_BOOKS_KILLS_H

#include "lab/books/records.h"

/* The master took the call. */
void books_kill_called(struct books *b, const struct fw *fw, const char *task_id);
void books_kill_ordered(struct books *b, const char *to, const struct letter *letter);
/* Somebody asked for that; by its key. */
bool books_is_to_be_killed(const struct books *b, const char *key);
/* A master that is new finds the task, and what the one before stored of it. */
void books_kill_inherited(struct books *b, struct claim *c);
/* An agent is back. */
void books_kills_repeated(struct books *b, const struct view *v,
			  const Mesos__Internal__ReregisterSlaveMessage *message);
void books_check_killed(struct books *b);
void books_audit_kills(struct books *b);

#endif
