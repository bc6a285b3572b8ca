/* The natives of org.apache.mesos.state: AbstractState, its futures, Variable, LevelDBState.
 *
 * Jars ask for a future in two ways, both of which are served: by methods of AbstractState that
 * are given its number, and by objects that hold it. */
#include <limits.h>

#include "bindings/jvm/jvm.h"
#include "bindings/jvm/state.h"

#define STATE(name) Java_org_apache_mesos_state_AbstractState__1_1##name
#define FUTURE(class, name) Java_org_apache_mesos_state_AbstractState_00024##class##Future_##name
#define VARIABLE(name) Java_org_apache_mesos_state_Variable_##name
#define VARIABLE_POINTER "__variable"
#define STATE_POINTER "__state"
#define SLICE_NANOSECONDS                                                                          \
	50000000 /* after which a wait looks whether its thread was interrupted                    \
		  */

/* ---- variables ------------------------------------------------------------------ */

static jobject new_variable(JNIEnv *env, const struct state_variable *variable)
{
	jclass class = jvm_class(env, "org/apache/mesos/state/Variable");
	jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;
	jobject object = make ? (*env)->NewObject(env, class, make) : NULL;
	struct state_variable *own;

	if (!object)
		return NULL;
	own = state_variable_new(variable->name, variable->uuid,
				 (struct slice){variable->value, variable->len});
	if (!own) {
		jvm_throw(env, "java/lang/OutOfMemoryError", "libmesos");
		return NULL;
	}
	jvm_set_pointer(env, object, VARIABLE_POINTER, own);
	return object;
}

static struct state_variable *variable_of(JNIEnv *env, jobject object)
{
	struct state_variable *variable = NULL;

	if (object)
		variable = jvm_pointer(env, object, VARIABLE_POINTER);
	if (!variable)
		jvm_throw_null(env, "variable");
	return variable;
}

NATIVE(jbyteArray) VARIABLE(value)(JNIEnv *env, jobject self)
{
	struct state_variable *variable = variable_of(env, self);

	return variable ? jvm_new_bytes(env, (struct slice){variable->value, variable->len}) : NULL;
}

struct mutation {
	JNIEnv *env;
	const struct state_variable *variable;
	jbyteArray value;
	jobject result;
};

static void mutate_guarded(void *context)
{
	struct mutation *m = context;
	struct state_variable changed = *m->variable;
	struct buf value = BUF_INIT;

	if (jvm_bytes(m->env, m->value, "value", &value)) {
		changed.value = value.data;
		changed.len = value.len;
		m->result = new_variable(m->env, &changed);
	}
	buf_free(&value);
}

NATIVE(jobject) VARIABLE(mutate)(JNIEnv *env, jobject self, jbyteArray value)
{
	struct mutation m = {env, variable_of(env, self), value, NULL};

	return m.variable && jvm_guard(env, mutate_guarded, &m) ? m.result : NULL;
}

NATIVE(void) VARIABLE(finalize)(JNIEnv *env, jobject self)
{
	struct state_variable *variable = jvm_pointer(env, self, VARIABLE_POINTER);

	jvm_set_pointer(env, self, VARIABLE_POINTER, NULL);
	state_variable_free(variable);
}

/* ---- states ----------------------------------------------------------------------- */

static struct state *state_of(JNIEnv *env, jobject self)
{
	struct state *state = jvm_pointer(env, self, STATE_POINTER);

	if (!state)
		jvm_throw(env, "java/lang/IllegalStateException", "this state was not opened");
	return state;
}

struct opening {
	JNIEnv *env;
	jobject path;
	struct state *state;
};

static void open_guarded(void *context)
{
	struct opening *o = context;
	struct buf path = BUF_INIT;

	if (jvm_string(o->env, o->path, "path", &path)) {
		o->state = state_open(path.data);
		if (!o->state)
			jvm_throw(o->env, "java/lang/OutOfMemoryError", "libmesos");
	}
	buf_free(&path);
}

NATIVE(void)
Java_org_apache_mesos_state_LevelDBState_initialize(JNIEnv *env, jobject self, jstring path)
{
	struct opening o = {env, path, NULL};

	if (!jvm_guard(env, open_guarded, &o))
		return;
	jvm_set_pointer(env, self, STATE_POINTER, o.state);
	jvm_set_pointer(env, self, "__storage", o.state);
}

NATIVE(void) Java_org_apache_mesos_state_AbstractState_finalize(JNIEnv *env, jobject self)
{
	struct state *state = jvm_pointer(env, self, STATE_POINTER);

	if (!state)
		return;
	jvm_set_pointer(env, self, STATE_POINTER, NULL);
	state_close(state);
}

static jlong number_of(JNIEnv *env, struct state_future *future)
{
	if (!future)
		jvm_throw(env, "java/lang/OutOfMemoryError", "libmesos");
	return (jlong)(intptr_t)future;
}

struct naming {
	JNIEnv *env;
	jobject name;
	struct state *state;
	struct state_future *future;
};

