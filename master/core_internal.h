/* Functions that the files of the master core share; no use to the shell. All run
 * within a step: master.now and master.out are valid. Names say the object they
 * belong to; `m` is the master. */
#ifndef MASTER_CORE_INTERNAL_H
#define MASTER_CORE_INTERNAL_H

/* The time `span` from now, for timers: spans of flags may be close to INT64_MAX. */
static inline int64_t master_later(const struct master *m, int64_t span)
{
	return span < TIME_NEVER - m->now ? m->now + span : TIME_NEVER - 1;
}

/* ---- emit.c: actions ------------------------------------------------------- */

struct master_action *master_emit(struct master *m, enum master_action_type type);
void master_emit_message(struct master *m, const char *from, const char *to, void *message);
/* From the actor "master" to the agent. */
void master_send_agent(struct master *m, const struct agent *a, void *message);
/* To every agent that is registered. */
void master_broadcast(struct master *m, void *message);
/* Give up the link to it, which stays for one of the other kind that says to be at the pid. */
void master_unlink_agent(struct master *m, const struct agent *a);
void master_unlink_driver(struct master *m, const struct framework *f);
/* Returns the ticket. The ops must live in the step's arena. */
uint64_t master_emit_store(struct master *m, enum store_class class, struct store_op *ops,
			   size_t count);
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

/* ---- events.c: what schedulers hear ---------------------------------------- */

/* Each drops the event when the framework is not connected. */
void master_tell_subscribed(struct master *m, struct framework *f);
void master_tell_heartbeat(struct master *m, struct framework *f);
void master_tell_rescind(struct master *m, struct framework *f, const char *offer_id);
void master_tell_rescind_inverse(struct master *m, struct framework *f, const char *id);
/* `status` is the step's own. */
void master_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status);
/* The same for an agent's; `latest` is the newest state that the agent knows. */
void master_tell_forwarded(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			   Mesos__TaskState latest);
void master_tell_message(struct master *m, struct framework *f,
			 const Mesos__Internal__ExecutorToFrameworkMessage *message);
void master_tell_executor_failure(struct master *m, struct framework *f, const char *agent_id,
				  const char *executor_id, int status);
/* To all connected frameworks. */
void master_tell_agent_failure(struct master *m, const char *agent_id);
void master_tell_operation(struct master *m, struct framework *f, Mesos__OperationStatus *status);
void master_tell_operation_error(struct master *m, struct framework *f,
				 const Mesos__OperationID *id, const char *message);
/* Adds the offer to the framework's OFFERS event, begun if there is none. */
void master_offers_event_add(struct master *m, struct offer *offer);
void master_offers_event_send(struct master *m, struct framework *f);
/* Likewise for INVERSE_OFFERS. */
void master_inverse_event_add(struct master *m, struct inverse_offer *offer);
void master_inverse_event_send(struct master *m, struct framework *f);
/* ERROR to a stream, then its end. */
void master_refuse_stream(struct master *m, uint64_t stream, const char *text);

/* ---- driver.c, driver_events.c: scheduler drivers of v0 --------------------- */

/* Whether the message is one that drivers send; it is handled then. */
bool master_driver_message(struct master *m, const struct master_event *event);
/* The link to the pid, of a driver or not, broke. */
void master_driver_exited(struct master *m, const char *pid);
/* Any event to a connected driver, in the words of v0. */
void driver_tell(struct master *m, struct framework *f, const Mesos__Scheduler__Event *event);
/* An agent's update. */
void driver_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			Mesos__TaskState latest);
/* FrameworkRegisteredMessage, or FrameworkReregisteredMessage. */
void driver_tell_registered(struct master *m, struct framework *f, bool again);
/* FrameworkErrorMessage, at which a driver aborts. To whoever is at the pid, reached at
 * `local` (NULL: as advertised). */
void driver_tell_error(struct master *m, const char *pid, const char *local, const char *text);
/* To who wants to authenticate. */
void driver_tell_no_authenticator(struct master *m, const char *pid, const char *local);

/* ---- frameworks.c: the objects --------------------------------------------- */

