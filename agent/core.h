/* What the files of the agent core share. Nobody outside of it includes this.
 *
 * Writing: all store operations of one step go out as one batch, all or nothing,
 * under one ticket (agent_ticket()). What must not be seen before the batch is
 * written waits on its ticket (agent_wait()); see checkpoint.c.
 */
#ifndef AGENT_CORE_H
#define AGENT_CORE_H

#include "agent/records.h"

/* ---- states.c: what may follow what -------------------------------------- */
const char *agent_state_name(enum agent_state state);
const char *executor_state_name(enum executor_state state);
void agent_set_state(struct agent *agent, enum agent_state to);
void agent_executor_set_state(struct executor *executor, enum executor_state to);

/* ---- actions.c: what goes out -------------------------------------------- */
void agent_send(struct agent *agent, const char *to, void *message);
void agent_link(struct agent *agent, enum agent_action_type type, const char *pid);
void agent_send_event(struct agent *agent, uint64_t stream, Mesos__Executor__Event *event);
void agent_end_stream(struct agent *agent, uint64_t stream);
struct agent_action *agent_emit(struct agent *agent, enum agent_action_type type);
void agent_emit_exit(struct agent *agent, int status, const char *text);
void agent_reply(struct agent *agent, int status, const char *text);
/* Id messages in the step's arena. */
Mesos__FrameworkID *agent_framework_id(struct agent *agent, const char *id);
Mesos__ExecutorID *agent_executor_id(struct agent *agent, const char *id);
Mesos__AgentID *agent_own_id(struct agent *agent);
Mesos__TaskID *agent_task_id(struct agent *agent, const char *id);
#define agent_new(agent, Type, descriptor) PROTO_NEW(&(agent)->out->arena, Type, descriptor)

/* ---- checkpoint.c -------------------------------------------------------- */
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
void agent_store_channel(struct executor *executor, struct agent *agent);
void agent_forget_executor(struct executor *executor, struct agent *agent);
void agent_store_task(struct task *task, struct agent *agent);
void agent_forget_task(struct task *task, struct agent *agent);
void agent_store_update(struct stream *stream, struct update *update, struct agent *agent);
void agent_store_ack(struct stream *stream, uint64_t seq, const uint8_t *uuid, struct agent *agent);
void agent_forget_update(struct stream *stream, uint64_t seq, struct agent *agent);
void agent_collect(struct agent *agent, const char *path);
void agent_keep(struct agent *agent, const char *path);
void agent_forget_collected(struct agent *agent, const char *path);
void agent_store_checkpointed(struct agent *agent);
void agent_store_operation(struct operation *operation, struct agent *agent);
void agent_forget_operation(struct operation *operation, struct agent *agent);
void agent_store_removal(struct removal *removal, struct agent *agent);
void agent_forget_removal(struct removal *removal, struct agent *agent);
void agent_store_drain(struct agent *agent); /* or forget it */
void agent_free_waiters(struct agent *agent);

/* ---- agent.c ------------------------------------------------------------- */
void agent_handle_message(struct agent *agent, const char *from, ProtobufCMessage *message);

/* ---- orders.c ------------------------------------------------------------ */
/* True: the order was kept (or dropped) because others come first. */
bool agent_order_keep(struct agent *agent, const char *from, const ProtobufCMessage *message);
void agent_orders_resume(struct agent *agent);	     /* nothing is being made any more */
void agent_orders_drop_answers(struct agent *agent); /* to the registration that was */
void agent_orders_free(struct agent *agent);

/* ---- registration.c ------------------------------------------------------ */
void agent_handle_detected(struct agent *agent, const char *master);
void agent_handle_exited(struct agent *agent, const char *pid);
void agent_handle_registered(struct agent *agent, const char *from,
			     Mesos__Internal__SlaveRegisteredMessage *message);
void agent_handle_reregistered(struct agent *agent, const char *from,
			       Mesos__Internal__SlaveReregisteredMessage *message);
