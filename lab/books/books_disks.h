/* What the disks hold after a kill or a crash. Rules: books.h. */
#ifndef LAB_BOOKS_BOOKS_DISKS_H
#define LAB_BOOKS_BOOKS_DISKS_H

#include "lab/books/records.h"

enum survival { AFTER_KILL, AFTER_CRASH };
void books_written(struct books *b, struct disk *disk, int line, struct slice key,
		   struct slice value);
void books_synced(struct books *b, struct disk *disk, int line);
void books_crashed(struct books *b, struct disk *disk);
bool books_stored(const struct books *b, const char *owner, enum survival after, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));
/* A crash would leave the record, though it may be deleted. */
bool books_would_return(const struct books *b, const char *owner, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool books_update_stored(const struct books *b, const char *owner, const uint8_t *uuid);
void books_agent_began(struct books *b, const struct process *p);
/* What it says of itself to the master must be what it has stored. */
void books_agent_sent_away(struct books *b, const char *address);
void books_agent_registers(struct books *b, const struct process *from,
			   const struct letter *letter);
void books_agent_reregisters(struct books *b, const struct process *from,
			     const struct letter *letter);
void books_free_disks(struct books *b);

#endif