/* A framework of a copy of `info` (id set), in no table. */
struct framework *master_make_framework(const Mesos__FrameworkInfo *info);
/* Makes a framework of a copy of `info` (id set) and adds it, to the allocator too;
 * RECOVERED and inactive. */
struct framework *master_add_framework(struct master *m, const Mesos__FrameworkInfo *info);
/* Replaces the info but for what may not change and tells the allocator.
 * Offers of dropped roles are rescinded. */
void master_update_framework(struct master *m, struct framework *f,
			     const Mesos__FrameworkInfo *info, char *const *suppressed,
			     size_t suppressed_count,
			     const Mesos__Scheduler__OfferConstraints *constraints);
void master_activate_framework(struct master *m, struct framework *f, bool active);
/* Those of inverse kind, too; the framework is not told. */
void master_discard_offers(struct master *m, struct framework *f);
/* The stream, if any, is ended. */
void master_remove_framework(struct master *m, struct framework *f);
/* The stream or link is gone. */
void master_disconnect_framework(struct master *m, struct framework *f);
void master_framework_failover_expired(struct master *m, struct framework *f);
/* Nobody speaks for it any more: no stream, no link. */
void master_detach_framework(struct master *m, struct framework *f);
void master_free_framework(struct framework *f);
/* Interprets info: roles, capabilities. */
void framework_derive(struct framework *f);
void framework_set_suppressed(struct framework *f, char *const *roles, size_t count);
/* Validated ones (master_validate_suppressed), or NULL. */
void framework_set_constraints(struct framework *f,
			       const Mesos__Scheduler__OfferConstraints *constraints);
bool framework_has_role(const struct framework *f, const char *role);
/* Puts the framework among the completed ones, evicting the oldest. */
void master_keep_completed(struct master *m, struct framework *f);
void master_tell_allocator(struct master *m, struct framework *f, bool is_new);

/* ---- subscribe.c, call_validate.c, calls.c --------------------------------- */

void master_handle_call(struct master *m, const struct master_event *event);
int master_validate_call(const Mesos__Scheduler__Call *call, const char *principal,
			 struct err *err);
/* A valid call of whoever speaks for the framework; not SUBSCRIBE. */
void master_carry_out_call(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call *call);
void master_subscribe(struct master *m, const struct master_event *event);
/* A subscription that is being made, by HTTP or by a driver. */
struct subscription {
	const Mesos__Scheduler__Call__Subscribe *call;
	Mesos__FrameworkInfo *info; /* the step's own; without an id if that is empty */
	struct framework *f;	    /* of that id; NULL: none yet */
};
int master_check_subscription(struct master *m, const Mesos__Scheduler__Call__Subscribe *call,
			      const char *principal, struct subscription *out, struct err *err);
/* The framework of the subscription, new or with what it says now; nobody speaks for it
 * yet, or somebody else does. Offers that are out stay. */
struct framework *master_admit_framework(struct master *m, struct subscription *s);
/* Whoever speaks for the framework now hears that its time is over. */
void master_supplant(struct master *m, struct framework *f);
/* Somebody new speaks for it: its stream or pid is in its place. */
void master_connect_framework(struct master *m, struct framework *f);
/* What is wrong with the info itself; then with it here and now. */
int framework_info_validate(const Mesos__FrameworkInfo *info, struct err *err);
int master_validate_framework_info(const struct master *m, const Mesos__FrameworkInfo *info,
				   struct err *err);
bool framework_info_has(const Mesos__FrameworkInfo *info,
			Mesos__FrameworkInfo__Capability__Type capability);
int master_validate_suppressed(const Mesos__FrameworkInfo *info, char *const *suppressed,
			       size_t count, const Mesos__Scheduler__OfferConstraints *constraints,
			       struct err *err);
/* UpdateFrameworkMessage. */
void *master_update_framework_message(struct master *m, const struct framework *f);
void master_kill(struct master *m, struct framework *f, const char *task_id, const char *agent_id,
		 const Mesos__KillPolicy *policy);

/* ---- offers.c --------------------------------------------------------------- */

