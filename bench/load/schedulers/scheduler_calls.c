/* Calls of the simulated scheduler. */
#include <string.h>

#include "bench/load/fleet/agent_messages.h"
#include "bench/load/mix.h"
#include "bench/load/schedulers/scheduler_internal.h"

#define FAILOVER_TIMEOUT 604800.0 /* seconds */

static void send_call(struct scheduler *s, Mesos__Scheduler__Call *call,
		      Mesos__Scheduler__Call__Type type)
{
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = s->id;
	call->framework_id = &id;
	call->has_type = 1;
	call->type = type;
	s->load->books.calls++;
	s->wire->send(s, type, call);
}

void scheduler_call_subscribe(struct scheduler *s,
			      void (*send)(struct scheduler *s, const Mesos__Scheduler__Call *call))
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Subscribe subscribe = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;
	char *roles[] = {(char *)mix_role(&s->load->plan)};
	char name[64];

	snprintf(name, sizeof(name), "%sscheduler-%zu", s->load->books.prefix, s->number);
	info.user = "root";
	info.name = name;
	info.role = roles[0];
	if (s->load->plan.failover) {
		info.has_failover_timeout = 1;
		info.failover_timeout = FAILOVER_TIMEOUT;
		info.has_checkpoint = 1;
		info.checkpoint = 1;
	}
	if (s->id) {
		id.value = s->id;
		info.id = call.framework_id = &id;
	}
	/* It has nothing to launch any more. */
	if (s->suppressed) {
		subscribe.n_suppressed_roles = 1;
		subscribe.suppressed_roles = roles;
	}
	subscribe.framework_info = &info;
	call.has_type = 1;
	call.type = MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
	call.subscribe = &subscribe;
	s->load->books.calls++;
	send(s, &call);
}

/* ---- offers ----------------------------------------------------------------- */

static double scalar(const Mesos__Offer *offer, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < offer->n_resources; i++)
		if (strcmp(offer->resources[i]->name, name) == 0 && offer->resources[i]->scalar)
			sum += offer->resources[i]->scalar->value;
	return sum;
}

int64_t scheduler_offer_fits(const struct plan *plan, const Mesos__Offer *offer)
{
	double by_cpus = scalar(offer, "cpus") / plan->task_cpus;
	double by_mem = scalar(offer, "mem") / plan->task_mem;

	return (int64_t)((by_cpus < by_mem ? by_cpus : by_mem) + 1e-6);
}

/* What all tasks of an offer have in common is there once. */
static void add_tasks(struct scheduler *s, struct arena *arena, const struct held *held,
		      int64_t count, Mesos__Offer__Operation__Launch *launch)
{
	const struct plan *plan = &s->load->plan;
	Mesos__Resource **resources = NULL;
	size_t resource_count = 0;
	Mesos__Labels *labels = mix_labels(plan, arena);
	Mesos__DiscoveryInfo *discovery = mix_discovery(plan, arena);
	Mesos__AgentID *agent = PROTO_NEW(arena, Mesos__AgentID, mesos__agent_id__descriptor);
	Mesos__CommandInfo *command =
		PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);
	int64_t now = clock_now();
	/* An offer that waited for the plan was ready when the plan was. */
	int64_t ready = plan->rate > 0 || plan->inflight > 0 ? now : held->time;

	if (ready < s->load->launching_since)
		ready = now;
	agent->value = held->agent;
	command->value = "true";
	command->environment = mix_environment(plan, arena);
	mix_task_resources(plan, arena, NULL, &resource_count, &resources);
	for (int64_t i = 0; i < count; i++) {
		Mesos__TaskInfo *task =
			PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);
		enum fate fate = s->probe ? FATE_KILL : load_choose_fate(s->load);
		char id[TASK_ID_MAX];

		books_task_id(&s->load->books,
			      books_launch(&s->load->books, s->number, fate, ready, now), id);
		task->name = AGENT_TASK_NAME;
		task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
		task->task_id->value = arena_strdup(arena, id);
		task->agent_id = agent;
		task->command = command;
		task->n_resources = resource_count;
		task->resources = resources;
		task->labels = labels;
		task->discovery = discovery;
		proto_push(arena, launch->n_task_infos, launch->task_infos, task);
	}
}

