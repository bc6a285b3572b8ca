/* The natives of org.apache.mesos.MesosSchedulerDriver.
 *
 * Natives that are overloaded in some jar go by their long names only: a JVM that finds the short
 * one binds all of them to it. */
#include <stdlib.h>

#include "base/arena.h"
#include "bindings/jvm/scheduler.h"
#include "proto/proto.h"
#include "proto/wire_write.h"

#define DRIVER(name) Java_org_apache_mesos_MesosSchedulerDriver_##name
#define POINTER "__driver"

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

static struct jvm_scheduler *scheduler_of(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_pointer(env, self, POINTER);

	if (!s)
		jvm_throw(env, "java/lang/IllegalStateException",
			  "this driver was finalized or never made");
	return s;
}

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
	n->scheduler = scheduler_of(env, self);
	if (!n->scheduler || !jvm_guard(env, make_call_guarded, n))
		return NULL;
	return jvm_status(env, n->status);
}

/* ---- calls -------------------------------------------------------------------- */

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
	struct jvm_scheduler *s = scheduler_of(env, self);

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
	struct native_call n = {.env = env, .scheduler = scheduler_of(env, self), .a = status};

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

/* ---- a framework that changes -------------------------------------------------- */

/* A FrameworkInfo of the program's, or NULL with an exception pending. */
static Mesos__FrameworkInfo *unpack_info(JNIEnv *env, jobject framework, struct arena *arena)
{
	struct buf bytes = BUF_INIT;
	Mesos__FrameworkInfo *info = NULL;
	struct err err;

	if (jvm_message(env, framework, "frameworkInfo", &bytes)) {
		info = proto_unpack(&mesos__framework_info__descriptor, arena, bytes.data,
				    bytes.len, &err);
		if (!info)
			jvm_throw(env, "java/lang/IllegalArgumentException", err.text);
	}
	buf_free(&bytes);
	return info;
}

static bool unpack_constraints(JNIEnv *env, jobject constraints, struct arena *arena,
			       Mesos__Scheduler__OfferConstraints **out)
{
	struct buf bytes = BUF_INIT;
	struct err err;
	bool ok;

	*out = NULL;
	if (!constraints)
		return true;
	ok = jvm_message(env, constraints, "offerConstraints", &bytes);
	if (ok) {
		*out = proto_unpack(&mesos__scheduler__offer_constraints__descriptor, arena,
				    bytes.data, bytes.len, &err);
		if (!*out)
			jvm_throw(env, "java/lang/IllegalArgumentException", err.text);
		ok = *out != NULL;
	}
	buf_free(&bytes);
	return ok;
}

static void update_guarded(void *context)
{
	struct native_call *n = context;
	Mesos__Scheduler__Call__UpdateFramework update =
		MESOS__SCHEDULER__CALL__UPDATE_FRAMEWORK__INIT;
	struct arena arena;

	arena_init(&arena);
	update.framework_info = unpack_info(n->env, n->a, &arena);
	if (update.framework_info &&
	    unpack_constraints(n->env, n->c, &arena, &update.offer_constraints) &&
	    jvm_strings(n->env, n->b, &update.suppressed_roles, &update.n_suppressed_roles)) {
		n->status = libmesos_scheduler_update_framework(n->scheduler->driver, &update);
		jvm_free_strings(update.suppressed_roles, update.n_suppressed_roles);
	}
	arena_free(&arena);
}

NATIVE(jobject)
DRIVER(updateFrameworkWithConstraints)
(JNIEnv *env, jobject self, jobject framework, jobject roles, jobject constraints)
{
	struct native_call n = {.env = env,
				.scheduler = scheduler_of(env, self),
				.a = framework,
				.b = roles,
				.c = constraints};

	if (!n.scheduler || !jvm_guard(env, update_guarded, &n))
		return NULL;
	return jvm_status(env, n.status);
}

NATIVE(jobject)
DRIVER(updateFramework)(JNIEnv *env, jobject self, jobject framework, jobject roles)
{
	return DRIVER(updateFrameworkWithConstraints)(env, self, framework, roles, NULL);
}

/* ---- life ------------------------------------------------------------------------ */

