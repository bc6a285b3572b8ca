/* org.apache.mesos.MesosExecutorDriver: its natives, and the callbacks of
 * org.apache.mesos.Executor. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "bindings/jvm/callback.h"
#include "client/libmesos/executor.h"

#define DRIVER(name) Java_org_apache_mesos_MesosExecutorDriver_##name
#define POINTER "__driver"
#define DRIVER_TYPE "Lorg/apache/mesos/ExecutorDriver;"
#define PROTOS "org/apache/mesos/Protos$"
#define MESSAGE(name) "Lorg/apache/mesos/Protos$" name ";"

/* Behind the Java driver's field `__driver`. */
struct jvm_executor {
	struct libmesos_executor *driver;
	struct callback_target target;
};

static const struct callback_target *executor_target_of(void *context)
{
	const struct jvm_executor *e = context;

	return &e->target;
}

/* ---- callbacks ---------------------------------------------------------------- */

static int executor_registered(void *context, struct slice executor_info,
			       struct slice framework_info, struct slice agent_info)
{
	struct callback c;

	if (callback_begin(&c, executor_target_of(context), "registered",
			   "(" DRIVER_TYPE MESSAGE("ExecutorInfo") MESSAGE("FrameworkInfo")
				   MESSAGE("SlaveInfo") ")V")) {
		jobject executor = jvm_new_message(c.env, PROTOS "ExecutorInfo", executor_info);
		jobject framework =
			executor ? jvm_new_message(c.env, PROTOS "FrameworkInfo", framework_info)
				 : NULL;
		jobject agent =
			framework ? jvm_new_message(c.env, PROTOS "SlaveInfo", agent_info) : NULL;

		CALLBACK(&c, executor, framework, agent);
	}
	return callback_finish(&c);
}

static int executor_reregistered(void *context, struct slice agent_info)
{
	return callback_message(executor_target_of(context), "reregistered",
				"(" DRIVER_TYPE MESSAGE("SlaveInfo") ")V", PROTOS "SlaveInfo",
				agent_info);
}

static int executor_launch(void *context, struct slice task)
{
	return callback_message(executor_target_of(context), "launchTask",
				"(" DRIVER_TYPE MESSAGE("TaskInfo") ")V", PROTOS "TaskInfo", task);
}

static int executor_kill_task(void *context, struct slice task_id)
{
	return callback_message(executor_target_of(context), "killTask",
				"(" DRIVER_TYPE MESSAGE("TaskID") ")V", PROTOS "TaskID", task_id);
}

static int tell_nothing(void *context, const char *method)
{
	return callback_plain(executor_target_of(context), method, "(" DRIVER_TYPE ")V");
}

static int executor_disconnected(void *context)
{
	return tell_nothing(context, "disconnected");
}

static int executor_shut_down(void *context)
{
	return tell_nothing(context, "shutdown");
}

static int executor_message(void *context, struct slice data)
{
	struct callback c;

	if (callback_begin(&c, executor_target_of(context), "frameworkMessage",
			   "(" DRIVER_TYPE "[B)V")) {
		jbyteArray array = jvm_new_bytes(c.env, data);

		CALLBACK(&c, array);
	}
	return callback_finish(&c);
}

static void executor_error(void *context, const char *why)
{
	callback_text(executor_target_of(context), "error", "(" DRIVER_TYPE "Ljava/lang/String;)V",
		      why);
}

static void executor_thread_begins(void *context)
{
	callback_thread_begins(executor_target_of(context), "mesos-executor");
}

static const struct libmesos_executor_handlers handlers = {
	.registered = executor_registered,
	.reregistered = executor_reregistered,
	.disconnected = executor_disconnected,
	.launch = executor_launch,
	.kill = executor_kill_task,
	.message = executor_message,
	.shutdown = executor_shut_down,
	.error = executor_error,
	.thread_begins = executor_thread_begins,
	.thread_ends = callback_thread_ends,
};

/* ---- natives -------------------------------------------------------------------- */

static struct jvm_executor *executor_of(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = jvm_pointer(env, self, POINTER);

	if (!e)
		jvm_throw(env, "java/lang/IllegalStateException",
			  "this driver was finalized or never made");
	return e;
}

NATIVE(void) DRIVER(initialize)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = calloc(1, sizeof(*e));

	if (e)
		e->driver = libmesos_executor_new(&handlers, e);
	if (!e || !e->driver) {
		free(e);
		jvm_throw(env, "java/lang/OutOfMemoryError", "libmesos");
		return;
	}
	e->target = (struct callback_target){(*env)->NewWeakGlobalRef(env, self), "executor",
					     "org/apache/mesos/Executor"};
	jvm_set_pointer(env, self, POINTER, e);
	jvm_set_pointer(env, self, "__executor", e);
}

NATIVE(void) DRIVER(finalize)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = jvm_pointer(env, self, POINTER);

	if (!e)
		return;
	jvm_set_pointer(env, self, POINTER, NULL);
	libmesos_executor_free(e->driver);
	(*env)->DeleteWeakGlobalRef(env, e->target.owner);
	free(e);
}

NATIVE(jobject) DRIVER(start)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = executor_of(env, self);

	return e ? jvm_status(env, libmesos_executor_start(e->driver)) : NULL;
}

NATIVE(jobject) DRIVER(stop)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = executor_of(env, self);

	return e ? jvm_status(env, libmesos_executor_stop(e->driver)) : NULL;
}

NATIVE(jobject) DRIVER(abort)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = executor_of(env, self);

	return e ? jvm_status(env, libmesos_executor_abort(e->driver)) : NULL;
}

NATIVE(jobject) DRIVER(join)(JNIEnv *env, jobject self)
{
	struct jvm_executor *e = executor_of(env, self);

	return e ? jvm_status(env, libmesos_executor_join(e->driver)) : NULL;
}

/* What a call hands over. */
struct sending {
	JNIEnv *env;
	struct jvm_executor *executor;
	jobject argument;
	bool is_status;
	enum libmesos_status status;
};

static void send_guarded(void *context)
{
	struct sending *s = context;
	struct buf bytes = BUF_INIT;
	bool ok = s->is_status ? jvm_message(s->env, s->argument, "status", &bytes)
			       : jvm_bytes(s->env, s->argument, "data", &bytes);
	struct slice slice = {bytes.data, bytes.len};

	if (ok)
		s->status = s->is_status ? libmesos_executor_update(s->executor->driver, slice)
					 : libmesos_executor_send(s->executor->driver, slice);
	buf_free(&bytes);
}

static jobject send_argument(JNIEnv *env, jobject self, jobject argument, bool is_status)
{
	struct sending s = {.env = env,
			    .executor = executor_of(env, self),
			    .argument = argument,
			    .is_status = is_status};

	return s.executor && jvm_guard(env, send_guarded, &s) ? jvm_status(env, s.status) : NULL;
}

NATIVE(jobject) DRIVER(sendStatusUpdate)(JNIEnv *env, jobject self, jobject status)
{
	return send_argument(env, self, status, true);
}

NATIVE(jobject) DRIVER(sendFrameworkMessage)(JNIEnv *env, jobject self, jbyteArray data)
{
	return send_argument(env, self, data, false);
}
