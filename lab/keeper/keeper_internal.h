/* What keeper.c and keeper_faults.c share. */
#ifndef LAB_KEEPER_KEEPER_INTERNAL_H
#define LAB_KEEPER_KEEPER_INTERNAL_H

#include "lab/keeper/keeper.h"
#include "lab/keeper/keeper_tree.h"

#define KEEPER_DELAY_LOW (50 * MICROSECOND) /* of a request, and of its answer */
#define KEEPER_RECONNECT_HIGH (1500 * MILLISECOND)

struct keeper {
	struct world *world;
	struct keeper_tree tree;
	struct list sessions; /* struct keeper_session.link */
	uint64_t last;	      /* session's number */
	int64_t stopped_until;
	bool disturbed;
};

struct keeper_session {
	struct list link;
	struct keeper *keeper;
	struct process *process; /* NULL: closed by its owner */
	const struct keeper_handlers *handlers;
	void *context;
	int64_t timeout;
	uint64_t number; /* at the servers; 0: not begun */
	bool alive;	 /* at the servers */
	bool connected;	 /* as its owner knows */
	bool over;	 /* likewise */
	bool broken;	 /* something was lost on the connection: it will be noticed */
	int64_t cut_until;
	int64_t heard; /* by the servers */
	int missed;
	int64_t behind;		 /* the server of the connection */
	uint64_t seen;		 /* it never sees what was before that change */
	int64_t last;		 /* when the last request arrives, or its answer */
	struct list asked;	 /* struct question.link, oldest first */
	struct list watched;	 /* struct watched.link */
	struct happening turn;	 /* a ping, or a try to connect */
	struct happening expiry; /* at the servers */
};

static inline struct world *keeper_world(const struct keeper_session *s)
{
	return s->keeper->world;
}

const char *keeper_owner(const struct keeper_session *s);
bool keeper_is_up(const struct keeper *keeper);
/* Its next ping, or try to connect. */
void keeper_turn_after(struct keeper_session *s, int64_t span);
/* At the servers. */
void keeper_session_end(struct keeper_session *s);
/* Its connection. No callback but the last may close it. */
void keeper_session_lose(struct keeper_session *s);

#endif
