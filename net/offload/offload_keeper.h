/* Collects a text that a child writes for the loop. Private to net/. */
#ifndef NET_OFFLOAD_OFFLOAD_KEEPER_H
#define NET_OFFLOAD_OFFLOAD_KEEPER_H

#include "net/offload.h"

struct offload_keeper;

/* Makes a pair of sockets; `*fd` is the end for the child. NULL: there are none to be had. */
struct offload_keeper *offload_keeper_create(uv_loop_t *loop, struct offload_text *text, int *fd);
/* The child was made: what it writes is the text. */
void offload_keeper_start(struct offload_keeper *keeper);
/* The child was not made. */
void offload_keeper_free(struct offload_keeper *keeper);
/* The child has written all: the text is told when it is here, and the keeper ends. */
void offload_keeper_written(struct offload_keeper *keeper);
/* There will not be all of it: that is told at once. */
void offload_keeper_give_up(struct offload_keeper *keeper);

#endif