/* Runs an allocation and sends what it grants. */
void master_allocate(struct master *m, bool all);
/* Takes the offer away: its resources are no longer offered, nor given back. */
void master_take_offer(struct master *m, struct offer *o);
/* Gives the resources back without telling the framework. */
void master_discard_offer(struct master *m, struct offer *o);
void master_rescind_offer(struct master *m, struct offer *o);
/* The framework is not offered the same again for the time of the filter. */
void master_rescind_filtered(struct master *m, struct offer *o,
			     const struct allocator_filter *filter);
void master_offer_expired(struct master *m, struct offer *o);
void master_decline(struct master *m, struct framework *f,
		    const Mesos__Scheduler__Call__Decline *decline);
/* The allocator's filter of a call; NULL filters mean the default. */
struct allocator_filter master_filter(const Mesos__Filters *filters);
/* Where the agent is found: http://hostname:port/slave(1). All of it is the arena's. */
Mesos__URL *master_agent_url(struct arena *arena, const struct agent *agent);
/* All that the offer is, copied into the arena. */
Mesos__Offer *master_offer_message(const struct master *m, struct arena *arena,
				   const struct offer *o);

/* ---- accept.c ---------------------------------------------------------------- */

void master_accept(struct master *m, struct framework *f,
		   const Mesos__Scheduler__Call__Accept *accept);
int master_validate_offers(const struct master *m, const struct framework *f,
			   Mesos__OfferID *const *ids, size_t count, struct err *err);

/* ---- operation_validate.c, operations.c ---------------------------------------- */

/* Of a normalised operation; `f` NULL: an operator's. */
int master_validate_operation(struct master *m, const struct framework *f, const struct agent *a,
			      const char *principal, const Mesos__Offer__Operation *operation,
			      struct err *err);
/* The agent's total has `converted` instead of `consumed`, and an agent with RESOURCE_PROVIDER is
 * told. Allocation roles do not matter. Fails and changes nothing when the total does not have
 * them. */
int master_change_agent(struct master *m, struct agent *a, struct framework *f,
			const Mesos__Offer__Operation *operation, const struct resources *consumed,
			const struct resources *converted, struct err *err);
/* After one or more of them: what the agent checkpoints is listed, and any other agent told. */
void master_end_changes(struct master *m, struct agent *a);
/* Whether the collection has the volume (a single piece without allocation role), whoever it is
 * allocated to. */
bool master_holds_volume(struct master *m, const struct resources *r,
			 const struct resources *volume);
/* What is neither used nor offered. Shared volumes always are there. */
void agent_free_resources(struct master *m, const struct agent *a, struct resources *out);
/* Takes what an offer has out of what is needed; false if it has nothing of it. Both
 * without allocation roles. */
bool operation_helps(const struct resources *offered, struct resources *needed);
/* The agent did not carry it out: as far as nobody uses what came of it, all is as before. */
void master_undo_operation(struct master *m, struct operation *o);
/* Offers of the agent with one of the volumes. */
void master_rescind_volumes(struct master *m, struct agent *a,
			    const Mesos__Offer__Operation__Destroy *destroy);
/* CheckpointResourcesMessage. */
void master_send_checkpointed(struct master *m, const struct agent *a);

/* ---- operation_records.c ---------------------------------------------------------- */

const char *operation_id(const struct operation *o); /* NULL if it has none */
/* The last that was heard of it, or made of it. */
const Mesos__OperationStatus *operation_last_status(const struct operation *o);
/* Adds a copy of the record; its uuid has 16 bytes. */
struct operation *master_add_operation(struct master *m, struct agent *a,
				       const Mesos__Operation *record);
/* A new one, PENDING. */
struct operation *master_order_operation(struct master *m, struct agent *a, struct framework *f,
					 const Mesos__Offer__Operation *operation);
void master_remove_operation(struct master *m, struct operation *o);
/* The agent told what it has: no operation of before is to be undone. */
void master_confirm_operations(struct agent *a);
void master_remove_operations(struct master *m, struct agent *a); /* all of the agent */
/* `latest` NULL: the same. Terminal states stay. */
void master_update_operation(struct master *m, struct operation *o,
			     const Mesos__OperationStatus *status,
			     const Mesos__OperationStatus *latest);
/* The framework came; it goes. */
void master_adopt_operations(struct master *m, struct framework *f);
void master_leave_operations(struct master *m, struct framework *f);
/* In master.operation_states. */
void master_count_operation(struct master *m, int type, int state, int change);

