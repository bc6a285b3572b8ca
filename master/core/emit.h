/* What a step gives out: actions, messages and answers. Everything lives in the step's arena. */
#ifndef MASTER_CORE_EMIT_H
#define MASTER_CORE_EMIT_H

#include "master/core/objects.h"

/* The time `span` from now, for timers: spans of flags may be close to INT64_MAX. */
static inline int64_t master_later(const struct master *m, int64_t span)
{
	return span < TIME_NEVER - m->now ? m->now + span : TIME_NEVER - 1;
}

/* What is about all agents comes in parts, of so many agents each, some milliseconds of work at
 * most; what else there is to do comes between them. */
#define MASTER_PART_PAUSE MILLISECOND
static inline int master_part(const struct master *m)
{
	return m->options.part ? m->options.part : 128;
}

struct master_action *master_emit(struct master *m, enum master_action_type type);
void master_emit_message(struct master *m, const char *from, const char *to, void *message);
/* Sends the message to the agent, from the actor "master". */
void master_send_agent(struct master *m, const struct agent *a, void *message);
/* Sends the message to every registered agent. */
void master_broadcast(struct master *m, void *message);
/* Gives up the link to the agent or driver. An agent and a driver may claim the same pid: the link
 * stays while the other one needs it. */
void master_unlink_agent(struct master *m, const struct agent *a);
void master_unlink_driver(struct master *m, const struct framework *f);
/* Asks the shell to write the operations, which must live in the step's arena. Returns the ticket
 * of the line's MASTER_STORED event that follows. */
uint64_t master_emit_store(struct master *m, enum store_line line, enum store_class class,
			   struct store_op *ops, size_t count);
void master_reply(struct master *m, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void master_answer(struct master *m, uint64_t request, int status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Messages in the step's arena. */
#define STEP_NEW(m, Type, descriptor) PROTO_NEW(&(m)->out->arena, Type, descriptor)
#define STEP_COPY(m, message) ((__typeof__(message))proto_copy_to(&(m)->out->arena, (message)))
char *master_text(struct master *m, const char *text); /* copied into the step's arena */
Mesos__FrameworkID *master_framework_id(struct master *m, const char *id);
Mesos__AgentID *master_agent_id(struct master *m, const char *id);
Mesos__TaskID *master_task_id(struct master *m, const char *id);
Mesos__ExecutorID *master_executor_id(struct master *m, const char *id);
Mesos__OfferID *master_offer_id(struct master *m, const char *id);
Mesos__UUID *master_uuid(struct master *m, const uint8_t *data, size_t len);

#endif
