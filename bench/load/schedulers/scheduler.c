/* See scheduler.h. What its calls look like is in scheduler_calls.c; how it is connected, in
 * scheduler_http.c and driver.c. */
#include <stdlib.h>
#include <string.h>

#include "bench/load/schedulers/scheduler_internal.h"

#define FENCE "fence"
#define LATER 1.0     /* seconds; the plan may come to need the offer */
#define NEVER 86400.0 /* it will not */

/* ---- offers ----------------------------------------------------------------- */

static void drop_offer(struct scheduler *s, struct held *held)
{
	list_remove(&held->link);
	s->held_count--;
	free(held);
}

static void hold_offer(struct scheduler *s, const Mesos__Offer *offer, int64_t now)
{
	size_t id_len = strlen(offer->id->value), agent_len = strlen(offer->agent_id->value);
	struct held *held = xmalloc(sizeof(*held) + id_len + agent_len + 2);

	held->time = now;
	held->fits = scheduler_offer_fits(&s->load->plan, offer);
	held->id = held->text;
	held->agent = held->text + id_len + 1;
	memcpy(held->id, offer->id->value, id_len + 1);
	memcpy(held->agent, offer->agent_id->value, agent_len + 1);
	list_append(&s->held, &held->link);
	s->held_count++;
}

static void decline_offer(struct scheduler *s, struct held *held, double seconds)
{
	scheduler_call_decline(s, held->id, seconds);
	drop_offer(s, held);
}

/* As many as give every scheduler its part of the cluster. */
static size_t hold_max(const struct scheduler *s)
{
	const struct plan *plan = &s->load->plan;

	return (size_t)((plan->agents + plan->schedulers - 1) / plan->schedulers);
}

int64_t scheduler_launch(struct scheduler *s, int64_t max)
{
	int64_t launched = 0, credit, count;
	struct held *held;

	while (launched < max && (held = list_first(&s->held, struct held, link))) {
		credit = load_credit(s->load);
		count = held->fits < s->load->plan.tasks_per_offer ? held->fits
								   : s->load->plan.tasks_per_offer;
		if (count > max - launched)
			count = max - launched;
		if (count > credit)
			count = credit;
		if (credit == 0)
			break;
		if (count == 0) {
			/* Too small for one task. */
			decline_offer(s, held, LATER);
			continue;
		}
		scheduler_call_accept(s, held, count);
		drop_offer(s, held);
		launched += count;
	}
	return launched;
}

void scheduler_suppress(struct scheduler *s)
{
	struct held *held;

	if (s->suppressed)
		return;
	s->suppressed = true;
	scheduler_call_suppress(s);
	while ((held = list_first(&s->held, struct held, link)))
		decline_offer(s, held, NEVER);
}

/* A probe needs one task's worth, whatever the plan of the others. */
static void probe_offers(struct scheduler *s)
{
	struct held *held, *next;

	list_for_each (held, next, &s->held, link) {
		if (!s->suppressed && held->fits > 0) {
			scheduler_call_accept(s, held, 1);
			drop_offer(s, held);
			s->load->probes.tasks++;
			scheduler_suppress(s);
			return;
		}
	}
	while ((held = list_first(&s->held, struct held, link)))
		decline_offer(s, held, s->suppressed ? NEVER : LATER);
}

static void take_offers(struct scheduler *s, const Mesos__Scheduler__Event__Offers *offers,
			int64_t now)
{
	for (size_t i = 0; i < offers->n_offers; i++) {
		if (!s->probe && !s->suppressed && load_choose_decline(s->load))
			scheduler_call_decline(s, offers->offers[i]->id->value, LATER);
		else
			hold_offer(s, offers->offers[i], now);
	}
	if (s->probe) {
		probe_offers(s);
		return;
	}
	if (s->load->phase == PHASE_LAUNCHING && s->load->plan.rate == 0)
		scheduler_launch(s, INT64_MAX);
	while (s->held_count > (s->suppressed ? 0 : hold_max(s)))
		decline_offer(s, list_first(&s->held, struct held, link),
			      s->suppressed ? NEVER : LATER);
}

static void take_rescind(struct scheduler *s, const char *offer_id)
{
	struct held *held, *next;

	list_for_each (held, next, &s->held, link) {
		if (strcmp(held->id, offer_id) == 0)
			drop_offer(s, held);
	}
}

/* ---- updates ---------------------------------------------------------------- */

/* All tasks are asked for: none at the end of the run, all after a failover. */
static void take_reconciled(struct scheduler *s, const Mesos__TaskStatus *status)
{
	if (strcmp(status->task_id->value, s->fence) == 0)
		s->reconciled = true;
	else if (s->load->phase == PHASE_CONFIRMING)
		books_confirm(&s->load->books, s->number, status);
	else
		books_violate(&s->load->books, "the master still holds task %s for %s",
			      status->task_id->value,
			      proto_enum_name(&mesos__task_state__descriptor, (int)status->state,
					      SPELL_V1));
}

