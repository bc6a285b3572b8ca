/* Frameworks with their offers, executors and tasks, as the operator API shows them. */
#include "master/core/offers/inverse_offers.h"

#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "master/core/offers/offers.h"
#include "master/core/show.h"
#include "master/http/api/api_objects.h"

#define NEW(arena, Type, descriptor)                                                               \
	PROTO_NEW(arena, Mesos__##Type, mesos__##descriptor##__descriptor)

/* ---- frameworks ----------------------------------------------------------- */

static Mesos__Master__Response__GetFrameworks__Framework *
framework_message(const struct view *v, struct arena *arena, const struct framework *f)
{
	Mesos__Master__Response__GetFrameworks__Framework *message =
		NEW(arena, Master__Response__GetFrameworks__Framework,
		    master__response__get_frameworks__framework);
	struct resources used, offered;
	const struct inverse_offer *inverse = NULL;
	const struct offer *offer = NULL;

	message->framework_info = f->info;
	message->active = f->active;
	message->connected = framework_connected(f);
	message->recovered = f->state == FRAMEWORK_RECOVERED;
	message->registered_time = show_time(arena, f->registered_time);
	/* Of one that has not come back, it is the same. */
	message->reregistered_time =
		show_time(arena, f->reregistered_time ? f->reregistered_time : f->registered_time);
	message->unregistered_time = show_time(arena, f->unregistered_time);
	while ((offer = view_next_offer(v, f, offer)))
		proto_push(arena, message->n_offers, message->offers,
			   master_offer_message(v->m, arena, offer));
	while ((inverse = view_next_inverse(v, f, inverse)))
		proto_push(arena, message->n_inverse_offers, message->inverse_offers,
			   master_inverse_message(arena, inverse));
	framework_held(f, &used, &offered);
	show_resources(arena, &used, &message->n_allocated_resources,
		       &message->allocated_resources);
	show_resources(arena, &offered, &message->n_offered_resources, &message->offered_resources);
	resources_free(&used);
	resources_free(&offered);
	message->offer_constraints = f->offer_constraints;
	if (!message->offer_constraints)
		message->offer_constraints =
			NEW(arena, Scheduler__OfferConstraints, scheduler__offer_constraints);
	return message;
}

Mesos__Master__Response__GetFrameworks *api_collect_frameworks(const struct view *v,
							       struct arena *arena)
{
	Mesos__Master__Response__GetFrameworks *get =
		NEW(arena, Master__Response__GetFrameworks, master__response__get_frameworks);
	const struct framework *f = NULL;

	while ((f = view_next_framework(v, f)))
		proto_push(arena, get->n_frameworks, get->frameworks,
			   framework_message(v, arena, f));
	while ((f = view_next_completed(v, f)))
		proto_push(arena, get->n_completed_frameworks, get->completed_frameworks,
			   framework_message(v, arena, f));
	return get;
}

/* ---- executors -------------------------------------------------------------- */

static Mesos__Master__Response__GetExecutors__Executor *
executor_message(struct arena *arena, const struct executor *executor)
{
	Mesos__Master__Response__GetExecutors__Executor *message =
		NEW(arena, Master__Response__GetExecutors__Executor,
		    master__response__get_executors__executor);

	message->executor_info = executor->info;
	message->agent_id = executor->agent->info->id;
	return message;
}

Mesos__Master__Response__GetExecutors *api_collect_executors(const struct view *v,
							     struct arena *arena)
{
	Mesos__Master__Response__GetExecutors *get =
		NEW(arena, Master__Response__GetExecutors, master__response__get_executors);
	const struct executor *executor = NULL;
	const struct framework *f = NULL;

	while ((f = view_next_framework(v, f)))
		while ((executor = view_next_executor(v, f, executor)))
			proto_push(arena, get->n_executors, get->executors,
				   executor_message(arena, executor));
	return get;
}

/* ---- tasks -------------------------------------------------------------------- */

void api_each_task(const struct view *v, enum view_tasks list,
		   void (*each)(void *context, const struct task_record *record), void *context)
{
	const struct framework *f = NULL;

	while ((f = view_next_framework(v, f)))
		view_each_task(v, f, list, NULL, each, context);
	while ((f = view_next_completed(v, f)))
		view_each_task(v, f, list, NULL, each, context);
}