/* ---- operation_feedback.c ------------------------------------------------------------ */

void master_operation_status(struct master *m, const char *from,
			     const Mesos__Internal__UpdateOperationStatusMessage *message);
void master_acknowledge_operation(struct master *m, struct framework *f,
				  const Mesos__Scheduler__Call__AcknowledgeOperationStatus *call);
/* What the agent reports to have; NULL: nothing. It is asked about what it should have. */
void master_compare_operations(struct master *m, struct agent *a,
			       const Mesos__Internal__UpdateSlaveMessage__Operations *reported);
/* The agent is lost: frameworks hear of the state (UNREACHABLE or GONE_BY_OPERATOR), or, if it
 * is UNKNOWN, of nothing; the records are removed. */
void master_lose_operations(struct master *m, struct agent *a, Mesos__OperationState state,
			    const char *message);

/* ---- task_validate.c, check_validate.c, executor_validate.c ------------------- */

int master_validate_id(const char *id, struct err *err);
/* A task launched by itself. `available` is what is left of the offers. */
int master_validate_task(struct master *m, const struct framework *f, const struct agent *a,
			 const Mesos__TaskInfo *task, const struct resources *available,
			 struct err *err);
/* The rules that single tasks and tasks of groups share. */
int master_validate_task_alone(struct master *m, const struct framework *f, const struct agent *a,
			       const Mesos__TaskInfo *task, struct err *err);
int master_validate_group(struct master *m, const struct framework *f, const struct agent *a,
			  const Mesos__Offer__Operation__LaunchGroup *group,
			  const struct resources *available, struct err *err);
int master_validate_check(const Mesos__CheckInfo *check, struct err *err);
int master_validate_health_check(const Mesos__HealthCheck *check, struct err *err);
/* The ExecutorInfo by itself. */
int master_validate_executor_alone(const Mesos__ExecutorInfo *executor, struct err *err);
/* It, and whether it fits what runs on the agent. */
int master_validate_executor(struct master *m, const struct framework *f, const struct agent *a,
			     const Mesos__ExecutorInfo *executor, struct err *err);
bool master_executor_share_cgroups(const Mesos__ContainerInfo *container);
int master_validate_command(const Mesos__CommandInfo *command, struct err *err);
int master_validate_container(const Mesos__ContainerInfo *container, struct err *err);
/* The common part of all resource rules. */
int master_validate_resources(Mesos__Resource *const *list, size_t count, struct err *err);
int master_validate_persistence(const struct resources *r, struct err *err);
int master_validate_single_role(const struct resources *r, struct err *err);
int master_validate_revocable(const struct resources *r, struct err *err);
/* Ranges or sets of a in b. */
bool master_resources_overlap(const struct resources *a, const struct resources *b);
/* The resources of a message (validated, new format). */
void master_resources(struct master *m, Mesos__Resource *const *list, size_t count,
		      struct resources *out);
/* Whether two infos are the same executor. */
bool master_same_executor(struct master *m, const Mesos__ExecutorInfo *a,
			  const Mesos__ExecutorInfo *b);

/* ---- tasks.c ------------------------------------------------------------------ */

/* A task record of what is launched; STAGING. In the step's arena. */
Mesos__Task *master_task_record(struct master *m, const struct framework *f,
				const Mesos__TaskInfo *info);
/* Adds a copy of the record (resources validated, new format, with allocation roles).
 * Resources are accounted unless it is terminal; the allocator is not told. `a`
 * NULL: an unreachable task. */
struct task *master_add_task(struct master *m, struct framework *f, struct agent *a,
			     const Mesos__Task *task);
/* The same with a record, which is then the task's. */
struct task *master_adopt_task(struct master *m, struct framework *f, struct agent *a,
			       const struct task_record *record);
struct executor *master_add_executor(struct master *m, struct framework *f, struct agent *a,
				     const Mesos__ExecutorInfo *info);
/* The allocator gets the resources back if `give_back`. */
void master_remove_executor(struct master *m, struct executor *e, bool give_back);
/* Resources of a task that ended: accounted no more. */
void master_release_task(struct master *m, struct task *t, bool give_back);
void master_set_task_state(struct master *m, struct task *t, Mesos__TaskState state);
/* Applies a status to the record; releases the resources at the first terminal
 * state. `state` is the latest known one. */
