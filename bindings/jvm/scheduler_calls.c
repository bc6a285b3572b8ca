/* The natives of org.apache.mesos.MesosSchedulerDriver that make calls.
 *
 * Those that are overloaded in some jar go by their long names only: a JVM that finds the short
 * one binds all of them to it. */
#include "bindings/jvm/scheduler.h"
#include "proto/wire/wire_write.h"

#define DRIVER(name) Java_org_apache_mesos_MesosSchedulerDriver_##name

/* Field numbers of scheduler.proto and mesos.proto. */
enum {
	CALL_ACCEPT = 4,
	CALL_DECLINE = 5,
	CALL_KILL = 6,
	CALL_RECONCILE = 9,
	CALL_MESSAGE = 10,
	CALL_REQUEST = 11,
	CALL_REVIVE = 15,
	CALL_SUPPRESS = 16,
	ACCEPT_OFFER_IDS = 1,
	ACCEPT_OPERATIONS = 2,
	ACCEPT_FILTERS = 3,
	OPERATION_TYPE = 1,
	OPERATION_LAUNCH = 2,
	LAUNCH_TASK_INFOS = 1,
	DECLINE_OFFER_IDS = 1,
	DECLINE_FILTERS = 2,
	KILL_TASK_ID = 1,
	RECONCILE_TASKS = 1,
	RECONCILE_TASK_ID = 1,
	RECONCILE_AGENT_ID = 2,
	STATUS_TASK_ID = 1,
	STATUS_AGENT_ID = 5,
	MESSAGE_AGENT_ID = 1,
	MESSAGE_EXECUTOR_ID = 2,
	MESSAGE_DATA = 3,
	REQUEST_REQUESTS = 1,
	ROLES = 1, /* of Revive and Suppress */
};

/* One native with its arguments. `fill` appends the call's body. */
struct native_call {
	JNIEnv *env;
	struct jvm_scheduler *scheduler;
	Mesos__Scheduler__Call__Type type;
	uint32_t field;
	bool (*fill)(struct native_call *call, struct buf *body);
	jobject a, b, c;
	enum libmesos_status status;
};

static void make_call_guarded(void *context)
{
	struct native_call *n = context;
	struct buf body = BUF_INIT, call = BUF_INIT;
	bool ok = !n->fill || n->fill(n, &body);

	if (ok) {
		if (n->fill)
			wire_put_bytes(&call, n->field, (struct slice){body.data, body.len});
		n->status = libmesos_scheduler_call(n->scheduler->driver, n->type, &call);
	}
	buf_free(&body);
}

static jobject make_call(JNIEnv *env, jobject self, struct native_call *n)
{
	n->env = env;
	n->scheduler = jvm_scheduler_of(env, self);
	if (!n->scheduler || !jvm_guard(env, make_call_guarded, n))
		return NULL;
	return jvm_status(env, n->status);
}

static bool put_launch(struct native_call *n, struct buf *body)
{
	struct buf launch = BUF_INIT, operation = BUF_INIT;
	bool ok = jvm_put_messages(n->env, n->b, "tasks", LAUNCH_TASK_INFOS, &launch);

	if (ok) {
		wire_put_number(&operation, OPERATION_TYPE, MESOS__OFFER__OPERATION__TYPE__LAUNCH);
		wire_put_bytes(&operation, OPERATION_LAUNCH,
			       (struct slice){launch.data, launch.len});
		wire_put_bytes(body, ACCEPT_OPERATIONS,
			       (struct slice){operation.data, operation.len});
	}
	buf_free(&launch);
	buf_free(&operation);
	return ok && jvm_put_message(n->env, n->c, "filters", ACCEPT_FILTERS, body);
}

static bool fill_launch_one(struct native_call *n, struct buf *body)
{
	return jvm_put_message(n->env, n->a, "offerId", ACCEPT_OFFER_IDS, body) &&
	       put_launch(n, body);
}

static bool fill_launch(struct native_call *n, struct buf *body)
{
	return jvm_put_messages(n->env, n->a, "offerIds", ACCEPT_OFFER_IDS, body) &&
	       put_launch(n, body);
}