static void fetch_guarded(void *context)
{
	struct naming *n = context;
	struct buf name = BUF_INIT;

	if (jvm_string(n->env, n->name, "name", &name))
		n->future = state_fetch(n->state, name.data);
	buf_free(&name);
}

NATIVE(jlong) STATE(fetch)(JNIEnv *env, jobject self, jstring name)
{
	struct naming n = {env, name, state_of(env, self), NULL};

	return n.state && jvm_guard(env, fetch_guarded, &n) ? number_of(env, n.future) : 0;
}

NATIVE(jlong) STATE(store)(JNIEnv *env, jobject self, jobject variable)
{
	struct state *state = state_of(env, self);
	struct state_variable *known = state ? variable_of(env, variable) : NULL;

	return known ? number_of(env, state_store(state, known)) : 0;
}

NATIVE(jlong) STATE(expunge)(JNIEnv *env, jobject self, jobject variable)
{
	struct state *state = state_of(env, self);
	struct state_variable *known = state ? variable_of(env, variable) : NULL;

	return known ? number_of(env, state_expunge(state, known)) : 0;
}

NATIVE(jlong) STATE(names)(JNIEnv *env, jobject self)
{
	struct state *state = state_of(env, self);

	return state ? number_of(env, state_names(state)) : 0;
}

/* ---- futures ------------------------------------------------------------------------ */

/* Whether the waiting thread is to stop; an exception is pending then. */
static bool was_interrupted(JNIEnv *env)
{
	jclass class = jvm_class(env, "java/lang/Thread");
	jmethodID method =
		class ? (*env)->GetStaticMethodID(env, class, "interrupted", "()Z") : NULL;
	bool interrupted = method && (*env)->CallStaticBooleanMethod(env, class, method);

	if (!(*env)->ExceptionCheck(env) && interrupted)
		jvm_throw(env, "java/lang/InterruptedException", "interrupted");
	return (*env)->ExceptionCheck(env);
}

/* Waits; false: an exception is pending. */
static bool state_natives_await(JNIEnv *env, struct state_future *future, int64_t nanoseconds)
{
	enum state_outcome outcome = state_future_outcome(future);

	while (outcome == STATE_PENDING && nanoseconds > 0) {
		int64_t span = nanoseconds < SLICE_NANOSECONDS ? nanoseconds : SLICE_NANOSECONDS;

		if (was_interrupted(env))
			return false;
		outcome = state_future_wait(future, span);
		if (nanoseconds != INT64_MAX)
			nanoseconds -= span;
	}
	switch (outcome) {
	case STATE_READY:
		return true;
	case STATE_FAILED:
		jvm_throw(env, "java/util/concurrent/ExecutionException",
			  state_future_error(future));
		return false;
	case STATE_CANCELLED:
		jvm_throw(env, "java/util/concurrent/CancellationException",
			  "the operation was cancelled");
		return false;
	default:
		jvm_throw(env, "java/util/concurrent/TimeoutException",
			  "the operation takes longer");
		return false;
	}
}

/* Negative: an exception is pending. */
static int64_t span_of(JNIEnv *env, jlong time, jobject unit)
{
	jclass class = jvm_class(env, "java/util/concurrent/TimeUnit");
	jmethodID method = class ? (*env)->GetMethodID(env, class, "toNanos", "(J)J") : NULL;
	jlong nanoseconds;

	if (!unit) {
		jvm_throw_null(env, "unit");
		return -1;
	}
	if (!method)
		return -1;
	nanoseconds = (*env)->CallLongMethod(env, unit, method, time);
	return (*env)->ExceptionCheck(env) ? -1 : nanoseconds < 0 ? 0 : nanoseconds;
}

static jobject get_variable(JNIEnv *env, struct state_future *future)
{
	const struct state_variable *variable = state_future_variable(future);

	return variable ? new_variable(env, variable) : NULL;
}

static jobject get_expunged(JNIEnv *env, struct state_future *future)
{
	jclass class = jvm_class(env, "java/lang/Boolean");
	jmethodID method =
		class ? (*env)->GetStaticMethodID(env, class, "valueOf", "(Z)Ljava/lang/Boolean;")
		      : NULL;

	return method ? (*env)->CallStaticObjectMethod(env, class, method,
						       (jboolean)state_future_expunged(future))
		      : NULL;
}

/* An Iterator of Strings. */
static jobject get_names(JNIEnv *env, struct state_future *future)
{
	jclass class = jvm_class(env, "java/util/ArrayList");
	jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;
	jmethodID add =
		make ? (*env)->GetMethodID(env, class, "add", "(Ljava/lang/Object;)Z") : NULL;
	jmethodID iterator =
		add ? (*env)->GetMethodID(env, class, "iterator", "()Ljava/util/Iterator;") : NULL;
	jobject list = iterator ? (*env)->NewObject(env, class, make) : NULL;
	size_t count;
	char *const *names = state_future_names(future, &count);

	for (size_t i = 0; list && i < count; i++) {
		jobject name = NULL;

		if ((*env)->PushLocalFrame(env, FRAME_REFERENCES) == 0)
			name = (*env)->PopLocalFrame(env, jvm_new_string(env, names[i]));
		if (!name)
			return NULL;
		(*env)->CallBooleanMethod(env, list, add, name);
		if ((*env)->ExceptionCheck(env))
			return NULL;
		(*env)->DeleteLocalRef(env, name);
	}
	return list ? (*env)->CallObjectMethod(env, list, iterator) : NULL;
}

