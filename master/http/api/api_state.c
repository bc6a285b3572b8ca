/* GET_STATE of the operator API and the calls for a part of it: GET_TASKS, GET_EXECUTORS,
 * GET_FRAMEWORKS, GET_AGENTS.
 *
 * In JSON their lists are there though they be empty, as in Mesos, and so is what only v0 knows
 * of an agent. Tasks are not collected as the rest is: in protobuf their records go out as they
 * are, in JSON one after the other is unpacked. */
#include "master/http/api/api_objects.h"

#include "master/http/api/api_operator.h"
#include "proto/wire/wire_write.h"

enum part { TASKS = 1, EXECUTORS = 2, FRAMEWORKS = 4, AGENTS = 8 };

#define ALL (TASKS | EXECUTORS | FRAMEWORKS | AGENTS)

struct state_read {
	Mesos__Master__Response__Type type;
	const char *name;   /* of the type */
	const char *member; /* that all is in, or NULL */
	unsigned parts;
};

static void api_state_collect(const struct state_read *what, const struct view *v,
			      struct arena *arena, Mesos__Master__Response__GetState *state)
{
	if (what->parts & EXECUTORS)
		state->get_executors = api_collect_executors(v, arena);
	if (what->parts & FRAMEWORKS)
		state->get_frameworks = api_collect_frameworks(v, arena);
	if (what->parts & AGENTS)
		state->get_agents = api_collect_agents(v, arena);
}

/* ---- JSON ------------------------------------------------------------------ */

#define LIST(w, get, member)                                                                       \
	api_state_write_list(w, #member, (get)->n_##member, (void *const *)(get)->member)

static void api_state_write_list(struct json_writer *w, const char *name, size_t count,
				 void *const *items)
{
	jw_key(w, name);
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++)
		proto_write_json(items[i], SPELL_V1_ALL, w);
	jw_end_array(w);
}

struct task_writer {
	struct json_writer *w;
	struct arena arena;
};

static void write_task(void *context, const struct task_record *record)
{
	struct task_writer *to = context;
	Mesos__Task *task;

	arena_reset(&to->arena);
	task = task_record_unpack(record, &to->arena);
	if (task)
		proto_write_json(task, SPELL_V1_ALL, to->w);
}

static void write_tasks(const struct view *v, struct json_writer *w)
{
	static const struct {
		const char *name;
		enum view_tasks list;
	} lists[] = {
		{"tasks", VIEW_TASKS},
		{"unreachable_tasks", VIEW_UNREACHABLE_TASKS},
		{"completed_tasks", VIEW_COMPLETED_TASKS},
	};
	struct task_writer to = {.w = w};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		jw_key(w, lists[i].name);
		jw_begin_array(w);
		api_each_task(v, lists[i].list, write_task, &to);
		jw_end_array(w);
	}
	arena_free(&to.arena);
}

static void api_state_write_executors(struct json_writer *w,
				      const Mesos__Master__Response__GetExecutors *get)
{
	jw_key(w, "get_executors");
	jw_begin_object(w);
	LIST(w, get, executors);
	jw_end_object(w);
}

static void api_state_write_frameworks(struct json_writer *w,
				       const Mesos__Master__Response__GetFrameworks *get)
{
	jw_key(w, "get_frameworks");
	jw_begin_object(w);
	LIST(w, get, frameworks);
	LIST(w, get, completed_frameworks);
	jw_end_object(w);
}

static void write_agents(struct json_writer *w, const Mesos__Master__Response__GetAgents *get)
{
	jw_key(w, "get_agents");
	jw_begin_object(w);
	LIST(w, get, agents);
	LIST(w, get, recovered_agents);
	jw_end_object(w);
}

static void write_parts(const struct state_read *what, const struct view *view,
			const Mesos__Master__Response__GetState *state, struct json_writer *w)
{
	if (what->parts & TASKS) {
		jw_key(w, "get_tasks");
		jw_begin_object(w);
		write_tasks(view, w);
		jw_end_object(w);
	}
	if (state->get_executors)
		api_state_write_executors(w, state->get_executors);
	if (state->get_frameworks)
		api_state_write_frameworks(w, state->get_frameworks);
	if (state->get_agents)
		write_agents(w, state->get_agents);
}

