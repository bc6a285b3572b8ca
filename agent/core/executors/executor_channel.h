/* What executors say and are told, by either API. */
#ifndef AGENT_CORE_EXECUTORS_EXECUTOR_CHANNEL_H
#define AGENT_CORE_EXECUTORS_EXECUTOR_CHANNEL_H

#include "agent/core/objects.h"

void agent_tell_task(struct agent *agent, struct executor *executor, struct task *task);
/* The executor is connected. */
/* The queued ones of a group, to a v1 executor. */
void agent_tell_group(struct agent *agent, struct executor *executor, uint64_t group);
void agent_tell_kill(struct agent *agent, struct executor *executor, const char *task_id,
		     Mesos__KillPolicy *policy);
void agent_tell_acknowledged(struct agent *agent, struct executor *executor, const char *task_id,
			     const uint8_t *uuid);
void agent_tell_message(struct agent *agent, struct executor *executor, ProtobufCBinaryData data);
void agent_tell_shutdown(struct agent *agent, struct executor *executor);
void agent_executor_heartbeat(struct agent *agent, struct executor *executor);

void agent_handle_executor_call(struct agent *agent, const struct agent_event *event);
void agent_handle_stream_closed(struct agent *agent, uint64_t stream);
/* After a restart: tasks that were on their way and that the executor does not know. */
void agent_drop_undelivered(struct agent *agent, struct executor *executor, size_t known_count,
			    Mesos__TaskInfo **known);

void agent_handle_register_executor(struct agent *agent, const char *from,
				    Mesos__Internal__RegisterExecutorMessage *message);
void agent_handle_reregister_executor(struct agent *agent, const char *from,
				      Mesos__Internal__ReregisterExecutorMessage *message);
void agent_handle_executor_update(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateMessage *message);
void agent_handle_to_framework(struct agent *agent, const char *from,
			       Mesos__Internal__ExecutorToFrameworkMessage *message);

#endif
