/* org.apache.mesos.MesosSchedulerDriver: its life, and a framework that changes. What it calls is
 * in scheduler_calls.c, what it is told in scheduler_callbacks.c. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "bindings/jvm/scheduler.h"
#include "proto/proto.h"

#define DRIVER(name) Java_org_apache_mesos_MesosSchedulerDriver_##name
#define POINTER "__driver"

struct jvm_scheduler *jvm_scheduler_of(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_pointer(env, self, POINTER);

	if (!s)
		jvm_throw(env, "java/lang/IllegalStateException",
			  "this driver was finalized or never made");
	return s;
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

struct update {
	JNIEnv *env;
	struct jvm_scheduler *scheduler;
	jobject framework, roles, constraints;
	enum libmesos_status status;
};

static void update_guarded(void *context)
{
	struct update *n = context;
	Mesos__Scheduler__Call__UpdateFramework update =
		MESOS__SCHEDULER__CALL__UPDATE_FRAMEWORK__INIT;
	struct arena arena;

	arena_init(&arena);
	update.framework_info = unpack_info(n->env, n->framework, &arena);
	if (update.framework_info &&
	    unpack_constraints(n->env, n->constraints, &arena, &update.offer_constraints) &&
	    jvm_strings(n->env, n->roles, &update.suppressed_roles, &update.n_suppressed_roles)) {
		n->status = libmesos_scheduler_update_framework(n->scheduler->driver, &update);
		jvm_free_strings(update.suppressed_roles, update.n_suppressed_roles);
	}
	arena_free(&arena);
}

NATIVE(jobject)
DRIVER(updateFrameworkWithConstraints)
(JNIEnv *env, jobject self, jobject framework, jobject roles, jobject constraints)
{
	struct update n = {.env = env,
			   .scheduler = jvm_scheduler_of(env, self),
			   .framework = framework,
			   .roles = roles,
			   .constraints = constraints};

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

static void scheduler_create(struct creation *n, const struct libmesos_scheduler_options *options)
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

static void scheduler_create_guarded(void *context)
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
		scheduler_create(n, &options);
	}
	jvm_free_strings(roles, options.suppressed_role_count);
	buf_free(&master);
	arena_free(&arena);
}

NATIVE(void) DRIVER(initialize)(JNIEnv *env, jobject self)
{
	struct creation n = {env, self};

	jvm_guard(env, scheduler_create_guarded, &n);
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
	struct jvm_scheduler *s = jvm_scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_start(s->driver)) : NULL;
}

NATIVE(jobject) DRIVER(stop__Z)(JNIEnv *env, jobject self, jboolean failover)
{
	struct jvm_scheduler *s = jvm_scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_stop(s->driver, failover)) : NULL;
}

NATIVE(jobject) DRIVER(abort)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_abort(s->driver)) : NULL;
}

NATIVE(jobject) DRIVER(join)(JNIEnv *env, jobject self)
{
	struct jvm_scheduler *s = jvm_scheduler_of(env, self);

	return s ? jvm_status(env, libmesos_scheduler_join(s->driver)) : NULL;
}
