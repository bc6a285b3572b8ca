/* An ACCEPT under way: what accept.c, launch.c and operations.c share. */
#ifndef MASTER_CORE_OFFERS_ACCEPT_H
#define MASTER_CORE_OFFERS_ACCEPT_H

#include "master/core/objects.h"

struct accepting {
	struct framework *f;
	struct agent *a;
	const char *role;	    /* allocation role of the offers */
	struct resources offered;   /* the offers' sum */
	struct resources remaining; /* of it, after the operations so far */
	struct resources shared;    /* shared volumes of `remaining`; launches take none away */
	struct resources resized;   /* by GROW and SHRINK: for nobody in this ACCEPT */
	size_t conversions;	    /* how many operations other than launches there are */
};

/* ---- operation_shape.c: operations as messages ------------------------------- */

bool operation_launches(const Mesos__Offer__Operation *operation);
/* The tasks of LAUNCH and LAUNCH_GROUP; none of others. */
size_t operation_tasks(const Mesos__Offer__Operation *operation, Mesos__TaskInfo ***tasks);
/* "RESERVE"; NULL for types that nobody knows. */
const char *operation_name(const Mesos__Offer__Operation *operation);
/* Its part is there, all resources in it are well-formed. In Mesos' words. */
int operation_check(const Mesos__Offer__Operation *operation, struct err *err);
/* Resources get the new format and, unless `role` is NULL, that allocation role where they
 * have none. */
void operation_normalise(struct master *m, Mesos__Offer__Operation *operation, const char *role);

/* ---- accept.c ------------------------------------------------------------------ */

void accept_refuse_task(struct master *m, struct framework *f, const Mesos__TaskInfo *task,
			Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			const char *message);
void accept_refuse_tasks(struct master *m, struct framework *f, Mesos__TaskInfo *const *tasks,
			 size_t count, Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			 const char *message);
/* Sets accepting.shared by accepting.remaining. */
void accept_note_shared(struct accepting *accepting);
/* Tells of an operation with an id; any other is dropped silently. */
void accept_drop(struct master *m, struct framework *f, const Mesos__Offer__Operation *operation,
		 const char *message);

/* ---- launch.c, operations.c: one operation, normalised ----------------------------- */

void accept_launch(struct master *m, struct accepting *accepting,
		   const Mesos__Offer__Operation__Launch *launch);
void accept_launch_group(struct master *m, struct accepting *accepting,
			 const Mesos__Offer__Operation__LaunchGroup *group);
/* RESERVE .. SHRINK_VOLUME, CREATE_DISK, DESTROY_DISK: carried out, or dropped as a whole. */
void accept_convert(struct master *m, struct accepting *accepting,
		    Mesos__Offer__Operation *operation);

#endif
