/* libmesos.so: the JNI natives of the jars org.apache.mesos:mesos, over client/libmesos.
 *
 * This header is the border itself: the JVM, exceptions, and messages as bytes. Natives that ask
 * for our own memory run under jvm_guard(), which makes an OutOfMemoryError of its lack.
 *
 * Rules of the whole folder: no function ends the process; no native trusts its arguments (null is
 * a NullPointerException); local references do not pile up on threads that live long. */
#ifndef BINDINGS_JVM_JVM_H
#define BINDINGS_JVM_JVM_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buf.h"

/* What a JVM knows of the library by name is all that it exports. */
#define NATIVE(type) JNIEXPORT type JNICALL

#define FRAME_REFERENCES 32 /* local references of one native or callback, with room */

/* The environment of this thread; NULL if the JVM does not know the thread. */
JNIEnv *jvm_env(void);
/* Makes the thread one of the JVM's that does not keep it alive. */
bool jvm_attach(const char *name);
/* The thread's context class loader becomes that of the object's class. */
void jvm_set_context_loader(JNIEnv *env, jobject object);
void jvm_detach(void);

/* ---- exceptions --------------------------------------------------------------- */

void jvm_throw(JNIEnv *env, const char *class_name, const char *text);
#define jvm_throw_null(env, what) jvm_throw((env), "java/lang/NullPointerException", (what))
/* Prints and forgets what was thrown; whether something was. */
bool jvm_failed(JNIEnv *env);
/* Runs `work`; throws an OutOfMemoryError if there is no memory. False: something was thrown,
 * here or in `work`. */
bool jvm_guard(JNIEnv *env, void (*work)(void *context), void *context);

/* ---- fields that hold our pointers ---------------------------------------------- */

void *jvm_pointer(JNIEnv *env, jobject object, const char *field);
void jvm_set_pointer(JNIEnv *env, jobject object, const char *field, void *pointer);
/* The value of a field that jars of other years may not have; NULL then. */
jobject jvm_field(JNIEnv *env, jobject object, const char *name, const char *signature);

/* ---- from Java; false: an exception is pending ----------------------------------- */

/* Append the bytes of a byte[], of a protobuf message, of a String as UTF-8. `what` names the
 * argument, in case it is null. */
bool jvm_bytes(JNIEnv *env, jbyteArray array, const char *what, struct buf *out);
bool jvm_message(JNIEnv *env, jobject message, const char *what, struct buf *out);
bool jvm_string(JNIEnv *env, jstring string, const char *what, struct buf *out);
/* Append a message as a field of another one. */
bool jvm_put_message(JNIEnv *env, jobject message, const char *what, uint32_t field,
		     struct buf *out);
/* Calls `take` for each element of a Collection, until it returns false. */
bool jvm_each(JNIEnv *env, jobject collection, const char *what,
	      bool (*take)(JNIEnv *env, jobject element, void *context), void *context);
/* The field repeated for each message of a Collection. */
bool jvm_put_messages(JNIEnv *env, jobject collection, const char *what, uint32_t field,
		      struct buf *out);
/* A Collection of Strings (null: none), NULL at the end; heap, see jvm_free_strings(). */
bool jvm_strings(JNIEnv *env, jobject collection, char ***out, size_t *count);
void jvm_free_strings(char **strings, size_t count);

/* ---- to Java; NULL: an exception is pending --------------------------------------- */

jbyteArray jvm_new_bytes(JNIEnv *env, struct slice bytes);
/* From bytes that need not be UTF-8. */
jstring jvm_new_string(JNIEnv *env, const char *text);
/* A message of a class, e.g. "org/apache/mesos/Protos$Offer". Classes are looked up once, from
 * the loader of the jar. */
jobject jvm_new_message(JNIEnv *env, const char *class_name, struct slice bytes);
/* A class of the jar or of the JVM, kept for ever. */
jclass jvm_class(JNIEnv *env, const char *name);
/* The Protos.Status of a number of enum libmesos_status. */
jobject jvm_status(JNIEnv *env, int status);

#endif
