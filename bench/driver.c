/* Launches tasks by the C driver of client/libmesos, as fast as offers come: what a Java scheduler
 * on libmesos.so is measured against (tests/e2e/clients/java/Launch.java does the same).
 *
 *   bench_driver MASTER TASKS       prints the tasks a second, from the first offer to the last end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time/clock.h"
#include "client/libmesos/scheduler.h"
#include "proto/wire/wire_write.h"

#define TASK_CPUS 0.1
#define TASK_MEM 32.0

struct bench {
	struct libmesos_scheduler *driver;
	long wanted, launched, ended;
	int64_t begin, end;
};

static int nothing(void *context)
{
	return 0;
}

static int registered(void *context, struct slice framework_id, struct slice master_info)
{
	return 0;
}

static int ignored(void *context, struct slice message)
{
	return 0;
}

static int ignored_message(void *context, struct slice a, struct slice b, struct slice c)
{
	return 0;
}

static int ignored_executor(void *context, struct slice a, struct slice b, int status)
{
	return 0;
}

static void put_scalar(struct buf *out, uint32_t field, const char *name, double value)
{
	Mesos__Resource resource = MESOS__RESOURCE__INIT;
	Mesos__Value__Scalar scalar = MESOS__VALUE__SCALAR__INIT;

	scalar.value = value;
	resource.name = (char *)name;
	resource.type = MESOS__VALUE__TYPE__SCALAR;
	resource.scalar = &scalar;
	wire_put_message(out, field, &resource);
}

/* TaskInfo: name 1, task_id 2, agent_id 3, resources 4, command 7. */
static void put_task(struct buf *launch, long number, struct slice agent_id)
{
	Mesos__CommandInfo command = MESOS__COMMAND_INFO__INIT;
	struct buf task = BUF_INIT, id = BUF_INIT;
	char name[32];

	snprintf(name, sizeof(name), "t%ld", number);
	command.value = (char *)"true";
	wire_put_bytes(&id, 1, slice_of(name));
	wire_put_bytes(&task, 1, slice_of(name));
	wire_put_bytes(&task, 2, (struct slice){id.data, id.len});
	wire_put_bytes(&task, 3, agent_id);
	put_scalar(&task, 4, "cpus", TASK_CPUS);
	put_scalar(&task, 4, "mem", TASK_MEM);
	wire_put_message(&task, 7, &command);
	wire_put_bytes(launch, 1, (struct slice){task.data, task.len});
	buf_free(&id);
	buf_free(&task);
}

/* How many tasks fit by their processors; memory is plenty. */
static long room_of(const Mesos__Offer *offer)
{
	double cpus = 0;

	for (size_t i = 0; i < offer->n_resources; i++)
		if (!strcmp(offer->resources[i]->name, "cpus"))
			cpus += offer->resources[i]->scalar->value;
	return (long)(cpus / TASK_CPUS + 1e-6);
}

/* One ACCEPT of one offer; without tasks left it declines. Offer: id 1, agent_id 3. */
static void accept_offer(struct bench *b, struct slice bytes)
{
	Mesos__Filters filters = MESOS__FILTERS__INIT;
	struct buf launch = BUF_INIT, operation = BUF_INIT, accept = BUF_INIT, call = BUF_INIT;
	struct slice id, agent_id;
	struct arena arena;
	struct err err;
	const Mesos__Offer *offer;

	arena_init(&arena);
	offer = proto_unpack(&mesos__offer__descriptor, &arena, bytes.data, bytes.len, &err);
	if (offer && wire_part(bytes, 1, &id) && wire_part(bytes, 3, &agent_id)) {
		for (long room = room_of(offer); room > 0 && b->launched < b->wanted; room--)
			put_task(&launch, b->launched++, agent_id);
		filters.has_refuse_seconds = 1;
		wire_put_number(&operation, 1, MESOS__OFFER__OPERATION__TYPE__LAUNCH);
		wire_put_bytes(&operation, 2, (struct slice){launch.data, launch.len});
		wire_put_bytes(&accept, 1, id);
		wire_put_bytes(&accept, 2, (struct slice){operation.data, operation.len});
		wire_put_message(&accept, 3, &filters);
		wire_put_bytes(&call, 4, (struct slice){accept.data, accept.len});
		libmesos_scheduler_call(b->driver, MESOS__SCHEDULER__CALL__TYPE__ACCEPT, &call);
	}
	buf_free(&launch);
	buf_free(&operation);
	buf_free(&accept);
	arena_free(&arena);
}

static int offers(void *context, struct slice list)
{
	struct bench *b = context;
	struct slice offer;

	if (!b->begin)
		b->begin = clock_now();
	while (wire_next(&list, 1, &offer))
		accept_offer(b, offer);
	return 0;
}

static int update(void *context, struct slice status)
{
	struct bench *b = context;
	uint64_t state = 0;

	wire_number(status, 2, &state);
	if (state != MESOS__TASK_STATE__TASK_FINISHED || ++b->ended < b->wanted)
		return 0;
	b->end = clock_now();
	libmesos_scheduler_stop(b->driver, false);
	return 0;
}

static void error(void *context, const char *why)
{
	fprintf(stderr, "bench_driver: %s\n", why);
}

int main(int argc, char **argv)
{
	static const struct libmesos_scheduler_handlers handlers = {
		.registered = registered,
		.reregistered = ignored,
		.disconnected = nothing,
		.offers = offers,
		.rescinded = ignored,
		.update = update,
		.message = ignored_message,
		.agent_lost = ignored,
		.executor_lost = ignored_executor,
		.error = error,
	};
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct libmesos_scheduler_options options = {.info = &info,
						     .implicit_acknowledgements = true};
	struct bench b = {0};

	if (argc != 3) {
		fprintf(stderr, "usage: bench_driver MASTER TASKS\n");
		return 2;
	}
	libmesos_init();
	info.user = (char *)"";
	info.name = (char *)"driver";
	options.master = argv[1];
	b.wanted = atol(argv[2]);
	b.driver = libmesos_scheduler_new(&options, &handlers, &b);
	libmesos_scheduler_start(b.driver);
	libmesos_scheduler_join(b.driver);
	libmesos_scheduler_free(b.driver);
	if (!b.end)
		return 1;
	printf("%.0f\n", (double)b.wanted * SECOND / (double)(b.end - b.begin));
	return 0;
}
