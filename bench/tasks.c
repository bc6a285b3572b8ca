/* A scheduler that measures: runs `true` as command tasks and prints how it went.
 *
 *   bench_tasks HOST:PORT rate COUNT [EXECUTOR]       all as fast as the offers allow
 *   bench_tasks HOST:PORT latency COUNT [EXECUTOR]    one after the other
 *
 * EXECUTOR is the path of bench_executor: the tasks then run under one executor that is kept,
 * and the first task of all, which starts it, is not counted.
 *
 *   bench_tasks HOST:PORT rate COUNT pods
 *
 * The tasks come in groups of three then, each on a default executor of its own.
 *
 *   bench_tasks HOST:PORT rate|latency COUNT image=NAME
 *
 * The root of each command task is that image.
 *
 * rate prints tasks per second from the first ACCEPT to the last TASK_FINISHED; latency
 * prints the median and 99th percentile of ACCEPT to TASK_FINISHED in milliseconds. A
 * task that ends otherwise, or no progress for a minute, is a failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "client/scheduler.h"

#define CPUS 0.01
#define MEM 1.0
#define POD 3 /* tasks of a group */
#define STALL_MS 60000

struct bench {
	uv_loop_t loop;
	uv_timer_t stall;
	struct scheduler_driver *driver;
	char *executor; /* NULL: command tasks */
	char *image;	/* of those; or NULL */
	bool pods;
	bool one_by_one;
	int count;
	int launched;
	int finished; /* without the one that warms up */
	bool warming_up;
	bool warmed_up;
	int64_t begin; /* of the first ACCEPT, or of the task under way */
	double *spans; /* latency mode: ms, by task */
	int status;
	bool over;
};

static void closed_cb(void *context)
{
	struct bench *b = context;

	scheduler_driver_close(b->driver);
	uv_close((uv_handle_t *)&b->stall, NULL);
}

static void finish(struct bench *b, int status)
{
	if (b->over)
		return;
	b->over = true;
	b->status = status;
	scheduler_driver_teardown(b->driver, closed_cb);
}

static void stall_cb(uv_timer_t *timer)
{
	struct bench *b = timer->data;

	fprintf(stderr, "no progress: %d launched, %d finished of %d\n", b->launched, b->finished,
		b->count);
	finish(b, 1);
}

static void note_progress(struct bench *b)
{
	uv_timer_start(&b->stall, stall_cb, STALL_MS, 0);
}

/* ---- launching ----------------------------------------------------------- */

static double scalar(const Mesos__Offer *offer, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < offer->n_resources; i++)
		if (!strcmp(offer->resources[i]->name, name) && offer->resources[i]->scalar)
			sum += offer->resources[i]->scalar->value;
	return sum;
}

static Mesos__Resource *resource(struct arena *arena, const char *name, double value)
{
	Mesos__Resource *r = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

	r->name = (char *)name;
	r->type = MESOS__VALUE__TYPE__SCALAR;
	r->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	r->scalar->value = value;
	return r;
}

static Mesos__CommandInfo *command(struct arena *arena, char *value)
{
	Mesos__CommandInfo *c =
		PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);

	c->value = value;
	return c;
}

static Mesos__ExecutorInfo *make_executor(struct bench *b, struct arena *arena)
{
	Mesos__ExecutorInfo *e =
		PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

	e->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	e->executor_id->value = "kept";
	e->framework_id = PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	e->framework_id->value = (char *)scheduler_driver_id(b->driver);
	e->command = command(arena, b->executor);
	return e;
}

static Mesos__ContainerInfo *container_of_image(struct arena *arena, char *name)
{
	Mesos__ContainerInfo *info =
		PROTO_NEW(arena, Mesos__ContainerInfo, mesos__container_info__descriptor);
	Mesos__Image *image = PROTO_NEW(arena, Mesos__Image, mesos__image__descriptor);

	info->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
	info->mesos = PROTO_NEW(arena, Mesos__ContainerInfo__MesosInfo,
				mesos__container_info__mesos_info__descriptor);
	info->mesos->image = image;
	image->type = MESOS__IMAGE__TYPE__DOCKER;
	image->docker = PROTO_NEW(arena, Mesos__Image__Docker, mesos__image__docker__descriptor);
	image->docker->name = name;
	return info;
}

