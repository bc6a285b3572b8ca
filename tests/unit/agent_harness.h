/* Drives an agent core in a test: feeds events, writes down its actions as text, one line
 * each, and keeps what it stores, so that it can be killed and started again.
 *
 * Containers are named by their executor's id, streams by their number. Actions of store
 * and garbage collection are left out unless `show_store` is set. */
#ifndef TESTS_AGENT_HARNESS_H
#define TESTS_AGENT_HARNESS_H

#include <criterion/criterion.h>

#include "agent/core/agent.h"
#include "agent/core/show.h"
#include "base/time/clock.h"

#define RIG_MASTER "master@10.0.0.1:5050"
#define RIG_AGENT "M-S0"
#define RIG_FRAMEWORK "F"
#define RIG_CONTAINERS 64
#define RIG_PAIRS 512

struct rig_pair {
	char *key;
	struct buf value;
};

struct rig_batch {
	uint64_t ticket;
	size_t count;
	struct rig_pair *ops; /* value.data NULL: delete */
	struct rig_batch *next;
};

struct rig {
	struct agent *agent;
	struct agent_options options;
	struct agent_actions out;
	struct rng rng;
	struct resources total;
	struct arena arena; /* of events */
	int64_t now;
	struct buf trace;
	bool manual_store; /* batches are written when told, not at once */
	bool show_store;
	bool manual_volumes;	    /* what is asked of volumes is answered when told */
	const char *volume_failure; /* the answer to MAKE_VOLUMES and LINK_VOLUMES */
	bool checkpoint;	    /* of frameworks */
	bool aware;		    /* partition aware */
	const char *framework;	    /* whose messages are sent; NULL = RIG_FRAMEWORK */
	const char *framework_pid;
	const struct json *claims;	  /* of the token that executors show */
	struct rig_pair pairs[RIG_PAIRS]; /* sorted by key */
	size_t pair_count;
	struct rig_batch *batches;	     /* not written */
	char *containers[RIG_CONTAINERS][2]; /* executor id, container */
	size_t container_count;
	/* Told of every action, after it was written down. */
	void (*watch)(struct rig *rig, const struct agent_action *action);
	void *context;
};

void rig_init(struct rig *rig);
void rig_free(struct rig *rig);
/* The core from the store as it is; fails the test on an error. */
void rig_start(struct rig *rig);
int rig_try_start(struct rig *rig, bool rebooted, struct err *err);
void rig_kill_agent(struct rig *rig);		   /* what was not written is lost */
void rig_stored(struct rig *rig, uint64_t ticket); /* writes batches up to it */
void rig_trace(struct rig *rig, const struct agent_action *action); /* writes it down */
/* The trace since the last call; valid until the next. */
const char *rig_take(struct rig *rig);
#define rig_expect(rig, text)                                                                      \
	do {                                                                                       \
		const char *got_ = rig_take(rig);                                                  \
		cr_assert(strcmp(got_, text) == 0, "expected:\n%s\ngot:\n%s", text, got_);         \
	} while (0)

void rig_step(struct rig *rig, const struct agent_event *event);
void rig_tick(struct rig *rig, int64_t later); /* advances and ticks every due timer */
void rig_next(struct rig *rig);		       /* on to the next timeout, one tick */
/* A message given as JSON, in the arena; fails the test on an error. */
void *rig_parse(struct rig *rig, const ProtobufCMessageDescriptor *type, const char *text);
void rig_message(struct rig *rig, const char *from, void *message);
void rig_message_to(struct rig *rig, const char *from, const char *to, void *message);
void rig_detect(struct rig *rig, const char *master);
void rig_register(struct rig *rig);   /* from detection to RUNNING as RIG_AGENT; no trace */
void rig_reregister(struct rig *rig); /* the same for a core that has an id */
/* `executor` NULL: a command task. launch: -1 unset. */
Mesos__TaskInfo *rig_task(struct rig *rig, const char *id, const char *executor);
void rig_run_task(struct rig *rig, Mesos__TaskInfo *task, int launch);
void rig_run(struct rig *rig, const char *id, const char *executor, int launch);
void rig_kill(struct rig *rig, const char *id);
void rig_ack(struct rig *rig, const char *id, int uuid);
void rig_ack_bytes(struct rig *rig, const char *id, ProtobufCBinaryData uuid);
Mesos__Executor__Call *rig_call(struct rig *rig, const char *executor,
				Mesos__Executor__Call__Type type);
void rig_executor_call(struct rig *rig, Mesos__Executor__Call *call, uint64_t stream);
void rig_subscribe(struct rig *rig, const char *executor, uint64_t stream);
Mesos__TaskStatus *rig_status(struct rig *rig, const char *task, Mesos__TaskState state, int uuid);
void rig_update(struct rig *rig, const char *executor, const char *task, Mesos__TaskState state,
		int uuid);
Mesos__AgentID *rig_agent_id(struct rig *rig);
ProtobufCBinaryData rig_uuid(struct rig *rig, int number);
int rig_uuid_number(ProtobufCBinaryData uuid); /* 0: not one of rig_uuid() */
const char *rig_container(struct rig *rig, const char *executor);
void rig_container_started(struct rig *rig, const char *executor, int64_t pid);
void rig_container_failed(struct rig *rig, const char *executor, enum agent_start_stage stage,
			  const char *text);
void rig_container_exited(struct rig *rig, const char *executor, int status); /* -1 unknown */
/* Answers of the shell to orders about volumes; rig->volume_failure is in them. */
void rig_volumes_made(struct rig *rig, uint64_t number);
void rig_volume_removed(struct rig *rig, const char *path);
void rig_volumes_linked(struct rig *rig, const char *executor);
/* run, start, subscribe; no trace */
void rig_running(struct rig *rig, const char *task, const char *executor, uint64_t stream);

#define STATE(name) MESOS__TASK_STATE__TASK_##name
#define rig_new(rig, Type, descriptor) PROTO_NEW(&(rig)->arena, Type, descriptor)

#endif
