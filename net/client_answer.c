/* Answers to an HTTP client, as they come; see client_internal.h. */
#include <string.h>
#include <strings.h>

#include "net/client_internal.h"
#include "net/limits.h"

static struct wire *wire_of(http_parser *parser)
{
	return parser->data;
}

struct operation *client_operation_of(struct wire *wire)
{
	return list_first(&wire->client->operations, struct operation, link);
}

static int on_begin(http_parser *parser)
{
	struct wire *wire = wire_of(parser);

	/* Bytes that nobody asked for. */
	if (!wire->sent)
		return 1;
	for (int i = 0; i < FIELD_COUNT; i++)
		buf_clear(&wire->fields[i]);
	buf_clear(&wire->name);
	buf_clear(&wire->body);
	wire->in_value = false;
	return 0;
}

static int on_name(http_parser *parser, const char *data, size_t len)
{
	struct wire *wire = wire_of(parser);

	if (wire->in_value)
		buf_clear(&wire->name);
	wire->in_value = false;
	buf_append(&wire->name, data, len);
	return wire->name.len > HTTP_HEAD_MAX;
}

static int on_value(http_parser *parser, const char *data, size_t len)
{
	static const char *const names[FIELD_COUNT] = {
		[FIELD_TYPE] = "Content-Type",
		[FIELD_STREAM_ID] = "Mesos-Stream-Id",
		[FIELD_LOCATION] = "Location",
		[FIELD_DISPOSITION] = "Content-Disposition",
	};
	struct wire *wire = wire_of(parser);

	if (!wire->in_value) {
		wire->field = FIELD_OTHER;
		for (int i = FIELD_TYPE; i < FIELD_COUNT; i++)
			if (strcasecmp(wire->name.data ? wire->name.data : "", names[i]) == 0)
				wire->field = (enum field)i;
		buf_clear(&wire->fields[wire->field]);
	}
	wire->in_value = true;
	if (wire->field != FIELD_OTHER)
		buf_append(&wire->fields[wire->field], data, len);
	return wire->fields[wire->field].len > HTTP_HEAD_MAX;
}

static const char *text_of(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

static struct http_answer answer_of(struct wire *wire)
{
	return (struct http_answer){
		.status = wire->parser.status_code,
		.content_type = text_of(&wire->fields[FIELD_TYPE]),
		.stream_id = text_of(&wire->fields[FIELD_STREAM_ID]),
		.location = text_of(&wire->fields[FIELD_LOCATION]),
		.disposition = text_of(&wire->fields[FIELD_DISPOSITION]),
		.body = {text_of(&wire->body), wire->body.len},
	};
}

static void begin_relay(struct wire *wire, struct operation *operation)
{
	struct http_answer answer = answer_of(wire);
	uint64_t length = wire->parser.content_length;

	operation->opened = true;
	operation->deadline = 0;
	operation->relay->head(operation->context, &answer,
			       length > INT64_MAX ? -1 : (int64_t)length);
}

static int on_head(http_parser *parser)
{
	struct wire *wire = wire_of(parser);
	struct operation *operation = client_operation_of(wire);

	if (operation->relay && parser->status_code >= 200)
		begin_relay(wire, operation);
	if (!wire->client)
		return -1;

	if (operation->streaming && parser->status_code == 200) {
		struct http_answer answer = answer_of(wire);
		operation->opened = true;
		operation->deadline = 0;
		recordio_free(&wire->records);
		recordio_init(&wire->records, CLIENT_RECORD_MAX);
		if (operation->handlers.opened)
			operation->handlers.opened(operation->context, &answer);
		if (!wire->client)
			return -1;
	}
	return operation->head_only ? 1 : 0;
}

static void on_record(void *context, struct slice record)
{
	struct wire *wire = context;

	/* The owner may have closed the client in an earlier record. */
	if (!wire->client)
		return;
	struct operation *operation = client_operation_of(wire);
	if (operation->handlers.record)
		operation->handlers.record(operation->context, record);
}

static int on_body(http_parser *parser, const char *data, size_t len)
{
	struct wire *wire = wire_of(parser);
	const struct operation *operation = client_operation_of(wire);
	struct err err;

	if (operation->relay) {
		operation->relay->part(operation->context, (struct slice){data, len});
		return wire->client ? 0 : 1;
	}
	if (operation->opened) {
		if (recordio_feed(&wire->records, data, len, on_record, wire, &err) != 0) {
			client_break_wire(wire, err.text);
			return 1;
		}
		return wire->client ? 0 : 1;
	}
	wire->client->received += len;
	if (wire->client->drops_bodies)
		return 0;
	if (len > CLIENT_BODY_MAX - wire->body.len) {
		client_break_wire(wire, "the answer is too long");
		return 1;
	}
	buf_append(&wire->body, data, len);
	return 0;
}

static int on_complete(http_parser *parser)
{
	struct wire *wire = wire_of(parser);
	struct http_client *client = wire->client;
	struct operation *operation = client_operation_of(wire);
	bool keep = http_should_keep_alive(parser);

	if (parser->status_code < 200)
		return 0;
	struct http_answer answer = answer_of(wire);
	struct buf body = wire->body;
	wire->body = BUF_INIT;
	list_remove(&operation->link);
	client->count--;
	wire->sent--;
	if (!keep && wire->sent)
		client_break_wire(wire, "connection closed");
	else if (!keep)
		client_forget_wire(wire);
	if (operation->relay)
		operation->relay->ended(operation->context, true);
	else if (operation->streaming)
		client_end_stream(client, operation, &answer,
				  operation->opened ? "end of stream" : "refused");
	else
		operation->answered(operation->context, &answer);
	client_free_operation(operation);
	buf_free(&body);
	/* The client lives at least until its timer's close callback. */
	if (!client->closing)
		client_proceed(client);
	return wire->client ? 0 : 1;
}

const http_parser_settings client_answer_settings = {
	.on_message_begin = on_begin,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_complete,
};
