/* org.apache.mesos.v1.scheduler.V0Mesos and V1Mesos: the v1 scheduler library. Both speak the v1
 * HTTP API; that the first once spoke to masters older than that is all that they differ in. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "bindings/jvm/callback.h"
#include "client/libmesos/calls.h"
#include "proto/proto.h"

#define V0(name) Java_org_apache_mesos_v1_scheduler_V0Mesos_##name
#define V1(name) Java_org_apache_mesos_v1_scheduler_V1Mesos_##name
#define POINTER "__mesos"
#define MESOS_TYPE "Lorg/apache/mesos/v1/scheduler/Mesos;"

/* Behind the field `__mesos`. */
struct jvm_calls {
	struct libmesos_calls *calls;
	struct callback_target target;
};

static const struct callback_target *v1_mesos_target_of(void *context)
{
	const struct jvm_calls *m = context;

	return &m->target;
}

/* ---- callbacks ---------------------------------------------------------------- */

static int tell_nothing(void *context, const char *method)
{
	return callback_plain(v1_mesos_target_of(context), method, "(" MESOS_TYPE ")V");
}

static int connected(void *context)
{
	return tell_nothing(context, "connected");
}

static int v1_mesos_disconnected(void *context)
{
	return tell_nothing(context, "disconnected");
}

static int received(void *context, struct slice event)
{
	return callback_message(v1_mesos_target_of(context), "received",
				"(" MESOS_TYPE "Lorg/apache/mesos/v1/scheduler/Protos$Event;)V",
				"org/apache/mesos/v1/scheduler/Protos$Event", event);
}

static void v1_mesos_thread_begins(void *context)
{
	callback_thread_begins(v1_mesos_target_of(context), "mesos-v1-scheduler");
}

static const struct libmesos_calls_handlers handlers = {
	.connected = connected,
	.disconnected = v1_mesos_disconnected,
	.received = received,
	.thread_begins = v1_mesos_thread_begins,
	.thread_ends = callback_thread_ends,
};

/* ---- natives -------------------------------------------------------------------- */

struct call {
	JNIEnv *env;
	jobject self;
	jobject argument;
};

static void v1_mesos_create(struct call *n, const char *master, const char *principal,
			    const char *secret)
{
	JNIEnv *env = n->env;
	struct jvm_calls *m = xcalloc(1, sizeof(*m));

	m->target = (struct callback_target){(*env)->NewWeakGlobalRef(env, n->self), "scheduler",
					     "org/apache/mesos/v1/scheduler/Scheduler"};
	m->calls = libmesos_calls_new(master, principal, secret, &handlers, m);
	if (m->calls) {
		jvm_set_pointer(env, n->self, POINTER, m);
		libmesos_calls_start(m->calls);
	} else {
		free(m);
		jvm_throw(env, "java/lang/OutOfMemoryError", "libmesos");
	}
}

static void v1_mesos_create_guarded(void *context)
{
	struct call *n = context;
	JNIEnv *env = n->env;
	jobject master = jvm_field(env, n->self, "master", "Ljava/lang/String;");
	jobject credential =
		jvm_field(env, n->self, "credential", "Lorg/apache/mesos/v1/Protos$Credential;");
	struct buf address = BUF_INIT, bytes = BUF_INIT;
	Mesos__Credential *said = NULL;
	struct arena arena;
	struct err err;

	arena_init(&arena);
	if (jvm_string(env, master, "master", &address) &&
	    (!credential || jvm_message(env, credential, "credential", &bytes))) {
		if (credential)
			said = proto_unpack(&mesos__credential__descriptor, &arena, bytes.data,
					    bytes.len, &err);
		v1_mesos_create(n, address.data, said ? said->principal : NULL,
				said ? said->secret : NULL);
	}
	buf_free(&address);
	buf_free(&bytes);
	arena_free(&arena);
}

static void initialize(JNIEnv *env, jobject self)
{
	struct call n = {env, self, NULL};

	jvm_guard(env, v1_mesos_create_guarded, &n);
}

static void finalize(JNIEnv *env, jobject self)
{
	struct jvm_calls *m = jvm_pointer(env, self, POINTER);

	if (!m)
		return;
	jvm_set_pointer(env, self, POINTER, NULL);
	libmesos_calls_free(m->calls);
	(*env)->DeleteWeakGlobalRef(env, m->target.owner);
	free(m);
}

static struct jvm_calls *calls_of(JNIEnv *env, jobject self)
{
	struct jvm_calls *m = jvm_pointer(env, self, POINTER);

	if (!m)
		jvm_throw(env, "java/lang/IllegalStateException",
			  "this object was finalized or never made");
	return m;
}

static void send_guarded(void *context)
{
	struct call *n = context;
	struct jvm_calls *m = calls_of(n->env, n->self);
	struct buf bytes = BUF_INIT;

	if (m && jvm_message(n->env, n->argument, "call", &bytes))
		libmesos_calls_send(m->calls, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
}

static void v1_mesos_send_call(JNIEnv *env, jobject self, jobject call)
{
	struct call n = {env, self, call};

	jvm_guard(env, send_guarded, &n);
}

static void reconnect_guarded(void *context)
{
	struct call *n = context;
	struct jvm_calls *m = calls_of(n->env, n->self);

	if (m)
		libmesos_calls_reconnect(m->calls);
}

NATIVE(void) V0(initialize)(JNIEnv *env, jobject self)
{
	initialize(env, self);
}

NATIVE(void) V0(finalize)(JNIEnv *env, jobject self)
{
	finalize(env, self);
}

NATIVE(void) V0(send)(JNIEnv *env, jobject self, jobject call)
{
	v1_mesos_send_call(env, self, call);
}

NATIVE(void) V1(initialize)(JNIEnv *env, jobject self)
{
	initialize(env, self);
}

NATIVE(void) V1(finalize)(JNIEnv *env, jobject self)
{
	finalize(env, self);
}

NATIVE(void) V1(send)(JNIEnv *env, jobject self, jobject call)
{
	v1_mesos_send_call(env, self, call);
}

NATIVE(void) V1(reconnect)(JNIEnv *env, jobject self)
{
	struct call n = {env, self, NULL};

	jvm_guard(env, reconnect_guarded, &n);
}
