/* Offers: made of what the allocator grants, and taken back. */
#ifndef MASTER_CORE_OFFERS_OFFERS_H
#define MASTER_CORE_OFFERS_OFFERS_H

#include "master/core/objects.h"

/* At the end of a step: runs the allocation that is due, or a part of it, and sends what it grants.
 */
void master_allocate(struct master *m);
/* Takes the offer away: its resources are no longer offered, nor given back. */
void master_take_offer(struct master *m, struct offer *o);
/* Gives the resources back without telling the framework. */
void master_discard_offer(struct master *m, struct offer *o);
void master_rescind_offer(struct master *m, struct offer *o);
/* Rescinds the offer, and the filter keeps the same from being offered to the framework again. */
void master_rescind_filtered(struct master *m, struct offer *o,
			     const struct allocator_filter *filter);
void master_offer_expired(struct master *m, struct offer *o);
void master_decline(struct master *m, struct framework *f,
		    const Mesos__Scheduler__Call__Decline *decline);
/* Translates the filter of a call for the allocator. NULL stands for the default filter. */
struct allocator_filter master_filter(const Mesos__Filters *filters);
/* Makes the URL of the agent, http://hostname:port/slave(1), in the arena. */
Mesos__URL *master_agent_url(struct arena *arena, const struct agent *agent);
/* Makes the offer's message, copied into the arena. */
Mesos__Offer *master_offer_message(const struct master *m, struct arena *arena,
				   const struct offer *o);

void master_accept(struct master *m, struct framework *f,
		   const Mesos__Scheduler__Call__Accept *accept);
int master_validate_offers(const struct master *m, const struct framework *f,
			   Mesos__OfferID *const *ids, size_t count, struct err *err);

#endif
