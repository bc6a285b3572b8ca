/* What every file of the books uses: decoding, and the framework behind a stream. Rules: books.h.
 */
#ifndef LAB_BOOKS_BOOKS_INTERNAL_H
#define LAB_BOOKS_BOOKS_INTERNAL_H

#include "lab/books/records.h"

const void *books_unpack(struct books *b, const ProtobufCMessageDescriptor *type,
			 const struct letter *letter);
struct fw *books_fw(struct books *b, const char *id); /* made if missing */
struct fw *books_fw_by_stream(struct books *b, const struct conn *conn);
void books_set_stream(struct books *b, struct fw *fw, uint64_t number); /* 0: it has none */
void books_learn_fw(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info);

/* To the framework that subscribed at the other end, or nobody. */
void books_event(struct books *b, struct fw *fw, const Mesos__Scheduler__Event *event);

#endif
