/* Connections, within lab/. */
#ifndef LAB_WORLD_CONN_H
#define LAB_WORLD_CONN_H

#include "lab/world/wires.h"

/* It goes on its way. */
void letter_seal(struct world *w, struct letter *letter);
/* What is spare. */
void letters_free(struct world *w);

/* Without a look at partitions; NULL for an end that is not there. */
struct conn *conn_make(struct world *w, struct process *client, struct process *server);
/* The process at this end is done with it. */
void conn_leave(struct conn *conn, enum conn_side side);
/* Takes a copy of the letter if it is one that may arrive twice. */
void conn_echo(const struct conn *conn, const struct process *to, const struct letter *letter);

#endif
