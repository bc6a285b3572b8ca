/* ATTACH_CONTAINER_INPUT: a request that goes on, whose records are calls: first whose input it is,
 * then what is to be put in. */
#include <stdlib.h>
#include <string.h>

#include "agent/http/api_containers.h"
#include "agent/http/sessions.h"
#include "agent/shell.h"
#include "net/http_parts.h"
#include "net/recordio.h"

#define RECORD_MAX (1u << 20) /* bytes of a call */

struct attached_input {
	struct agent_shell *shell;
	struct http_request *request; /* NULL: answered, or its client is gone */
	enum http_media media;
	struct recordio_decoder decoder;
	bool begun; /* the first record came */
	struct session_input into;
	unsigned writes; /* under way */
};

static void input_free_if_done(struct attached_input *input)
{
	if (input->request || input->writes)
		return;
	recordio_free(&input->decoder);
	free(input);
}

static void input_answer(struct attached_input *input, int status, const char *text)
{
	if (input->request)
		http_reply_text(input->request, status, text);
	input->request = NULL;
	session_detach(&input->into);
}

static void input_written(void *context)
{
	struct attached_input *input = context;

	input->writes--;
	if (input->request && !input->writes)
		http_body_pause(input->request, false);
	input_free_if_done(input);
}

/* ---- records ---------------------------------------------------------------- */

static void begin_input(struct attached_input *input, Mesos__Agent__Call *call)
{
	struct agent_shell *shell = input->shell;
	const Mesos__Agent__Call__AttachContainerInput *attach = call->attach_container_input;
	struct arena *arena = &input->request->arena;
	const char *id;

	if (attach->type != MESOS__AGENT__CALL__ATTACH_CONTAINER_INPUT__TYPE__CONTAINER_ID ||
	    !attach->container_id) {
		input_answer(input, 400,
			     "Expecting 'attach_container_input.type' to be CONTAINER_ID in the "
			     "first record");
		return;
	}
	if (!agent_container_allowed(shell, input->request, call)) {
		input_answer(input, 403, NULL);
		return;
	}
	id = agent_container_key(arena, attach->container_id);
	if (session_attach(shell, id, &input->into))
		input->begun = true;
	else
		input_answer(input, 404, arena_printf(arena, "Container %s cannot be found", id));
}

static void put_in(struct attached_input *input, struct session *session,
		   const Mesos__Agent__ProcessIO__Data *data)
{
	if (data->type != MESOS__AGENT__PROCESS_IO__DATA__TYPE__STDIN)
		return;
	if (!data->data.len) {
		session_end_input(session);
		return;
	}
	input->writes++;
	http_body_pause(input->request, true);
	if (!session_write(session, data->data.data, data->data.len, input_written, input)) {
		input->writes--;
		http_body_pause(input->request, false);
	}
}

static void take_io(struct attached_input *input, const Mesos__Agent__ProcessIO *io)
{
	struct session *session = input->into.session;

	if (!io) {
		input_answer(input, 400,
			     "Expecting 'attach_container_input.process_io' to be present");
	} else if (!session) {
		input_answer(input, 200, NULL); /* it has ended */
	} else if (io->data) {
		put_in(input, session, io->data);
	} else if (io->control && io->control->tty_info && io->control->tty_info->window_size) {
		session_resize(session, io->control->tty_info->window_size->rows,
			       io->control->tty_info->window_size->columns);
	}
}

static Mesos__Agent__Call *read_record(const struct attached_input *input, struct slice record,
				       struct arena *arena)
{
	struct err err = {""};
	struct json *json;

	if (input->media == HTTP_MEDIA_PROTOBUF)
		return proto_unpack_up_to(PROTO_VALUES_MAX, &mesos__agent__call__descriptor, arena,
					  record.data, record.len, &err);
	if (json_parse_up_to(PROTO_VALUES_MAX, arena, record.data, record.len, &json, &err) < 0)
		return NULL;
	return json_to_proto(&mesos__agent__call__descriptor, json, SPELL_V1, arena, &err);
}

static void record_cb(void *context, struct slice record)
{
	struct attached_input *input = context;
	struct arena arena;
	Mesos__Agent__Call *call;

	if (!input->request)
		return;
	arena_init(&arena);
	call = read_record(input, record, &arena);
	if (!call || call->type != MESOS__AGENT__CALL__TYPE__ATTACH_CONTAINER_INPUT ||
	    !call->attach_container_input)
		input_answer(input, 400,
			     "Failed to validate agent::Call: Expecting ATTACH_CONTAINER_INPUT");
	else if (!input->begun)
		begin_input(input, call);
	else
		take_io(input, call->attach_container_input->process_io);
	arena_free(&arena);
}

/* ---- the body ----------------------------------------------------------------- */

static void part_cb(void *context, struct slice part)
{
	struct attached_input *input = context;
	struct err err;

	if (recordio_feed(&input->decoder, part.data, part.len, record_cb, input, &err) < 0)
		input_answer(input, 400, err.text);
	input_free_if_done(input);
}

/* The client is gone, or has said all. */
static void ended_cb(void *context, bool whole)
{
	struct attached_input *input = context;

	(void)whole;
	input_answer(input, input->begun ? 200 : 400, NULL);
	input_free_if_done(input);
}

bool session_is_input(const struct http_request *request)
{
	const char *type = http_header(request, "Content-Type");

	return type && !strcmp(type, SESSION_INPUT_TYPE) && !strcmp(request->method, "POST");
}

void session_attach_input(struct agent_shell *shell, struct http_request *request)
{
	static const struct http_body_reader reader = {part_cb, ended_cb};
	const char *type = http_header(request, "Message-Content-Type");
	struct attached_input *input;

	if (!type || (strcmp(type, "application/json") && strcmp(type, "application/x-protobuf"))) {
		http_reply_text(request, type ? 415 : 400,
				"Expecting 'Message-Content-Type' of application/json or "
				"application/x-protobuf");
		return;
	}
	input = xcalloc(1, sizeof(*input));
	input->shell = shell;
	input->request = request;
	input->media = strcmp(type, "application/json") ? HTTP_MEDIA_PROTOBUF : HTTP_MEDIA_JSON;
	recordio_init(&input->decoder, RECORD_MAX);
	if (http_body_read(request, &reader, input))
		return;
	input->request = NULL;
	http_reply_text(request, 400, NULL);
	input_free_if_done(input);
}
