/* The actions a step gives out, and the small messages they are made of.
 *
 * Everything here lives in the arena of the step's actions; the shell clears it
 * before the next step.
 */
#include "master/core/emit.h"

#include <stdio.h>
#include <string.h>

#include "master/core/objects.h"

void master_actions_init(struct master_actions *actions)
{
	*actions = (struct master_actions){0};
	arena_init(&actions->arena);
}

void master_actions_clear(struct master_actions *actions)
{
	arena_reset(&actions->arena);
	actions->items = NULL;
	actions->count = actions->cap = 0;
	actions->reply = (struct master_reply){0};
}

void master_actions_free(struct master_actions *actions)
{
	master_actions_clear(actions);
	arena_free(&actions->arena);
}

struct master_action *master_emit(struct master *m, enum master_action_type type)
{
	struct master_actions *out = m->out;
	struct master_action *action;

	if (out->count == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 8;
		struct master_action *items = arena_alloc(&out->arena, cap * sizeof(*items));

		if (out->count)
			memcpy(items, out->items, out->count * sizeof(*items));
		out->items = items;
		out->cap = cap;
	}
	action = &out->items[out->count++];
	*action = (struct master_action){.type = type};
	return action;
}

char *master_text(struct master *m, const char *text)
{
	return arena_strdup(&m->out->arena, text);
}

void master_emit_message(struct master *m, const char *from, const char *to, void *message)
{
	struct master_action *action = master_emit(m, MASTER_SEND_MESSAGE);

	action->send_message.from = master_text(m, from);
	action->send_message.to = master_text(m, to);
	action->send_message.message = message;
}

void master_send_agent(struct master *m, const struct agent *a, void *message)
{
	if (a->pid)
		master_emit_message(m, "master", a->pid, message);
}

void master_unlink_agent(struct master *m, const struct agent *a)
{
	struct framework *f;

	HASH_FIND(hh_driver, m->drivers, a->pid, strlen(a->pid), f);
	if (!f)
		master_emit(m, MASTER_UNLINK)->link.pid = master_text(m, a->pid);
}

void master_unlink_driver(struct master *m, const struct framework *f)
{
	struct agent *a;

	HASH_FIND(hh_pid, m->agents_by_pid, f->pid, strlen(f->pid), a);
	if (!a)
		master_emit(m, MASTER_UNLINK)->link.pid = master_text(m, f->pid);
}

void master_broadcast(struct master *m, void *message)
{
	struct agent *a, *next;

	HASH_ITER (hh, m->agents, a, next) {
		if (agent_registered(a))
			master_send_agent(m, a, message);
	}
}

uint64_t master_emit_store(struct master *m, enum store_line line, enum store_class class,
			   struct store_op *ops, size_t count)
{
	struct master_action *action = master_emit(m, MASTER_STORE);

	action->store.line = line;
	action->store.class = class;
	action->store.ops = ops;
	action->store.count = count;
	action->store.ticket = ++m->store_tickets[line];
	return action->store.ticket;
}

static char *format_text(struct master *m, const char *format, va_list args)
{
	va_list again;
	char *text;
	int len;

	if (!strcmp(format, "%s"))
		return master_text(m, va_arg(args, const char *));
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = arena_alloc(&m->out->arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, format, args);
	return text;
}

void master_reply(struct master *m, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	m->out->reply.status = status;
	m->out->reply.text = format_text(m, format, args);
	va_end(args);
}

void master_answer(struct master *m, uint64_t request, int status, const char *format, ...)
{
	struct master_action *action = master_emit(m, MASTER_ANSWER);
	va_list args;

	va_start(args, format);
	action->answer.request = request;
	action->answer.status = status;
	action->answer.text = format_text(m, format, args);
	va_end(args);
}

#define ID_MESSAGE(function, Type, descriptor)                                                     \
	Type *function(struct master *m, const char *id)                                           \
	{                                                                                          \
		Type *message = STEP_NEW(m, Type, descriptor);                                     \
                                                                                                   \
		message->value = master_text(m, id);                                               \
		return message;                                                                    \
	}
ID_MESSAGE(master_framework_id, Mesos__FrameworkID, mesos__framework_id__descriptor)
ID_MESSAGE(master_agent_id, Mesos__AgentID, mesos__agent_id__descriptor)
ID_MESSAGE(master_task_id, Mesos__TaskID, mesos__task_id__descriptor)
ID_MESSAGE(master_executor_id, Mesos__ExecutorID, mesos__executor_id__descriptor)
ID_MESSAGE(master_offer_id, Mesos__OfferID, mesos__offer_id__descriptor)
#undef ID_MESSAGE

Mesos__UUID *master_uuid(struct master *m, const uint8_t *data, size_t len)
{
	Mesos__UUID *message = STEP_NEW(m, Mesos__UUID, mesos__uuid__descriptor);

	message->value.data = arena_memdup(&m->out->arena, data, len);
	message->value.len = len;
	return message;
}
