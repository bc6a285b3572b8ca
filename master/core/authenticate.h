/* Who is at a pid: agents and drivers of v0 that prove it by CRAM-MD5, in messages of SASL.
 *
 *   client -> master   AuthenticateMessage{pid}               a session begins
 *   session -> client  AuthenticationMechanismsMessage
 *   client -> session  AuthenticationStartMessage
 *   session -> client  AuthenticationStepMessage{challenge}
 *   client -> session  AuthenticationStepMessage{answer}
 *   session -> client  AuthenticationCompletedMessage, or ...FailedMessage
 *
 * The client is on the machine of the pid that it speaks for. A registration that comes while a
 * session of its pid is open waits for its end, and is lost with one that fails. */
#ifndef MASTER_CORE_AUTHENTICATE_H
#define MASTER_CORE_AUTHENTICATE_H

#include "master/core/objects.h"

/* False: the message is not about authentication. */
bool authenticate_message(struct master *m, const struct master_event *event);
/* True: the message waits for a session, and is handled anew when that has gone well. */
bool authenticate_holds(struct master *m, const struct master_event *event);
/* The principal that proved to be at the pid, or NULL. */
const char *authenticated_principal(const struct master *m, const char *pid);
/* Whether a driver there may say this of its framework; `err` is what it is told. */
int authenticate_framework(const struct master *m, const char *pid,
			   const Mesos__FrameworkInfo *info, struct err *err);
/* Whether an agent there may register. False: the log says why not. */
bool authenticate_agent(const struct master *m, const char *pid);
/* The link to the pid broke: whoever is there next proves it anew. */
void authenticate_forget(struct master *m, const char *pid);
void authenticate_expired(struct master *m, struct timer *timer); /* a session took too long */
void authenticate_free(struct master *m);

#endif
