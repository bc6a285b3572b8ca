#include "tests/unit/master_driver.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/log/log.h"
#include "master/core/emit.h"

/* ---- life ---------------------------------------------------------------------------- */

struct driver *driver_prepare(void)
{
	struct driver *d = xcalloc(1, sizeof(*d));

	log_setup(LOG_LEVEL_ERROR, 2);
	rng_seed(&d->rng, 42);
	master_actions_init(&d->out);
	d->now = 1000 * SECOND;
	d->options = (struct master_options){
		.id = "M",
		.ip = "127.0.0.1",
		.port = 5050,
		.hostname = "localhost",
		.version = "1.12.0",
		.rng = &d->rng,
		.agent_ping_timeout = 15 * SECOND,
		.max_agent_ping_timeouts = 5,
		.agent_reregister_timeout = 10 * MINUTE,
		.recovery_removal_limit = 100,
		.allocation_interval = SECOND,
		.agent_recovery_factor = 0.8,
		.allocation_recovery_timeout = 10 * MINUTE,
		.filter_gpu_resources = true,
		.root_submissions = true,
		.max_completed_frameworks = 50,
		.max_completed_tasks_per_framework = 1000,
		.max_unreachable_tasks_per_framework = 1000,
	};
	return d;
}

/* ---- the trace ------------------------------------------------------------------------- */

static void trace_event(struct driver *d, const struct master_action *a)
{
	const Mesos__Scheduler__Event *event = a->send_event.event;

	buf_printf(
		&d->trace, "event %llu %s ", (unsigned long long)a->send_event.stream,
		proto_enum_name(&mesos__scheduler__event__type__descriptor, event->type, SPELL_V1));
	proto_to_json(event, SPELL_V1, &d->trace);
	buf_putc(&d->trace, '\n');
}

static void trace_message(struct driver *d, const struct master_action *a)
{
	const char *name = strrchr(a->send_message.message->descriptor->name, '.') + 1;
	struct buf bytes = BUF_INIT;

	cr_assert(protobuf_c_message_check(a->send_message.message), "%s lacks a field", name);
	buf_printf(&d->trace, "%s -> %s %s ", a->send_message.from, a->send_message.to, name);
	proto_to_json(a->send_message.message, SPELL_V1, &d->trace);
	buf_putc(&d->trace, '\n');
	buf_printf(&d->wire, "\n%s ", name);
	proto_pack(a->send_message.message, &bytes);
	base64_encode(&d->wire, bytes.data ? bytes.data : "", bytes.len);
	buf_free(&bytes);
}

static void store_op(struct driver *d, const struct store_op *op)
{
	struct stored_pair *pair;

	HASH_FIND(hh, d->store, op->key.data, op->key.len, pair);
	if (pair) {
		HASH_DEL(d->store, pair);
		free(pair->key);
		free(pair->value);
		free(pair);
	}
	if (!op->value.data)
		return;
	pair = xcalloc(1, sizeof(*pair));
	pair->key = xstrndup(op->key.data, op->key.len);
	pair->value = xmemdup(op->value.data, op->value.len);
	pair->len = op->value.len;
	HASH_ADD_KEYPTR(hh, d->store, pair->key, strlen(pair->key), pair);
}

static void take_store(struct driver *d, const struct master_action *a)
{
	cr_assert_eq(a->store.ticket, ++d->tickets[a->store.line]);
	for (size_t i = 0; i < a->store.count && !d->lose_store; i++)
		store_op(d, &a->store.ops[i]);
}

