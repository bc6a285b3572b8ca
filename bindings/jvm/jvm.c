/* The JVM itself; see jvm.h. */
#include "bindings/jvm/jvm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "client/libmesos/status.h"

#define JNI_WANTED JNI_VERSION_1_6
/* What libmesos the library stands for: programs ask, and some refuse others. */
#define VERSION_MAJOR 1
#define VERSION_MINOR 11
#define VERSION_PATCH 0

static JavaVM *jvm;

/* Classes that were looked up. Few, and never dropped: the library stays loaded. */
struct known_class {
	struct known_class *next;
	const char *name;     /* a literal */
	jclass class;	      /* global reference */
	jmethodID parse_from; /* NULL: not asked for yet */
};

static struct known_class *_Atomic known_classes;
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;
static jobject loader; /* of the jar; NULL: the JVM's own finds its classes */
static jmethodID load_class;

/* ---- life ------------------------------------------------------------------ */

JNIEnv *jvm_env(void)
{
	void *env = NULL;

	return jvm && (*jvm)->GetEnv(jvm, &env, JNI_WANTED) == JNI_OK ? env : NULL;
}

/* The program's output is its own: warnings, such as of a master that cannot be reached, and no
 * more unless asked. */
static void set_up_log(void)
{
	const char *level = getenv("MESOS_LOGGING_LEVEL"), *verbose = getenv("GLOG_v");
	enum log_level least = LOG_LEVEL_WARNING;

	if (level && !strcmp(level, "ERROR"))
		least = LOG_LEVEL_ERROR;
	else if ((level && !strcmp(level, "INFO")) || verbose)
		least = LOG_LEVEL_INFO;
	log_setup(least, 2);
}

/* Other natives find classes by the loader of the class they belong to; threads of our own have
 * none, so it is kept. */
static void keep_loader(JNIEnv *env, jclass library)
{
	jclass class_class = (*env)->FindClass(env, "java/lang/Class");
	jclass loader_class = (*env)->FindClass(env, "java/lang/ClassLoader");
	jmethodID get = (*env)->GetMethodID(env, class_class, "getClassLoader",
					    "()Ljava/lang/ClassLoader;");
	jobject found = (*env)->CallObjectMethod(env, library, get);

	if ((*env)->ExceptionCheck(env) || !found)
		return;
	load_class = (*env)->GetMethodID(env, loader_class, "loadClass",
					 "(Ljava/lang/String;)Ljava/lang/Class;");
	loader = (*env)->NewGlobalRef(env, found);
}

NATIVE(jint) JNI_OnLoad(JavaVM *vm, void *reserved)
{
	JNIEnv *env;
	jclass library;
	jfieldID loaded;

	jvm = vm;
	env = jvm_env();
	if (!env)
		return JNI_ERR;
	libmesos_init();
	set_up_log();
	library = (*env)->FindClass(env, "org/apache/mesos/MesosNativeLibrary");
	if (library) {
		keep_loader(env, library);
		loaded = (*env)->GetStaticFieldID(env, library, "loaded", "Z");
		if (loaded)
			(*env)->SetStaticBooleanField(env, library, loaded, JNI_TRUE);
	}
	/* Jars before 0.18 have no such class, later ones not always the field. */
	(*env)->ExceptionClear(env);
	return JNI_WANTED;
}

/* A program that says stop() and ends at once means it. */
__attribute__((destructor)) static void farewell(void)
{
	libmesos_wait_for_stops();
}

NATIVE(jobject) Java_org_apache_mesos_MesosNativeLibrary__1version(JNIEnv *env, jclass library)
{
	jclass class = jvm_class(env, "org/apache/mesos/MesosNativeLibrary$Version");
	jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "(JJJ)V") : NULL;

	if (!make)
		return NULL;
	return (*env)->NewObject(env, class, make, (jlong)VERSION_MAJOR, (jlong)VERSION_MINOR,
				 (jlong)VERSION_PATCH);
}

/* ---- threads ---------------------------------------------------------------- */

void jvm_set_context_loader(JNIEnv *env, jobject object)
{
	jclass thread_class = (*env)->FindClass(env, "java/lang/Thread");
	jclass class_class = (*env)->FindClass(env, "java/lang/Class");
	jmethodID current = (*env)->GetStaticMethodID(env, thread_class, "currentThread",
						      "()Ljava/lang/Thread;");
	jmethodID set = (*env)->GetMethodID(env, thread_class, "setContextClassLoader",
					    "(Ljava/lang/ClassLoader;)V");
	jmethodID get = (*env)->GetMethodID(env, class_class, "getClassLoader",
					    "()Ljava/lang/ClassLoader;");
	jobject thread = (*env)->CallStaticObjectMethod(env, thread_class, current);

	if ((*env)->ExceptionCheck(env))
		return;
	jobject its_loader =
		(*env)->CallObjectMethod(env, (*env)->GetObjectClass(env, object), get);

	if (!(*env)->ExceptionCheck(env))
		(*env)->CallVoidMethod(env, thread, set, its_loader);
}

