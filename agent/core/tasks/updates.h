/* Status updates: on their way in, and reliably out. */
#ifndef AGENT_CORE_TASKS_UPDATES_H
#define AGENT_CORE_TASKS_UPDATES_H

#include "agent/core/objects.h"

/* Takes an update by an executor (`sender`) or by the agent (NULL). `update` is in an arena
 * and is completed in place. NULL, or why the executor may not send it now. */
const char *agent_update(struct agent *agent, struct executor *sender,
			 Mesos__Internal__StatusUpdate *update);
/* An update by the agent, in the step's arena. `executor_id` may be NULL. */
Mesos__Internal__StatusUpdate *agent_draft_update(struct agent *agent, struct framework *framework,
						  const char *task_id, const char *executor_id,
						  Mesos__TaskState state,
						  Mesos__TaskStatus__Reason reason,
						  const char *message);
/* Makes and takes one. */
void agent_make_update(struct agent *agent, struct framework *framework, const char *task_id,
		       const char *executor_id, Mesos__TaskState state,
		       Mesos__TaskStatus__Reason reason, const char *message);

struct stream *agent_stream_find(struct framework *framework, const char *task_id);
struct stream *agent_stream_create(struct framework *framework, const char *task_id);
bool agent_stream_knows(const struct stream *stream, const uint8_t *uuid);
/* Whether an executor has to wait with updates of the task, or (NULL) of unknown tasks. */
bool agent_stream_full(struct framework *framework, const struct task *task);
/* Appends an update, and neither stores nor sends it. Takes `message`, on the heap, with a uuid. */
struct update *agent_stream_append(struct stream *stream, Mesos__Internal__StatusUpdate *message);
void agent_stream_push(struct agent *agent, struct framework *framework,
		       const Mesos__Internal__StatusUpdate *update);
void agent_stream_remember(struct stream *stream, uint64_t seq, const uint8_t *uuid);
void agent_stream_send(struct agent *agent, struct stream *stream);
/* After loading: the task's record says which update was sent last. It is written with the task,
 * and so may be older than the acknowledgements are. */
void agent_stream_recover(struct stream *stream);
void agent_stream_timeout(struct agent *agent, struct stream *stream);
void agent_stream_free(struct agent *agent, struct stream *stream);
void agent_stream_close(struct agent *agent, struct stream *stream); /* and its records */
void agent_streams_pause(struct agent *agent);
void agent_streams_resume(struct agent *agent, struct framework *only);
void agent_handle_acknowledgement(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateAcknowledgementMessage *message);

#endif
