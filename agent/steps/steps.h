/* Steps of the agent: an event into the core, its actions out into the world, in their order. What
 * they cause at once (a container that starts, a path that is gone) waits until all of them are
 * done. Pure: whoever owns the process, or simulates one, gives the functions that act.
 */
#ifndef AGENT_STEPS_STEPS_H
#define AGENT_STEPS_STEPS_H

#include "agent/core/agent.h"
#include "base/list.h"

/* What acts. All of them get the context of the steps; none may free them. */
struct agent_outlet {
	/* The wall clock, ns. If it was set, agent_clock_moved() is called first. */
	int64_t (*now)(void *context);
	/* When the core wants a tick: ns, or TIME_NEVER. */
	void (*wake_at)(void *context, int64_t when);
	/* `actor` is ours that sends it, NULL: the agent's. */
	void (*send_message)(void *context, const char *actor, const char *to,
			     const ProtobufCMessage *message);
	void (*link)(void *context, const char *pid);
	void (*unlink)(void *context, const char *pid);
	void (*send_event)(void *context, uint64_t stream, const Mesos__Executor__Event *event);
	void (*end_stream)(void *context, uint64_t stream);
	void (*launch)(void *context, const struct agent_launch *launch);
	void (*reattach)(void *context, const char *container, int64_t pid, uint64_t start_ticks);
	void (*destroy)(void *context, const char *container);
	void (*signal)(void *context, const char *container, int number);
	void (*limit)(void *context, const char *container, const struct agent_limits *limits);
	void (*clear)(void *context, const char *container);
	/* AGENT_ANSWER */
	void (*answer)(void *context, const struct agent_action *action);
	/* Hands a batch to the store; returns its number. */
	uint64_t (*store)(void *context, enum store_class class, const struct store_op *ops,
			  size_t count);
	/* The identity is stored: it is what a restarted agent will have. */
	void (*identified)(void *context);
	void (*collect)(void *context, const char *path, int64_t when);
	void (*keep)(void *context, const char *path);
	/* AGENT_MAKE_VOLUMES or AGENT_LINK_VOLUMES. */
	void (*make_volumes)(void *context, const struct agent_action *action);
	void (*remove_volume)(void *context, const char *path, bool mount);
	void (*redetect)(void *context);
	/* The process must end; no event is fed after that. */
	void (*exit)(void *context, int status, const char *text);
};

struct agent_steps {
	struct agent *core; /* set before the first step; not owned */
	const struct agent_outlet *outlet;
	void *context;
	struct agent_actions actions; /* of the step under way */
	struct agent_reply reply;     /* of the last agent_steps_call(); text is heap */
	struct list events;	      /* that came up during the step */
	bool stepping;
	bool over;		  /* the process ends: events are dropped */
	uint64_t synced;	  /* number of the last batch that must be synced */
	uint64_t told;		  /* up to which the core knows that batches are written */
	uint64_t identity_ticket; /* with which the identity is stored; 0 before it is known */
	bool identified;
};

void agent_steps_init(struct agent_steps *steps, const struct agent_outlet *outlet, void *context);
void agent_steps_free(struct agent_steps *steps);

/* Feeds the core and carries its actions out. During a step the event is kept (what it
 * points at is copied) and done after it, so this may be called from anywhere. Events
 * that hold messages only outside of a step. */
void agent_steps_feed(struct agent_steps *steps, const struct agent_event *event);
/* Feeds an executor call; `open` is called between the step and its actions, which may
 * speak to the new stream. The answer is in steps->reply, and for `open` in the actions. */
void agent_steps_call(struct agent_steps *steps, const struct agent_event *event,
		      void (*open)(void *context), void *context);
/* Carries out what agent_start() put into steps->actions. */
void agent_steps_begin(struct agent_steps *steps);
/* Tells the core how far the store is. Written is enough to outlive the process; what must be
 * synced is waited for. */
void agent_steps_stored(struct agent_steps *steps, uint64_t applied, uint64_t durable);

#endif
