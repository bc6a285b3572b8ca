/* Messages recorded from a real Mesos, where the recordings are present (variable GOLDEN):
 * decoded and encoded again they must be the same. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "proto/proto.h"

static struct arena arena;
static size_t compared;

/* Equal as values. `more`: the right side may have fields more, such as defaults. */
static bool same(const struct json *a, const struct json *b, bool more)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_NUMBER:
		return json_number(a) == json_number(b) &&
		       (more || !strchr(a->text.data, '.') == !strchr(b->text.data, '.'));
	case JSON_STRING:
		return a->text.len == b->text.len &&
		       !memcmp(a->text.data, b->text.data, a->text.len);
	case JSON_ARRAY:
		if (a->count != b->count)
			return false;
		for (size_t i = 0; i < a->count; i++)
			if (!same(&a->items[i], &b->items[i], more))
				return false;
		return true;
	case JSON_OBJECT:
		if (!more && a->count != b->count)
			return false;
		for (size_t i = 0; i < a->count; i++) {
			const struct json *other = json_get(b, a->keys[i].data);

			if (!other || !same(&a->items[i], other, more))
				return false;
		}
		return true;
	}
	return false;
}

enum fields {
	SAME, /* exactly those recorded */
	MORE, /* the recording shows no defaults */
	LESS, /* the recording shows empty lists, and what is not in the public messages */
};

/* JSON that Mesos wrote comes out as it went in. */
static void check_json(const ProtobufCMessageDescriptor *type, const struct json *json,
		       enum proto_spelling spelling, enum fields fields, const char *line)
{
	struct err err = {""};
	void *message = json_to_proto(type, json, spelling, &arena, &err);
	struct buf out = BUF_INIT;
	struct json *again;
	bool equal;

	cr_assert(message, "%s: %s: %.2000s", type->name, err.text, line);
	proto_to_json(message, spelling, &out);
	cr_assert_eq(json_parse(&arena, out.data, out.len, &again, &err), 0, "%s", err.text);
	equal = fields == LESS ? same(again, json, true) : same(json, again, fields == MORE);
	cr_expect(equal, "%s: %.3000s\nis now\n%.3000s", type->name, line, out.data);
	buf_free(&out);
	compared++;
}

static void *check_bytes(const ProtobufCMessageDescriptor *type, const char *text, const char *line)
{
	size_t size = strlen(text);
	uint8_t *bytes = arena_alloc(&arena, size / 4 * 3 + 3);
	long len = base64_decode(text, size, bytes);
	struct err err = {""};
	struct buf out = BUF_INIT;
	void *message;

	cr_assert_geq(len, 0);
	message = proto_unpack(type, &arena, bytes, (size_t)len, &err);
	cr_assert(message, "%s: %s: %.2000s", type->name, err.text, line);
	proto_pack(message, &out);
	/* What v1 does not know Mesos writes last, we in its place. */
	if (type == &mesos__master__event__descriptor)
		cr_expect(out.len == (size_t)len);
	else
		cr_expect(out.len == (size_t)len && (!len || !memcmp(out.data, bytes, out.len)),
			  "%s: other bytes: %.3000s", type->name, line);
	buf_free(&out);
	compared++;
	return message;
}

/* The type that Mesos knows by this name; all of proto/names.h and the drivers' besides. */
static const ProtobufCMessageDescriptor *type_of(const char *name)
{
	static const ProtobufCMessageDescriptor *const types[] = {
#define T(name) &mesos__internal__##name##__descriptor
		T(status_update_message),
		T(status_update_acknowledgement_message),
		T(run_task_message),
		T(run_task_group_message),
		T(update_slave_message),
		T(register_slave_message),
		T(reregister_slave_message),
		T(slave_registered_message),
		T(slave_reregistered_message),
		T(ping_slave_message),
		T(pong_slave_message),
		T(register_executor_message),
		T(executor_registered_message),
		T(reregister_executor_message),
		T(executor_reregistered_message),
		T(reconnect_executor_message),
		T(shutdown_framework_message),
		T(shutdown_executor_message),
		T(kill_task_message),
		T(update_framework_message),
		T(resource_offers_message),
		T(framework_to_executor_message),
		T(executor_to_framework_message),
		T(apply_operation_message),
		T(update_operation_status_message),
		T(acknowledge_operation_status_message),
		T(exited_executor_message),
		T(framework_registered_message),
		T(framework_reregistered_message),
		T(framework_error_message),
		T(launch_tasks_message),
		T(rescind_resource_offer_message),
		T(lost_slave_message),
		T(register_framework_message),
		T(reregister_framework_message),
		T(revive_offers_message),
		T(unregister_framework_message),
		T(deactivate_framework_message),
		T(reconcile_tasks_message),
		T(shutdown_message),
		T(drain_slave_message),
		T(authenticate_message),
		T(authentication_mechanisms_message),
		T(authentication_start_message),
		T(authentication_step_message),
		T(authentication_completed_message),
#undef T
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i]->name, name))
			return types[i];
	return NULL;
}

/* A recorded libprocess message: its bytes, and the recorder's reading of it, which shows
 * what is set only. */
