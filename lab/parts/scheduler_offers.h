/* What a model scheduler does with offers, and what no scheduler should do. */
#ifndef LAB_PARTS_SCHEDULER_OFFERS_H
#define LAB_PARTS_SCHEDULER_OFFERS_H

#include "lab/parts/scheduler.h"

/* One ACCEPT under construction. */
struct answer {
	struct arena arena;
	Mesos__Scheduler__Call__Accept accept;
	bool launches;
};

double offer_scalar(const Mesos__Offer *offer, const char *name);
const char *offer_role(const Mesos__Offer *offer);
Mesos__Resource *offer_make_scalar(struct arena *arena, const char *name, double value);
Mesos__Offer__Operation *answer_add(struct answer *answer, Mesos__Offer__Operation__Type type);
/* A word that may be the end of a task. */
bool scheduler_knows_end(const char *word);
/* Tasks for what is free in the offer, the first on the volume if there is one. */
void answer_add_launch(struct scheduler_part *part, struct answer *answer,
		       const Mesos__Offer *offer, Mesos__Resource *volume);
/* A task, in the books, that may be launched on the agent. */
Mesos__TaskInfo *scheduler_make_task(struct scheduler_part *part, struct arena *arena,
				     const char *agent_id);
/* In a letter. */
void scheduler_take_offer(struct scheduler_part *part, const Mesos__Offer *offer,
			  const struct letter *letter);
void scheduler_rescind(struct scheduler_part *part, const char *id);
void scheduler_drop_offers(struct scheduler_part *part);
/* Reserves disk and makes a volume of it in one go, runs tasks on it, and now and then or in
 * the end takes it down again. */
void answer_keep_volumes(struct scheduler_part *part, struct answer *answer,
			 const Mesos__Offer *offer);

/* ---- misdeeds --------------------------------------------------------------------------- */

/* Tasks that were never launched, of which it may hear all the same. */
#define NOBODY "nobody-"

void scheduler_begin_misdeeds(struct scheduler_part *part);
void scheduler_end_misdeeds(struct scheduler_part *part);
/* Now and then spoils a launch. */
void scheduler_spoil_launch(struct scheduler_part *part, struct answer *answer,
			    Mesos__Offer__Operation__Launch *launch);
/* Whether it acknowledges the update at all. */
bool scheduler_wants_acknowledged(struct scheduler_part *part, const Mesos__TaskStatus *status);
/* An update of a task that it did not launch, but asked about. */
bool scheduler_asked_for(struct scheduler_part *part, const Mesos__TaskStatus *status);

#endif
