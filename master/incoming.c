/* What comes in: messages of libprocess, and what the routes answer. */
#include "master/shell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "net/daemon/origin.h"
#include "proto/names.h"

static bool actor_exists(const char *id)
{
	return !strcmp(id, "master") || str_has_prefix(id, "slave-observer(") ||
	       str_has_prefix(id, "crammd5-authenticator-session(");
}

/* Where the sender reached us. Who was told nothing else takes that for our address. */
static const char *reached_at(const struct shell *shell, const struct http_request *request)
{
	const struct master_flags *f = shell->flags;
	bool any = !f->ip || !strcmp(f->ip, "0.0.0.0");
	const char *local;

	if (!any || f->advertise_ip || f->advertise_port)
		return NULL;
	local = http_local(request);
	return local && strcmp(local, shell->address) ? local : NULL;
}

/* What agents report of themselves has no end that could be told: each of their tasks is in
 * it, those that are over, too. */
static size_t values_max(const ProtobufCMessageDescriptor *type)
{
	bool reports = type == &mesos__internal__reregister_slave_message__descriptor ||
		       type == &mesos__internal__update_slave_message__descriptor;

	return reports ? 10 * (size_t)PROTO_VALUES_MAX : PROTO_VALUES_MAX;
}

/* The message, in the arena; NULL: there is none such, which was told. */
static ProtobufCMessage *decode_message(struct arena *arena,
					const struct libprocess_message *message, bool *force)
{
	const ProtobufCMessageDescriptor *type;
	ProtobufCMessage *decoded;
	struct err err;

	if (!strcmp(message->name, "mesos.scheduler.Call")) {
		decoded = (ProtobufCMessage *)proto_call_from_v0(arena, message->body.data,
								 message->body.len, force, &err);
	} else {
		type = proto_message_type(message->name);
		if (!type) {
			log_debug("dropped a message of unknown name '%s' from %s", message->name,
				  message->from);
			return NULL;
		}
		decoded = proto_unpack_up_to(values_max(type), type, arena, message->body.data,
					     message->body.len, &err);
	}
	if (!decoded)
		log_warning("dropped a %s from %s that does not parse: %s", message->name,
			    message->from, err.text);
	return decoded;
}

static void handle_message(struct shell *shell, struct arena *arena,
			   const struct libprocess_message *message, const char *local)
{
	struct master_event event = {.type = MASTER_MESSAGE};

	event.message.message = decode_message(arena, message, &event.message.force);
	if (!event.message.message)
		return;
	event.message.from = message->from;
	event.message.to = message->to;
	event.message.local = local;
	shell_step(shell, &event);
}

/* A driver's, when its turn has come. */
static void server_message_due(void *context, const struct libprocess_message *message,
			       const char *local)
{
	struct arena arena;

	arena_init(&arena);
	handle_message(context, &arena, message, local);
	arena_free(&arena);
}

static void server_message_refused(void *context, const struct libprocess_message *message,
				   uint64_t capacity)
{
	struct shell *shell = context;
	Mesos__Internal__FrameworkErrorMessage error =
		MESOS__INTERNAL__FRAMEWORK_ERROR_MESSAGE__INIT;

	log_warning("Dropped %s from %s: more than %" PRIu64 " of its principal wait",
		    message->name, message->from, capacity);
	error.message = xprintf("Message %s dropped: capacity(%" PRIu64 ") exceeded", message->name,
				capacity);
	shell->steps.outlet->send_message(shell, "master", message->from, &error.base);
	free(error.message);
}

const struct rate_limits_handlers shell_rate_handlers = {.deliver = server_message_due,
							 .refuse = server_message_refused};

static void take_message(struct shell *shell, struct http_request *request)
{
	struct libprocess_message message;
	const char *principal;

	if (!libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	if (!actor_exists(message.to)) {
		http_reply_text(request, 404, NULL);
		return;
	}
	if (shell->standing != STANDING_LEADER)
		log_debug("dropped a %s from %s: this master does not lead", message.name,
			  message.from);
	else if (master_is_driver(shell->steps.core, message.from, &principal))
		rate_limits_take(shell->rate_limits, principal, &message,
				 reached_at(shell, request));
	else
		handle_message(shell, &request->arena, &message, reached_at(shell, request));
	http_reply(request, 202, NULL, NULL, 0, NULL);
}

void shell_take_request(void *context, struct http_request *request)
{
	struct shell *shell = context;

	shell->http_requests++;
	if (shell->steps.over)
		http_reply_text(request, 503, NULL);
	else if (shell->flags->check_origin && origin_is_foreign(request, shell->flags->hostname))
		http_reply_text(request, 403, ORIGIN_REFUSED);
	else if (libprocess_is_message(request))
		take_message(shell, request);
	else
		router_dispatch(&shell->router, request);
}