static void take_actions(struct driver *d)
{
	for (size_t i = 0; i < d->out.count; i++) {
		const struct master_action *a = &d->out.items[i];

		switch (a->type) {
		case MASTER_SEND_EVENT:
			trace_event(d, a);
			break;
		case MASTER_END_STREAM:
			buf_printf(&d->trace, "end %llu\n",
				   (unsigned long long)a->end_stream.stream);
			break;
		case MASTER_SEND_MESSAGE:
			trace_message(d, a);
			break;
		case MASTER_LINK:
			buf_printf(&d->trace, "link %s\n", a->link.pid);
			break;
		case MASTER_UNLINK:
			buf_printf(&d->trace, "unlink %s\n", a->link.pid);
			break;
		case MASTER_STORE:
			take_store(d, a);
			break;
		case MASTER_ANSWER:
			buf_printf(&d->trace, "answer %llu %d %s\n",
				   (unsigned long long)a->answer.request, a->answer.status,
				   a->answer.text);
			break;
		case MASTER_TELL_WATCHERS:
			buf_printf(&d->trace, "watch %s %s ",
				   a->tell_watchers.framework_user ? a->tell_watchers.framework_user
								   : "-",
				   a->tell_watchers.task_user ? a->tell_watchers.task_user : "-");
			cr_assert(protobuf_c_message_check(&a->tell_watchers.event->base));
			proto_to_json(a->tell_watchers.event, SPELL_V1, &d->trace);
			buf_putc(&d->trace, '\n');
			break;
		case MASTER_EXIT:
			buf_printf(&d->trace, "exit %s\n", a->exit.text);
			break;
		}
	}
}

/* Agents answer the pings of a step. */
static void answer_pings(struct driver *d)
{
	char *pids[64];
	size_t count = 0;

	for (size_t i = 0; i < d->out.count && !d->agent_silent && count < 64; i++) {
		const struct master_action *a = &d->out.items[i];

		if (a->type == MASTER_SEND_MESSAGE &&
		    a->send_message.message->descriptor ==
			    &mesos__internal__ping_slave_message__descriptor)
			pids[count++] = xstrdup(a->send_message.to);
	}
	for (size_t i = 0; i < count; i++) {
		driver_message(d, pids[i], &mesos__internal__pong_slave_message__descriptor, "{}");
		free(pids[i]);
	}
}

static void one_step(struct driver *d, const struct master_event *event)
{
	struct err why = {{0}};

	master_actions_clear(&d->out);
	master_step(d->m, d->now, event, &d->out);
	take_actions(d);
	cr_expect(master_check(d->m, &why), "%s", why.text);
}

bool driver_store_line(struct driver *d, enum store_line line)
{
	struct master_event event = {
		.type = MASTER_STORED,
		.stored = {.line = line, .ticket = d->tickets[line]},
	};

	if (d->told[line] == d->tickets[line])
		return false;
	d->told[line] = d->tickets[line];
	one_step(d, &event);
	answer_pings(d);
	return true;
}

void driver_store(struct driver *d)
{
	/* What waits for the first line leaves for the second. */
	for (int i = 0; i < STORE_LINES; i++)
		driver_store_line(d, i);
}

void driver_step(struct driver *d, const struct master_event *event)
{
	struct master_reply reply;
	bool more = !d->hold_store && !d->lose_store;

	one_step(d, event);
	reply = d->out.reply;
	reply.text = reply.text ? xstrdup(reply.text) : NULL;
	reply.stream_id = NULL;
	answer_pings(d);
	while (more) {
		more = driver_store_line(d, LINE_WARM);
		more |= driver_store_line(d, LINE_REGISTRY);
	}
	/* The first reply is what the caller wants to see. */
	d->out.reply.status = reply.status;
	d->out.reply.text = reply.text ? arena_strdup(&d->out.arena, reply.text) : NULL;
	free((char *)reply.text);
}

/* ---- start and restart ------------------------------------------------------------------ */

void driver_start(struct driver *d)
{
	struct stored_pair *pair, *next;
	struct err err = {{0}};

	cr_assert_eq(master_create(&d->options, &d->m, &err), 0, "%s", err.text);
	HASH_ITER (hh, d->store, pair, next)
		cr_assert_eq(master_load(d->m, (struct slice){pair->key, strlen(pair->key)},
					 (struct slice){pair->value, pair->len}, &err),
			     0, "%s", err.text);
	master_actions_clear(&d->out);
	master_start(d->m, d->now, &d->out);
	take_actions(d);
	if (!d->hold_store)
		driver_store(d);
}

struct driver *driver_create(void)
{
	struct driver *d = driver_prepare();

	driver_start(d);
	return d;
}

