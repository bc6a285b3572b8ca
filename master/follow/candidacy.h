/* A master's way to lead, where there are several: a candidate of the election that copies what the
 * leader knows, until it is elected. There is no way back: who loses its place then must end, since
 * another one acts, and a supervisor starts it again as a candidate. */
#ifndef MASTER_FOLLOW_CANDIDACY_H
#define MASTER_FOLLOW_CANDIDACY_H

#include <stdbool.h>
#include <uv.h>

#include "base/zk/zk_url.h"
#include "master/follow/warm_table.h"
#include "proto/proto.h"

struct candidacy;

struct candidacy_handlers {
	/* Once. `copy` is what the copy in the table is called, for follow_note_names(), heap and
	 * the callee's; NULL: there is none. */
	void (*elected)(void *context, char *copy);
	/* It was, and is no more. */
	void (*over)(void *context, const char *why);
	/* It cannot take part, for good. */
	void (*failed)(void *context, const char *why);
};

struct candidacy_options {
	uv_loop_t *loop;
	const struct zk_url *group; /* the owner's */
	int session_timeout_ms;
	const Mesos__MasterInfo *info;
	/* What is copied, and "host:port" at which people reach this master, the owner's; NULL:
	 * nothing is. */
	struct warm_table *table;
	const char *address;
	const struct candidacy_handlers *handlers;
	void *context;
};

struct candidacy *candidacy_open(const struct candidacy_options *options);
/* Leaves at once, so that another one may lead. No more callbacks; frees itself from the loop. */
void candidacy_close(struct candidacy *candidacy);
/* Another one that leads, "host:port" for people; NULL: none is known. */
const char *candidacy_leader(const struct candidacy *candidacy);

#endif
