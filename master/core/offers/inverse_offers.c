/* Inverse offers: agents with a maintenance window ask the frameworks that hold
 * something there to leave.
 *
 * The allocator decides whom to ask; at most one is outstanding for a framework and an
 * agent. Answers are kept for operators until the window changes or either is gone.
 */
#include "master/core/offers/inverse_offers.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/objects.h"
#include "master/core/offers/offers.h"

struct inverse_offer *master_find_inverse_offer(const struct master *m, const char *id)
{
	struct inverse_offer *o;

	HASH_FIND(hh, m->inverse_offers, id, strlen(id), o);
	return o;
}

Mesos__InverseOffer *master_inverse_message(struct arena *arena, const struct inverse_offer *o)
{
	Mesos__InverseOffer *offer =
		PROTO_NEW(arena, Mesos__InverseOffer, mesos__inverse_offer__descriptor);

	offer->id = PROTO_NEW(arena, Mesos__OfferID, mesos__offer_id__descriptor);
	offer->id->value = o->id;
	offer->url = master_agent_url(arena, o->agent);
	offer->framework_id = o->framework->info->id;
	offer->agent_id = o->agent->info->id;
	offer->unavailability = o->window;
	return offer;
}

/* ---- making ----------------------------------------------------------------------- */

static struct inverse_offer *make_inverse(struct master *m, struct framework *f, struct agent *a,
					  const Mesos__Unavailability *window)
{
	struct inverse_offer *o = xcalloc(1, sizeof(*o));

	o->id = xprintf("%s-O%llu", m->options.id, (unsigned long long)m->next_offer++);
	o->framework = f;
	o->agent = a;
	o->window = proto_copy(window);
	o->expiry.kind = TIMER_INVERSE_OFFER;
	list_append(&f->inverse_offers, &o->by_framework);
	list_append(&a->inverse_offers, &o->by_agent);
	HASH_ADD_KEYPTR(hh, m->inverse_offers, o->id, strlen(o->id), o);
	if (m->options.offer_timeout)
		timers_start(&m->timers, &o->expiry, master_later(m, m->options.offer_timeout));
	return o;
}

/* The framework if its event was begun by this one, else NULL. */
static struct framework *take_inverse(struct master *m, const struct allocator_inverse *inverse)
{
	struct framework *f = inverse->framework;
	struct agent *a = inverse->agent;
	struct machine *machine = NULL;
	bool begins;

	if (framework_connected(f) && f->active && agent_registered(a) && agent_active(a))
		machine = master_agent_machine(m, a);
	if (!machine) {
		allocator_end_inverse(m->allocator, m->now, f->alloc, a->alloc, NULL);
		return NULL;
	}
	begins = !f->inverse_event;
	master_inverse_event_add(m, make_inverse(m, f, a, machine->info->unavailability));
	return begins ? f : NULL;
}

void master_send_inverse_offers(struct master *m, struct allocator_grants *grants)
{
	struct framework **told;
	size_t count = 0;

	if (!grants->inverse_count)
		return;
	told = arena_alloc(&m->out->arena, grants->inverse_count * sizeof(struct framework *));
	for (size_t i = 0; i < grants->inverse_count; i++) {
		told[count] = take_inverse(m, &grants->inverse[i]);
		count += told[count] != NULL;
	}
	for (size_t i = 0; i < count; i++)
		master_inverse_event_send(m, told[i]);
}

/* ---- taking away --------------------------------------------------------------------- */

static void take_away(struct master *m, struct inverse_offer *o,
		      const struct allocator_filter *filter)
{
	allocator_end_inverse(m->allocator, m->now, o->framework->alloc, o->agent->alloc, filter);
	timers_stop(&m->timers, &o->expiry);
	list_remove(&o->by_framework);
	list_remove(&o->by_agent);
	HASH_DEL(m->inverse_offers, o);
	proto_free(o->window);
	free(o->id);
	free(o);
}

void master_rescind_inverse(struct master *m, struct inverse_offer *o)
{
	master_tell_rescind_inverse(m, o->framework, o->id);
	take_away(m, o, NULL);
}

void master_discard_inverse_of_framework(struct master *m, struct framework *f)
{
	struct inverse_offer *o, *next;

	list_for_each (o, next, &f->inverse_offers, by_framework)
		take_away(m, o, NULL);
}

void master_free_inverse_offers(struct master *m)
{
	struct inverse_offer *o, *next;

	HASH_ITER (hh, m->inverse_offers, o, next)
		take_away(m, o, NULL);
}

/* ---- answers ---------------------------------------------------------------------------- */

static void drop_answer(struct inverse_answer *answer)
{
	list_remove(&answer->by_framework);
	list_remove(&answer->by_agent);
	free(answer);
}

void master_drop_answers_of_agent(struct agent *a)
{
	struct inverse_answer *answer, *next;

	list_for_each (answer, next, &a->inverse_answers, by_agent)
		drop_answer(answer);
}

void master_drop_answers_of_framework(struct framework *f)
{
	struct inverse_answer *answer, *next;

	list_for_each (answer, next, &f->inverse_answers, by_framework)
		drop_answer(answer);
}

static struct inverse_answer *answer_of(const struct inverse_offer *o)
{
	struct inverse_answer *answer, *next;

	list_for_each (answer, next, &o->agent->inverse_answers, by_agent) {
		if (answer->framework == o->framework)
			return answer;
	}
	answer = xcalloc(1, sizeof(*answer));
	answer->framework = o->framework;
	answer->agent = o->agent;
	list_append(&o->framework->inverse_answers, &answer->by_framework);
	list_append(&o->agent->inverse_answers, &answer->by_agent);
	return answer;
}

/* As with offers, nobody asks whose they are. */
static void answered(struct master *m, struct framework *f, Mesos__OfferID *const *ids,
		     size_t count, Mesos__Allocator__InverseOfferStatus__Status status,
		     const Mesos__Filters *filters)
{
	struct allocator_filter filter = master_filter(filters);

	for (size_t i = 0; i < count; i++) {
		struct inverse_offer *o = master_find_inverse_offer(m, ids[i]->value);
		struct inverse_answer *answer;

		if (!o) {
			log_info("framework %s answered inverse offer %s, which is not outstanding",
				 f->id, ids[i]->value);
			continue;
		}
		answer = answer_of(o);
		answer->status = status;
		answer->time = m->now;
		take_away(m, o, &filter);
	}
}

void master_accept_inverse(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call__AcceptInverseOffers *call)
{
	answered(m, f, call->inverse_offer_ids, call->n_inverse_offer_ids,
		 MESOS__ALLOCATOR__INVERSE_OFFER_STATUS__STATUS__ACCEPT, call->filters);
}

void master_decline_inverse(struct master *m, struct framework *f,
			    const Mesos__Scheduler__Call__DeclineInverseOffers *call)
{
	answered(m, f, call->inverse_offer_ids, call->n_inverse_offer_ids,
		 MESOS__ALLOCATOR__INVERSE_OFFER_STATUS__STATUS__DECLINE, call->filters);
}
