/* One call from C into the program: what it is called on, and what became of it.
 *
 *   struct callback c;
 *   if (callback_begin(&c, &target, "killTask", "(...)V"))
 *           CALLBACK(&c, jvm_new_message(...));
 *   return callback_finish(&c);
 *
 * What a callback throws is printed; negative is returned then, and the driver aborts, as with
 * libmesos. */
#ifndef BINDINGS_JVM_CALLBACK_H
#define BINDINGS_JVM_CALLBACK_H

#include "bindings/jvm/jvm.h"

/* Whose field holds the program's object, of an interface. */
struct callback_target {
	jweak owner;	       /* the Java driver, which the program may forget */
	const char *field;     /* "scheduler" */
	const char *interface; /* "org/apache/mesos/Scheduler" */
};

struct callback {
	JNIEnv *env;
	jobject owner;
	jobject object;
	jmethodID method;
};

/* Finds what is needed, in a frame of references. False: nothing is to be called. */
bool callback_begin(struct callback *c, const struct callback_target *target, const char *method,
		    const char *signature);
int callback_finish(struct callback *c);
/* A whole callback that is told nothing besides the owner, a text, or one message. */
int callback_plain(const struct callback_target *target, const char *method, const char *signature);
int callback_text(const struct callback_target *target, const char *method, const char *signature,
		  const char *text);
int callback_message(const struct callback_target *target, const char *method,
		     const char *signature, const char *class, struct slice bytes);

/* Calls the method with the owner and what follows, unless making those threw something. */
#define CALLBACK(c, ...)                                                                           \
	do {                                                                                       \
		if (!(*(c)->env)->ExceptionCheck((c)->env))                                        \
			(*(c)->env)->CallVoidMethod((c)->env, (c)->object, (c)->method,            \
						    (c)->owner, ##__VA_ARGS__);                    \
	} while (0)

/* Around the life of a callback thread. */
void callback_thread_begins(const struct callback_target *target, const char *name);
void callback_thread_ends(void *context);

#endif