static void render_json(const struct offload_read *read, struct buf *body,
			const char **content_type)
{
	Mesos__Master__Response__GetState state = MESOS__MASTER__RESPONSE__GET_STATE__INIT;
	const struct state_read *what = read->what;
	struct view view = shell_view(read->context, read->request);
	struct json_writer w;

	(void)content_type;
	api_state_collect(what, &view, &read->request->arena, &state);
	jw_init(&w, body);
	jw_begin_object(&w);
	jw_kv_string(&w, "type", what->name);
	if (what->member) {
		jw_key(&w, what->member);
		jw_begin_object(&w);
	}
	write_parts(what, &view, &state, &w);
	if (what->member)
		jw_end_object(&w);
	jw_end_object(&w);
}

/* ---- protobuf ---------------------------------------------------------------- */

static void add_size(void *context, const struct task_record *record)
{
	uint8_t head[WIRE_HEAD_MAX];
	size_t *size = context;

	*size += wire_head(head, 1, record->len) + record->len;
}

size_t api_packed_tasks_size(const struct view *v)
{
	size_t size = 0;

	api_each_task(v, VIEW_TASKS, add_size, &size);
	api_each_task(v, VIEW_COMPLETED_TASKS, add_size, &size);
	api_each_task(v, VIEW_UNREACHABLE_TASKS, add_size, &size);
	return size;
}

struct task_packer {
	struct buf *out;
	uint32_t number;
};

static void pack_task(void *context, const struct task_record *record)
{
	struct task_packer *to = context;

	wire_put_head(to->out, to->number, record->len);
	buf_append(to->out, record->bytes, record->len);
}

/* The number of the list is its one in Mesos.master.Response.GetTasks. */
static void pack_list(const struct view *v, enum view_tasks list, uint32_t number, struct buf *out)
{
	struct task_packer to = {out, number};

	api_each_task(v, list, pack_task, &to);
}

void api_pack_tasks(const struct view *v, struct buf *out)
{
	pack_list(v, VIEW_TASKS, 2, out);
	pack_list(v, VIEW_COMPLETED_TASKS, 3, out);
	pack_list(v, VIEW_UNREACHABLE_TASKS, 5, out);
}

/* Numbers of Mesos.master.Response, and of its GetState. */
enum { GET_STATE = 9, GET_TASKS = 13, STATE_GET_TASKS = 1 };

/* As the field of that number: all of `state`, and the tasks before it. */
static void pack_state(const struct view *v, const Mesos__Master__Response__GetState *state,
		       uint32_t field, struct arena *arena, struct buf *body)
{
	struct slice others = proto_pack_to(arena, state);
	size_t tasks = api_packed_tasks_size(v);
	uint8_t head[WIRE_HEAD_MAX];

	buf_reserve(body, tasks + others.len + 2 * WIRE_HEAD_MAX);
	wire_put_head(body, field, wire_head(head, STATE_GET_TASKS, tasks) + tasks + others.len);
	wire_put_head(body, STATE_GET_TASKS, tasks);
	api_pack_tasks(v, body);
	buf_append(body, others.data, others.len);
}

static void render_protobuf(const struct offload_read *read, struct buf *body,
			    const char **content_type)
{
	Mesos__Master__Response__GetState state = MESOS__MASTER__RESPONSE__GET_STATE__INIT;
	Mesos__Master__Response response = MESOS__MASTER__RESPONSE__INIT;
	const struct state_read *what = read->what;
	struct view view = shell_view(read->context, read->request);
	struct arena *arena = &read->request->arena;

	(void)content_type;
	api_state_collect(what, &view, arena, &state);
	response.has_type = 1;
	response.type = what->type;
	if (!what->member) {
		response.get_executors = state.get_executors;
		response.get_frameworks = state.get_frameworks;
		response.get_agents = state.get_agents;
	}
	proto_pack(&response, body);
	if (what->member) {
		pack_state(&view, &state, GET_STATE, arena, body);
	} else if (what->parts & TASKS) {
		size_t size = api_packed_tasks_size(&view);

		buf_reserve(body, size + WIRE_HEAD_MAX);
		wire_put_head(body, GET_TASKS, size);
		api_pack_tasks(&view, body);
	}
}

/* ---- calls --------------------------------------------------------------------- */

