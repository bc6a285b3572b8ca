/* What a Java scheduler is told; see scheduler_callbacks.c. */
#ifndef BINDINGS_JVM_SCHEDULER_H
#define BINDINGS_JVM_SCHEDULER_H

#include "bindings/jvm/callback.h"
#include "client/libmesos/scheduler.h"

/* Behind the Java driver's field `__driver`. */
struct jvm_scheduler {
	struct libmesos_scheduler *driver;
	struct callback_target target;
};

/* Their context is the struct. */
extern const struct libmesos_scheduler_handlers jvm_scheduler_handlers;

#endif
