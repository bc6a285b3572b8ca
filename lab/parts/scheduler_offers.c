#include "lab/parts/scheduler_offers.h"
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_books.h"

#include <stdlib.h>
#include <string.h>

static void offer_free(struct held_offer *held)
{
	world_cancel(held->part->world, &held->use);
	list_remove(&held->link);
	content_release(held->content);
	free(held);
}

double offer_scalar(const Mesos__Offer *offer, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < offer->n_resources; i++) {
		if (!strcmp(offer->resources[i]->name, name) && offer->resources[i]->scalar)
			sum += offer->resources[i]->scalar->value;
	}
	return sum;
}

Mesos__Resource *offer_make_scalar(struct arena *arena, const char *name, double value)
{
	Mesos__Resource *r = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

	r->name = arena_strdup(arena, name);
	r->type = MESOS__VALUE__TYPE__SCALAR;
	r->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	r->scalar->value = value;
	return r;
}

static const struct {
	double below; /* of a number in [0, 1) */
	const char *word;
} ends[] = {
	{0.68, "finish"}, {0.74, "fail"},    {0.79, "crash"},  {0.82, "signal"},
	{0.84, "exit"},	  {0.90, "hang"},    {0.92, "deaf"},   {0.94, "lost"},
	{0.955, "gone"},  {0.97, "dropped"}, {0.985, "error"}, {2, "killed"},
};

static const char *pick_end(struct scheduler_part *part)
{
	double u = rng_unit(&part->rng);
	size_t i = 0;

	if (part->options.end)
		return part->options.end;
	while (u >= ends[i].below)
		i++;
	/* No driver can shut an executor down. */
	return part->options.driver && !strcmp(ends[i].word, "deaf") ? "hang" : ends[i].word;
}

static const char *pick_manner(struct scheduler_part *part)
{
	double u = rng_unit(&part->rng);

	if (part->options.gentle && u < 0.6)
		return u < 0.1 ? "gentle shy" : u < 0.2 ? "gentle lazy" : "gentle";
	return u < 0.8 ? "usual" : u < 0.87 ? "shy" : u < 0.94 ? "lazy" : "sudden";
}

bool scheduler_knows_end(const char *word)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (!strcmp(ends[i].word, word))
			return true;
	}
	return false;
}

/* What groups ask of an executor; it is the same for tasks that are launched alone. */
static void fit_for_groups(struct scheduler_part *part, struct arena *arena,
			   Mesos__ExecutorInfo *executor)
{
	executor->has_type = true;
	executor->type = MESOS__EXECUTOR_INFO__TYPE__CUSTOM;
	executor->framework_id =
		PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	executor->framework_id->value = arena_strdup(arena, scheduler_part_framework(part));
	proto_push(arena, executor->n_resources, executor->resources,
		   offer_make_scalar(arena, "disk", 1));
}

Mesos__TaskInfo *scheduler_make_task(struct scheduler_part *part, struct arena *arena,
				     const char *agent_id)
{
	Mesos__TaskInfo *task = PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);
	struct book *book = scheduler_book_add(part, agent_id);
	const char *end = pick_end(part), *manner = pick_manner(part);

	book->hangs = !strcmp(end, "hang") || !strcmp(end, "deaf");
	book->executor_id = part->options.own_executor ? xprintf("e%d", part->options.number)
						       : xstrdup(book->task_id);
	task->name = arena_printf(arena, "%.1f %s %s", 60 * rng_unit(&part->rng), end, manner);
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = arena_strdup(arena, book->task_id);
	task->agent_id = PROTO_NEW(arena, Mesos__AgentID, mesos__agent_id__descriptor);
	task->agent_id->value = arena_strdup(arena, agent_id);
	proto_push(arena, task->n_resources, task->resources,
		   offer_make_scalar(arena, "cpus", TASK_CPUS));
	proto_push(arena, task->n_resources, task->resources,
		   offer_make_scalar(arena, "mem", TASK_MEM));
	if (part->options.own_executor) {
		Mesos__ExecutorInfo *executor =
			PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

		executor->executor_id =
			PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
		executor->executor_id->value = arena_strdup(arena, book->executor_id);
		executor->command =
			PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);
		executor->command->value = "executor";
		proto_push(arena, executor->n_resources, executor->resources,
			   offer_make_scalar(arena, "cpus", 0.1));
		proto_push(arena, executor->n_resources, executor->resources,
			   offer_make_scalar(arena, "mem", 32));
		if (part->options.pods)
			fit_for_groups(part, arena, executor);
		task->executor = executor;
	} else {
		task->command =
			PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);
		task->command->value = "task";
	}
	return task;
}