static size_t count_objects(const struct state_read *what, const struct view *v)
{
	const struct master *m = v->m;
	size_t frameworks = HASH_COUNT(m->frameworks) + HASH_COUNT(m->completed);
	size_t count = what->parts & TASKS ? view_count_tasks(v) : 0;

	if (what->parts & AGENTS)
		count += HASH_COUNT(m->agents);
	/* Offers and executors are at most some to an agent. */
	if (what->parts & (EXECUTORS | FRAMEWORKS))
		count += frameworks + HASH_COUNT(m->offers) + HASH_COUNT(m->agents);
	return count;
}

static void api_state_answer(const struct operator_call *c, const struct state_read *what)
{
	struct offload_read read = {
		.request = c->request,
		.render = c->media == HTTP_MEDIA_JSON ? render_json : render_protobuf,
		.context = c->shell,
		.what = what,
		.content_type = http_media_name(c->media),
	};

	struct view view = shell_view(c->shell, c->request);

	read_any(c->shell, &read, count_objects(what, &view));
}

#define TYPE(name) MESOS__MASTER__RESPONSE__TYPE__##name, #name

void api_get_agents(const struct operator_call *c)
{
	static const struct state_read agents = {TYPE(GET_AGENTS), NULL, AGENTS};

	api_state_answer(c, &agents);
}

void api_get_frameworks(const struct operator_call *c)
{
	static const struct state_read frameworks = {TYPE(GET_FRAMEWORKS), NULL, FRAMEWORKS};

	api_state_answer(c, &frameworks);
}

void api_get_executors(const struct operator_call *c)
{
	static const struct state_read executors = {TYPE(GET_EXECUTORS), NULL, EXECUTORS};

	api_state_answer(c, &executors);
}

void api_get_tasks(const struct operator_call *c)
{
	static const struct state_read tasks = {TYPE(GET_TASKS), NULL, TASKS};

	api_state_answer(c, &tasks);
}

static const struct state_read whole = {TYPE(GET_STATE), "get_state", ALL};

void api_get_state(const struct operator_call *c)
{
	api_state_answer(c, &whole);
}

/* ---- SUBSCRIBED ------------------------------------------------------------------ */

static void write_subscribed(const struct view *v, const Mesos__Master__Response__GetState *state,
			     double heartbeat, struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out);
	jw_begin_object(&w);
	jw_kv_string(&w, "type", "SUBSCRIBED");
	jw_key(&w, "subscribed");
	jw_begin_object(&w);
	jw_key(&w, "get_state");
	jw_begin_object(&w);
	write_parts(&whole, v, state, &w);
	jw_end_object(&w);
	jw_kv_double(&w, "heartbeat_interval_seconds", heartbeat);
	jw_end_object(&w);
	jw_end_object(&w);
}

/* Numbers of Mesos.master.Event, and of its Subscribed. */
enum { EVENT_TYPE = 1, EVENT_SUBSCRIBED = 2, SUBSCRIBED_GET_STATE = 1 };

static void pack_subscribed(const struct view *v, const Mesos__Master__Response__GetState *state,
			    double heartbeat, struct arena *arena, struct buf *out)
{
	Mesos__Master__Event__Subscribed rest = MESOS__MASTER__EVENT__SUBSCRIBED__INIT;
	struct buf inner = BUF_INIT;

	pack_state(v, state, SUBSCRIBED_GET_STATE, arena, &inner);
	rest.has_heartbeat_interval_seconds = true;
	rest.heartbeat_interval_seconds = heartbeat;
	proto_pack(&rest, &inner);
	wire_put_number(out, EVENT_TYPE, MESOS__MASTER__EVENT__TYPE__SUBSCRIBED);
	wire_put_bytes(out, EVENT_SUBSCRIBED, (struct slice){inner.data, inner.len});
	buf_free(&inner);
}

size_t api_state_count(const struct view *v)
{
	return count_objects(&whole, v);
}

void api_write_subscribed(const struct view *v, struct arena *arena, enum http_media media,
			  double heartbeat_seconds, struct buf *out)
{
	Mesos__Master__Response__GetState state = MESOS__MASTER__RESPONSE__GET_STATE__INIT;

	api_state_collect(&whole, v, arena, &state);
	if (media == HTTP_MEDIA_JSON)
		write_subscribed(v, &state, heartbeat_seconds, out);
	else
		pack_subscribed(v, &state, heartbeat_seconds, arena, out);
}
