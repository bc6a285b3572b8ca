/* Reservations and volumes as agents stored them, and their directories. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_VOLUMES_H
#define LAB_BOOKS_BOOKS_VOLUMES_H

#include "lab/books/records.h"

/* The record of what the master made of an agent's resources. */
void books_resources_written(struct books *b, const char *owner, struct slice value);
void books_resources_lost(struct books *b, const char *owner); /* with its disk's memory */
void books_resources_life_began(struct books *b, const char *owner);
void books_resources_told(struct books *b, const char *owner, Mesos__Resource *const *list,
			  size_t count);
/* All operations that the master ordered are done, as the agent says. */
void books_resources_confirmed(struct books *b, const struct view *v);
void books_directory(struct books *b, const struct process *agent, const char *path,
		     enum directory_deed deed);
void books_check_directories(struct books *b);
void books_free_rooms(struct books *b);

#endif
