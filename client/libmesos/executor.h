/* An executor driver with the contract of libmesos' MesosExecutorDriver, over the v1 HTTP API.
 * Threads and statuses are those of scheduler.h.
 *
 * The environment that the agent gave says where it is (client/executor.h). When the connection
 * of a checkpointing framework breaks, `disconnected` is told, and the driver waits for the agent
 * for MESOS_RECOVERY_TIMEOUT. SHUTDOWN, and an agent that is lost for good, are told by
 * `shutdown`; unless MESOS_LOCAL is set, the process group is killed when it still lives
 * MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD later, as by libmesos. */
#ifndef CLIENT_LIBMESOS_EXECUTOR_H
#define CLIENT_LIBMESOS_EXECUTOR_H

#include "base/memory/buf.h"
#include "client/libmesos/status.h"

struct libmesos_executor;

/* As those of scheduler.h. */
struct libmesos_executor_handlers {
	int (*registered)(void *context, struct slice executor_info, struct slice framework_info,
			  struct slice agent_info);
	int (*reregistered)(void *context, struct slice agent_info);
	int (*disconnected)(void *context);
	int (*launch)(void *context, struct slice task);
	int (*kill)(void *context, struct slice task_id);
	int (*message)(void *context, struct slice data);
	int (*shutdown)(void *context);
	void (*error)(void *context, const char *why);
	void (*thread_begins)(void *context);
	void (*thread_ends)(void *context);
};

/* NULL when there is no memory. */
struct libmesos_executor *libmesos_executor_new(const struct libmesos_executor_handlers *handlers,
						void *context);
void libmesos_executor_free(struct libmesos_executor *driver);

enum libmesos_status libmesos_executor_start(struct libmesos_executor *driver);
/* Nothing is said to the agent, which sees the process end; updates and messages that were sent
 * go out first, for a second at most, and join() waits for that. */
enum libmesos_status libmesos_executor_stop(struct libmesos_executor *driver);
enum libmesos_status libmesos_executor_abort(struct libmesos_executor *driver);
enum libmesos_status libmesos_executor_join(struct libmesos_executor *driver);

/* A TaskStatus, without uuid, timestamp and source. One of TASK_STAGING aborts the driver; one
 * that does not parse is an error that the caller should have seen, and is dropped. */
enum libmesos_status libmesos_executor_update(struct libmesos_executor *driver,
					      struct slice status);
enum libmesos_status libmesos_executor_send(struct libmesos_executor *driver, struct slice data);

#endif