static Mesos__TaskInfo *make_task(struct bench *b, struct arena *arena, int number,
				  Mesos__AgentID *agent)
{
	Mesos__TaskInfo *task = PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);

	task->name = "true";
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = arena_printf(arena, "%d", number);
	task->agent_id = agent;
	proto_push(arena, task->n_resources, task->resources, resource(arena, "cpus", CPUS));
	proto_push(arena, task->n_resources, task->resources, resource(arena, "mem", MEM));
	if (b->executor) {
		task->executor = make_executor(b, arena);
		task->has_data = 1;
		task->data = (ProtobufCBinaryData){4, (uint8_t *)"true"};
	} else {
		task->command = command(arena, "true");
		if (b->image)
			task->container = container_of_image(arena, b->image);
	}
	return task;
}

static Mesos__ExecutorInfo *default_executor(struct bench *b, struct arena *arena, int number)
{
	Mesos__ExecutorInfo *e =
		PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

	e->has_type = 1;
	e->type = MESOS__EXECUTOR_INFO__TYPE__DEFAULT;
	e->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	e->executor_id->value = arena_printf(arena, "pod-%d", number);
	e->framework_id = PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	e->framework_id->value = (char *)scheduler_driver_id(b->driver);
	proto_push(arena, e->n_resources, e->resources, resource(arena, "cpus", CPUS));
	proto_push(arena, e->n_resources, e->resources, resource(arena, "mem", 32));
	proto_push(arena, e->n_resources, e->resources, resource(arena, "disk", 1));
	return e;
}

static Mesos__Offer__Operation *make_pod(struct bench *b, struct arena *arena,
					 Mesos__AgentID *agent)
{
	Mesos__Offer__Operation *operation =
		PROTO_NEW(arena, Mesos__Offer__Operation, mesos__offer__operation__descriptor);
	Mesos__Offer__Operation__LaunchGroup *group =
		PROTO_NEW(arena, Mesos__Offer__Operation__LaunchGroup,
			  mesos__offer__operation__launch_group__descriptor);

	operation->has_type = 1;
	operation->type = MESOS__OFFER__OPERATION__TYPE__LAUNCH_GROUP;
	operation->launch_group = group;
	group->executor = default_executor(b, arena, b->launched);
	group->task_group =
		PROTO_NEW(arena, Mesos__TaskGroupInfo, mesos__task_group_info__descriptor);
	for (int i = 0; i < POD; i++)
		proto_push(arena, group->task_group->n_tasks, group->task_group->tasks,
			   make_task(b, arena, b->launched++, agent));
	return operation;
}

/* As many of them as fit, with executors. */
static void add_pods(struct bench *b, struct arena *arena, const Mesos__Offer *offer,
		     Mesos__Scheduler__Call__Accept *accept)
{
	double by_cpus = scalar(offer, "cpus") / (CPUS * (POD + 1));
	double by_mem = scalar(offer, "mem") / (MEM * POD + 32);
	int fits = (int)((by_cpus < by_mem ? by_cpus : by_mem) + 1e-6);

	for (; fits > 0 && b->launched + POD <= b->count; fits--)
		proto_push(arena, accept->n_operations, accept->operations,
			   make_pod(b, arena, offer->agent_id));
}

static int tasks_for(const struct bench *b, const Mesos__Offer *offer)
{
	double by_cpus = scalar(offer, "cpus") / CPUS, by_mem = scalar(offer, "mem") / MEM;
	double fits = by_cpus < by_mem ? by_cpus : by_mem;
	int left = b->count - b->launched;

	if (b->executor && !b->warmed_up)
		left = !b->warming_up;
	else if (b->one_by_one)
		left = left > 0 && b->launched == b->finished ? 1 : 0;
	return fits + 1e-6 < left ? (int)(fits + 1e-6) : left;
}

static void use_offer(struct bench *b, Mesos__Offer *offer)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Accept accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT;
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT, *operations = &operation;
	Mesos__Offer__Operation__Launch launch = MESOS__OFFER__OPERATION__LAUNCH__INIT;
	Mesos__Filters filters = MESOS__FILTERS__INIT;
	int fits = tasks_for(b, offer);
	struct arena arena;

	arena_init(&arena);
	if (b->pods && b->launched == 0)
		b->begin = clock_now();
	if (!b->pods && fits > 0 && (b->one_by_one || b->launched == 0))
		b->begin = clock_now();
	if (b->pods) {
		add_pods(b, &arena, offer, &accept);
	} else if (b->executor && !b->warmed_up && fits > 0) {
		b->warming_up = true;
		proto_push(&arena, launch.n_task_infos, launch.task_infos,
			   make_task(b, &arena, -1, offer->agent_id));
	} else {
		for (int i = 0; i < fits; i++)
			proto_push(&arena, launch.n_task_infos, launch.task_infos,
				   make_task(b, &arena, b->launched++, offer->agent_id));
	}
	operation.has_type = 1;
	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation.launch = &launch;
	filters.has_refuse_seconds = 1;
	filters.refuse_seconds = 0;
	accept.n_offer_ids = 1;
	accept.offer_ids = &offer->id;
	if (!b->pods) {
		accept.n_operations = 1;
		accept.operations = &operations;
	}
	accept.filters = &filters;
	call.type = MESOS__SCHEDULER__CALL__TYPE__ACCEPT;
	call.accept = &accept;
	scheduler_driver_call(b->driver, &call);
	arena_free(&arena);
}

