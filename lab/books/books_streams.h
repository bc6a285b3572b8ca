/* The updates that agents wait with. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_STREAMS_H
#define LAB_BOOKS_BOOKS_STREAMS_H

#include "lab/books/records.h"

void books_stream_sent(struct books *b, const struct process *from, struct update *u);
void books_stream_acknowledged(struct books *b, const struct process *to,
			       const struct letter *letter);
void books_stream_repeated(struct update *u);
void books_agent_asks(struct books *b, const struct process *from);
void books_agent_loses_master(struct books *b, const struct process *p);
void books_agent_operates(struct books *b, const struct process *to);
void books_agent_hears_registered(struct books *b, const struct process *to);
void books_check_resumed(struct books *b);
void books_streams_ended(struct books *b, struct host *host);

#endif
