/* Bodies of API calls, and the events that answer them, in both media. */
#include <string.h>

#include "net/api_body.h"
#include "net/event_streams.h"
#include "net_harness.h"

static struct fixture fixture;
static struct raw raw;
static struct event_streams streams;
static struct buf closed; /* numbers of streams that clients left */

static void note_closed(void *context, uint64_t number)
{
	buf_printf(context, "%llu;", (unsigned long long)number);
}

/* Calls are answered with what was understood; "SUBSCRIBE" opens a stream. */
static void serve(void *context, struct http_request *request)
{
	static const char *const extra[] = {"X-Extra", "yes", NULL};
	Mesos__Scheduler__Call *call =
		api_body_decode(request, &mesos__scheduler__call__descriptor);

	if (!call)
		return;
	if (call->type != MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE)
		http_reply_text(request, 200,
				arena_printf(&request->arena, "call %d of %s", call->type,
					     call->framework_id ? call->framework_id->value : "-"));
	else
		event_streams_open(&streams, request, event_streams_number(&streams),
				   http_content_type(request), extra);
}

static void set_up(void)
{
	streams = (struct event_streams){
		.backlog_max = 1 << 20, .closed = note_closed, .context = &closed};
	fixture_init(&fixture);
	fixture.handler = serve;
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
}

static void tear_down(void)
{
	raw_close(&raw);
	fixture_finish(&fixture);
	event_streams_free(&streams);
	buf_free(&closed);
}

TestSuite(net_api_body, .init = set_up, .fini = tear_down, .timeout = 60);

static void post(const char *type, const void *body, size_t len)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "POST / HTTP/1.1\r\nHost: h\r\n");
	if (type)
		buf_printf(&text, "Content-Type: %s\r\n", type);
	buf_printf(&text, "Content-Length: %zu\r\n\r\n", len);
	buf_append(&text, body, len);
	raw_write(&raw, text.data, text.len);
	buf_free(&text);
}

static void expect_answer(const char *type, const char *body, const char *status, const char *text)
{
	buf_clear(&raw.in);
	post(type, body, strlen(body));
	until(&fixture, raw_has(&raw, text));
	cr_expect(raw_has(&raw, status), "%s, %s: %s", type ? type : "-", body, raw.in.data);
}

#define JSON "application/json"
#define PROTOBUF "application/x-protobuf"

Test(net_api_body, what_is_no_call)
{
	expect_answer(NULL, "{}", " 400 ", "Expecting 'Content-Type' to be present");
	expect_answer("text/plain", "{}", " 415 ",
		      "Expecting 'Content-Type' of application/json or application/x-protobuf");
	expect_answer(JSON, "", " 400 ", "Failed to parse body into JSON: ");
	expect_answer(JSON, "{\"type\":", " 400 ", "Failed to parse body into JSON: ");
	expect_answer(JSON, "[]", " 400 ", "Failed to convert JSON into Call protobuf: ");
	expect_answer(JSON, "{\"type\":{}}", " 400 ",
		      "Failed to convert JSON into Call protobuf: ");
	expect_answer(PROTOBUF, "\xff", " 400 ", "\r\n\r\nFailed to parse body into Call protobuf");
}

Test(net_api_body, calls_in_both_media)
{
	expect_answer(JSON, "{\"type\":\"TEARDOWN\",\"framework_id\":{\"value\":\"f\"}}", " 200 ",
		      "call 2 of f");
	expect_answer(PROTOBUF, "\x0a\x03\x0a\x01g\x10\x02", " 200 ", "call 2 of g");
}

static void subscribe(const char *type, const char *body)
{
	buf_clear(&raw.in);
	post(type, body, strlen(body));
	until(&fixture, raw_has(&raw, "\r\n\r\n"));
	cr_expect(raw_has(&raw, "X-Extra: yes\r\n"), "%s", raw.in.data);
	cr_expect(raw_has(&raw, type), "%s", raw.in.data);
}

static void send_event(uint64_t number)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Error error = MESOS__SCHEDULER__EVENT__ERROR__INIT;

	error.message = (char *)"x";
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__ERROR;
	event.error = &error;
	event_streams_send(&streams, number, &event);
}

static void expect_sent(const char *text)
{
	until(&fixture, raw_has(&raw, text));
}

Test(net_api_body, events_in_json)
{
	subscribe(JSON, "{\"type\":\"SUBSCRIBE\"}");
	send_event(1);
	expect_sent("40\n{\"type\":\"ERROR\",\"error\":{\"message\":\"x\"}}");
	/* One at a time, and none of a stream that is not there. */
	send_event(2);
	send_event(1);
	expect_sent("}}\r\n2b\r\n40\n{");
	event_streams_end(&streams, 1);
	event_streams_end(&streams, 1);
	expect_sent("\r\n0\r\n\r\n");
	send_event(1);
	cr_expect_eq(closed.len, 0);
}

Test(net_api_body, events_in_protobuf)
{
	subscribe(PROTOBUF, "\x10\x01");
	send_event(1);
	expect_sent("7\n\x08\x07\x42\x03\x0a\x01x");
}

Test(net_api_body, who_leaves_is_told_of_once)
{
	subscribe(JSON, "{\"type\":\"SUBSCRIBE\"}");
	raw_close(&raw);
	until(&fixture, closed.len);
	send_event(1);
	event_streams_end(&streams, 1);
	for (int i = 0; i < 3; i++)
		fixture_turn(&fixture);
	cr_expect_str_eq(closed.data, "1;");
	raw_open(&raw, &fixture);
	/* Numbers are never used again. */
	subscribe(JSON, "{\"type\":\"SUBSCRIBE\"}");
	send_event(2);
	expect_sent("40\n{");
}