void agent_handle_ping(struct agent *agent, const char *from,
		       Mesos__Internal__PingSlaveMessage *message);
void agent_handle_shutdown(struct agent *agent, const char *from, const char *text);
void agent_register_timeout(struct agent *agent);
void agent_redetect(struct agent *agent, const char *why);
void agent_begin_registration(struct agent *agent);
void agent_registration_resume(struct agent *agent); /* it waited for changes of the total */
void agent_exit_if_empty(struct agent *agent);
void agent_write_capabilities(struct json_writer *w); /* names, as elements of an array */
/* "Dropped: not from our master" is logged; true = go on. */
bool agent_from_master(struct agent *agent, const char *from, const char *what);

/* ---- compatibility.c ----------------------------------------------------- */
int agent_info_compatible(struct agent *agent, const Mesos__AgentInfo *old, struct err *err);

/* ---- frameworks.c -------------------------------------------------------- */
struct framework *agent_framework_find(struct agent *agent, const char *id);
struct framework *agent_framework_create(struct agent *agent, const char *id);
void agent_framework_set(struct agent *agent, struct framework *framework,
			 const Mesos__FrameworkInfo *info, const char *pid);
void agent_framework_free(struct agent *agent, struct framework *framework);
/* Removes it if it is idle: no executors and no updates outstanding. */
void agent_framework_settle(struct agent *agent, struct framework *framework);
bool agent_framework_capable(const struct framework *framework,
			     Mesos__FrameworkInfo__Capability__Type capability);
Mesos__TaskState agent_dropped_state(const struct framework *framework); /* LOST/DROPPED */
Mesos__TaskState agent_gone_state(const struct framework *framework);	 /* LOST/GONE */
void agent_framework_shutdown(struct agent *agent, struct framework *framework);
void agent_handle_update_framework(struct agent *agent, const char *from,
				   Mesos__Internal__UpdateFrameworkMessage *message);
void agent_handle_shutdown_framework(struct agent *agent, const char *from,
				     Mesos__Internal__ShutdownFrameworkMessage *message);
void agent_handle_to_executor(struct agent *agent,
			      Mesos__Internal__FrameworkToExecutorMessage *message);
void agent_forward_to_framework(struct agent *agent, struct framework *framework,
				const char *executor_id, ProtobufCBinaryData data);

/* ---- run_task.c ---------------------------------------------------------- */
void agent_handle_run_task(struct agent *agent, const char *from,
			   Mesos__Internal__RunTaskMessage *message);
void agent_handle_run_task_group(struct agent *agent, const char *from,
				 Mesos__Internal__RunTaskGroupMessage *message);
bool agent_id_usable(const char *id); /* as a path component and part of a key */

/* ---- command.c ----------------------------------------------------------- */
Mesos__ExecutorInfo *agent_command_executor(struct agent *agent, const char *framework_id,
					    const Mesos__TaskInfo *task);

/* ---- tasks.c ------------------------------------------------------------- */
struct task *agent_task_create(struct executor *executor, Mesos__Task *record,
			       Mesos__TaskInfo *info, enum task_place place);
struct task *agent_task_find(struct framework *framework, const char *id);
void agent_task_move(struct task *task, enum task_place place);
Mesos__Task *agent_task_record(struct agent *agent, const char *framework_id,
			       const Mesos__TaskInfo *info); /* heap, TASK_STAGING */
/* Applies a status. Error: the task may not take it; nothing changed. */
int agent_task_apply(struct agent *agent, struct task *task, const Mesos__TaskStatus *status,
		     struct err *err);
void agent_task_complete(struct agent *agent, struct task *task);
void agent_task_free(struct task *task);

