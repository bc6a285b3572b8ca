/* The parts of org.apache.mesos.MesosSchedulerDriver. */
#ifndef BINDINGS_JVM_SCHEDULER_H
#define BINDINGS_JVM_SCHEDULER_H

#include "bindings/jvm/callback.h"
#include "client/libmesos/scheduler.h"

/* Behind the Java driver's field `__driver`. */
struct jvm_scheduler {
	struct libmesos_scheduler *driver;
	struct callback_target target;
};

/* That of a Java driver; NULL: an exception is pending. */
struct jvm_scheduler *jvm_scheduler_of(JNIEnv *env, jobject driver);
/* Their context is the struct. */
extern const struct libmesos_scheduler_handlers jvm_scheduler_handlers;

#endif