void driver_restart(struct driver *d, const char *id)
{
	master_destroy(d->m);
	d->options.id = id;
	memset(d->tickets, 0, sizeof(d->tickets));
	memset(d->told, 0, sizeof(d->told));
	d->lose_store = false;
	driver_start(d);
}

void driver_destroy(struct driver *d)
{
	struct stored_pair *pair, *next;

	master_destroy(d->m);
	master_actions_free(&d->out);
	buf_free(&d->trace);
	buf_free(&d->wire);
	free(d->last_bytes);
	HASH_ITER (hh, d->store, pair, next) {
		HASH_DEL(d->store, pair);
		free(pair->key);
		free(pair->value);
		free(pair);
	}
	free(d);
}

void driver_pass(struct driver *d, int64_t duration)
{
	struct master_event event = {.type = MASTER_TICK};
	int64_t end = d->now + duration;

	for (int64_t next = master_next_timeout(d->m); next <= end;
	     next = master_next_timeout(d->m)) {
		d->now = next > d->now ? next : d->now;
		driver_step(d, &event);
	}
	d->now = end;
}

/* ---- events --------------------------------------------------------------------------------- */

static void *decode(struct arena *arena, const ProtobufCMessageDescriptor *type, const char *text)
{
	struct err err = {{0}};
	struct json *json;
	void *message;

	cr_assert_eq(json_parse(arena, text, strlen(text), &json, &err), 0, "%s in %s", err.text,
		     text);
	message = json_to_proto(type, json, SPELL_V1, arena, &err);
	cr_assert(message, "%s in %s", err.text, text);
	return message;
}

static char *format_text(const char *format, va_list args)
{
	char *text;

	cr_assert(vasprintf(&text, format, args) >= 0);
	return text;
}

int driver_call(struct driver *d, uint64_t stream, const char *format, ...)
{
	struct master_event event = {.type = MASTER_CALL};
	struct arena arena;
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	arena_init(&arena);
	event.call.call = decode(&arena, &mesos__scheduler__call__descriptor, text);
	event.call.acceptable = !d->unacceptable;
	event.call.principal = d->caller;
	event.call.stream = ++d->next_stream;
	event.call.stream_id = stream ? d->stream_ids[stream] : NULL;
	driver_step(d, &event);
	arena_free(&arena);
	free(text);
	return d->out.reply.status;
}

int driver_operate(struct driver *d, const char *format, ...)
{
	struct master_event event = {.type = MASTER_OPERATOR};
	struct arena arena;
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	arena_init(&arena);
	event.operator_.call = decode(&arena, &mesos__master__call__descriptor, text);
	event.operator_.principal = d->principal;
	event.operator_.request = ++d->next_request;
	driver_step(d, &event);
	arena_free(&arena);
	free(text);
	return d->out.reply.status;
}

uint64_t driver_subscribe(struct driver *d, const char *id, const char *members)
{
	struct master_event event = {.type = MASTER_CALL};
	struct arena arena;
	char *text;

	text = xprintf("{\"type\":\"SUBSCRIBE\"%s%s%s,\"subscribe\":{\"framework_info\":"
		       "{\"user\":\"u\",\"name\":\"n\"%s%s%s%s%s}}}",
		       id ? ",\"framework_id\":{\"value\":\"" : "", id ? id : "", id ? "\"}" : "",
		       id ? ",\"id\":{\"value\":\"" : "", id ? id : "", id ? "\"}" : "",
		       members ? "," : "", members ? members : "");
	arena_init(&arena);
	event.call.call = decode(&arena, &mesos__scheduler__call__descriptor, text);
	event.call.acceptable = true;
	event.call.stream = ++d->next_stream;
	/* The stream id is in the reply of the very step. */
	master_actions_clear(&d->out);
	master_step(d->m, d->now, &event, &d->out);
	cr_expect_eq(d->out.reply.status, 200, "%d %s", d->out.reply.status, d->out.reply.text);
	cr_assert(d->out.reply.stream_id && event.call.stream < 64);
	strcpy(d->stream_ids[event.call.stream], d->out.reply.stream_id);
	take_actions(d);
	if (!d->hold_store)
		driver_store(d);
	arena_free(&arena);
	free(text);
	return event.call.stream;
}