struct creation {
	JNIEnv *env;
	jobject self;
	struct jvm_scheduler *scheduler;
};

/* Jars before 0.22 have no such field: their drivers acknowledge by themselves. */
static bool is_implicit(JNIEnv *env, jobject self)
{
	jclass class = (*env)->GetObjectClass(env, self);
	jfieldID field = (*env)->GetFieldID(env, class, "implicitAcknowledgements", "Z");

	(*env)->ExceptionClear(env);
	return !field || (*env)->GetBooleanField(env, self, field);
}

static bool fill_credential(JNIEnv *env, jobject self, struct arena *arena,
			    struct libmesos_scheduler_options *options)
{
	jobject credential =
		jvm_field(env, self, "credential", "Lorg/apache/mesos/Protos$Credential;");
	struct buf bytes = BUF_INIT;
	Mesos__Credential *said;
	struct err err;

	if (!credential)
		return true;
	if (!jvm_message(env, credential, "credential", &bytes))
		return false;
	said = proto_unpack(&mesos__credential__descriptor, arena, bytes.data, bytes.len, &err);
	buf_free(&bytes);
	if (!said) {
		jvm_throw(env, "java/lang/IllegalArgumentException", err.text);
		return false;
	}
	options->principal = said->principal;
	options->secret = said->secret;
	return true;
}

static void create(struct creation *n, const struct libmesos_scheduler_options *options)
{
	struct jvm_scheduler *s = xcalloc(1, sizeof(*s));

	s->target = (struct callback_target){(*n->env)->NewWeakGlobalRef(n->env, n->self),
					     "scheduler", "org/apache/mesos/Scheduler"};
	s->driver = libmesos_scheduler_new(options, &jvm_scheduler_handlers, s);
	if (!s->driver)
		jvm_throw(n->env, "java/lang/OutOfMemoryError", "libmesos");
	jvm_set_pointer(n->env, n->self, POINTER, s->driver ? s : NULL);
	jvm_set_pointer(n->env, n->self, "__scheduler", s->driver ? s : NULL);
}

static void create_guarded(void *context)
{
	struct creation *n = context;
	JNIEnv *env = n->env;
	struct libmesos_scheduler_options options = {0};
	struct buf master = BUF_INIT;
	char **roles = NULL;
	struct arena arena;

	arena_init(&arena);
	options.info = unpack_info(
		env,
		jvm_field(env, n->self, "framework", "Lorg/apache/mesos/Protos$FrameworkInfo;"),
		&arena);
	options.implicit_acknowledgements = is_implicit(env, n->self);
	if (options.info && fill_credential(env, n->self, &arena, &options) &&
	    jvm_string(env, jvm_field(env, n->self, "master", "Ljava/lang/String;"), "master",
		       &master) &&
	    jvm_strings(env, jvm_field(env, n->self, "suppressedRoles", "Ljava/util/Collection;"),
			&roles, &options.suppressed_role_count)) {
		options.master = master.data;
		options.suppressed_roles = roles;
		create(n, &options);
	}
	jvm_free_strings(roles, options.suppressed_role_count);
	buf_free(&master);
	arena_free(&arena);
}

NATIVE(void) DRIVER(initialize)(JNIEnv *env, jobject self)
{
	struct creation n = {env, self, NULL};

	jvm_guard(env, create_guarded, &n);
}

NATIVE(void) DRIVER(finalize)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_pointer(env, self, POINTER);

	if (!s)
		return;
	jvm_set_pointer(env, self, POINTER, NULL);
	libmesos_scheduler_free(s->driver);
	(*env)->DeleteWeakGlobalRef(env, s->target.owner);
	free(s);
}

NATIVE(jobject) DRIVER(start)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_start(s->driver)) : NULL;
}

NATIVE(jobject) DRIVER(stop__Z)(JNIEnv *env, jobject self, jboolean failover)
{
	struct jvm_scheduler *s = scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_stop(s->driver, failover)) : NULL;
}

NATIVE(jobject) DRIVER(abort)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_abort(s->driver)) : NULL;
}

NATIVE(jobject) DRIVER(join)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_join(s->driver)) : NULL;
}
