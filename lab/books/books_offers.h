/* Offers, and the calls that answer them. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_OFFERS_H
#define LAB_BOOKS_BOOKS_OFFERS_H

#include "lab/books/records.h"

/* The framework is NULL if nobody subscribed there. */
void books_offers_made(struct books *b, struct fw *fw,
		       const Mesos__Scheduler__Event__Offers *offers);
void books_rescinded(struct books *b, struct fw *fw, const char *offer_id);
void books_end_offer(struct books *b, struct offered *o);
void books_end_offers_of(struct books *b, struct fw *fw);
void books_call_delivered(struct books *b, const struct letter *letter);
/* The master takes it, as it must: there is no answer. */
void books_call_taken(struct books *b);
void books_call_answered(struct books *b, int status);
void books_run_task(struct books *b, const struct letter *letter);
void books_run_group(struct books *b, const struct letter *letter);
/* Its framework is over: torn down, or given up by the master. */
void books_tear_down(struct books *b, struct fw *fw);

#endif