void driver_message(struct driver *d, const char *from, const ProtobufCMessageDescriptor *type,
		    const char *format, ...)
{
	struct master_event event = {.type = MASTER_MESSAGE};
	struct arena arena;
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	arena_init(&arena);
	event.message.from = from;
	event.message.to = d->to ? d->to : "master";
	event.message.message = decode(&arena, type, text);
	event.message.local = d->local;
	event.message.force = d->force;
	driver_step(d, &event);
	arena_free(&arena);
	free(text);
}

void driver_bytes(struct driver *d, const char *from, const ProtobufCMessageDescriptor *type,
		  const char *base64)
{
	struct master_event event = {.type = MASTER_MESSAGE};
	size_t len = strlen(base64);
	char *bytes = xmalloc(len / 4 * 3 + 3);
	struct err err = {{0}};
	struct arena arena;
	long size = base64_decode(base64, len, bytes);

	cr_assert(size >= 0);
	arena_init(&arena);
	event.message.from = from;
	event.message.message = proto_unpack(type, &arena, bytes, (size_t)size, &err);
	cr_assert(event.message.message, "%s", err.text);
	driver_step(d, &event);
	arena_free(&arena);
	free(bytes);
}

const char *driver_last_bytes(struct driver *d, const char *name)
{
	char *start = xprintf("\n%s ", name), *found = NULL, *at = d->wire.data;

	while (at && (at = strstr(at, start))) {
		at += strlen(start);
		found = at;
	}
	free(start);
	free(d->last_bytes);
	d->last_bytes = found ? xstrndup(found, strcspn(found, "\n")) : NULL;
	return d->last_bytes;
}

void driver_close(struct driver *d, uint64_t stream)
{
	struct master_event event = {.type = MASTER_STREAM_CLOSED,
				     .stream_closed = {.stream = stream}};

	driver_step(d, &event);
}

void driver_exited(struct driver *d, const char *pid)
{
	struct master_event event = {.type = MASTER_EXITED, .exited = {.pid = pid}};

	driver_step(d, &event);
}

/* ---- usual things ------------------------------------------------------------------------------
 */

#define CAPABILITIES                                                                               \
	"[{\"type\":\"MULTI_ROLE\"},{\"type\":\"HIERARCHICAL_ROLE\"},"                             \
	"{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":\"RESOURCE_PROVIDER\"},"                  \
	"{\"type\":\"TASK_RESOURCE_LIMITS\"}]"

void driver_agent(struct driver *d, const char *pid)
{
	driver_message(d, pid, &mesos__internal__register_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,\"resources\":%s},"
		       "\"version\":\"1.12.0\",\"agent_capabilities\":%s,"
		       "\"resource_version_uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}",
		       RESOURCES(4, 4096), CAPABILITIES);
}

void driver_agent_like(struct driver *d, const char *pid, const char *resources,
		       const char *capabilities)
{
	struct buf list = BUF_INIT;

	if (!capabilities)
		capabilities = "MULTI_ROLE HIERARCHICAL_ROLE RESERVATION_REFINEMENT "
			       "RESOURCE_PROVIDER RESIZE_VOLUME AGENT_OPERATION_FEEDBACK "
			       "AGENT_DRAINING TASK_RESOURCE_LIMITS";
	for (const char *at = capabilities; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		buf_printf(&list, "%s{\"type\":\"%.*s\"}", list.len ? "," : "", (int)len, at);
		at += len;
	}
	driver_message(d, pid, &mesos__internal__register_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,\"resources\":%s},"
		       "\"version\":\"1.12.0\",\"agent_capabilities\":[%s],"
		       "\"resource_version_uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}",
		       resources, list.len ? list.data : "");
	buf_free(&list);
}

const char *driver_offer(struct driver *d)
{
	const char *id = "";

	for (struct offer *o = d->m->offers; o; o = o->hh.next)
		id = o->id;
	return id;
}

void driver_reregister(struct driver *d, const char *pid, const char *id, const char *more)
{
	driver_message(d, pid, &mesos__internal__reregister_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
		       "\"id\":{\"value\":\"%s\"},\"resources\":%s},"
		       "\"version\":\"1.12.0\",\"agent_capabilities\":%s%s%s}",
		       id, RESOURCES(4, 4096), CAPABILITIES, more ? "," : "", more ? more : "");
}

