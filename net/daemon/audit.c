#include "net/daemon/audit.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"

#define DEPTH_MAX 12

/* Fields whose text says what something is. Nothing else is shown: what is not known to be harmless
   might be a secret. */
static bool is_name(const char *field)
{
	static const char *const names[] = {"role", "roles", "principal", "hostname", "ip"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(field, names[i]))
			return true;
	}
	return false;
}

static bool is_id(const ProtobufCMessageDescriptor *type)
{
	return str_has_suffix(type->short_name, "ID") && type->n_fields > 0 &&
	       !strcmp(type->fields[0].name, "value");
}

/* Whether the list has the pair already: resources say the same role again and again. */
static bool has_pair(const struct buf *out, const char *pair, size_t len)
{
	const char *at = out->len ? out->data : NULL;

	for (; at && (at = strstr(at, pair)); at += len)
		if ((at == out->data || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

/* Cut to what the whole may be. */
static void put_pair(struct buf *out, const char *name, const char *value)
{
	char pair[AUDIT_OBJECT_MAX];

	snprintf(pair, sizeof(pair), "%s=%s", name, value);
	if (!has_pair(out, pair, strlen(pair)))
		buf_printf(out, "%s%s", out->len ? "," : "", pair);
}

static void look_into(struct buf *out, const ProtobufCMessage *message, int depth);

static void put_value(struct buf *out, const ProtobufCFieldDescriptor *field, const void *value,
		      int depth)
{
	const char *text;

	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessage *inner = *(ProtobufCMessage *const *)value;

		if (inner && is_id(inner->descriptor)) {
			text = *(char *const *)((const char *)inner +
						inner->descriptor->fields[0].offset);
			put_pair(out, field->name, text ? text : "");
		} else if (inner) {
			look_into(out, inner, depth + 1);
		}
	} else if (field->type == PROTOBUF_C_TYPE_STRING && is_name(field->name)) {
		text = *(char *const *)value;
		if (text && text != field->default_value)
			put_pair(out, field->name, text);
	}
}

static void look_into(struct buf *out, const ProtobufCMessage *message, int depth)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	for (unsigned i = 0; i < type->n_fields && depth < DEPTH_MAX; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];
		const char *at = (const char *)message + field->offset;

		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			put_value(out, field, at, depth);
			continue;
		}
		if (field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING)
			continue;
		size_t count = *(const size_t *)((const char *)message + field->quantifier_offset);
		void *const *items = *(void *const *const *)at;

		for (size_t j = 0; j < count && out->len < AUDIT_OBJECT_MAX; j++)
			put_value(out, field, &items[j], depth);
	}
}

const char *audit_object(struct arena *arena, const ProtobufCMessage *call)
{
	struct buf out = BUF_INIT;
	const char *text;

	look_into(&out, call, 0);
	if (out.len > AUDIT_OBJECT_MAX) {
		out.len = AUDIT_OBJECT_MAX;
		out.data[out.len] = '\0';
		buf_puts(&out, "...");
	}
	text = arena_strdup(arena, out.data ? out.data : "");
	buf_free(&out);
	return text;
}

void audit_change(const struct http_request *request, const char *call, const char *object,
		  int answer)
{
	char status[16];

	snprintf(status, sizeof(status), "%d", answer);
	const struct log_field fields[] = {
		{"principal", request->principal ? request->principal : ""},
		{"call", call},
		{"object", object},
		{"from", http_peer(request)},
		{"answer", status},
	};

	log_write_fields(LOG_LEVEL_INFO, __FILE__, __LINE__, "audit:", fields,
			 sizeof(fields) / sizeof(fields[0]));
}
