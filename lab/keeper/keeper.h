/* A simulated ZooKeeper: an ensemble of servers, and sessions of processes with it.
 *
 * All that a real one may do to its clients happens here at the worst moment: connections break
 * while requests are under way, which then were carried out, or not, or will be; sessions expire
 * although their owner lives, or live on for a while after it died; servers show what was before.
 * What a session asks for is carried out and answered in order.
 *
 *	keeper.c       sessions, and what they ask
 *	keeper_faults.c  what befalls the servers, and the ways to them
 *	keeper_tree.c  the nodes
 *
 * Not modelled: who may do what, limits of sizes, requests that take long. */
#ifndef LAB_KEEPER_KEEPER_H
#define LAB_KEEPER_KEEPER_H

#include "base/memory/buf.h"
#include "lab/world/process.h"

#define KEEPER_PATH_MAX 512

struct keeper;
struct keeper_session;

enum keeper_kind {
	KEEPER_CREATE,
	KEEPER_SET,
	KEEPER_DELETE,
	/* reads */
	KEEPER_GET,
	KEEPER_CHILDREN,
	KEEPER_SYNC,
};

struct keeper_op {
	enum keeper_kind kind;
	const char *path;
	struct slice data; /* to create or set */
	int flags;	   /* to create: ZOO_EPHEMERAL, ZOO_SEQUENCE */
	int version;	   /* to set or delete: that it must have; -1: any */
	bool watch;	   /* of children: `changed` is called once when they are others */
};

/* Of one operation. Valid inside the call. */
struct keeper_answer {
	int code; /* of zookeeper.h */
	const char *name;
	struct slice data;
	int version; /* of what was read, or set first */
	char **names;
	size_t count;
};

struct keeper_handlers {
	/* The servers are reached; `fresh`: in a session that is new. */
	void (*connected)(void *context, bool fresh);
	/* No more, and what was asked is answered ZCONNECTIONLOSS; it tries on by itself. */
	void (*lost)(void *context);
	/* The session is over, and all that it made; only keeper_close() may follow. */
	void (*expired)(void *context);
	void (*changed)(void *context); /* or NULL */
};

struct keeper *keeper_create(struct world *w);
/* Its sessions are closed. */
void keeper_destroy(struct keeper *keeper);

/* A session of the process, begun when the servers are reached. */
struct keeper_session *keeper_open(struct keeper *keeper, struct process *process, int timeout_ms,
				   const struct keeper_handlers *handlers, void *context);
/* No more callbacks. In order: it ends at the servers, too, if they are reached; otherwise, as of
 * a process that was killed, they find out. */
void keeper_close(struct keeper_session *session, bool in_order);
int keeper_timeout_ms(const struct keeper_session *session);

/* Answered later, once: changes as one, all or nothing; reads one by one, with as many calls of
 * `each` before it. The operations are copied. */
void keeper_ask(struct keeper_session *session, const struct keeper_op *ops, size_t count,
		void (*each)(void *context, size_t index, const struct keeper_answer *answer),
		void (*answered)(void *context, const struct keeper_answer *answer), void *context);

/* What the node holds now, heap; NULL: it is not there. For who looks from outside. */
char *keeper_peek(const struct keeper *keeper, const char *path);

/* ---- faults ------------------------------------------------------------------------------ */

/* From now on, until all is mended, connections often break soon after they were made, when most is
 * begun on them. */
void keeper_disturb(struct keeper *keeper);
bool keeper_disturbed(const struct keeper *keeper);
/* No server answers for so long: they have no quorum. */
void keeper_stop(struct keeper *keeper, int64_t span);
/* A session, by the number that a caller draws, loses its connection, ... */
void keeper_cut(struct keeper *keeper, uint64_t draw);
/* ... and does not reach a server for so long, while other ways are open, ... */
void keeper_cut_off(struct keeper *keeper, uint64_t draw, int64_t span);
/* ... or is taken for dead by the servers. */
void keeper_expire(struct keeper *keeper, uint64_t draw);
/* The last two for all sessions of a process. */
void keeper_cut_off_process(struct keeper *keeper, const struct process *process, int64_t span);
void keeper_expire_process(struct keeper *keeper, const struct process *process);
/* All is well again. */
void keeper_mend(struct keeper *keeper);

#endif
