/* The master's core under libprocess messages of whoever likes to send some: drivers and agents,
 * that it knows and that it does not. Input is a list of items: what (a message, the end of a link,
 * a moment that passes), from whom, a length in two bytes, the message's bytes. After each the
 * invariants of the core must hold. */
#include "tests/fuzz/fuzz_master.h"

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
		game_step(g, &event);
	arena_free(&arena);
	game_stored(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct game g = {0};

	game_begin(&g);
	while (size >= 4) {
		unsigned what = data[0] % WHATS;
		const char *pid = pids[data[1] % COUNT(pids)];
		size_t len = (size_t)data[2] << 8 | data[3];
		struct master_event exited = {.type = MASTER_EXITED, .exited = {.pid = pid}};

		data += 4;
		size -= 4;
		len = len < size ? len : size;
		if (what == EXITED) {
			game_step(&g, &exited);
		} else if (what == PASS) {
			game_pass(&g, data[-1]);
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