void master_apply_status(struct master *m, struct task *t, const Mesos__TaskStatus *status,
			 Mesos__TaskState state, bool give_back);
/* The task is over: to the framework's completed tasks. */
void master_complete_task(struct master *m, struct task *t, bool give_back);
/* The agent is unreachable: to the framework's unreachable tasks. */
void master_park_task(struct master *m, struct task *t);
void master_forget_task(struct master *m, struct task *t); /* no trace is kept */
void master_forget_completed(struct master *m, struct framework *f, const char *task_id);
/* Takes the record. */
void master_add_completed_task(struct master *m, struct framework *f,
			       const struct task_record *record, uint64_t number);
void master_drop_completed_task(struct master *m, struct framework *f, struct completed_task *c);

/* What a master-made status says. */
struct master_status {
	const char *task_id;
	const char *agent_id;	 /* or NULL */
	const char *executor_id; /* or NULL */
	Mesos__TaskState state;
	Mesos__TaskStatus__Reason reason;
	const char *message;
	int64_t unreachable_time; /* ns; 0 = none */
};
Mesos__TaskStatus *master_make_status(struct master *m, const struct master_status *status);
/* Counts a terminal state in the metrics. */
void master_count_terminal(struct master *m, struct framework *f, const Mesos__TaskStatus *status);

/* ---- updates.c, reconcile.c ---------------------------------------------------- */

void master_status_update(struct master *m, const char *from,
			  const Mesos__Internal__StatusUpdateMessage *message);
void master_acknowledge(struct master *m, struct framework *f,
			const Mesos__Scheduler__Call__Acknowledge *acknowledge);
/* Acknowledgements held since the last store action wait for this ticket. */
void master_time_acknowledgements(struct master *m, uint64_t ticket);
/* Whether there are such. */
bool master_untimed_acknowledgements(const struct master *m);
void master_send_acknowledgements(struct master *m, uint64_t stored);
/* The task's id is used again: the agent must have heard before. */
void master_hurry_acknowledgement(struct master *m, const char *framework_id, const char *task_id);
void master_free_acknowledgements(struct master *m);
void master_reconcile(struct master *m, struct framework *f,
		      const Mesos__Scheduler__Call__Reconcile *reconcile);
void master_reconcile_task(struct master *m, struct framework *f, const char *task_id,
			   const char *agent_id);
/* Health and addresses as last heard of the task, in its last status, or NULL. */
void master_copy_last_known(struct master *m, const Mesos__TaskStatus *last,
			    Mesos__TaskStatus *status);
void master_reconcile_operations(struct master *m, struct framework *f,
				 const Mesos__Scheduler__Call__ReconcileOperations *reconcile);

/* ---- messages.c, agents.c, reregister.c ------------------------------------------------------ */

void master_handle_message(struct master *m, const struct master_event *event);
void master_register_agent(struct master *m, const char *from,
			   const Mesos__Internal__RegisterSlaveMessage *message);
void master_reregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__ReregisterSlaveMessage *message);
int master_validate_reregistration(struct master *m, const char *from,
				   const Mesos__Internal__ReregisterSlaveMessage *message,
				   struct err *err);
void master_update_agent(struct master *m, struct agent *a,
			 const Mesos__Internal__UpdateSlaveMessage *message);
int master_validate_agent_info(Mesos__AgentInfo *info, struct err *err);
int master_validate_agent_version(const struct master *m, const Mesos__AgentInfo *info,
				  const char *version, struct err *err);
/* Makes an agent in the tables; RECOVERED, no pid. `info` has an id. */
struct agent *master_add_agent(struct master *m, const Mesos__AgentInfo *info);
void master_free_agent(struct master *m, struct agent *a);
/* What the (re)registration says of itself replaces what is known. */
struct agent_facts {
	const char *pid;
	const char *version;
	Mesos__AgentInfo__Capability *const *capabilities;
	size_t capability_count;
	Mesos__Resource *const *checkpointed;
	size_t checkpointed_count;
	const uint8_t *resource_version;
	size_t resource_version_len;
};
void master_learn_agent(struct master *m, struct agent *a, const Mesos__AgentInfo *info,
			const struct agent_facts *facts);
