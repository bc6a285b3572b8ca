/* Answers made in a child process, so that big ones do not stop the loop.
 *
 * A child of fork() has the process's memory as it was at that moment and shares it until one
 * of both writes: a consistent view for the price of copying page tables (some ms), after which
 * the loop goes on. The child renders the bodies, writes them to the clients' own sockets
 * itself, and exits: no byte of them passes through the loop.
 *
 * Requests that come while a child is rendering wait, and all of them are answered by the next
 * one, those that ask for the same from one body. So an answer is never older than its
 * request, and any number of clients that poll without pause costs one child at a time. A
 * child also costs the loop its fork(), and both sides the copies of pages written later;
 * therefore those that come one after the other are made only when OFFLOAD_PAUSE times the fork's
 * time has gone by. Who asks now and then does not wait for that: as much of it as
 * OFFLOAD_CREDIT_MS may be outstanding.
 *
 * The alternative, rendering in slices on the loop, takes that time from the loop (which is
 * the bottleneck: a state of 100,000 tasks is some 100 MB, of which the copying to sockets alone
 * is as much work as the rendering) and needs a view that survives changes.
 *
 * Failures: without a process or pipe to be had, answers are rendered on the loop. A child that
 * dies, or a client that takes nothing for OFFLOAD_STALL_MS, ends the connections
 * concerned. Slow clients hold a child, of which there are at most OFFLOAD_CHILDREN, with at most
 * OFFLOAD_BYTES_MAX and what the last one made; when others wait for one, the child that has been
 * writing longest is ended after OFFLOAD_PATIENCE_MS. Children die with the process that made them,
 * however it ends.
 *
 * What `render` may do in the child: read memory, allocate, write to its buffer. No logs, no
 * locks that another thread may hold, no loop, no files. */
#ifndef NET_OFFLOAD_H
#define NET_OFFLOAD_H

#include "net/http.h"

#define OFFLOAD_CHILDREN 4
/* While children hold that many bytes for clients, no other is made. */
#define OFFLOAD_BYTES_MAX ((uint64_t)1 << 30)
#define OFFLOAD_READS 256 /* answered by one child */
#define OFFLOAD_PAUSE 250
#define OFFLOAD_PAUSE_MAX_MS 800
#define OFFLOAD_CREDIT_MS (3 * OFFLOAD_PAUSE_MAX_MS)
#define OFFLOAD_STALL_MS 60000
#define OFFLOAD_PATIENCE_MS 10000
/* Below the loop's, which has to answer schedulers. For so long it even yields to whatever else
 * wants the processor, if it may come back from that: the loop, which wakes up for each message,
 * then never waits for it, as it would for a slice of a process that is merely nice. */
#define OFFLOAD_NICE 5
#define OFFLOAD_IDLE_MS 500
/* Bytes that are written by one system call: within one, many kernels let
 * nobody else have the processor. */
#define OFFLOAD_PIECE (64 << 10)

struct offload;

struct offload_read;

/* Appends the body of the answer, in a child or not. `*content_type` is preset to the read's.
 * Allocations may be in request->arena. */
typedef void offload_render(const struct offload_read *read, struct buf *body,
			    const char **content_type);

struct offload_read {
	struct http_request *request;
	offload_render *render;
	void *context;
	const void *what;
	const char *content_type;
};

/* A text that a child makes and the loop keeps; part of whatever it is about, which must last until
 * `done`. Waits and fails as answers do. */
struct offload_text {
	/* Appends the text, in a child or not. */
	void (*render)(const struct offload_text *text, struct buf *out);
	/* On the loop, at the moment of which the text tells; once, before `done`, unless the text
	 * is given up before. */
	void (*begun)(struct offload_text *text);
	/* On the loop, never inside of offload_make(). Takes the bytes from `made`, or leaves
	 * them to be freed; NULL: the child died, or offload_close() was called. */
	void (*done)(struct offload_text *text, struct buf *made);
};

struct offload_counts {
	uint64_t children; /* made */
	uint64_t reads;	   /* handed to them */
	uint64_t failed;   /* of these, not written whole */
	uint64_t inlined;  /* rendered on the loop, since no child could be had */
	uint64_t now;	   /* children that there are */
	uint64_t bytes;	   /* of bodies that they hold, until they end */
};

struct offload *offload_create(uv_loop_t *loop);
/* Ends all children, the connections of what they were writing, and what waits (503); frees
 * itself from the loop. */
void offload_close(struct offload *offload);

/* Answers the request with 200 from a child, later. Equal reads are those of one principal with the
 * same function, context, what, content type, query and body. */
void offload_submit(struct offload *offload, const struct offload_read *read);
/* Answers it at once, on the loop. */
void offload_inline(const struct offload_read *read);

/* Has the text made, later. */
void offload_make(struct offload *offload, struct offload_text *text);

/* Whether the process is a child of it. */
bool offload_owns(const struct offload *offload, pid_t pid);
struct offload_counts offload_counts(const struct offload *offload);
/* Other bounds than OFFLOAD_BYTES_MAX, OFFLOAD_CREDIT_MS and OFFLOAD_PATIENCE_MS, for tests. */
void offload_bound(struct offload *offload, uint64_t bytes);
void offload_limit_credit(struct offload *offload, int64_t milliseconds);
void offload_limit_patience(struct offload *offload, int64_t milliseconds);

#endif
