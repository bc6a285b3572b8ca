/* Between the two sides of offload.h. Private to net/. */
#ifndef NET_OFFLOAD_OFFLOAD_INTERNAL_H
#define NET_OFFLOAD_OFFLOAD_INTERNAL_H

#include "base/list.h"
#include "net/http_handoff.h"
#include "net/offload.h"

/* One read, from its submission until its connection is the loop's again; or one text. */
struct offload_job {
	struct list link;	   /* offload.waiting */
	struct offload_text *text; /* or NULL; without `read` then */
	struct offload_read read;
	int fd; /* that the child writes to */
	/* The other end of that; without any it is the client's socket. */
	struct offload_relay *relay;
	struct offload_keeper *keeper; /* of a text */
};

/* What a child writes to its pipe; less than PIPE_BUF, so whole. */
enum offload_news { OFFLOAD_RENDERED, OFFLOAD_WRITTEN, OFFLOAD_FAILED };
struct offload_report {
	uint64_t bytes; /* RENDERED: of all bodies, as they are until they are written */
	uint16_t job;	/* WRITTEN, FAILED */
	uint8_t news;
};

bool offload_same(const struct offload_read *a, const struct offload_read *b);
/* The whole life of a child, all signals blocked at its begin; `parent` is who made it. */
_Noreturn void offload_child(struct offload_job **jobs, size_t count, int report, int parent);

#endif