/* Total, region and capabilities, of an agent that the allocator knows or not. */
void master_tell_allocator_agent(struct master *m, struct agent *a);
/* RECOVERED or new becomes REGISTERED: pid index, link, allocator, pings. */
void master_admit_agent(struct master *m, struct agent *a);
/* Accounts what tasks and executors of the agent hold to the allocator. */
void master_restore_allocations(struct master *m, struct agent *a);
Mesos__Internal__MasterSlaveConnection *master_connection(struct master *m);
void master_add_departed(struct departed **table, const char *id, int64_t time);
void master_remove_departed(struct departed **table, const char *id);
void master_remember_removed(struct master *m, const char *id);
/* The pid's "ip" part; "" if it has none. */
void pid_ip(const char *pid, char *out, size_t size);
/* The pid's port, 0 if it has none. */
int pid_port(const char *pid);
/* A pid with a name, a numeric ip and a port. */
bool pid_valid(const char *pid);

/* ---- agent_health.c, agent_remove.c ----------------------------------------------- */

void master_observe_agent(struct master *m, struct agent *a); /* first ping now */
void master_unobserve_agent(struct master *m, struct agent *a);
void master_ping_due(struct master *m, struct agent *a);
/* What we know of its total is not true (any more): it is to register again. */
void master_ask_again(struct master *m, struct agent *a);
void master_pong(struct master *m, const char *from);
/* The agent is to be marked unreachable as soon as the rate limit allows. The record
 * itself stays until that is durable. */
void master_schedule_removal(struct master *m, struct agent *a, const char *cause);
void master_cancel_removal(struct master *m, struct agent *a);
void master_removal_due(struct master *m);
void master_recovery_expired(struct master *m);
void master_reregister_expired(struct master *m, struct agent *a);

void master_agent_exited(struct master *m, const char *pid);
void master_disconnect_agent(struct master *m, struct agent *a);
void master_reconnect_agent(struct master *m, struct agent *a);
void master_mark_unreachable(struct master *m, struct agent *a, const char *cause);
void master_unregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__UnregisterSlaveMessage *message);
/* Registry first; then the tasks are lost and `a` is gone. An agent that unregistered counts as
 * such; a machine that goes down is a reason without a counter. */
void master_begin_remove_agent(struct master *m, struct agent *a, const char *cause,
			       bool unregistered);
/* The same without a write of its own: the caller's batch holds the removal. */
void master_remove_agent_now(struct master *m, struct agent *a, const char *cause);
void master_mark_gone(struct master *m, const char *agent_id, uint64_t request);
/* The same for one that is known, by nobody's request. */
void master_begin_gone(struct master *m, const char *agent_id);
/* Its offers and inverse offers are rescinded. */
void master_rescind_of_agent(struct master *m, struct agent *a);

/* ---- operator.c --------------------------------------------------------------------- */

/* A changing call; its handler answers with master_reply, at once or (status 0) later with
 * master_answer and the number. The call lives as long as the step. */
struct operator_request {
	Mesos__Master__Call *call;
	const char *principal; /* or NULL */
	uint64_t number;
};
void master_handle_operator(struct master *m, const struct master_event *event);
void master_handle_kill_task(struct master *m, const struct master_event *event);
/* The request must wait for what is being written: it is handled anew when something is. */
void master_defer(struct master *m, const struct operator_request *request);
void master_retry_deferred(struct master *m);
void master_free_deferred(struct master *m);

/* ---- machines.c, maintenance.c: windows of machines ------------------------------------ */

