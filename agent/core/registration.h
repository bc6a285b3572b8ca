/* The agent and its master. */
#ifndef AGENT_CORE_REGISTRATION_H
#define AGENT_CORE_REGISTRATION_H

#include "agent/core/objects.h"

void agent_handle_detected(struct agent *agent, const char *master);
void agent_handle_exited(struct agent *agent, const char *pid);
void agent_handle_registered(struct agent *agent, const char *from,
			     Mesos__Internal__SlaveRegisteredMessage *message);
void agent_handle_reregistered(struct agent *agent, const char *from,
			       Mesos__Internal__SlaveReregisteredMessage *message);
void agent_handle_ping(struct agent *agent, const char *from,
		       Mesos__Internal__PingSlaveMessage *message);
void agent_handle_shutdown(struct agent *agent, const char *from, const char *text);
void agent_register_timeout(struct agent *agent);
void agent_redetect(struct agent *agent, const char *why);
void agent_begin_registration(struct agent *agent);
void agent_register_proved(struct agent *agent);     /* the master knows who we are */
void agent_registration_resume(struct agent *agent); /* it waited for changes */
void agent_exit_if_empty(struct agent *agent);
void agent_write_capabilities(struct json_writer *w); /* names, as elements of an array */
/* "Dropped: not from our master" is logged; true = go on. */
bool agent_from_master(struct agent *agent, const char *from, const char *what);

#endif
