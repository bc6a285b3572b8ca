/* What connects the processes of the simulated world: connections, and on top of them streams of
 * the v1 API and libprocess. */
#ifndef LAB_WORLD_WIRES_H
#define LAB_WORLD_WIRES_H

#include "lab/world/process.h"

/* ---- connections ------------------------------------------------------------- */

enum conn_side { CONN_CLIENT, CONN_SERVER };

struct conn {
	struct list link;
	struct world *world;
	uint64_t number;
	struct conn_end {
		struct conn *conn;
		struct process *process; /* NULL once it left */
		struct list link;	 /* in the process */
		struct list inbox;	 /* struct parcel.link, on the way to it */
		int64_t last;		 /* when the last of them arrives */
	} of[2];
	char *peer;   /* libprocess: the pid's "ip:port" it was opened to, or NULL */
	char *linked; /* libprocess: the pid whose end the client wants to hear of, or NULL */
	char *sender; /* libprocess: pid_sole_sender, or NULL */
	uint64_t tag; /* the owners' use: number of a stream */
	bool broken;
	bool black_hole; /* broken, and nobody answers who sends into it */
};

/* NULL if nobody listens there or it cannot be reached now. */
struct conn *conn_open(struct process *from, const char *address);
/* Bytes that it sent and that are on their way. */
size_t conn_waiting(const struct conn *conn, const struct process *from);
/* Takes over the letter's parts. Letters arrive in order, or not at all after a break. */
void conn_send(struct conn *conn, const struct process *from, struct letter *letter);
/* The other end hears of it after all that was sent before. */
void conn_close(struct conn *conn, struct process *by);
/* Both ends hear of it, each in its time; what is on its way is lost. */
void conn_break(struct conn *conn);
/* As conn_break(), but the end `unaware` hears of it after `span` only, or when it sends
 * something and gets no answer; a black hole makes that take longer. */
void conn_half_open(struct conn *conn, enum conn_side unaware, int64_t span, bool black_hole);
void world_drop_echoes(struct world *w);
struct process *conn_other(const struct conn *conn, const struct process *p);

/* ---- streams ------------------------------------------------------------------------ */

/* A subscription's stream is the conn to the process whose `tag` is its number. What goes to
 * one that is no more is lost. */
void stream_send(struct process *p, uint64_t number, const void *event);
void stream_end(struct process *p, uint64_t number);

/* ---- libprocess on top ----------------------------------------------------------- */

#define PID_DRIVER "scheduler" /* their actors' names begin so */
/* From "actor@address" of `from`, or a whole pid, to the pid; lost if it cannot be reached. */
void pid_send(struct process *from, const char *actor, const char *pid, const void *message);
/* Likewise; the letter has a message, and `force`. */
void pid_post(struct process *from, const char *actor, const char *pid, struct letter *letter);
/* `closed` will be called with a conn whose `peer` is the pid's address. */
void pid_link(struct process *from, const char *pid);
void pid_unlink(struct process *from, const char *pid);
/* A message of the pid came by the conn (http_note_sender). */
void pid_note_sender(struct conn *conn, const char *pid);
/* The pid is at the other end: ends others by which messages of it came (http_sole_sender). */
void pid_sole_sender(struct process *to, struct conn *conn, const char *pid);

#endif