/* ---- events -------------------------------------------------------------- */

static void task_finished(struct bench *b)
{
	note_progress(b);
	if (b->executor && !b->warmed_up) {
		b->warmed_up = true;
		return;
	}
	if (b->one_by_one)
		b->spans[b->finished] = (double)(clock_now() - b->begin) / MILLISECOND;
	if (++b->finished == b->count)
		finish(b, 0);
}

static void take_update(struct bench *b, const Mesos__TaskStatus *status)
{
	scheduler_driver_acknowledge(b->driver, status);
	switch (status->state) {
	case MESOS__TASK_STATE__TASK_STARTING:
	case MESOS__TASK_STATE__TASK_RUNNING:
		break;
	case MESOS__TASK_STATE__TASK_FINISHED:
		task_finished(b);
		break;
	default:
		fprintf(stderr, "task %s: state %d, %s\n", status->task_id->value, status->state,
			status->message ? status->message : "");
		finish(b, 1);
	}
}

static void event_cb(void *context, const Mesos__Scheduler__Event *event)
{
	struct bench *b = context;

	if (b->over)
		return;
	if (event->type == MESOS__SCHEDULER__EVENT__TYPE__OFFERS && event->offers)
		for (size_t i = 0; i < event->offers->n_offers; i++)
			use_offer(b, event->offers->offers[i]);
	if (event->type == MESOS__SCHEDULER__EVENT__TYPE__UPDATE && event->update)
		take_update(b, event->update->status);
}

static void trouble_cb(void *context, const char *why)
{
	fprintf(stderr, "%s\n", why);
	finish(context, 1);
}

static void refused_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
		       const char *why)
{
	(void)type;
	fprintf(stderr, "refused (%d): %s\n", status, why);
	finish(context, 1);
}

/* ---- life ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_result(const struct bench *b)
{
	if (b->one_by_one) {
		qsort(b->spans, (size_t)b->count, sizeof(*b->spans), compare);
		printf("%.3f %.3f\n", b->spans[b->count / 2], b->spans[b->count * 99 / 100]);
	} else {
		printf("%.1f\n", b->count / ((double)(clock_now() - b->begin) / SECOND));
	}
}

int main(int argc, char **argv)
{
	static const struct scheduler_handlers handlers = {
		.event = event_cb,
		.disconnected = trouble_cb,
		.failed = trouble_cb,
		.refused = refused_cb,
		.unreachable = trouble_cb,
	};
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct bench b = {0};
	struct err err;

	if (argc < 4 || argc > 5 || atoi(argv[3]) < 1) {
		fprintf(stderr, "usage: bench_tasks HOST:PORT rate|latency COUNT "
				"[EXECUTOR|pods|image=NAME]\n");
		return 2;
	}
	log_setup(LOG_LEVEL_WARNING, 2);
	b.one_by_one = !strcmp(argv[2], "latency");
	b.count = atoi(argv[3]);
	b.pods = argc > 4 && !strcmp(argv[4], "pods");
	b.image = argc > 4 && !strncmp(argv[4], "image=", 6) ? argv[4] + 6 : NULL;
	b.executor = argc > 4 && !b.pods && !b.image ? argv[4] : NULL;
	b.count = b.pods ? (b.count + POD - 1) / POD * POD : b.count;
	b.spans = xcalloc((size_t)b.count, sizeof(*b.spans));
	info.name = "bench";
	info.user = "root";
	uv_loop_init(&b.loop);
	uv_timer_init(&b.loop, &b.stall);
	b.stall.data = &b;
	note_progress(&b);
	struct scheduler_options options = {.master = argv[1], .info = &info};
	if (scheduler_driver_create(&b.loop, &options, &handlers, &b, &b.driver, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	uv_run(&b.loop, UV_RUN_DEFAULT);
	uv_loop_close(&b.loop);
	if (b.status == 0)
		print_result(&b);
	free(b.spans);
	return b.status;
}