void driver_launch(struct driver *d, uint64_t stream, const char *framework, const char *offer,
		   const char *agent, const char *task, const char *more)
{
	int status = driver_call(
		d, stream,
		"{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"%s\"},\"accept\":{"
		"\"offer_ids\":[{\"value\":\"%s\"}],\"filters\":{\"refuse_seconds\":0},"
		"\"operations\":[{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{"
		"\"name\":\"t\",\"task_id\":{\"value\":\"%s\"},\"agent_id\":{\"value\":\"%s\"},"
		"\"resources\":%s%s%s}]}}]}}",
		framework, offer, task, agent, RESOURCES(1, 32),
		more && more[0] == '!' ? "," : ",\"command\":{\"value\":\"true\"}",
		more ? (more[0] == '!' ? more + 1 : more) : "");

	cr_expect_eq(status, 202, "%d %s", status, d->out.reply.text);
}

/* Sixteen times the same byte with the bits of a version 4 UUID, in base64. */
static void make_uuid(int byte, char out[32])
{
	unsigned char uuid[16];
	struct buf text = BUF_INIT;

	memset(uuid, byte, sizeof(uuid));
	uuid[6] = 0x40;
	uuid[8] = 0x80;
	base64_encode(&text, uuid, sizeof(uuid));
	strcpy(out, text.data);
	buf_free(&text);
}

void driver_update(struct driver *d, const char *pid, const char *agent, const char *framework,
		   const char *task, const char *state, int byte)
{
	driver_update_latest(d, pid, agent, framework, task, state, state, byte);
}

void driver_update_latest(struct driver *d, const char *pid, const char *agent,
			  const char *framework, const char *task, const char *state,
			  const char *latest, int byte)
{
	char uuid[32];

	make_uuid(byte, uuid);
	driver_message(d, pid, &mesos__internal__status_update_message__descriptor,
		       "{\"pid\":\"%s\",\"update\":{\"framework_id\":{\"value\":\"%s\"},"
		       "\"agent_id\":{\"value\":\"%s\"},\"timestamp\":1.5,\"uuid\":\"%s\","
		       "\"latest_state\":\"%s\",\"status\":{\"task_id\":{\"value\":\"%s\"},"
		       "\"state\":\"%s\",\"source\":\"SOURCE_EXECUTOR\",\"data\":\"AAAA\","
		       "\"uuid\":\"%s\"}}}",
		       pid, framework, agent, uuid, latest, task, state, uuid);
}

void driver_acknowledge(struct driver *d, uint64_t stream, const char *framework, const char *agent,
			const char *task, int byte)
{
	char uuid[32];

	make_uuid(byte, uuid);
	driver_call(
		d, stream,
		"{\"type\":\"ACKNOWLEDGE\",\"framework_id\":{\"value\":\"%s\"},"
		"\"acknowledge\":{\"agent_id\":{\"value\":\"%s\"},\"task_id\":{\"value\":\"%s\"},"
		"\"uuid\":\"%s\"}}",
		framework, agent, task, uuid);
}

/* ---- looking
 * ------------------------------------------------------------------------------------- */

void driver_forget(struct driver *d)
{
	buf_clear(&d->trace);
}

static bool holds(const char *line, size_t len, const char *text)
{
	return memmem(line, len, text, strlen(text)) != NULL;
}

bool driver_saw(struct driver *d, ...)
{
	for (const char *line = d->trace.len ? d->trace.data : ""; *line;) {
		size_t len = strcspn(line, "\n");
		bool all = true;
		const char *text;
		va_list args;

		va_start(args, d);
		while (all && (text = va_arg(args, const char *)))
			all = holds(line, len, text);
		va_end(args);
		if (all)
			return true;
		line += len + 1;
	}
	return false;
}

int driver_count(struct driver *d, const char *text)
{
	int count = 0;

	for (const char *line = d->trace.len ? d->trace.data : ""; *line;) {
		size_t len = strcspn(line, "\n");

		count += holds(line, len, text);
		line += len + 1;
	}
	return count;
}
