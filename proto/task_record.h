/* The record of a task as it is kept: the bytes of its Mesos.Task in one piece of the heap,
 * exactly as proto_pack() makes them of the message, so that storing and showing it are
 * copies; and beside them where the parts are that change.
 *
 * What the master does with a record is done to the bytes: another state, one more status,
 * the update that was sent last. All else reads what it needs, or unpacks the whole. An
 * unpacked message that is changed and packed anew gives the same bytes as the same change
 * here.
 *
 * Bytes from a store are checked by whoever has unpacked them; those that are not as
 * proto_pack() makes them (in another order, with fields twice) are made so.
 */
#ifndef PROTO_TASK_RECORD_H
#define PROTO_TASK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/proto.h"

struct task_record {
	uint8_t *bytes;	   /* heap; NULL: none */
	uint32_t len, cap; /* of the bytes */
	uint32_t statuses; /* where they begin, */
	uint32_t last;	   /* where the last one does; equal to `update` if there is none */
	uint32_t update;   /* where what was sent last is, if anything was, */
	uint32_t rest;	   /* and where it ends */
	uint32_t status_count;
	uint32_t state_at; /* the byte that is the state */
	Mesos__TaskState state;
};

/* Of a message that is complete. `scratch` is for what is needed meanwhile. */
void task_record_pack(struct task_record *r, struct arena *scratch, const Mesos__Task *task);
/* Of bytes that were unpacked to the message. */
void task_record_adopt(struct task_record *r, struct arena *scratch, struct slice bytes,
		       const Mesos__Task *task);
void task_record_free(struct task_record *r);

/* ---- reading --------------------------------------------------------------------------- */

struct slice task_record_bytes(const struct task_record *r);
/* The whole; in the arena. NULL: it cannot be read, which it could when it was made. */
Mesos__Task *task_record_unpack(const struct task_record *r, struct arena *arena);
/* Ids, within the record and without a NUL; the executor's is of no data where there is none. */
struct slice task_record_id(const struct task_record *r);
struct slice task_record_agent_id(const struct task_record *r);
struct slice task_record_executor_id(const struct task_record *r);
/* Whom it runs as, if the task says so; no data if not. */
struct slice task_record_user(const struct task_record *r);
Mesos__ContainerInfo *task_record_container(const struct task_record *r, struct arena *arena);
void task_record_resources(const struct task_record *r, struct arena *arena, size_t *count,
			   Mesos__Resource ***list);
/* NULL if it has none. */
Mesos__TaskStatus *task_record_last_status(const struct task_record *r, struct arena *arena);
/* In seconds; 0 if it has none. */
double task_record_first_time(const struct task_record *r);

/* What was sent last to the scheduler. */
struct task_sent {
	bool known; /* the state is */
	Mesos__TaskState state;
	struct slice uuid; /* no data: not known */
};
struct task_sent task_record_sent(const struct task_record *r);
/* The state that the scheduler knows of: that of the last update, if there was one. */
Mesos__TaskState task_record_told_state(const struct task_record *r);
/* Whether a message says the same of its state, of what was sent, and in as many statuses. */
bool task_record_agrees(const struct task_record *r, const Mesos__Task *task);

/* ---- changing ---------------------------------------------------------------------------- */

void task_record_set_state(struct task_record *r, Mesos__TaskState state);
/* Bytes beyond which the oldest statuses go, those of the last update apart: hundreds of huge
 * ones would be more than the places in a record can say. */
#define TASK_RECORD_MAX (64u << 20)
/* As task_record_status() (proto/states.h) does with a message, within that bound. */
void task_record_add_status(struct task_record *r, struct arena *scratch,
			    const Mesos__TaskStatus *status);
/* The uuid is not empty. */
void task_record_set_sent(struct task_record *r, Mesos__TaskState state, struct slice uuid);

#endif
