/* A master that does not lead copies what the leader remembers beyond the registry, to go on with
 * it when it is elected. The other side, and when the copy counts, are in followers.h.
 *
 * A leader that cannot be followed (it is Mesos', or loads, or refuses) is asked again now and
 * then; a copy stays until another one begins. */
#ifndef MASTER_FOLLOW_FOLLOWING_H
#define MASTER_FOLLOW_FOLLOWING_H

#include <uv.h>

#include "master/follow/warm_table.h"

struct following;

/* `table`: the owner's, empty; `credentials`: those of --zk, or NULL; `address`: "host:port" at
 * which people reach this master. The owner's, too. */
struct following *following_create(uv_loop_t *loop, struct warm_table *table,
				   const char *credentials, const char *address);
/* The leader is there now ("host:port"), or nowhere (NULL). */
void following_turn(struct following *following, const char *leader);
/* Stops, and gives up the table: this master was elected. Returns what the copy in it is called,
 * heap, for follow_note_names(); NULL: there is none. */
char *following_finish(struct following *following);
/* Stops. */
void following_close(struct following *following);

#endif
