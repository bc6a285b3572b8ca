/* See scheduler.h. One connection holds the event stream, another carries the calls. What
 * its calls look like is in scheduler_calls.c. */
#include <stdlib.h>
#include <string.h>

#include "bench/load/calls.h"
#include "bench/load/scheduler_internal.h"
#include "net/client.h"

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
	static const struct calls_handlers handlers = {
		.answered = scheduler_answered,
		.broken = scheduler_broken,
	};
	const struct plan *plan = &s->load->plan;
	char *head;

	if (s->calls)
		return;
	if (s->id && strcmp(s->id, event->framework_id->value) != 0)
		load_fail(s->load, "scheduler %zu was %s and is now %s", s->number, s->id,
			  event->framework_id->value);
	free(s->id);
	s->id = xstrdup(event->framework_id->value);
	s->lost = false;
	head = xprintf("Host: %s:%d\r\nContent-Type: %s\r\nMesos-Stream-Id: %s\r\n", plan->host,
		       plan->port, scheduler_media(s), s->stream_id);
	s->calls = calls_create(&s->load->loop, plan->host, plan->port, head, &handlers, s);
	free(head);
}

static void take_event(struct scheduler *s, const Mesos__Scheduler__Event *event)
{
	int64_t now = clock_now();

	s->load->books.events++;
	if (event->subscribed)
		take_subscribed(s, event->subscribed);
	else if (event->offers && s->calls)
		take_offers(s, event->offers, now);
	else if (event->update && s->calls)
		take_update(s, event->update->status, now);
	else if (event->rescind)
		take_rescind(s, event->rescind->offer_id->value);
	else if (event->error)
		load_fail(s->load, "scheduler %zu: the master says: %s", s->number,
			  event->error->message);
}

static void record_cb(void *context, struct slice record)
{
	struct scheduler *s = context;
	Mesos__Scheduler__Event *event = NULL;
	struct json *json;
	struct arena arena;
	struct err err = {0};

	arena_init(&arena);
	if (!s->load->plan.as_json)
		event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, record.data,
				     record.len, &err);
	else if (json_parse(&arena, record.data, record.len, &json, &err) == 0)
		event = json_to_proto(&mesos__scheduler__event__descriptor, json, SPELL_V1, &arena,
				      &err);
	if (event)
		take_event(s, event);
	else
		load_fail(s->load, "scheduler %zu: an event cannot be read: %s", s->number,
			  err.text);
	arena_free(&arena);
}

static void opened_cb(void *context, const struct http_answer *answer)
{
	struct scheduler *s = context;

	if (answer->status == 200) {
		free(s->stream_id);
		s->stream_id = xstrdup(answer->stream_id);
	} else if (s->load->phase == PHASE_RETURNING &&
		   (answer->status == 0 || answer->status == 503)) {
		s->subscribing = false; /* soon again */
	} else if (answer->status == 0) {
		load_fail(s->load, "scheduler %zu: %s", s->number, answer->error);
	} else {
		load_fail(s->load, "scheduler %zu: the subscription was refused (%d): %.*s",
			  s->number, answer->status, (int)answer->body.len, answer->body.data);
	}
}

static void ended_cb(void *context, const char *why)
{
	struct scheduler *s = context;

	if (scheduler_lost(s))
		return;
	if (s->load->phase < PHASE_LEAVING && !s->leaving)
		load_fail(s->load, "scheduler %zu: the event stream ended: %s", s->number, why);
}

/* ---- life ------------------------------------------------------------------- */

static void subscribe(struct scheduler *s)
{
	static const struct http_stream_handlers handlers = {
		.opened = opened_cb,
		.record = record_cb,
		.ended = ended_cb,
	};
	const char *media = scheduler_media(s);
	const char *headers[] = {"Content-Type", media, "Accept", media, NULL};
	struct buf body = BUF_INIT;

	scheduler_write_subscribe(s, &body);
	http_client_stream(s->stream, "/api/v1/scheduler", headers, body.data, body.len, &handlers,
			   s);
	buf_free(&body);
}

struct scheduler *scheduler_create(struct load *load, size_t number)
{
	struct scheduler *s = xcalloc(1, sizeof(*s));

	s->load = load;
	s->number = number;
	list_init(&s->held);
	s->stream = http_client_create(&load->loop, load->plan.host, load->plan.port);
	subscribe(s);
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
	if (s->calls)
		calls_close(s->calls);
	s->calls = NULL;
	http_client_close(s->stream);
	s->stream = http_client_create(&s->load->loop, s->load->plan.host, s->load->plan.port);
	s->subscribing = true;
	subscribe(s);
}

bool scheduler_subscribed(const struct scheduler *s)
{
	return s->calls && !s->lost;
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
	if (!s->calls)
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
	http_client_close(s->stream);
	if (s->calls)
		calls_close(s->calls);
	buf_free(&s->body);
	free(s->fence);
	free(s->stream_id);
	free(s->id);
	free(s);
}