/* The task runs: what the plan has for it. */
static void call_for_fate(struct scheduler *s, const Mesos__TaskStatus *status, enum fate fate,
			  int64_t now)
{
	if (s->probe)
		histogram_add(&s->load->probes.waits, now - s->began);
	if (fate == FATE_KILL)
		scheduler_call_kill(s, status);
	else if (fate == FATE_RECONCILE)
		scheduler_call_reconcile_one(s, status);
}

static bool is_answer(const Mesos__TaskStatus *status)
{
	return !status->has_uuid && status->has_reason &&
	       status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;
}

static void take_update(struct scheduler *s, const Mesos__TaskStatus *status, int64_t now)
{
	enum fate fate;
	bool begins;

	if (is_answer(status)) {
		if (s->fence)
			take_reconciled(s, status);
		else
			books_answer(&s->load->books, s->number, status, now);
		return;
	}
	begins = books_hear(&s->load->books, s->number, status, now, &fate);
	if (status->has_uuid && status->agent_id)
		scheduler_call_acknowledge(s, status);
	if (begins)
		call_for_fate(s, status, fate, now);
	else if (s->probe && status->state != MESOS__TASK_STATE__TASK_RUNNING)
		s->probed = true;
}

void scheduler_reconcile(struct scheduler *s)
{
	s->reconciled = false;
	free(s->fence);
	s->fence = xprintf("%s" FENCE "-%zu", s->load->books.prefix, s->number);
	scheduler_call_reconcile(s, NULL);
	/* Calls are taken in order: once this is answered, so is the one before. */
	scheduler_call_reconcile(s, s->fence);
}

/* ---- events ----------------------------------------------------------------- */

static void take_subscribed(struct scheduler *s, const Mesos__Scheduler__Event__Subscribed *event)
{
	if (s->connected)
		return;
	if (s->id && strcmp(s->id, event->framework_id->value) != 0)
		load_fail(s->load, "scheduler %zu was %s and is now %s", s->number, s->id,
			  event->framework_id->value);
	free(s->id);
	s->id = xstrdup(event->framework_id->value);
	s->lost = false;
	s->connected = true;
	s->wire->connected(s);
}

void scheduler_take_event(struct scheduler *s, const Mesos__Scheduler__Event *event)
{
	int64_t now = clock_now();

	s->load->books.events++;
	if (event->subscribed)
		take_subscribed(s, event->subscribed);
	else if (event->offers && s->connected)
		take_offers(s, event->offers, now);
	else if (event->update && s->connected)
		take_update(s, event->update->status, now);
	else if (event->rescind)
		take_rescind(s, event->rescind->offer_id->value);
	else if (event->error)
		load_fail(s->load, "scheduler %zu: the master says: %s", s->number,
			  event->error->message);
}

/* ---- life ------------------------------------------------------------------- */

struct scheduler *scheduler_create(struct load *load, size_t number)
{
	struct scheduler *s = xcalloc(1, sizeof(*s));

	s->load = load;
	s->number = number;
	list_init(&s->held);
	s->wire = number < (size_t)load->plan.drivers ? &driver_wire : &http_wire;
	s->wire->subscribe(s);
	return s;
}

struct scheduler *scheduler_create_probe(struct load *load, size_t number, int64_t now)
{
	struct scheduler *s = scheduler_create(load, number);

	s->probe = true;
	s->began = now;
	return s;
}

bool scheduler_probed(const struct scheduler *s)
{
	return s->probed;
}

bool scheduler_lost(struct scheduler *s)
{
	if (!load_broke(s->load))
		return false;
	s->lost = true;
	s->subscribing = false;
	return true;
}

void scheduler_return(struct scheduler *s)
{
	struct held *held;

	if (s->subscribing || scheduler_subscribed(s))
		return;
	while ((held = list_first(&s->held, struct held, link)))
		drop_offer(s, held);
	s->connected = false;
	s->wire->hang_up(s);
	s->wire->subscribe(s);
}

bool scheduler_subscribed(const struct scheduler *s)
{
	return s->connected && !s->lost;
}

const char *scheduler_id(const struct scheduler *s)
{
	return s->id ? s->id : "";
}

bool scheduler_reconciled(const struct scheduler *s)
{
	return s->reconciled;
}

void scheduler_teardown(struct scheduler *s)
{
	if (s->leaving)
		return;
	s->leaving = true;
	if (!s->connected)
		s->torn_down = true;
	else
		scheduler_call_teardown(s);
}

bool scheduler_torn_down(const struct scheduler *s)
{
	return s->torn_down;
}

void scheduler_close(struct scheduler *s)
{
	struct held *held;

	while ((held = list_first(&s->held, struct held, link)))
		drop_offer(s, held);
	s->wire->close(s);
	buf_free(&s->body);
	free(s->fence);
	free(s->id);
	free(s);
}