static bool fill_accept(struct native_call *n, struct buf *body)
{
	return jvm_put_messages(n->env, n->a, "offerIds", ACCEPT_OFFER_IDS, body) &&
	       jvm_put_messages(n->env, n->b, "operations", ACCEPT_OPERATIONS, body) &&
	       jvm_put_message(n->env, n->c, "filters", ACCEPT_FILTERS, body);
}

static bool fill_decline(struct native_call *n, struct buf *body)
{
	return jvm_put_message(n->env, n->a, "offerId", DECLINE_OFFER_IDS, body) &&
	       jvm_put_message(n->env, n->b, "filters", DECLINE_FILTERS, body);
}

static bool fill_kill(struct native_call *n, struct buf *body)
{
	return jvm_put_message(n->env, n->a, "taskId", KILL_TASK_ID, body);
}

static bool fill_request(struct native_call *n, struct buf *body)
{
	return jvm_put_messages(n->env, n->a, "requests", REQUEST_REQUESTS, body);
}

static bool fill_message(struct native_call *n, struct buf *body)
{
	struct buf data = BUF_INIT;
	bool ok = jvm_put_message(n->env, n->b, "slaveId", MESSAGE_AGENT_ID, body) &&
		  jvm_put_message(n->env, n->a, "executorId", MESSAGE_EXECUTOR_ID, body) &&
		  jvm_bytes(n->env, n->c, "data", &data);

	if (ok)
		wire_put_bytes(body, MESSAGE_DATA, (struct slice){data.data, data.len});
	buf_free(&data);
	return ok;
}

/* Of a TaskStatus only the two ids are asked about. */
static bool put_reconciled(JNIEnv *env, jobject status, void *context)
{
	struct buf bytes = BUF_INIT, task = BUF_INIT;
	struct buf *body = context;
	bool ok = jvm_message(env, status, "status", &bytes);
	struct slice whole = {bytes.data, bytes.len}, part;

	if (ok) {
		if (wire_part(whole, STATUS_TASK_ID, &part))
			wire_put_bytes(&task, RECONCILE_TASK_ID, part);
		if (wire_part(whole, STATUS_AGENT_ID, &part))
			wire_put_bytes(&task, RECONCILE_AGENT_ID, part);
		wire_put_bytes(body, RECONCILE_TASKS, (struct slice){task.data, task.len});
	}
	buf_free(&bytes);
	buf_free(&task);
	return ok;
}

static bool fill_reconcile(struct native_call *n, struct buf *body)
{
	return jvm_each(n->env, n->a, "statuses", put_reconciled, body);
}

static bool put_role(JNIEnv *env, jobject role, void *context)
{
	struct buf text = BUF_INIT;
	bool ok = jvm_string(env, role, "role", &text);

	if (ok)
		wire_put_bytes(context, ROLES, (struct slice){text.data, text.len});
	buf_free(&text);
	return ok;
}

static bool fill_roles(struct native_call *n, struct buf *body)
{
	return jvm_each(n->env, n->a, "roles", put_role, body);
}

#define LAUNCH_ONE                                                                                 \
	DRIVER(launchTasks__Lorg_apache_mesos_Protos_00024OfferID_2Ljava_util_Collection_2Lorg_apache_mesos_Protos_00024Filters_2)
#define LAUNCH                                                                                     \
	DRIVER(launchTasks__Ljava_util_Collection_2Ljava_util_Collection_2Lorg_apache_mesos_Protos_00024Filters_2)
#define ACCEPT                                                                                     \
	DRIVER(acceptOffers__Ljava_util_Collection_2Ljava_util_Collection_2Lorg_apache_mesos_Protos_00024Filters_2)

NATIVE(jobject) LAUNCH_ONE(JNIEnv *env, jobject self, jobject offer, jobject tasks, jobject filters)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT,
				.field = CALL_ACCEPT,
				.fill = fill_launch_one,
				.a = offer,
				.b = tasks,
				.c = filters};

	return make_call(env, self, &n);
}

NATIVE(jobject) LAUNCH(JNIEnv *env, jobject self, jobject offers, jobject tasks, jobject filters)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT,
				.field = CALL_ACCEPT,
				.fill = fill_launch,
				.a = offers,
				.b = tasks,
				.c = filters};

	return make_call(env, self, &n);
}

