/* Drivers of v0: their messages as the calls and events that they stand for. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_DRIVERS_H
#define LAB_BOOKS_BOOKS_DRIVERS_H

#include "lab/books/records.h"

/* It says something to the master, or is told something by it. */
void books_driver_says(struct books *b, const struct letter *letter);
void books_driver_told(struct books *b, const struct letter *letter);
/* The master lost the link to whoever is at the pid. False: no driver. */
bool books_driver_link_closed(struct books *b, const char *pid);

#endif
