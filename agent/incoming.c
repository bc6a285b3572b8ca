/* What comes in: messages of libprocess, and what the routes answer. */
#include "agent/shell.h"

#include <stdlib.h>
#include <string.h>

#include "agent/http/sessions.h"
#include "base/log/log.h"
#include "net/daemon/origin.h"
#include "proto/names.h"

static const char *const processes[] = {"help",	   "metrics", "version", "files",
					"logging", "system",  NULL};

static const struct route routes[] = {
	{"/slave(1)/api/v1/executor", agent_api_executor, REALM_EXECUTORS,
	 "The v1 executor API: a stream of events, and calls."},
	{"/slave(1)/api/v1", agent_api_operator, REALM_READWRITE, "The v1 operator API."},
	{"/slave(1)/state", agent_rest_state, REALM_READONLY,
	 "All that the agent knows: frameworks, executors, tasks, flags."},
	{"/slave(1)/flags", agent_rest_flags, REALM_READONLY,
	 "The flags that the agent was started with."},
	{"/slave(1)/health", agent_rest_health, REALM_NONE, "200 while the agent serves."},
	{"/slave(1)/monitor/statistics", agent_rest_statistics, REALM_READONLY,
	 "What executors use."},
	{"/slave(1)/containers", agent_rest_containers, REALM_READONLY,
	 "Containers of executors, and what they use."},
	{"/files/debug", agent_files_debug, REALM_READONLY, "Which files there are."},
	{"/metrics", agent_rest_prometheus, REALM_READONLY, "The same for Prometheus."},
	{"/metrics/snapshot", agent_rest_metrics, REALM_READONLY, "All metrics; timeout=DURATION."},
	{"/version", agent_rest_version, REALM_NONE, "Version and build."},
	{"/files/browse", agent_files_browse, REALM_READONLY,
	 "A directory of a sandbox: path=PATH."},
	{"/files/read", agent_files_read, REALM_READONLY,
	 "Part of a file: path=PATH, offset, length."},
	{"/files/download", agent_files_download, REALM_READONLY, "A whole file: path=PATH."},
	{"/logging/toggle", agent_rest_logging, REALM_READWRITE,
	 "How much is logged; level=N and duration=5mins change it for so long."},
	{"/system/stats.json", agent_rest_system, REALM_NONE,
	 "What the machine is and how busy it is."},
	{"/help", agent_rest_help, REALM_NONE, "This page; format=json."},
	{NULL, NULL, REALM_NONE, NULL},
};

/* Who is asked who it is. */
static void guard_realms(struct agent_shell *shell)
{
	const struct agent_flags *f = shell->flags;
	struct realm_guard *guards = shell->router.guards;

	guards[REALM_READONLY] = (struct realm_guard){
		.name = AGENT_REALM_READONLY,
		.credentials = f->authenticate_http_readonly ? f->known : NULL};
	guards[REALM_READWRITE] = (struct realm_guard){
		.name = AGENT_REALM_READWRITE,
		.credentials = f->authenticate_http_readwrite ? f->known : NULL};
	/* Executors launch containers inside of their own. */
	if (guards[REALM_READWRITE].credentials)
		guards[REALM_READWRITE].secret = f->secret_key;
	guards[REALM_EXECUTORS] =
		(struct realm_guard){.name = AGENT_REALM_EXECUTOR, .secret = f->secret_key};
}

void agent_shell_route(struct agent_shell *shell)
{
	shell->router = (struct router){.delegate = "slave(1)",
					.disabled = shell->flags->disabled,
					.processes = processes,
					.routes = routes,
					.context = shell};
	guard_realms(shell);
}

/* ---- requests ------------------------------------------------------------ */

static void take_message(struct agent_shell *shell, struct http_request *request)
{
	struct libprocess_message message;
	const ProtobufCMessageDescriptor *type;
	struct agent_event event = {.type = AGENT_MESSAGE};
	bool from_master, registered;
	struct err err;

	if (!libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	if (strcmp(message.to, "slave(1)") &&
	    !str_has_prefix(message.to, "crammd5-authenticatee(")) {
		http_reply_text(request, 404, NULL);
		return;
	}
	from_master = shell->master && !strcmp(message.from, shell->master);
	if (from_master)
		http_note_sender(request, message.from);
	type = proto_message_type(message.name);
	if (!type)
		log_debug("dropped a message of unknown name '%s' from %s", message.name,
			  message.from);
	else
		event.message.message = proto_unpack(type, &request->arena, message.body.data,
						     message.body.len, &err);
	if (event.message.message) {
		registered = agent_registered(shell->steps.core);
		event.message.from = message.from;
		event.message.to = message.to;
		agent_shell_step(shell, &event);
		/* A master that comes back at its address is not to be mixed up with the dead one,
		 * some of whose orders may come late: a task, say, that nobody knows any more. Who
		 * answers our registration is the master; anybody could claim it. */
		if (from_master && !registered && agent_registered(shell->steps.core))
			http_sole_sender(request, message.from);
	} else if (type) {
		log_warning("dropped a %s from %s that does not parse: %s", message.name,
			    message.from, err.text);
	}
	http_reply(request, 202, NULL, NULL, 0, NULL);
}

bool agent_shell_streams(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;

	return session_is_input(request) && !libprocess_is_message(request) &&
	       !strcmp(router_resolve(&shell->router, request), "/slave(1)/api/v1");
}

void agent_shell_take_request(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;

	if (shell->steps.over)
		http_reply_text(request, 503, NULL);
	else if (shell->flags->check_origin && origin_is_foreign(request, shell->flags->hostname))
		http_reply_text(request, 403, ORIGIN_REFUSED);
	else if (libprocess_is_message(request))
		take_message(shell, request);
	else
		router_dispatch(&shell->router, request);
}
