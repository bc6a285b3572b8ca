/* Steps of the master: an event into the core, its actions out into the world, in their order. An
 * event that comes up meanwhile waits until all of them are done. Pure: whoever owns the process,
 * or simulates one, gives the functions that act.
 */
#ifndef MASTER_STEPS_STEPS_H
#define MASTER_STEPS_STEPS_H

#include "base/list.h"
#include "master/core/master.h"

/* What acts. All of them get the context of the steps; none may free them. */
struct master_outlet {
	/* The wall clock, ns. If it was set, master_clock_moved() is called first. */
	int64_t (*now)(void *context);
	/* When the core wants a tick: ns, or TIME_NEVER. */
	void (*wake_at)(void *context, int64_t when);
	void (*send_event)(void *context, uint64_t stream, const Mesos__Scheduler__Event *event);
	void (*end_stream)(void *context, uint64_t stream);
	void (*send_message)(void *context, const char *from, const char *to,
			     const ProtobufCMessage *message);
	void (*link)(void *context, const char *pid);
	void (*unlink)(void *context, const char *pid);
	/* Hands a batch to the store of the line; returns its number there. */
	uint64_t (*store)(void *context, enum store_line line, enum store_class class,
			  const struct store_op *ops, size_t count);
	/* An event for those who watch the master; as in struct master_action. */
	void (*tell_watchers)(void *context, const Mesos__Master__Event *event,
			      const char *framework_user, const char *task_user);
	/* The answer to an operator's request. */
	void (*answer)(void *context, uint64_t request, int status, const char *text);
	/* The process must end; no event is fed after that. */
	void (*exit)(void *context, const char *text);
};

struct master_steps {
	struct master *core; /* set before the first step; not owned */
	const struct master_outlet *outlet;
	void *context;
	struct master_actions actions; /* of the step under way, with its reply */
	struct list events;	       /* that came up during the step */
	bool stepping;
	bool over; /* the process ends: events are dropped */
	struct master_line {
		uint64_t last;	 /* number of the last batch */
		uint64_t synced; /* of the last one that must be synced */
		uint64_t told;	 /* up to which the core knows that they are written */
	} lines[STORE_LINES];
};

void master_steps_init(struct master_steps *steps, const struct master_outlet *outlet,
		       void *context);
void master_steps_free(struct master_steps *steps);

/* Feeds the core and carries its actions out; the reply is in steps->actions until the next step.
 * During a step only what needs no reply may come: a stream that closed, a link that broke, a
 * store that got further; it is done after the step. */
void master_steps_feed(struct master_steps *steps, const struct master_event *event);
/* The same for an event that opens a stream: `open` is called between the step and its actions,
 * which may speak to the new stream. */
void master_steps_feed_opening(struct master_steps *steps, const struct master_event *event,
			       void (*open)(void *context), void *context);
/* The core has all that the stores held: begins its life. */
void master_steps_begin(struct master_steps *steps);
/* Hands to the stores what an orderly end leaves for the next master. */
void master_steps_finish(struct master_steps *steps);
/* Tells the core how far the store of the line is. What need not be synced counts once it is
 * written: it outlives the process. True: there is more to tell, of a registry that agents have
 * come to by the thousand; the owner calls again when it has done what else there is. */
bool master_steps_stored(struct master_steps *steps, enum store_line line, uint64_t applied,
			 uint64_t durable);

#endif
