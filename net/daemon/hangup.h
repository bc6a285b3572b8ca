/* SIGHUP: what was read from files at the start is read again. */
#ifndef NET_HANGUP_H
#define NET_HANGUP_H

#include <uv.h>

#include "net/tls/tls.h"

struct hangup {
	uv_signal_t signal;
	struct tls *tls; /* NULL: plain */
};

void hangup_init(struct hangup *hangup, uv_loop_t *loop);
/* hangup->tls becomes what the environment asks for, for the servers and clients of the process. */
int hangup_secure(struct hangup *hangup, struct err *err);
void hangup_close(struct hangup *hangup);
/* Once servers and clients are gone. */
void hangup_free(struct hangup *hangup);

#endif
