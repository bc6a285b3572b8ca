/* What production code of clients, and of masters that are several, stands on in the simulated
 * world: a loop whose timers turn with its time, HTTP over its connections, and ZooKeeper
 * (lab/keeper/). A loop belongs to one life of a process.
 *
 *	loop.c		timers, time, environment
 *	http_client.c	requests as letters
 *	http_server.c	and their answers, with streams that last
 *	zk.c		net/masters/zk.h: a session on a loop
 *	zk_link.c	store/zookeeper/zk_link.h: one that a thread waits for */
#ifndef LAB_SEAMS_SEAMS_H
#define LAB_SEAMS_SEAMS_H

#include "lab/world/wires.h"

struct http_client;
struct http_request;

struct sim_loop {
	struct process *process; /* whose clients these are */
	bool dead;		 /* it was killed: nothing that is closed says so to its peers */
	uint64_t *next_call;	 /* numbers of calls, the owner's */
	struct list clients;	 /* struct http_client.link */
	struct list closed_clients;
	struct list streams; /* struct http_stream.link: that are served */
	struct list closing; /* struct sim_timer.closing */
	struct happening end_of_turn;
	const struct letter *letter; /* the record that is being handed over came in it */
	char *stream_id;	     /* of the last stream that was opened */
};

/* `next_call` counts what the process asks by other ways, too. */
void sim_loop_init(struct sim_loop *loop, struct process *process, uint64_t *next_call);
/* All its clients are closed. */
void sim_loop_free(struct sim_loop *loop);
/* As whom the drivers see the world while they are called: its time, and the variables of its
 * environment ("NAME=value", ended by NULL; or NULL). There is one thread. */
void sim_be(const struct process *process, char *const *environment);
/* A letter for a client, or the end of its connection. False: it is none of theirs. */
bool sim_loop_receive(struct sim_loop *loop, struct conn *conn, const struct letter *letter);
bool sim_loop_conn_closed(struct sim_loop *loop, struct conn *conn);

/* -- requests to production code that serves -- */

/* A call of the letter goes to `handler`, which answers at once, or opens a stream. */
void sim_serve(struct sim_loop *loop, struct conn *conn, const struct letter *letter,
	       void (*handler)(void *context, struct http_request *request), void *context);
/* Answers without one; `text` may be NULL. */
void sim_answer(struct sim_loop *loop, struct conn *conn, const struct letter *letter, int status,
		const char *text);
/* A stream that production code opened is over. False: the conn carries none. */
bool sim_serve_conn_closed(struct sim_loop *loop, struct conn *conn);
/* All of them are over with the process, and nobody is told. */
void sim_serve_end(struct sim_loop *loop);

/* -- between loop.c and http_client.c -- */

/* What was closed is freed when the turn ends. */
void sim_loop_later(struct sim_loop *loop);
void sim_http_clients_free(struct sim_loop *loop);

#endif