/* Compares equal for the same machine; heap. NULL parts are absent. */
char *machine_key(const char *hostname, const char *ip);
struct machine *master_find_machine(const struct master *m, const Mesos__MachineID *id);
/* Where an agent of the pid and hostname is. */
struct machine *master_machine_at(const struct master *m, const char *pid, const char *hostname);
bool machine_down(const struct machine *machine);
/* An agent of a machine that is DOWN is shut down; false if it is not. */
bool master_refuse_down(struct master *m, const char *pid, const Mesos__AgentInfo *info);
/* The agent is shut down and removed, for its machine went DOWN. */
void master_expel_agent(struct master *m, struct agent *a);
/* A new agent hears of its window; offers carry it. */
void master_place_agent(struct master *m, struct agent *a);
/* Replaces schedule and machines; what follows for agents is the caller's. */
void master_set_machines(struct master *m, const Mesita__StoredMaintenance *stored);
void machines_free(struct machine **table);
void master_update_schedule(struct master *m, const struct operator_request *request);
void master_start_maintenance(struct master *m, const struct operator_request *request);
void master_stop_maintenance(struct master *m, const struct operator_request *request);

/* ---- inverse_offers.c ---------------------------------------------------------------------- */

/* What a cycle decided. */
void master_send_inverse_offers(struct master *m, struct allocator_grants *grants);
void master_rescind_inverse(struct master *m, struct inverse_offer *o);
/* The offer as a message, which borrows what it can. */
Mesos__InverseOffer *master_inverse_message(struct arena *arena, const struct inverse_offer *o);
/* Without telling the framework. */
void master_discard_inverse_of_framework(struct master *m, struct framework *f);
void master_accept_inverse(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call__AcceptInverseOffers *call);
void master_decline_inverse(struct master *m, struct framework *f,
			    const Mesos__Scheduler__Call__DeclineInverseOffers *call);
/* What frameworks said so far counts no more. */
void master_drop_answers_of_agent(struct agent *a);
void master_drop_answers_of_framework(struct framework *f);
void master_free_inverse_offers(struct master *m);

/* ---- drain.c: what operators say of agents ------------------------------------------------- */

void master_drain(struct master *m, const struct operator_request *request);
void master_deactivate(struct master *m, const struct operator_request *request);
void master_reactivate(struct master *m, const struct operator_request *request);
/* What was said of an agent follows it into being unreachable, and back. */
void master_keep_orders(struct departed *d, struct agent *a);
void master_take_orders(struct agent *a, struct departed *d);
/* DrainSlaveMessage, if it drains. */
void master_repeat_drain(struct master *m, struct agent *a);
/* Something ended on the agent: it may be drained at the end of the step. */
void master_touch_drain(struct master *m, struct agent *a);
void master_check_drains(struct master *m);

/* ---- operator_resources.c ------------------------------------------------------------- */

/* RESERVE_RESOURCES .. SHRINK_VOLUME. */
void master_change_resources(struct master *m, const struct operator_request *request);

/* ---- quota.c, weights.c: what operators say of roles ------------------------------------- */

#define MASTER_ROLES_CHANGED_MAX 20000 /* by one call: a tenth of a second */
/* Whether --roles allows it. */
bool master_role_allowed(const struct master *m, const char *role);
void master_update_quota(struct master *m, const struct operator_request *request);
void master_set_quota(struct master *m, const struct operator_request *request);
void master_remove_quota(struct master *m, const struct operator_request *request);
/* Tells the allocator, too. */
void master_adopt_quota(struct master *m, const Mesos__Quota__QuotaConfig *config);
void master_free_quotas(struct master *m);
void master_update_weights(struct master *m, const struct operator_request *request);
struct weight *master_adopt_weight(struct master *m, const Mesos__WeightInfo *info);
void master_free_weights(struct master *m);
/* "role=weight,..." of --weights; in the arena. */
int master_parse_weights(struct arena *arena, const char *text, size_t *count,
			 Mesos__WeightInfo ***list, struct err *err);
int master_check_weights(const struct master *m, struct err *err);
struct registry_batch;
/* Those of the flag count if the store has none; and are stored. */
void master_start_weights(struct master *m, struct registry_batch *batch);

/* ---- registry.c: durable changes and what follows from them --------------------------- */

enum pending_kind {
	PENDING_OTHER, /* it leaves, or comes */
	PENDING_REREGISTER,
	PENDING_GONE,
	PENDING_CHANGE, /* it stays: an operator's word on it */
};