/* ---- executors.c --------------------------------------------------------- */
struct executor *agent_executor_find(struct framework *framework, const char *id);
struct executor *agent_container_find(struct agent *agent, const char *container);
/* Bare: no info, container or place in agent->containers yet. */
struct executor *agent_executor_alloc(struct framework *framework, const char *id);
void agent_executor_set_container(struct agent *agent, struct executor *executor,
				  const char *container);
struct executor *agent_executor_create(struct agent *agent, struct framework *framework,
				       const Mesos__ExecutorInfo *info, const char *container);
/* The task is delivered when it and what it runs on are stored, with the ticket returned. */
uint64_t agent_executor_queue(struct agent *agent, struct executor *executor, Mesos__Task *record,
			      Mesos__TaskInfo *info);
void agent_executor_launch(struct agent *agent, struct executor *executor);
void agent_executor_deliver(struct agent *agent, struct executor *executor);
void agent_executor_shrunk(struct agent *agent, struct executor *executor); /* a task ended */
void agent_executor_shutdown(struct agent *agent, struct executor *executor);
void agent_executor_destroy(struct agent *agent, struct executor *executor);
/* 0 = none. The old one is only let go, not ended. */
void agent_executor_set_stream(struct agent *agent, struct executor *executor, uint64_t stream);
void agent_executor_set_pending(struct executor *executor, Mesos__TaskState state,
				Mesos__TaskStatus__Reason reason, const char *message);
void agent_executor_exited(struct agent *agent, struct executor *executor, int status,
			   const char *abnormal);
/* Removes it if it is over and nothing is outstanding. */
void agent_executor_settle(struct agent *agent, struct executor *executor);
void agent_executor_free(struct agent *agent, struct executor *executor);
void agent_executor_timeout(struct agent *agent, struct executor *executor);
/* It came: REGISTERING -> RUNNING. */
void agent_executor_arrived(struct agent *agent, struct executor *executor);
bool agent_executor_idle(const struct executor *executor); /* never got a task, none queued */
/* Tells the master that the executor is no more. */
void agent_send_exited_executor(struct agent *agent, const char *framework_id,
				const char *executor_id, int status);
void agent_handle_shutdown_executor(struct agent *agent, const char *from,
				    Mesos__Internal__ShutdownExecutorMessage *message);
void agent_handle_container_started(struct agent *agent, const struct agent_event *event);
void agent_handle_container_failed(struct agent *agent, const struct agent_event *event);
void agent_handle_container_exited(struct agent *agent, const struct agent_event *event);

/* ---- executor_channel.c: to an executor, whichever API it speaks ---------- */
void agent_tell_task(struct agent *agent, struct executor *executor, struct task *task);
void agent_tell_kill(struct agent *agent, struct executor *executor, const char *task_id,
		     Mesos__KillPolicy *policy);
void agent_tell_acknowledged(struct agent *agent, struct executor *executor, const char *task_id,
			     const uint8_t *uuid);
void agent_tell_message(struct agent *agent, struct executor *executor, ProtobufCBinaryData data);
void agent_tell_shutdown(struct agent *agent, struct executor *executor);
void agent_executor_heartbeat(struct agent *agent, struct executor *executor);

/* ---- executor_calls.c: v1 -------------------------------------------------- */
void agent_handle_executor_call(struct agent *agent, const struct agent_event *event);
void agent_handle_stream_closed(struct agent *agent, uint64_t stream);
/* After a restart: tasks that were on their way and that the executor does not know. */
void agent_drop_undelivered(struct agent *agent, struct executor *executor, size_t known_count,
			    Mesos__TaskInfo **known);

/* ---- executor_v0.c --------------------------------------------------------- */
void agent_handle_register_executor(struct agent *agent, const char *from,
				    Mesos__Internal__RegisterExecutorMessage *message);
void agent_handle_reregister_executor(struct agent *agent, const char *from,
				      Mesos__Internal__ReregisterExecutorMessage *message);