static struct state_future *future_of(JNIEnv *env, jobject self)
{
	struct state_future *future = jvm_pointer(env, self, "future");

	if (!future)
		jvm_throw(env, "java/lang/IllegalStateException", "this future never began");
	return future;
}

/* What is made of a future, for each kind: by number and by object. */
#define NATIVES_OF(kind, Kind, get_result)                                                         \
	NATIVE(jboolean) STATE(kind##_1cancel)(JNIEnv * env, jobject self, jlong number)           \
	{                                                                                          \
		return state_future_cancel((struct state_future *)(intptr_t)number);               \
	}                                                                                          \
	NATIVE(jboolean) STATE(kind##_1is_1cancelled)(JNIEnv * env, jobject self, jlong number)    \
	{                                                                                          \
		return state_future_outcome((struct state_future *)(intptr_t)number) ==            \
		       STATE_CANCELLED;                                                            \
	}                                                                                          \
	NATIVE(jboolean) STATE(kind##_1is_1done)(JNIEnv * env, jobject self, jlong number)         \
	{                                                                                          \
		return state_future_outcome((struct state_future *)(intptr_t)number) !=            \
		       STATE_PENDING;                                                              \
	}                                                                                          \
	NATIVE(jobject) STATE(kind##_1get)(JNIEnv * env, jobject self, jlong number)               \
	{                                                                                          \
		struct state_future *future = (struct state_future *)(intptr_t)number;             \
                                                                                                   \
		return state_natives_await(env, future, INT64_MAX) ? get_result(env, future)       \
								   : NULL;                         \
	}                                                                                          \
	NATIVE(jobject)                                                                            \
	STATE(kind##_1get_1timeout)                                                                \
	(JNIEnv * env, jobject self, jlong number, jlong time, jobject unit)                       \
	{                                                                                          \
		struct state_future *future = (struct state_future *)(intptr_t)number;             \
		int64_t span = span_of(env, time, unit);                                           \
                                                                                                   \
		return span >= 0 && state_natives_await(env, future, span)                         \
			       ? get_result(env, future)                                           \
			       : NULL;                                                             \
	}                                                                                          \
	NATIVE(void) STATE(kind##_1finalize)(JNIEnv * env, jobject self, jlong number)             \
	{                                                                                          \
		if (number)                                                                        \
			state_future_free((struct state_future *)(intptr_t)number);                \
	}                                                                                          \
	NATIVE(jboolean) FUTURE(Kind, cancel)(JNIEnv * env, jobject self, jboolean interrupt)      \
	{                                                                                          \
		struct state_future *future = future_of(env, self);                                \
                                                                                                   \
		return future && state_future_cancel(future);                                      \
	}                                                                                          \
	NATIVE(jboolean) FUTURE(Kind, isCancelled)(JNIEnv * env, jobject self)                     \
	{                                                                                          \
		struct state_future *future = future_of(env, self);                                \
                                                                                                   \
		return future && state_future_outcome(future) == STATE_CANCELLED;                  \
	}                                                                                          \
	NATIVE(jboolean) FUTURE(Kind, isDone)(JNIEnv * env, jobject self)                          \
	{                                                                                          \
		struct state_future *future = future_of(env, self);                                \
                                                                                                   \
		return future && state_future_outcome(future) != STATE_PENDING;                    \
	}                                                                                          \
	NATIVE(jobject) FUTURE(Kind, get__)(JNIEnv * env, jobject self)                            \
	{                                                                                          \
		struct state_future *future = future_of(env, self);                                \
                                                                                                   \
		return future && state_natives_await(env, future, INT64_MAX)                       \
			       ? get_result(env, future)                                           \
			       : NULL;                                                             \
	}                                                                                          \
	NATIVE(jobject)                                                                            \
	FUTURE(Kind, get__JLjava_util_concurrent_TimeUnit_2)                                       \
	(JNIEnv * env, jobject self, jlong time, jobject unit)                                     \
	{                                                                                          \
		struct state_future *future = future_of(env, self);                                \
		int64_t span = future ? span_of(env, time, unit) : -1;                             \
                                                                                                   \
		return span >= 0 && state_natives_await(env, future, span)                         \
			       ? get_result(env, future)                                           \
			       : NULL;                                                             \
	}                                                                                          \
	NATIVE(void) FUTURE(Kind, finalize)(JNIEnv * env, jobject self)                            \
	{                                                                                          \
		struct state_future *future = jvm_pointer(env, self, "future");                    \
                                                                                                   \
		jvm_set_pointer(env, self, "future", NULL);                                        \
		if (future)                                                                        \
			state_future_free(future);                                                 \
	}

NATIVES_OF(fetch, Fetch, get_variable)
NATIVES_OF(store, Store, get_variable)
NATIVES_OF(expunge, Expunge, get_expunged)
NATIVES_OF(names, Names, get_names)
