/* Frameworks with their offers, executors and tasks, as the operator API shows them. */
#include "master/core/offers/inverse_offers.h"

#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "master/core/offers/offers.h"
#include "master/http/api_objects.h"

#define NEW(arena, Type, descriptor)                                                               \
	PROTO_NEW(arena, Mesos__##Type, mesos__##descriptor##__descriptor)

/* ---- frameworks ----------------------------------------------------------- */

static Mesos__Master__Response__GetFrameworks__Framework *
framework_message(const struct master *m, struct arena *arena, const struct framework *f)
{
	Mesos__Master__Response__GetFrameworks__Framework *message =
		NEW(arena, Master__Response__GetFrameworks__Framework,
		    master__response__get_frameworks__framework);
	struct resources used, offered;
	struct inverse_offer *inverse, *next_inverse;
	struct offer *offer, *next;

	message->framework_info = f->info;
	message->active = f->active;
	message->connected = framework_connected(f);
	message->recovered = f->state == FRAMEWORK_RECOVERED;
	message->registered_time = api_time(arena, f->registered_time);
	/* Of one that has not come back, it is the same. */
	message->reregistered_time =
		api_time(arena, f->reregistered_time ? f->reregistered_time : f->registered_time);
	message->unregistered_time = api_time(arena, f->unregistered_time);
	list_for_each (offer, next, &f->offers, by_framework)
		proto_push(arena, message->n_offers, message->offers,
			   master_offer_message(m, arena, offer));
	list_for_each (inverse, next_inverse, &f->inverse_offers, by_framework)
		proto_push(arena, message->n_inverse_offers, message->inverse_offers,
			   master_inverse_message(arena, inverse));
	framework_held(f, &used, &offered);
	api_put_resources(arena, &used, &message->n_allocated_resources,
			  &message->allocated_resources);
	api_put_resources(arena, &offered, &message->n_offered_resources,
			  &message->offered_resources);
	resources_free(&used);
	resources_free(&offered);
	message->offer_constraints = f->offer_constraints;
	if (!message->offer_constraints)
		message->offer_constraints =
			NEW(arena, Scheduler__OfferConstraints, scheduler__offer_constraints);
	return message;
}

Mesos__Master__Response__GetFrameworks *api_collect_frameworks(const struct master *m,
							       struct arena *arena)
{
	Mesos__Master__Response__GetFrameworks *get =
		NEW(arena, Master__Response__GetFrameworks, master__response__get_frameworks);

	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		proto_push(arena, get->n_frameworks, get->frameworks,
			   framework_message(m, arena, f));
	for (struct framework *f = m->completed; f; f = f->hh.next)
		proto_push(arena, get->n_completed_frameworks, get->completed_frameworks,
			   framework_message(m, arena, f));
	return get;
}

/* ---- executors -------------------------------------------------------------- */

Mesos__Master__Response__GetExecutors *api_collect_executors(const struct master *m,
							     struct arena *arena)
{
	Mesos__Master__Response__GetExecutors *get =
		NEW(arena, Master__Response__GetExecutors, master__response__get_executors);
	struct executor *executor, *next;

	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		list_for_each (executor, next, &f->executors, by_framework) {
			Mesos__Master__Response__GetExecutors__Executor *message =
				NEW(arena, Master__Response__GetExecutors__Executor,
				    master__response__get_executors__executor);

			message->executor_info = executor->info;
			message->agent_id = executor->agent->info->id;
			proto_push(arena, get->n_executors, get->executors, message);
		}
	return get;
}

/* ---- tasks -------------------------------------------------------------------- */

static void each_of(const struct framework *f, enum api_tasks which,
		    void (*each)(void *context, const struct task_record *record), void *context)
{
	struct completed_task *done, *next;

	if (which == API_TASKS)
		for (struct task *t = f->tasks; t; t = t->hh.next)
			each(context, &t->record);
	else if (which == API_UNREACHABLE_TASKS)
		for (struct task *t = f->unreachable; t; t = t->hh.next)
			each(context, &t->record);
	else
		list_for_each (done, next, &f->completed_tasks, link)
			each(context, &done->record);
}

void api_each_task(const struct master *m, enum api_tasks which,
		   void (*each)(void *context, const struct task_record *record), void *context)
{
	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		each_of(f, which, each, context);
	for (struct framework *f = m->completed; f; f = f->hh.next)
		each_of(f, which, each, context);
}