bool jvm_attach(const char *name)
{
	JavaVMAttachArgs arguments = {JNI_WANTED, (char *)name, NULL};
	void *env;

	return (*jvm)->AttachCurrentThreadAsDaemon(jvm, &env, &arguments) == JNI_OK;
}

void jvm_detach(void)
{
	if (jvm_env())
		(*jvm)->DetachCurrentThread(jvm);
}

/* ---- exceptions -------------------------------------------------------------- */

void jvm_throw(JNIEnv *env, const char *class_name, const char *text)
{
	jclass class;

	if ((*env)->ExceptionCheck(env))
		return;
	class = (*env)->FindClass(env, class_name);
	if (class)
		(*env)->ThrowNew(env, class, text);
}

bool jvm_failed(JNIEnv *env)
{
	if (!(*env)->ExceptionCheck(env))
		return false;
	(*env)->ExceptionDescribe(env); /* prints, and clears */
	(*env)->ExceptionClear(env);
	return true;
}

bool jvm_guard(JNIEnv *env, void (*work)(void *context), void *context)
{
	if (!libmesos_guard(work, context))
		jvm_throw(env, "java/lang/OutOfMemoryError", "libmesos");
	return !(*env)->ExceptionCheck(env);
}

/* ---- classes ------------------------------------------------------------------ */

static jclass find_class(JNIEnv *env, const char *name)
{
	char *dotted;
	jstring text;
	jclass class;

	if (!loader)
		return (*env)->FindClass(env, name);
	dotted = strdup(name);
	for (char *at = dotted; at && *at; at++)
		if (*at == '/')
			*at = '.';
	text = dotted ? (*env)->NewStringUTF(env, dotted) : NULL;
	free(dotted);
	if (!text)
		return NULL;
	class = (*env)->CallObjectMethod(env, loader, load_class, text);
	(*env)->DeleteLocalRef(env, text);
	return (*env)->ExceptionCheck(env) ? NULL : class;
}

/* Two threads may make the same entry; both stay and say the same. */
static struct known_class *known(JNIEnv *env, const char *name)
{
	struct known_class *entry;
	jclass class;

	for (entry = known_classes; entry; entry = entry->next)
		if (entry->name == name || !strcmp(entry->name, name))
			return entry;
	class = find_class(env, name);
	entry = class ? malloc(sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	*entry = (struct known_class){.name = name, .class = (*env)->NewGlobalRef(env, class)};
	(*env)->DeleteLocalRef(env, class);
	pthread_mutex_lock(&known_mutex);
	entry->next = known_classes;
	known_classes = entry;
	pthread_mutex_unlock(&known_mutex);
	return entry;
}

jclass jvm_class(JNIEnv *env, const char *name)
{
	struct known_class *entry = known(env, name);

	return entry ? entry->class : NULL;
}

jobject jvm_new_message(JNIEnv *env, const char *class_name, struct slice bytes)
{
	struct known_class *entry = known(env, class_name);
	char signature[160];
	jbyteArray array;
	jobject message;

	if (!entry)
		return NULL;
	if (!entry->parse_from) {
		snprintf(signature, sizeof(signature), "([B)L%s;", class_name);
		entry->parse_from =
			(*env)->GetStaticMethodID(env, entry->class, "parseFrom", signature);
	}
	array = entry->parse_from ? jvm_new_bytes(env, bytes) : NULL;
	if (!array)
		return NULL;
	message = (*env)->CallStaticObjectMethod(env, entry->class, entry->parse_from, array);
	(*env)->DeleteLocalRef(env, array);
	return (*env)->ExceptionCheck(env) ? NULL : message;
}

jobject jvm_status(JNIEnv *env, int status)
{
	jclass class = jvm_class(env, "org/apache/mesos/Protos$Status");
	jmethodID value_of;

	if (!class)
		return NULL;
	/* forNumber() would say the same, but is not there before protobuf 3. */
	value_of = (*env)->GetStaticMethodID(env, class, "valueOf",
					     "(I)Lorg/apache/mesos/Protos$Status;");
	return value_of ? (*env)->CallStaticObjectMethod(env, class, value_of, (jint)status) : NULL;
}