NATIVE(jobject)
ACCEPT(JNIEnv *env, jobject self, jobject offers, jobject operations, jobject filters)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT,
				.field = CALL_ACCEPT,
				.fill = fill_accept,
				.a = offers,
				.b = operations,
				.c = filters};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(declineOffer)(JNIEnv *env, jobject self, jobject offer, jobject filters)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__DECLINE,
				.field = CALL_DECLINE,
				.fill = fill_decline,
				.a = offer,
				.b = filters};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(killTask)(JNIEnv *env, jobject self, jobject task_id)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__KILL,
				.field = CALL_KILL,
				.fill = fill_kill,
				.a = task_id};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(requestResources)(JNIEnv *env, jobject self, jobject requests)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__REQUEST,
				.field = CALL_REQUEST,
				.fill = fill_request,
				.a = requests};

	return make_call(env, self, &n);
}

NATIVE(jobject)
DRIVER(sendFrameworkMessage)
(JNIEnv *env, jobject self, jobject executor, jobject agent, jbyteArray data)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__MESSAGE,
				.field = CALL_MESSAGE,
				.fill = fill_message,
				.a = executor,
				.b = agent,
				.c = data};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(reconcileTasks)(JNIEnv *env, jobject self, jobject statuses)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__RECONCILE,
				.field = CALL_RECONCILE,
				.fill = fill_reconcile,
				.a = statuses};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(reviveOffers__)(JNIEnv *env, jobject self)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__REVIVE};

	return make_call(env, self, &n);
}

NATIVE(jobject) DRIVER(suppressOffers__)(JNIEnv *env, jobject self)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__SUPPRESS};

	return make_call(env, self, &n);
}

static jobject current_status(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_status(s->driver)) : NULL;
}

/* No role is none, where no list would be all of them. */
static bool is_empty(JNIEnv *env, jobject collection)
{
	jclass class = jvm_class(env, "java/util/Collection");
	jmethodID method = class ? (*env)->GetMethodID(env, class, "isEmpty", "()Z") : NULL;

	bool empty = collection && method && (*env)->CallBooleanMethod(env, collection, method);

	return !(*env)->ExceptionCheck(env) && empty;
}

NATIVE(jobject)
DRIVER(reviveOffers__Ljava_util_Collection_2)(JNIEnv *env, jobject self, jobject roles)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__REVIVE,
				.field = CALL_REVIVE,
				.fill = fill_roles,
				.a = roles};

	return is_empty(env, roles) ? current_status(env, self) : make_call(env, self, &n);
}

NATIVE(jobject)
DRIVER(suppressOffers__Ljava_util_Collection_2)(JNIEnv *env, jobject self, jobject roles)
{
	struct native_call n = {.type = MESOS__SCHEDULER__CALL__TYPE__SUPPRESS,
				.field = CALL_SUPPRESS,
				.fill = fill_roles,
				.a = roles};

	return is_empty(env, roles) ? current_status(env, self) : make_call(env, self, &n);
}

static void acknowledge_guarded(void *context)
{
	struct native_call *n = context;
	struct buf bytes = BUF_INIT;

	if (jvm_message(n->env, n->a, "status", &bytes))
		n->status = libmesos_scheduler_acknowledge(n->scheduler->driver,
							   (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
}

/* libmesos ends the process where this throws. */
NATIVE(jobject) DRIVER(acknowledgeStatusUpdate)(JNIEnv *env, jobject self, jobject status)
{
	struct native_call n = {.env = env, .scheduler = jvm_scheduler_of(env, self), .a = status};

	if (!n.scheduler)
		return NULL;
	if (libmesos_scheduler_acknowledges(n.scheduler->driver)) {
		jvm_throw(env, "java/lang/IllegalStateException",
			  "Cannot call acknowledgeStatusUpdate: Implicit acknowledgements are "
			  "enabled");
		return NULL;
	}
	return jvm_guard(env, acknowledge_guarded, &n) ? jvm_status(env, n.status) : NULL;
}