static Mesos__Filters *make_filters(struct arena *arena, double seconds)
{
	Mesos__Filters *filters = PROTO_NEW(arena, Mesos__Filters, mesos__filters__descriptor);

	filters->has_refuse_seconds = true;
	filters->refuse_seconds = seconds;
	return filters;
}

Mesos__Offer__Operation *answer_add(struct answer *answer, Mesos__Offer__Operation__Type type)
{
	Mesos__Offer__Operation *operation = PROTO_NEW(&answer->arena, Mesos__Offer__Operation,
						       mesos__offer__operation__descriptor);

	operation->has_type = true;
	operation->type = type;
	proto_push(&answer->arena, answer->accept.n_operations, answer->accept.operations,
		   operation);
	return operation;
}

/* Room for an executor's, which reserves nothing. */
static bool offer_has_plain_disk(const Mesos__Offer *offer)
{
	for (size_t i = 0; i < offer->n_resources; i++) {
		const Mesos__Resource *r = offer->resources[i];

		if (!strcmp(r->name, "disk") && r->scalar && r->scalar->value >= 1 &&
		    !r->n_reservations && !r->disk)
			return true;
	}
	return false;
}

/* The answer's last operation, a LAUNCH, becomes one of the same tasks as a group. */
static void make_group(struct answer *answer, Mesos__Offer__Operation__Launch *launch)
{
	Mesos__Offer__Operation *operation =
		answer->accept.operations[answer->accept.n_operations - 1];
	Mesos__Offer__Operation__LaunchGroup *group =
		PROTO_NEW(&answer->arena, Mesos__Offer__Operation__LaunchGroup,
			  mesos__offer__operation__launch_group__descriptor);

	group->task_group =
		PROTO_NEW(&answer->arena, Mesos__TaskGroupInfo, mesos__task_group_info__descriptor);
	group->task_group->n_tasks = launch->n_task_infos;
	group->task_group->tasks = launch->task_infos;
	group->executor = launch->task_infos[0]->executor;
	operation->type = MESOS__OFFER__OPERATION__TYPE__LAUNCH_GROUP;
	operation->launch = NULL;
	operation->launch_group = group;
}

void answer_add_launch(struct scheduler_part *part, struct answer *answer,
		       const Mesos__Offer *offer, Mesos__Resource *volume)
{
	Mesos__Offer__Operation__Launch *launch;
	/* Room for the executor, too. */
	double cpus = offer_scalar(offer, "cpus") - 0.1, mem = offer_scalar(offer, "mem") - 32;
	int wanted = 1 + (int)(4 * rng_unit(&part->rng));

	if (cpus < TASK_CPUS || mem < TASK_MEM || !scheduler_has_work(part) ||
	    (part->options.pods && !offer_has_plain_disk(offer)))
		return;
	launch = PROTO_NEW(&answer->arena, Mesos__Offer__Operation__Launch,
			   mesos__offer__operation__launch__descriptor);
	answer_add(answer, MESOS__OFFER__OPERATION__TYPE__LAUNCH)->launch = launch;
	for (; wanted > 0 && cpus >= TASK_CPUS && mem >= TASK_MEM && scheduler_has_work(part);
	     wanted--, cpus -= TASK_CPUS, mem -= TASK_MEM) {
		Mesos__TaskInfo *task =
			scheduler_make_task(part, &answer->arena, offer->agent_id->value);

		if (volume && !launch->n_task_infos)
			proto_push(&answer->arena, task->n_resources, task->resources, volume);
		proto_push(&answer->arena, launch->n_task_infos, launch->task_infos, task);
	}
	scheduler_spoil_launch(part, answer, launch);
	if (part->options.pods && rng_unit(&part->rng) < 0.6)
		make_group(answer, launch);
	answer->launches = true;
}

