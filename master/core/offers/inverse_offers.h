/* Inverse offers: agents with a window ask frameworks to leave. */
#ifndef MASTER_CORE_OFFERS_INVERSE_OFFERS_H
#define MASTER_CORE_OFFERS_INVERSE_OFFERS_H

#include "master/core/objects.h"

/* Sends the inverse offers that an allocation decided on. */
void master_send_inverse_offers(struct master *m, struct allocator_grants *grants);
void master_rescind_inverse(struct master *m, struct inverse_offer *o);
/* Makes the inverse offer's message, which borrows from the offer. */
Mesos__InverseOffer *master_inverse_message(struct arena *arena, const struct inverse_offer *o);
/* Takes back the framework's inverse offers without telling it. */
void master_discard_inverse_of_framework(struct master *m, struct framework *f);
void master_accept_inverse(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call__AcceptInverseOffers *call);
void master_decline_inverse(struct master *m, struct framework *f,
			    const Mesos__Scheduler__Call__DeclineInverseOffers *call);
/* Forgets what frameworks answered to inverse offers. */
void master_drop_answers_of_agent(struct agent *a);
void master_drop_answers_of_framework(struct framework *f);
void master_free_inverse_offers(struct master *m);

#endif
