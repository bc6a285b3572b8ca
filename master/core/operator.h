/* What comes into the core: calls of schedulers, libprocess messages and requests of operators; and
 * requests that wait while something else is being written. */
#ifndef MASTER_CORE_OPERATOR_H
#define MASTER_CORE_OPERATOR_H

#include "master/core/objects.h"

void master_handle_call(struct master *m, const struct master_event *event);

void master_handle_message(struct master *m, const struct master_event *event);

/* A changing call; its handler answers with master_reply, at once or (status 0) later with
 * master_answer and the number. The call lives as long as the step. */
struct operator_request {
	Mesos__Master__Call *call;
	const char *principal; /* or NULL */
	uint64_t number;
};
void master_handle_operator(struct master *m, const struct master_event *event);
void master_handle_kill_task(struct master *m, const struct master_event *event);
/* Answers that the principal (or NULL) may not do it. */
void master_forbid(struct master *m, const char *what, const char *principal);
/* What a request waits for that came while something else is being written. */
enum deferral {
	DEFER_AGENT, /* a change of the agent */
	DEFER_QUOTA,
	DEFER_MAINTENANCE,
};
/* The request is handled anew when that is written. `agent_id` is NULL for the others. */
void master_defer(struct master *m, const struct operator_request *request, enum deferral why,
		  const char *agent_id);
/* It is written; master_retry_deferred() follows in the same step. */
void master_deferral_ended(struct master *m, enum deferral why, const char *agent_id);
void master_retry_deferred(struct master *m);
void master_free_deferred(struct master *m);

#endif
