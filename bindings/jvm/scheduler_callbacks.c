/* The callbacks of org.apache.mesos.Scheduler, on the driver's own thread. */
#include "bindings/jvm/scheduler.h"
#include "proto/wire/wire_write.h"

#define DRIVER "Lorg/apache/mesos/SchedulerDriver;"
#define PROTOS "org/apache/mesos/Protos$"
#define MESSAGE(name) "Lorg/apache/mesos/Protos$" name ";"

static const struct callback_target *scheduler_callbacks_target_of(void *context)
{
	const struct jvm_scheduler *s = context;

	return &s->target;
}

static int scheduler_callbacks_registered(void *context, struct slice framework_id,
					  struct slice master_info)
{
	struct callback c;

	if (callback_begin(&c, scheduler_callbacks_target_of(context), "registered",
			   "(" DRIVER MESSAGE("FrameworkID") MESSAGE("MasterInfo") ")V")) {
		jobject id = jvm_new_message(c.env, PROTOS "FrameworkID", framework_id);
		jobject master =
			id ? jvm_new_message(c.env, PROTOS "MasterInfo", master_info) : NULL;

		CALLBACK(&c, id, master);
	}
	return callback_finish(&c);
}

static int scheduler_callbacks_reregistered(void *context, struct slice master_info)
{
	return callback_message(scheduler_callbacks_target_of(context), "reregistered",
				"(" DRIVER MESSAGE("MasterInfo") ")V", PROTOS "MasterInfo",
				master_info);
}

static int rescinded(void *context, struct slice offer_id)
{
	return callback_message(scheduler_callbacks_target_of(context), "offerRescinded",
				"(" DRIVER MESSAGE("OfferID") ")V", PROTOS "OfferID", offer_id);
}

static int scheduler_callbacks_update(void *context, struct slice status)
{
	return callback_message(scheduler_callbacks_target_of(context), "statusUpdate",
				"(" DRIVER MESSAGE("TaskStatus") ")V", PROTOS "TaskStatus", status);
}

static int agent_lost(void *context, struct slice agent_id)
{
	return callback_message(scheduler_callbacks_target_of(context), "slaveLost",
				"(" DRIVER MESSAGE("SlaveID") ")V", PROTOS "SlaveID", agent_id);
}

static int scheduler_callbacks_disconnected(void *context)
{
	return callback_plain(scheduler_callbacks_target_of(context), "disconnected",
			      "(" DRIVER ")V");
}

static jobject new_list(JNIEnv *env, jmethodID *add)
{
	jclass class = jvm_class(env, "java/util/ArrayList");
	jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;

	*add = make ? (*env)->GetMethodID(env, class, "add", "(Ljava/lang/Object;)Z") : NULL;
	return *add ? (*env)->NewObject(env, class, make) : NULL;
}

static jobject offer_list(JNIEnv *env, struct slice offers)
{
	jmethodID add;
	jobject list = new_list(env, &add);
	struct slice bytes;

	while (list && wire_next(&offers, 1, &bytes)) {
		jobject offer = jvm_new_message(env, PROTOS "Offer", bytes);

		if (!offer)
			return NULL;
		(*env)->CallBooleanMethod(env, list, add, offer);
		(*env)->DeleteLocalRef(env, offer);
		if ((*env)->ExceptionCheck(env))
			return NULL;
	}
	return list;
}

static int offers(void *context, struct slice bytes)
{
	struct callback c;

	if (callback_begin(&c, scheduler_callbacks_target_of(context), "resourceOffers",
			   "(" DRIVER "Ljava/util/List;)V")) {
		jobject list = offer_list(c.env, bytes);

		CALLBACK(&c, list);
	}
	return callback_finish(&c);
}

static int scheduler_callbacks_message(void *context, struct slice executor_id,
				       struct slice agent_id, struct slice data)
{
	struct callback c;

	if (callback_begin(&c, scheduler_callbacks_target_of(context), "frameworkMessage",
			   "(" DRIVER MESSAGE("ExecutorID") MESSAGE("SlaveID") "[B)V")) {
		jobject executor = jvm_new_message(c.env, PROTOS "ExecutorID", executor_id);
		jobject agent =
			executor ? jvm_new_message(c.env, PROTOS "SlaveID", agent_id) : NULL;
		jbyteArray array = agent ? jvm_new_bytes(c.env, data) : NULL;

		CALLBACK(&c, executor, agent, array);
	}
	return callback_finish(&c);
}

static int executor_lost(void *context, struct slice executor_id, struct slice agent_id, int status)
{
	struct callback c;

	if (callback_begin(&c, scheduler_callbacks_target_of(context), "executorLost",
			   "(" DRIVER MESSAGE("ExecutorID") MESSAGE("SlaveID") "I)V")) {
		jobject executor = jvm_new_message(c.env, PROTOS "ExecutorID", executor_id);
		jobject agent =
			executor ? jvm_new_message(c.env, PROTOS "SlaveID", agent_id) : NULL;

		CALLBACK(&c, executor, agent, (jint)status);
	}
	return callback_finish(&c);
}

static void scheduler_callbacks_error(void *context, const char *why)
{
	callback_text(scheduler_callbacks_target_of(context), "error",
		      "(" DRIVER "Ljava/lang/String;)V", why);
}

static void scheduler_callbacks_thread_begins(void *context)
{
	callback_thread_begins(scheduler_callbacks_target_of(context), "mesos-scheduler");
}

const struct libmesos_scheduler_handlers jvm_scheduler_handlers = {
	.registered = scheduler_callbacks_registered,
	.reregistered = scheduler_callbacks_reregistered,
	.disconnected = scheduler_callbacks_disconnected,
	.offers = offers,
	.rescinded = rescinded,
	.update = scheduler_callbacks_update,
	.message = scheduler_callbacks_message,
	.agent_lost = agent_lost,
	.executor_lost = executor_lost,
	.error = scheduler_callbacks_error,
	.thread_begins = scheduler_callbacks_thread_begins,
	.thread_ends = callback_thread_ends,
};
