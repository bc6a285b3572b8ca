/* The agent proves to its master who it is, before it registers, by CRAM-MD5: the other side of
 * master/core/authenticate.h. Only if it has a credential.
 *
 * An attempt that gets no answer is made again, after a random time whose bound doubles; a master
 * that refuses the credential ends the agent. */
#ifndef AGENT_CORE_AUTHENTICATION_H
#define AGENT_CORE_AUTHENTICATION_H

#include "agent/core/objects.h"

/* False: there is no credential, nothing is to be proved. Else agent_register_proved() follows. */
bool agent_authenticate(struct agent *agent);
bool agent_authenticating(const struct agent *agent);
void agent_authentication_stop(struct agent *agent);
/* The link broke: whoever we asked will not answer. */
void agent_authentication_hurry(struct agent *agent);
void agent_authentication_timeout(struct agent *agent);
/* False: the message is not about authentication. `to` is our actor. */
bool agent_handle_authentication(struct agent *agent, const char *from, const char *to,
				 const ProtobufCMessage *message);
void agent_authentication_free(struct agent *agent);

#endif