void agent_handle_executor_update(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateMessage *message);
void agent_handle_to_framework(struct agent *agent,
			       Mesos__Internal__ExecutorToFrameworkMessage *message);

/* ---- total.c: what the agent has ------------------------------------------ */
/* From the flags and `checkpointed`; ERR_INVALID in Mesos' words if they do not fit. */
int agent_total_recover(struct agent *agent, struct err *err);
void agent_new_version(struct agent *agent);
/* Makes the volumes and the change, of an operation or (`operation` NULL) to a full list. */
void agent_change(struct agent *agent, struct operation *operation,
		  const Mesos__Internal__CheckpointResourcesMessage *message);
void agent_handle_volumes_made(struct agent *agent, const struct agent_event *event);
void agent_handle_checkpoint_resources(struct agent *agent, const char *from,
				       Mesos__Internal__CheckpointResourcesMessage *message);
void agent_free_changes(struct agent *agent);

/* ---- volumes.c: their directories ----------------------------------------- */
struct volume {
	char *path; /* absolute; in the step's arena */
	const char *id;
	bool mount;
};
struct volumes {
	struct volume *items; /* by path */
	size_t count;
};
/* ERR_INVALID: one that cannot have a directory, or two with the same one. */
int agent_volumes_of(struct agent *agent, const struct resources *resources, struct volumes *out,
		     struct err *err);
/* Heap. `mount`: the path is a disk's root. */
int agent_volume_path(const struct agent *agent, const Mesos__Resource *volume, char **path,
		      bool *mount, struct err *err);
/* Until they are made the master's orders wait. */
struct change *agent_make_volumes(struct agent *agent, const struct volumes *list);
struct removal *agent_removal_find(struct agent *agent, const char *path);
/* Its data is to go once this step is stored. */
void agent_remove_volume(struct agent *agent, const struct volume *volume,
			 struct operation *operation);
void agent_removal_start(struct agent *agent, const char *path);
void agent_handle_volume_removed(struct agent *agent, const char *path);
int agent_load_removal(struct agent *agent, const char *path, const char *text, struct err *err);
void agent_free_removals(struct agent *agent);

/* ---- links.c: volumes in sandboxes ----------------------------------------- */
/* What a new executor gets; false: not before old data is gone, when it is launched again. */
bool agent_links_launch(struct agent *agent, struct executor *executor, struct agent_volumes *out);
/* Whether the volumes of its tasks are in its sandbox; if not, delivery goes on when they are. */
bool agent_links_ready(struct agent *agent, struct executor *executor);
void agent_links_recover(struct agent *agent, struct executor *executor);
void agent_links_release(struct agent *agent); /* those that were held */
void agent_links_free(struct executor *executor);
void agent_handle_volumes_linked(struct agent *agent, const struct agent_event *event);

/* ---- operations.c ----------------------------------------------------------- */
struct operation *agent_operation_find(struct agent *agent, const uint8_t *uuid);
/* Puts the result into `total`. */
int agent_operation_convert(struct agent *agent, const struct operation *operation,
			    struct resources *total, struct err *err);
/* Its status, stored with all that the step changed, then sent. */
void agent_operation_settle(struct agent *agent, struct operation *operation,
			    Mesos__OperationState state, const char *message);
void agent_operation_send(struct agent *agent, struct operation *operation);
void agent_operation_timeout(struct agent *agent, struct operation *operation);
void agent_operations_pause(struct agent *agent);
void agent_operations_resume(struct agent *agent);
void agent_operations_recover(struct agent *agent);
void agent_operations_free(struct agent *agent);
int agent_load_operation(struct agent *agent, const char *uuid, Mesos__Operation *record,
			 struct err *err); /* takes it */
void agent_send_update_slave(struct agent *agent);
void agent_handle_apply_operation(struct agent *agent, const char *from,
				  Mesos__Internal__ApplyOperationMessage *message);
void agent_handle_acknowledge_operation(
	struct agent *agent, const char *from,
	Mesos__Internal__AcknowledgeOperationStatusMessage *message);