/* Those whose tasks come up one by one refuse as Marathon and Spark do until the next one. In the
 * end those with nothing to tidy up let the others have the offers. */
static double refuse_seconds(const struct scheduler_part *part, const struct answer *answer)
{
	if (part->finishing && !part->options.keeper)
		return 3600;
	if (part->finishing)
		return answer->accept.n_operations ? 5 : 60;
	if (part->options.refusal > 0)
		return part->options.refusal;
	if (part->options.pace > 0 && !scheduler_has_work(part))
		return 120;
	return answer->launches ? 1 : 20;
}

static void use_offer(struct scheduler_part *part, const Mesos__Offer *offer)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	struct answer answer = {.accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT};
	Mesos__OfferID *id = offer->id;

	arena_init(&answer.arena);
	answer.accept.n_offer_ids = 1;
	answer.accept.offer_ids = &id;
	if (part->options.keeper)
		answer_keep_volumes(part, &answer, offer);
	else
		answer_add_launch(part, &answer, offer, NULL);
	answer.accept.filters = make_filters(&answer.arena, refuse_seconds(part, &answer));
	scheduler_name_operations(part, &answer, offer->agent_id->value);
	message.type = CALL(ACCEPT);
	message.accept = &answer.accept;
	world_log(part->world, "%s answers %s with %zu operations", part->name, id->value,
		  answer.accept.n_operations);
	scheduler_tell(part, &message);
	arena_free(&answer.arena);
}

static void on_use(struct happening *h)
{
	struct held_offer *held = container_of(h, struct held_offer, use);
	struct scheduler_part *part = held->part;

	if (part->subscribed)
		use_offer(part, held->offer);
	if (part->options.mischief > 0) {
		if (part->last_offer)
			content_release(part->last_content);
		part->last_offer = held->offer;
		part->last_content = content_hold(held->content);
	}
	offer_free(held);
}

void scheduler_take_offer(struct scheduler_part *part, const Mesos__Offer *offer,
			  const struct letter *letter)
{
	const struct scheduler_traits *o = &part->options;
	struct held_offer *held = xcalloc(1, sizeof(*held));
	double delay = o->slowness * rng_unit(&part->rng);

	if (rng_unit(&part->rng) < o->greed)
		delay += 120;
	if (part->finishing)
		delay = 0;
	world_log(part->world, "%s is offered %s: cpus %g, mem %g, disk %g of %s", part->name,
		  offer->id->value, offer_scalar(offer, "cpus"), offer_scalar(offer, "mem"),
		  offer_scalar(offer, "disk"), offer->agent_id->value);
	held->part = part;
	held->offer = offer;
	held->content = content_hold(letter->content);
	held->use.run = on_use;
	list_append(&part->offers, &held->link);
	if (part->leaving)
		return;
	world_after(part->world, &held->use, (int64_t)(delay * SECOND));
}

void scheduler_rescind(struct scheduler_part *part, const char *id)
{
	struct held_offer *held, *next;

	list_for_each (held, next, &part->offers, link) {
		if (strcmp(held->offer->id->value, id))
			continue;
		if (rng_unit(&part->rng) < part->options.lateness)
			held->rescinded = true; /* and uses it all the same */
		else
			offer_free(held);
	}
}

void scheduler_drop_offers(struct scheduler_part *part)
{
	while (!list_empty(&part->offers))
		offer_free(list_first(&part->offers, struct held_offer, link));
}

const char *offer_role(const Mesos__Offer *offer)
{
	return offer->allocation_info && offer->allocation_info->role ? offer->allocation_info->role
								      : "*";
}

double scheduler_part_offered(const struct scheduler_part *part, const char *name)
{
	struct held_offer *held, *next;
	double sum = 0;

	list_for_each (held, next, &part->offers, link)
		sum += offer_scalar(held->offer, name);
	return sum;
}
