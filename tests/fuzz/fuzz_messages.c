/* The master's core under libprocess messages of whoever likes to send some: drivers and agents,
 * that it knows and that it does not. Input is a list of items: what (a message, the end of a link,
 * a moment that passes), from whom, a length in two bytes, the message's bytes. After each the
 * invariants of the core must hold. */
#include "master/core/objects.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define MESSAGE(name) &mesos__internal__##name##_message__descriptor

static const ProtobufCMessageDescriptor *const types[] = {
	MESSAGE(register_framework),
	MESSAGE(reregister_framework),
	MESSAGE(unregister_framework),
	MESSAGE(deactivate_framework),
	MESSAGE(resource_request),
	MESSAGE(launch_tasks),
	MESSAGE(revive_offers),
	MESSAGE(kill_task),
	MESSAGE(status_update_acknowledgement),
	MESSAGE(framework_to_executor),
	MESSAGE(reconcile_tasks),
	MESSAGE(status_update),
	MESSAGE(executor_to_framework),
	MESSAGE(exited_executor),
	MESSAGE(register_slave),
	MESSAGE(reregister_slave),
	MESSAGE(unregister_slave),
	MESSAGE(update_slave),
	MESSAGE(update_operation_status),
	MESSAGE(pong_slave),
	&mesos__internal__authenticate_message__descriptor,
};

static const char *const pids[] = {
	"scheduler(1)@127.0.0.1:6001",
	"scheduler(2)@127.0.0.1:6001",
	"slave(1)@127.0.0.1:5001",
	"slave(1)@127.0.0.1:5002",
	"@0.0.0.0:0",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
enum { CALL = COUNT(types), EXITED, PASS, WHATS };

struct game {
	struct master *m;
	struct master_actions out;
	struct rng rng;
	int64_t now;
	uint64_t ticket; /* of the last store action */
};

static void step(struct game *g, const struct master_event *event)
{
	struct err why = {{0}};

	master_actions_clear(&g->out);
	master_step(g->m, g->now, event, &g->out);
	for (size_t i = 0; i < g->out.count; i++) {
		if (g->out.items[i].type == MASTER_STORE)
			g->ticket = g->out.items[i].store.ticket;
	}
	if (!master_check(g->m, &why)) {
		fprintf(stderr, "%s\n", why.text);
		abort();
	}
}

static void stored(struct game *g)
{
	struct master_event event = {.type = MASTER_STORED};

	event.stored.ticket = g->ticket;
	step(g, &event);
}

static void pass(struct game *g, uint8_t seconds)
{
	struct master_event event = {.type = MASTER_TICK};

	g->now += seconds * SECOND;
	step(g, &event);
}

static void message(struct game *g, unsigned what, const char *pid, const uint8_t *data, size_t len)
{
	struct master_event event = {.type = MASTER_MESSAGE, .message.from = pid};
	struct arena arena;
	struct err err = {{0}};
	void *message;

	arena_init(&arena);
	if (what == CALL)
		message = proto_call_from_v0(&arena, data, len, &event.message.force, &err);
	else
		message = proto_unpack(types[what], &arena, data, len, &err);
	event.message.message = message;
	if (message)
		step(g, &event);
	arena_free(&arena);
	stored(g);
}

static void begin(struct game *g)
{
	struct master_options options = {
		.id = "M",
		.ip = "127.0.0.1",
		.port = 5050,
		.hostname = "localhost",
		.version = "1.12.0",
		.rng = &g->rng,
		.agent_ping_timeout = 15 * SECOND,
		.max_agent_ping_timeouts = 5,
		.agent_reregister_timeout = 10 * MINUTE,
		.recovery_removal_limit = 100,
		.allocation_interval = SECOND,
		.root_submissions = true,
		.max_completed_frameworks = 5,
		.max_completed_tasks_per_framework = 5,
		.max_unreachable_tasks_per_framework = 5,
	};
	struct err err;

	log_setup(LOG_LEVEL_ERROR, 2);
	rng_seed(&g->rng, 1);
	master_actions_init(&g->out);
	g->now = 1000 * SECOND;
	if (master_create(&options, &g->m, &err) < 0)
		abort();
	master_start(g->m, g->now, &g->out);
	g->ticket = 1;
	stored(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct game g = {0};

	begin(&g);
	while (size >= 4) {
		unsigned what = data[0] % WHATS;
		const char *pid = pids[data[1] % COUNT(pids)];
		size_t len = (size_t)data[2] << 8 | data[3];
		struct master_event exited = {.type = MASTER_EXITED, .exited = {.pid = pid}};

		data += 4;
		size -= 4;
		len = len < size ? len : size;
		if (what == EXITED) {
			step(&g, &exited);
		} else if (what == PASS) {
			pass(&g, data[-1]);
			len = 0;
		} else {
			message(&g, what, pid, data, len);
		}
		data += len;
		size -= len;
	}
	master_destroy(g.m);
	master_actions_free(&g.out);
	return 0;
}
