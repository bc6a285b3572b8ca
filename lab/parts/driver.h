/* A scheduler's driver of v0, as libmesos and mesos-go have them, within lab/.
 *
 *	driver_link.c	   how it registers, loses the master and fails over
 *	driver_messages.c  calls and events in the words of v0
 *	driver_past.c	   one that was failed over from, and does not know
 *
 * It is an actor at an address: what is sent to another one there is lost. There is no answer
 * to what it says, and no connection that ends with the subscription: it hears of a new master
 * from a detector, and an error ends it. Then the scheduler makes another one. */
#ifndef LAB_PARTS_DRIVER_H
#define LAB_PARTS_DRIVER_H

#include "lab/parts/scheduler.h"

/* One that was before it in the same process. */
struct driver_past {
	struct happening next; /* when it says something */
	char *pid;	       /* NULL = there is none */
	int64_t until;
};

struct driver {
	struct scheduler_part *part;
	struct rng rng;
	char *actor, *address, *pid;
	int actors, homes; /* that it had */
	bool haunted;	   /* an earlier process at its address registered a framework late */
	bool aborted;	   /* it says nothing, and hears nothing */
	bool lost;	   /* it will hear that there is a master */
	bool force;	   /* it is a failover, until it is registered */
	int64_t patience;  /* with its next try to register */
	int64_t heard;	   /* something of the master, when last */
	struct happening unrest;
	struct driver_past past;
	/* Of several masters: */
	struct detector *detector; /* while its process is alive */
	char *master;		   /* the leader's pid, as it knows; or NULL */
};

void driver_destroy(struct driver *d); /* or NULL */
/* As the pid. */
void driver_say_as(struct driver *d, const char *pid, Mesos__Scheduler__Call *call);
void driver_deactivate(struct driver *d, const char *pid);

/* ---- driver_messages.c --------------------------------------------------------- */

/* The call in a message: of old, if it had one of its own then, or as it is. */
const void *driver_wrap_call(struct arena *arena, const Mesos__Scheduler__Call *call, bool old,
			     bool force);
/* Whether it is a message that drivers send to the master. */
bool driver_says(const ProtobufCMessageDescriptor *type);
/* What a message of a driver says. NULL: no call. */
const Mesos__Scheduler__Call *driver_unwrap_call(struct arena *arena, const void *message);
/* Whether it changes who speaks for a framework, or ends that. */
bool driver_is_registration(const void *message);
/* What a message to a driver says to its scheduler. False: nothing. */
bool driver_unwrap_event(struct arena *arena, const void *message, Mesos__Scheduler__Event *out);
/* Why it ends the process of a libmesos driver of this framework, or NULL. */
const char *driver_check_message(const void *message, const char *framework_id);

/* ---- driver_past.c --------------------------------------------------------------- */

void driver_past_init(struct driver *d);
/* The pid speaks for nobody any more, but may go on for a while. */
void driver_past_begin(struct driver *d, const char *pid);
void driver_past_end(struct driver *d);
/* The other one is registered. */
void driver_past_wake(struct driver *d);
/* It heard of the update, too. */
void driver_past_update(struct driver *d, const Mesos__TaskStatus *status);

#endif
