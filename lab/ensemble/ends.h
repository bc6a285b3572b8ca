/* Ends of tasks that agents were told to forget: what the leading master knows then the next one
 * knows, too, whatever becomes of the first. So no agent is ever asked for such a task again. */
#ifndef LAB_ENSEMBLE_ENDS_H
#define LAB_ENSEMBLE_ENDS_H

#include "lab/world/world.h"

struct ends;

/* Observes the world. */
struct ends *ends_open(struct world *w);
void ends_close(struct ends *ends);

#endif