void scheduler_call_accept(struct scheduler *s, const struct held *held, int64_t count)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Accept accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT;
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT, *operations = &operation;
	Mesos__Offer__Operation__Launch launch = MESOS__OFFER__OPERATION__LAUNCH__INIT;
	Mesos__OfferID offer = MESOS__OFFER_ID__INIT, *offers = &offer;
	Mesos__Filters filters = MESOS__FILTERS__INIT;
	struct arena arena;

	arena_init(&arena);
	add_tasks(s, &arena, held, count, &launch);
	offer.value = held->id;
	operation.has_type = 1;
	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation.launch = &launch;
	/* What is left comes back with the next offers. */
	filters.has_refuse_seconds = 1;
	filters.refuse_seconds = 0;
	accept.n_offer_ids = 1;
	accept.offer_ids = &offers;
	accept.n_operations = 1;
	accept.operations = &operations;
	accept.filters = &filters;
	call.accept = &accept;
	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__ACCEPT);
	arena_free(&arena);
}

void scheduler_call_decline(struct scheduler *s, const char *offer_id, double seconds)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Decline decline = MESOS__SCHEDULER__CALL__DECLINE__INIT;
	Mesos__OfferID offer = MESOS__OFFER_ID__INIT, *offers = &offer;
	Mesos__Filters filters = MESOS__FILTERS__INIT;

	offer.value = (char *)offer_id;
	filters.has_refuse_seconds = 1;
	filters.refuse_seconds = seconds;
	decline.n_offer_ids = 1;
	decline.offer_ids = &offers;
	decline.filters = &filters;
	call.decline = &decline;
	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__DECLINE);
}

void scheduler_call_suppress(struct scheduler *s)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__SUPPRESS);
}

/* ---- tasks ------------------------------------------------------------------ */

void scheduler_call_acknowledge(struct scheduler *s, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge body = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	body.agent_id = status->agent_id;
	body.task_id = status->task_id;
	body.uuid = status->uuid;
	call.acknowledge = &body;
	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE);
}

/* All tasks without an id. */
static void reconcile(struct scheduler *s, Mesos__TaskID *task_id, Mesos__AgentID *agent_id)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Reconcile body = MESOS__SCHEDULER__CALL__RECONCILE__INIT;
	Mesos__Scheduler__Call__Reconcile__Task task =
		MESOS__SCHEDULER__CALL__RECONCILE__TASK__INIT;
	Mesos__Scheduler__Call__Reconcile__Task *tasks = &task;

	task.task_id = task_id;
	task.agent_id = agent_id;
	body.n_tasks = task_id ? 1 : 0;
	body.tasks = &tasks;
	call.reconcile = &body;
	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__RECONCILE);
}

void scheduler_call_reconcile(struct scheduler *s, const char *task_id)
{
	Mesos__TaskID id = MESOS__TASK_ID__INIT;

	id.value = (char *)task_id;
	reconcile(s, task_id ? &id : NULL, NULL);
}

void scheduler_call_reconcile_one(struct scheduler *s, const Mesos__TaskStatus *status)
{
	reconcile(s, status->task_id, status->agent_id);
}

void scheduler_call_kill(struct scheduler *s, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill body = MESOS__SCHEDULER__CALL__KILL__INIT;

	body.task_id = status->task_id;
	body.agent_id = status->agent_id;
	call.kill = &body;
	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__KILL);
}

void scheduler_call_teardown(struct scheduler *s)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	send_call(s, &call, MESOS__SCHEDULER__CALL__TYPE__TEARDOWN);
}