void agent_handle_reconcile_operations(struct agent *agent, const char *from,
				       Mesos__Internal__ReconcileOperationsMessage *message);

/* ---- drain.c ---------------------------------------------------------------- */
void agent_handle_drain(struct agent *agent, const char *from,
			Mesos__Internal__DrainSlaveMessage *message);
void agent_drain_begin(struct agent *agent);  /* the order is stored */
void agent_drain_resume(struct agent *agent); /* after a restart */
void agent_drain_settle(struct agent *agent); /* over, if nothing is left */
/* Says of tasks that end why, in a status before it goes on. */
void agent_drain_adjust(const struct agent *agent, const struct framework *framework,
			Mesos__TaskStatus *status);

/* ---- kill.c ---------------------------------------------------------------- */
void agent_kill(struct agent *agent, struct task *task, Mesos__KillPolicy *policy);
void agent_handle_kill_task(struct agent *agent, const char *from,
			    Mesos__Internal__KillTaskMessage *message);

/* ---- updates.c ------------------------------------------------------------- */
/* An update by an executor (`sender`) or by the agent (NULL). `update` is in an arena
 * and is completed in place. NULL, or why the executor may not send it now. */
const char *agent_update(struct agent *agent, struct executor *sender,
			 Mesos__Internal__StatusUpdate *update);
/* One made here. `executor_id` may be NULL. */
void agent_make_update(struct agent *agent, struct framework *framework, const char *task_id,
		       const char *executor_id, Mesos__TaskState state,
		       Mesos__TaskStatus__Reason reason, const char *message);

/* ---- update_streams.c ------------------------------------------------------ */
struct stream *agent_stream_find(struct framework *framework, const char *task_id);
struct stream *agent_stream_create(struct framework *framework, const char *task_id);
bool agent_stream_knows(const struct stream *stream, const uint8_t *uuid);
/* Whether an executor may send no more, of a task or (NULL) of one that is unknown. */
bool agent_stream_full(struct framework *framework, const struct task *task);
/* Appends without storing or sending; takes `message` (heap, with a uuid). */
struct update *agent_stream_append(struct stream *stream, Mesos__Internal__StatusUpdate *message);
void agent_stream_push(struct agent *agent, struct framework *framework,
		       const Mesos__Internal__StatusUpdate *update);
void agent_stream_remember(struct stream *stream, uint64_t seq, const uint8_t *uuid);
void agent_stream_send(struct agent *agent, struct stream *stream);
void agent_stream_timeout(struct agent *agent, struct stream *stream);
void agent_stream_free(struct agent *agent, struct stream *stream);
void agent_stream_close(struct agent *agent, struct stream *stream); /* and its records */
void agent_streams_pause(struct agent *agent);
void agent_streams_resume(struct agent *agent, struct framework *only);
void agent_handle_acknowledgement(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateAcknowledgementMessage *message);

/* ---- recovery.c ------------------------------------------------------------ */
void agent_recovery_settle(struct agent *agent); /* one executor less to wait for */
void agent_recovery_timeout(struct agent *agent);

/* ---- environment.c --------------------------------------------------------- */
char **agent_executor_environment(struct agent *agent, const struct executor *executor);

/* ---- paths.c --------------------------------------------------------------- */
/* Heap. */
char *agent_framework_path(const struct agent *agent, const char *framework_id);
char *agent_executor_path(const struct agent *agent, const char *framework_id,
			  const char *executor_id);
char *agent_run_path(const struct agent *agent, const char *framework_id, const char *executor_id,
		     const char *container);

/* ---- resources.c: formats of resources in messages ------------------------- */
void agent_resources_downgrade(struct agent *agent, size_t count, Mesos__Resource **resources);
void agent_resources_upgrade(struct agent *agent, size_t count, Mesos__Resource **resources);

#endif
