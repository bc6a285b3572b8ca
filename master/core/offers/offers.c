/* Offers: made of what the allocator grants, taken
 * back by expiry, rescinding or discarding.
 *
 * An offer holds resources that the allocator counts as allocated; whoever takes an
 * offer away either gives them back (discard, rescind) or goes on to use them
 * (accept).
 */
#include "master/core/offers/offers.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/pid.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"

struct offer *master_find_offer(const struct master *m, const char *id)
{
	struct offer *o;

	HASH_FIND(hh, m->offers, id, strlen(id), o);
	return o;
}

struct allocator_filter master_filter(const Mesos__Filters *filters)
{
	return (struct allocator_filter){filters && filters->has_refuse_seconds
						 ? filters->refuse_seconds
						 : ALLOCATOR_REFUSE_DEFAULT};
}

Mesos__URL *master_agent_url(struct arena *arena, const struct agent *a)
{
	Mesos__URL *url = PROTO_NEW(arena, Mesos__URL, mesos__url__descriptor);
	char ip[64];

	pid_ip(a->pid, ip, sizeof(ip));
	url->scheme = (char *)"http";
	url->address = PROTO_NEW(arena, Mesos__Address, mesos__address__descriptor);
	url->address->hostname = arena_strdup(arena, a->info->hostname);
	url->address->ip = arena_strdup(arena, ip);
	url->address->port = pid_port(a->pid);
	url->path = arena_join(arena, "/", a->pid, NULL);
	url->path[1 + strcspn(a->pid, "@")] = '\0';
	return url;
}

#define COPY(arena, message) proto_copy_to((arena), (message))

Mesos__Offer *master_offer_message(const struct master *m, struct arena *arena,
				   const struct offer *o)
{
	Mesos__Offer *offer = PROTO_NEW(arena, Mesos__Offer, mesos__offer__descriptor);
	const struct machine *machine = master_agent_machine(m, o->agent);
	const Mesos__AgentInfo *info = o->agent->info;

	offer->id = PROTO_NEW(arena, Mesos__OfferID, mesos__offer_id__descriptor);
	offer->id->value = arena_strdup(arena, o->id);
	offer->framework_id = COPY(arena, o->framework->info->id);
	offer->agent_id = COPY(arena, info->id);
	offer->hostname = arena_strdup(arena, info->hostname);
	offer->url = master_agent_url(arena, o->agent);
	resources_to_messages(arena, &o->resources, &offer->n_resources, &offer->resources);
	for (size_t i = 0; i < info->n_attributes; i++)
		proto_push(arena, offer->n_attributes, offer->attributes,
			   COPY(arena, info->attributes[i]));
	offer->domain = COPY(arena, info->domain);
	if (machine)
		offer->unavailability = COPY(arena, machine->info->unavailability);
	for (struct executor *e = o->agent->executors; e; e = e->hh.next) {
		if (e->framework == o->framework)
			proto_push(arena, offer->n_executor_ids, offer->executor_ids,
				   COPY(arena, e->info->executor_id));
	}
	offer->allocation_info = PROTO_NEW(arena, Mesos__Resource__AllocationInfo,
					   mesos__resource__allocation_info__descriptor);
	offer->allocation_info->role = arena_strdup(arena, o->role);
	return offer;
}

/* ---- making -------------------------------------------------------------------- */

static struct offer *make_offer(struct master *m, struct framework *f, struct agent *a,
				struct allocator_grant *grant)
{
	struct offer *o = xcalloc(1, sizeof(*o));

	o->id = xprintf("%s-O%llu", m->options.id, (unsigned long long)m->next_offer++);
	o->framework = f;
	o->agent = a;
	o->role = xstrdup(grant->role);
	o->resources = grant->resources;
	grant->resources = RESOURCES_INIT;
	o->expiry.kind = TIMER_OFFER;
	resources_add(&a->offered, &o->resources);
	framework_add_held(f, &f->offered, &o->resources);
	list_append(&f->offers, &o->by_framework);
	list_append(&a->offers, &o->by_agent);
	HASH_ADD_KEYPTR(hh, m->offers, o->id, strlen(o->id), o);
	if (m->options.offer_timeout)
		timers_start(&m->timers, &o->expiry, master_later(m, m->options.offer_timeout));
	return o;
}

/* A grant becomes an offer, or goes back silently when nobody can take it. Returns
 * the framework if its OFFERS event was begun by this grant. */
static struct framework *take_grant(struct master *m, struct allocator_grant *grant)
{
	struct framework *f = grant->framework;
	struct agent *a = grant->agent;
	bool begins;