static void check_libprocess(const struct json *record, const char *name, const char *line)
{
	const struct json *body = json_get(record, "body_base64");
	const struct json *reading = json_get(record, "message");
	const ProtobufCMessageDescriptor *type = type_of(name);
	struct buf out = BUF_INIT;
	struct json *again;
	void *message;

	if (!body || !type)
		return;
	message = check_bytes(type, body->text.data, line);
	proto_to_json(message, SPELL_V0, &out);
	cr_assert_eq(json_parse(&arena, out.data, out.len, &again, NULL), 0);
	cr_expect(same(reading, again, true), "%s: %.3000s\nis now\n%.3000s", name, line, out.data);
	buf_free(&out);
}

/* A driver's call, in v0 bytes. */
static void check_call(const struct json *record, const char *line)
{
	const char *text = json_get_string(record, "body_base64");
	const struct json *reading = json_get(record, "message");
	const struct json *subscribe = json_get(reading, "subscribe");
	uint8_t *bytes = arena_alloc(&arena, strlen(text) / 4 * 3 + 3);
	long len = base64_decode(text, strlen(text), bytes);
	const struct json *forced = subscribe ? json_get(subscribe, "force") : NULL;
	struct err err = {""};
	Mesos__Scheduler__Call *call;
	struct buf out = BUF_INIT;
	struct json *again;
	bool force;

	call = proto_call_from_v0(&arena, bytes, (size_t)len, &force, &err);
	cr_assert(call, "%s: %.1000s", err.text, line);
	cr_expect_eq(force, forced && forced->boolean);
	proto_to_json(call, SPELL_V0, &out);
	cr_assert_eq(json_parse(&arena, out.data, out.len, &again, NULL), 0);
	if (!forced)
		cr_expect(same(reading, again, true), "%.2000s\nis now\n%.2000s", line, out.data);
	buf_free(&out);
	compared++;
}

static bool is_stream(const struct json *record, const char *prefix)
{
	return str_has_prefix(json_get_string(record, "stream"), prefix);
}

static void check_event(const struct json *record, const char *line)
{
	const ProtobufCMessageDescriptor *type = &mesos__scheduler__event__descriptor;
	const struct json *event = json_get(record, "event");
	const char *raw = json_get_string(record, "raw_base64");
	enum fields fields = *raw ? MORE : SAME;

	if (is_stream(record, "operator")) {
		type = &mesos__master__event__descriptor;
		if (json_get(event, "subscribed"))
			fields = LESS;
	}
	check_json(type, event, SPELL_V1, fields, line);
	if (*raw)
		check_bytes(type, raw, line);
}

/* Events of the executor API, or messages to an executor's driver. */
static void check_executor_event(const struct json *event, const char *line)
{
	const struct json *body = json_get(event, "body");
	const char *name = json_get_string(event, "type");

	if (body)
		check_json(type_of(arena_printf(&arena, "mesos.internal.%s", name)), body, SPELL_V0,
			   MORE, line);
	else if (strcmp(name, "DISCONNECTED")) /* what the client says of its connection */
		check_json(&mesos__executor__event__descriptor, event, SPELL_V1, SAME, line);
}

static void check_http(const struct json *record, const char *line)
{
	const struct json *call = json_get(record, "body_json");
	const struct json *answer = json_get(record, "response_body_json");
	const char *path = json_get_string(record, "path");
	struct err err;

	if (call && !strcmp(path, "/master/api/v1/scheduler") &&
	    json_to_proto(&mesos__scheduler__call__descriptor, call, SPELL_V1, &arena, &err))
		compared++;
	if (answer && call && !strcmp(path, "/api/v1")) {
		/* Master and agent share the path. */
		cr_expect(json_to_proto(&mesos__master__response__descriptor, answer, SPELL_V1,
					&arena, &err) ||
				  json_to_proto(&mesos__agent__response__descriptor, answer,
						SPELL_V1, &arena, &err),
			  "%s: %.1000s", err.text, line);
		compared++;
	}
}

static void check_line(const char *line, size_t len)
{
	const char *kind, *name;
	struct json *record;
	struct err err;

	cr_assert_eq(json_parse(&arena, line, len, &record, &err), 0, "%s", err.text);
	kind = json_get_string(record, "kind");
	name = json_get_string(record, "name");
	if (!strcmp(kind, "event"))
		check_event(record, line);
	else if (!strcmp(kind, "http"))
		check_http(record, line);
	else if (!strcmp(kind, "executor-event"))
		check_executor_event(json_get(record, "event"), line);
	else if (!strcmp(name, "mesos.scheduler.Call"))
		check_call(record, line);
	else if (!*kind && *name)
		check_libprocess(record, name, line);
	arena_free(&arena);
}

static void check_file(const char *folder, const char *name, const char *file)
{
	char path[4096], *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
	in = fopen(path, "r");
	if (!in)
		return;
	while ((len = getline(&line, &room, in)) > 0)
		check_line(line, (size_t)len);
	free(line);
	fclose(in);
}

Test(proto_golden, survives_decoding_and_encoding)
{
	const char *folder = getenv("GOLDEN");
	struct dirent *entry;
	DIR *dir;

	if (!folder)
		cr_skip_test("GOLDEN does not name a folder of recordings");
	dir = opendir(folder);
	cr_assert(dir, "cannot open %s", folder);
	arena_init(&arena);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		check_file(folder, entry->d_name, "trace.jsonl");
		check_file(folder, entry->d_name, "wire.jsonl");
	}
	closedir(dir);
	cr_log_info("%zu messages compared", compared);
	cr_assert_gt(compared, 1000, "only %zu messages compared", compared);
}
