/* Libprocess messages that reach the master: which handler takes
 * which, and the small ones.
 *
 * A message of an agent counts only if it comes from that agent's pid. Everything
 * else from outside is logged and changes nothing. Those of drivers are in driver.c.
 */
#include "master/core/objects.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/pid.h"
#include "master/core/authenticate.h"
#include "master/core/frameworks/driver.h"
#include "master/core/frameworks/events.h"
#include "master/core/operations/operation_feedback.h"
#include "master/core/operator.h"
#include "master/core/tasks/tasks.h"
#include "master/core/tasks/updates.h"

/* ---- pids ----------------------------------------------------------------------------- */

void pid_ip(const char *pid, char *out, size_t size)
{
	const char *at = pid ? strchr(pid, '@') : NULL;
	const char *colon = at ? strrchr(at, ':') : NULL;
	size_t len;

	out[0] = '\0';
	if (!colon)
		return;
	len = (size_t)(colon - at - 1);
	if (len >= size)
		return;
	memcpy(out, at + 1, len);
	out[len] = '\0';
}

int pid_port(const char *pid)
{
	const char *colon = pid ? strrchr(pid, ':') : NULL;
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	return port > 0 && port < 65536 ? (int)port : 0;
}

bool pid_valid(const char *pid)
{
	struct in_addr address;
	char ip[64];

	pid_ip(pid, ip, sizeof(ip));
	return pid && pid[0] != '@' && pid_port(pid) && inet_pton(AF_INET, ip, &address) == 1 &&
	       address.s_addr != 0;
}

/* ---- messages of agents ------------------------------------------------------------------ */

/* The registered agent of that id if it sits at `from`. */
static struct agent *sender(struct master *m, const char *from, const Mesos__AgentID *id,
			    const char *what)
{
	struct agent *a = id ? master_find_agent(m, id->value) : NULL;

	if (a && agent_registered(a) && !strcmp(a->pid, from))
		return a;
	log_warning("ignored %s from %s: it is not agent '%s'", what, from, id ? id->value : "");
	m->counters.dropped_messages++;
	return NULL;
}

static void executor_to_framework(struct master *m, const char *from,
				  const Mesos__Internal__ExecutorToFrameworkMessage *message)
{
	struct agent *a = sender(m, from, message->agent_id, "an executor's message");
	struct framework *f = master_find_framework(m, message->framework_id->value);

	m->counters.messages_executor_to_framework++;
	if (!a || !f || !framework_connected(f)) {
		m->counters.invalid_executor_to_framework_messages++;
		return;
	}
	m->counters.valid_executor_to_framework_messages++;
	master_tell_message(m, f, message);
}

static void exited_executor(struct master *m, const char *from,
			    const Mesos__Internal__ExitedExecutorMessage *message)
{
	struct agent *a = sender(m, from, message->agent_id, "the end of an executor");
	struct framework *f;
	struct executor *e;

	m->counters.messages_exited_executor++;
	if (!a)
		return;
	e = agent_find_executor(a, message->framework_id->value, message->executor_id->value);
	if (!e) {
		/* Executors of command tasks are not known here. */
		log_debug("executor %s of framework %s ended on agent %s",
			  message->executor_id->value, message->framework_id->value, a->id);
		return;
	}
	f = e->framework;
	log_info("executor %s of framework %s on agent %s ended with status %d",
		 message->executor_id->value, f->id, a->id, message->status);
	master_remove_executor(m, e, true);
	master_tell_executor_failure(m, f, a->id, message->executor_id->value, message->status);
}

static void update_slave(struct master *m, const char *from,
			 const Mesos__Internal__UpdateSlaveMessage *message)
{
	struct agent *a = sender(m, from, message->agent_id, "an update of an agent");

	m->counters.messages_update_slave++;
	if (a)
		master_update_agent(m, a, message);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static void messages_dispatch(struct master *m, const struct master_event *event)
{
	const char *from = event->message.from;
	ProtobufCMessage *message = event->message.message;
	const ProtobufCMessageDescriptor *type = message->descriptor;

	if (authenticate_message(m, event) || authenticate_holds(m, event))
		return;
#define IS(name) (type == &mesos__internal__##name##__descriptor)
	if (IS(pong_slave_message)) {
		master_pong(m, from);
	} else if (IS(status_update_message)) {
		master_status_update(m, from, (void *)message);
	} else if (IS(executor_to_framework_message)) {
		executor_to_framework(m, from, (void *)message);
	} else if (IS(exited_executor_message)) {
		exited_executor(m, from, (void *)message);
	} else if (IS(register_slave_message)) {
		master_register_agent(m, from, (void *)message);
	} else if (IS(reregister_slave_message)) {
		master_reregister_agent(m, from, (void *)message);
	} else if (IS(unregister_slave_message)) {
		master_unregister_agent(m, from, (void *)message);
	} else if (IS(update_slave_message)) {
		update_slave(m, from, (void *)message);
	} else if (IS(update_operation_status_message)) {
		master_operation_status(m, from, (void *)message);
	} else if (!master_driver_message(m, event)) {
		m->counters.dropped_messages++;
		log_warning("ignored a %s from %s", type->name, from);
	}
#undef IS
}

void master_handle_message(struct master *m, const struct master_event *event)
{
	if (!m->recovered || !event->message.from) {
		m->counters.dropped_messages++;
		return;
	}
	messages_dispatch(m, event);
}
