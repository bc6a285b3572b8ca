/* What the agent stores, and what waits until it is stored.
 *
 * All store operations of one step go out as one batch, all or nothing,
 * under one ticket (agent_ticket()). What must not be seen before the batch is
 * written waits on its ticket (agent_wait()); see checkpoint.c. */
#ifndef AGENT_CORE_STORE_CHECKPOINT_H
#define AGENT_CORE_STORE_CHECKPOINT_H

#include "agent/core/objects.h"

void agent_put(struct agent *agent, char *key, const void *message);
void agent_put_text(struct agent *agent, char *key, const char *text);
void agent_delete(struct agent *agent, char *key);
/* The key's text is in the step's arena. */
char *agent_key(struct agent *agent, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t agent_ticket(const struct agent *agent); /* of this step's batch */
void agent_flush_store(struct agent *agent);	  /* at the end of a step */
/* Runs the follower now if the ticket is written (0 always is), else when it is. */
void agent_wait(struct agent *agent, uint64_t ticket, enum wait_kind kind, const char *owner,
		const char *task_id, const uint8_t *uuid);
void agent_handle_stored(struct agent *agent, uint64_t ticket);
void agent_store_identity(struct agent *agent);
void agent_store_framework(struct framework *framework, struct agent *agent);
void agent_forget_framework(struct framework *framework, struct agent *agent);
void agent_store_executor(struct executor *executor, struct agent *agent);
void agent_store_process(struct executor *executor, struct agent *agent);
void agent_store_networks(struct executor *executor, struct agent *agent);
void agent_store_channel(struct executor *executor, struct agent *agent);
void agent_forget_executor(struct executor *executor, struct agent *agent);
void agent_store_task(struct task *task, struct agent *agent);
void agent_forget_task(struct task *task, struct agent *agent);
void agent_store_update(struct stream *stream, struct update *update, struct agent *agent);
void agent_store_ack(struct stream *stream, uint64_t seq, const uint8_t *uuid, struct agent *agent);
void agent_forget_update(struct stream *stream, uint64_t seq, struct agent *agent);
void agent_collect(struct agent *agent, const char *path); /* after --gc_delay */
void agent_collect_at(struct agent *agent, const char *path, int64_t when);
void agent_keep(struct agent *agent, const char *path);
void agent_forget_collected(struct agent *agent, const char *path);
void agent_store_checkpointed(struct agent *agent);
void agent_store_operation(struct operation *operation, struct agent *agent);
void agent_forget_operation(struct operation *operation, struct agent *agent);
void agent_store_removal(struct removal *removal, struct agent *agent);
void agent_forget_removal(struct removal *removal, struct agent *agent);
void agent_store_drain(struct agent *agent); /* or forget it */
void agent_free_waiters(struct agent *agent);

#endif
