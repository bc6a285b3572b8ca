/* Executors: from launch to removal. */
#ifndef AGENT_CORE_EXECUTORS_EXECUTORS_H
#define AGENT_CORE_EXECUTORS_EXECUTORS_H

#include "agent/core/objects.h"

Mesos__ExecutorInfo *agent_command_executor(struct agent *agent, const char *framework_id,
					    const Mesos__TaskInfo *task);

/* Whether the command executor of a task runs it in a Docker container. */
bool agent_runs_docker(const struct agent *agent, const Mesos__ContainerInfo *info);
/* What the default executor is started with. */
Mesos__CommandInfo *agent_default_command(struct agent *agent);

struct executor *agent_executor_find(struct framework *framework, const char *id);
struct executor *agent_container_find(struct agent *agent, const char *container);
/* Makes an executor without info, container or place in agent->containers. */
struct executor *agent_executor_alloc(struct framework *framework, const char *id);
void agent_executor_set_container(struct agent *agent, struct executor *executor,
				  const char *container);
struct executor *agent_executor_create(struct agent *agent, struct framework *framework,
				       const Mesos__ExecutorInfo *info, const char *container);
/* Queues a task, which must not be delivered before it and what it runs on are stored: that is what
 * the returned ticket tells. `group`: those of the same number are delivered together; 0 = none. */
uint64_t agent_executor_queue(struct agent *agent, struct executor *executor, Mesos__Task *record,
			      Mesos__TaskInfo *info, uint64_t group);
void agent_executor_launch(struct agent *agent, struct executor *executor);
void agent_executor_deliver(struct agent *agent, struct executor *executor);
void agent_executor_shrunk(struct agent *agent, struct executor *executor); /* a task ended */
void agent_executor_shutdown(struct agent *agent, struct executor *executor);
void agent_executor_destroy(struct agent *agent, struct executor *executor);
/* Sets the executor's stream, 0 for none. The old stream is forgotten, not ended. */
void agent_executor_set_stream(struct agent *agent, struct executor *executor, uint64_t stream);
void agent_executor_set_pending(struct executor *executor, Mesos__TaskState state,
				Mesos__TaskStatus__Reason reason, const char *message);
void agent_executor_exited(struct agent *agent, struct executor *executor, int status,
			   const char *abnormal);
/* Removes the executor if it is over and nothing of it is outstanding. */
void agent_executor_settle(struct agent *agent, struct executor *executor);
void agent_executor_free(struct agent *agent, struct executor *executor);
void agent_executor_timeout(struct agent *agent, struct executor *executor);
/* Moves an executor that subscribed or registered from REGISTERING to RUNNING. */
void agent_executor_arrived(struct agent *agent, struct executor *executor);
bool agent_executor_idle(const struct executor *executor); /* never got a task, none queued */
/* Tells the master that the executor is no more. */
void agent_send_exited_executor(struct agent *agent, const char *framework_id,
				const char *executor_id, int status);
void agent_handle_shutdown_executor(struct agent *agent, const char *from,
				    Mesos__Internal__ShutdownExecutorMessage *message);
void agent_handle_container_started(struct agent *agent, const struct agent_event *event);
void agent_handle_container_networked(struct agent *agent, const struct agent_event *event);
void agent_handle_container_failed(struct agent *agent, const struct agent_event *event);
void agent_handle_container_exited(struct agent *agent, const struct agent_event *event);
void agent_handle_container_limited(struct agent *agent, const struct agent_event *event);

/* Its token, in the arena; and whether such a token's claims (NULL: it has none) are its own. */
const char *agent_executor_token(struct arena *arena, struct slice secret,
				 const struct executor *executor);
bool agent_executor_claimed(const struct executor *executor, const struct json *claims);
char **agent_executor_environment(struct agent *agent, const struct executor *executor);
char **agent_nested_environment(struct agent *agent, const struct nested *nested);
/* As whom it runs; NULL: as we do. */
const char *agent_executor_user(const struct agent *agent, const struct executor *executor);

#endif