	if (!framework_connected(f) || !f->active || !agent_registered(a) || !agent_active(a)) {
		allocator_recover(m->allocator, m->now, f->alloc, a->alloc, &grant->resources,
				  NULL);
		return NULL;
	}
	begins = !f->offers_event;
	master_offers_event_add(m, make_offer(m, f, a, grant));
	return begins ? f : NULL;
}

/* The roles of grants live until the next call into the allocator: keep them. */
static void keep_roles(struct master *m, struct allocator_grants *grants)
{
	for (size_t i = 0; i < grants->count; i++)
		grants->items[i].role = master_text(m, grants->items[i].role);
}

static void send_grants(struct master *m, struct allocator_grants *grants)
{
	struct framework **told;
	size_t count = 0;

	keep_roles(m, grants);
	if (grants->count) {
		told = arena_alloc(&m->out->arena, grants->count * sizeof(struct framework *));
		for (size_t i = 0; i < grants->count; i++) {
			told[count] = take_grant(m, &grants->items[i]);
			count += told[count] != NULL;
		}
		for (size_t i = 0; i < count; i++)
			master_offers_event_send(m, told[i]);
	}
	master_send_inverse_offers(m, grants);
	allocator_grants_free(grants);
}

/* ---- allocation ------------------------------------------------------------------ */

static void allocate_part(struct master *m, struct allocator_grants *grants)
{
	m->counters.allocation_runs += !m->allocating;
	m->allocating = allocator_cycle_part(m->allocator, m->now, m->batch_due,
					     (size_t)master_part(m), grants);
	if (m->allocating)
		timers_start(&m->timers, &m->allocation_part, master_later(m, MASTER_PART_PAUSE));
	else
		m->batch_due = false;
}

static void allocate(struct master *m, bool everyone)
{
	struct allocator_grants grants = {0};

	if (m->options.on_cycle)
		m->options.on_cycle(m->options.context, true);
	if (everyone) {
		allocate_part(m, &grants);
	} else {
		m->counters.allocation_runs++;
		allocator_cycle(m->allocator, m->now, false, &grants);
	}
	if (m->options.on_cycle)
		m->options.on_cycle(m->options.context, false);
	send_grants(m, &grants);
}

void master_allocate(struct master *m)
{
	bool everyone = m->allocating || m->batch_due || allocator_pending_all(m->allocator);

	if (everyone && !timer_running(&m->allocation_part))
		allocate(m, true);
	else if (!allocator_pending_all(m->allocator) && allocator_pending(m->allocator))
		allocate(m, false);
}

/* ---- taking away ------------------------------------------------------------------ */

void master_take_offer(struct master *m, struct offer *o)
{
	resources_subtract(&o->agent->offered, &o->resources);
	resources_subtract(&o->framework->offered, &o->resources);
	timers_stop(&m->timers, &o->expiry);
	list_remove(&o->by_framework);
	list_remove(&o->by_agent);
	HASH_DEL(m->offers, o);
	resources_free(&o->resources);
	free(o->role);
	free(o->id);
	free(o);
}

static void give_back(struct master *m, struct offer *o, const struct allocator_filter *filter)
{
	allocator_recover(m->allocator, m->now, o->framework->alloc, o->agent->alloc, &o->resources,
			  filter);
}

void master_discard_offer(struct master *m, struct offer *o)
{
	give_back(m, o, NULL);
	master_take_offer(m, o);
}

void master_rescind_offer(struct master *m, struct offer *o)
{
	master_tell_rescind(m, o->framework, o->id);
	master_discard_offer(m, o);
}

void master_rescind_filtered(struct master *m, struct offer *o,
			     const struct allocator_filter *filter)
{
	master_tell_rescind(m, o->framework, o->id);
	give_back(m, o, filter);
	master_take_offer(m, o);
}

void master_offer_expired(struct master *m, struct offer *o)
{
	log_info("offer %s expired", o->id);
	master_rescind_offer(m, o);
}

void master_decline(struct master *m, struct framework *f,
		    const Mesos__Scheduler__Call__Decline *decline)
{
	struct allocator_filter filter = master_filter(decline->filters);

	for (size_t i = 0; i < decline->n_offer_ids; i++) {
		struct offer *o = master_find_offer(m, decline->offer_ids[i]->value);

		if (!o) {
			log_info("framework %s declined offer %s, which is not outstanding", f->id,
				 decline->offer_ids[i]->value);
			continue;
		}
		f->counters.offers_declined++;
		give_back(m, o, &filter);
		master_take_offer(m, o);
	}
}
