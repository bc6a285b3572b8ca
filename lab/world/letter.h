/* What crosses the connections of the simulated world. */
#ifndef LAB_WORLD_LETTER_H
#define LAB_WORLD_LETTER_H

#include "lab/world/world.h"

/* What crosses a connection. `bytes` are a packed message. */
enum letter_kind {
	/* libprocess: `type` the message's, `from` the sender's pid; `name` the receiver's if it is
	 * a driver, of which there may be several at an address */
	LETTER_MESSAGE,
	LETTER_CALL, /* of an API: answered by a REPLY with its number; `name` the stream id */
	/* `status`; `name` the stream id of a subscription, or the text, or where else to ask */
	LETTER_REPLY,
	LETTER_EVENT, /* on the stream that a subscription opened */
};

struct letter {
	enum letter_kind kind;
	uint64_t number; /* of a call */
	int status;
	bool force;				/* of a SUBSCRIBE of v0: a failover */
	const ProtobufCMessageDescriptor *type; /* of a MESSAGE */
	const char *path; /* of a CALL that is none of schedulers and executors; static */
	char *name;
	char *from;
	struct buf bytes;
	/* What was packed; for who looks at it before it is on its way. */
	const void *message;
	struct content *content; /* on its way: what letter_open() makes of the bytes */
};
void letter_free(struct letter *letter);
/* The message of a letter that came, in memory that lasts as long as the letter. All who open
 * it share it: the receiver may change it, who looks before may not. NULL if it does not parse;
 * that is a failure. */
void *letter_open(const struct letter *letter, const ProtobufCMessageDescriptor *type);
/* Its message lasts until it is let go. */
struct content *content_hold(struct content *content);
void content_release(struct content *content);

#endif