struct pending {
	uint64_t ticket;
	enum pending_kind kind;
	void (*follow)(struct master *m, struct pending *p); /* once durable */
	char *key;     /* agent id, or "@" pid of a registration; NULL = none */
	bool latest;   /* is what master.pending_keys holds under the key */
	void *message; /* heap; what is being worked on */
	char *pid;
	char *text; /* cause */
	uint64_t request;
	int64_t time;
	bool flag;
	struct list link;
	UT_hash_handle hh;
};

/* A batch under construction, of registry.c or warm.c. Keys and all it holds live as long
 * as the step's arena. */
struct registry_batch {
	struct store_op *ops;
	size_t count, cap;
};
void registry_put(struct master *m, struct registry_batch *batch, const char *key,
		  const void *message);
/* The same with a packed message. */
void registry_put_bytes(struct master *m, struct registry_batch *batch, const char *key,
			struct slice value);
void registry_delete(struct master *m, struct registry_batch *batch, const char *key);
void registry_put_agent(struct master *m, struct registry_batch *batch,
			const Mesos__AgentInfo *info, const struct agent *a);
void registry_put_departed(struct master *m, struct registry_batch *batch, const char *kind,
			   const char *id, int64_t time);
/* An unreachable agent, with what operators said of it. */
void registry_put_unreachable(struct master *m, struct registry_batch *batch, const char *id,
			      int64_t time, bool deactivated, const Mesos__DrainInfo *drain_info);
/* Writes the batch; `follow` runs once it is durable. An empty batch is written too. */
struct pending *registry_write(struct master *m, struct registry_batch *batch, const char *key,
			       void (*follow)(struct master *m, struct pending *p));
struct pending *registry_pending(const struct master *m, const char *key);
void registry_stored(struct master *m, uint64_t ticket);
/* Forgets departed agents that are too old or too many, and arms the next time. */
void registry_prune(struct master *m);
void registry_free(struct master *m);
char *registry_key(struct master *m, const char *kind, const char *id);

/* ---- warm.c: written behind ------------------------------------------------------------- */

void warm_task(struct master *m, struct task *t);
void warm_task_now(struct master *m, struct task *t); /* however many others there are */
void warm_framework(struct master *m, struct framework *f);
void warm_agent(struct master *m, struct agent *a);
void warm_executor(struct master *m, struct executor *e);
void warm_completed(struct master *m, struct completed_task *c);
void warm_drop_task(struct master *m, struct task *t);
void warm_drop_framework(struct master *m, struct framework *f);
void warm_drop_executor(struct master *m, struct executor *e);
void warm_drop_completed(struct master *m, struct completed_task *c);
/* Any record by its key's parts: kind '/' a ['/' b ['/' c]]. */
void warm_delete(struct master *m, const char *kind, const char *a, const char *b, const char *c);
/* One store action with everything that changed since the last one, or with what shall not
 * wait longer. */
void warm_flush(struct master *m, bool all);
/* Does so if it cannot wait, or sees to it that it happens soon. */
void warm_end_step(struct master *m);
void warm_look_for_rush(struct master *m); /* with its timer */
void *warm_stored_agent(struct arena *arena, const struct agent *a);

/* ---- offer_memory.c ------------------------------------------------------------------------- */

/* Adds what changed in the allocator's memory to the batch. */
void warm_allocator(struct master *m, struct registry_batch *batch);
/* A stored part of it; deleted if it says nothing any more. `framework` NULL: of the role. */
void recover_given(struct master *m, const char *framework, const char *role,
		   const Mesita__StoredNumber *s);
void recover_arrival(struct master *m, const char *agent, const Mesita__StoredNumber *s);
void recover_filter(struct master *m, const char *number, const Mesita__StoredFilter *s);
/* After a restart nothing is offered until the awaited frameworks are back, or time is
 * up. */
void master_await_framework(struct master *m, struct framework *f, bool awaited);
void master_settle_start(struct master *m);
void master_settle_check(struct master *m);
void master_settle_end(struct master *m);
/* Quota was recovered: nothing is offered until enough agents are back. */
void master_hold_offers(struct master *m);

/* ---- recover.c ----------------------------------------------------------------------------- */

void recover_free(struct master *m);

/* Whether the invariants of core.h hold; `why` says which does not. */
bool master_check(const struct master *m, struct err *why);

#endif
