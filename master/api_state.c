/* GET_STATE of the operator API and the calls for a part of it: GET_TASKS, GET_EXECUTORS,
 * GET_FRAMEWORKS, GET_AGENTS.
 *
 * In JSON their lists are there though they be empty, as in Mesos, and so is what only v0 knows
 * of an agent. */
#include "master/api_objects.h"
#include "master/api_operator.h"

enum part { TASKS = 1, EXECUTORS = 2, FRAMEWORKS = 4, AGENTS = 8 };

#define ALL (TASKS | EXECUTORS | FRAMEWORKS | AGENTS)

struct state_read {
	Mesos__Master__Response__Type type;
	const char *name;   /* of the type */
	const char *member; /* that all is in, or NULL */
	unsigned parts;
};

static void collect(const struct state_read *what, const struct master *m, struct arena *arena,
		    Mesos__Master__Response__GetState *state)
{
	if (what->parts & TASKS)
		state->get_tasks = api_collect_tasks(m, arena);
	if (what->parts & EXECUTORS)
		state->get_executors = api_collect_executors(m, arena);
	if (what->parts & FRAMEWORKS)
		state->get_frameworks = api_collect_frameworks(m, arena);
	if (what->parts & AGENTS)
		state->get_agents = api_collect_agents(m, arena);
}

/* ---- JSON ------------------------------------------------------------------ */

#define LIST(w, get, member) write_list(w, #member, (get)->n_##member, (void *const *)(get)->member)

static void write_list(struct json_writer *w, const char *name, size_t count, void *const *items)
{
	jw_key(w, name);
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++)
		proto_write_json(items[i], SPELL_V1_ALL, w);
	jw_end_array(w);
}

static void write_tasks(struct json_writer *w, const Mesos__Master__Response__GetTasks *get)
{
	jw_key(w, "get_tasks");
	jw_begin_object(w);
	LIST(w, get, tasks);
	LIST(w, get, unreachable_tasks);
	LIST(w, get, completed_tasks);
	jw_end_object(w);
}

static void write_executors(struct json_writer *w, const Mesos__Master__Response__GetExecutors *get)
{
	jw_key(w, "get_executors");
	jw_begin_object(w);
	LIST(w, get, executors);
	jw_end_object(w);
}

static void write_frameworks(struct json_writer *w,
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

static void render_json(const struct offload_read *read, struct buf *body,
			const char **content_type)
{
	Mesos__Master__Response__GetState state = MESOS__MASTER__RESPONSE__GET_STATE__INIT;
	const struct state_read *what = read->what;
	const struct shell *shell = read->context;
	struct json_writer w;

	(void)content_type;
	collect(what, shell->core, &read->request->arena, &state);
	jw_init(&w, body);
	jw_begin_object(&w);
	jw_kv_string(&w, "type", what->name);
	if (what->member) {
		jw_key(&w, what->member);
		jw_begin_object(&w);
	}
	if (state.get_tasks)
		write_tasks(&w, state.get_tasks);
	if (state.get_executors)
		write_executors(&w, state.get_executors);
	if (state.get_frameworks)
		write_frameworks(&w, state.get_frameworks);
	if (state.get_agents)
		write_agents(&w, state.get_agents);
	if (what->member)
		jw_end_object(&w);
	jw_end_object(&w);
}

/* ---- protobuf ---------------------------------------------------------------- */

static void render_protobuf(const struct offload_read *read, struct buf *body,
			    const char **content_type)
{
	Mesos__Master__Response__GetState state = MESOS__MASTER__RESPONSE__GET_STATE__INIT;
	Mesos__Master__Response response = MESOS__MASTER__RESPONSE__INIT;
	const struct state_read *what = read->what;
	const struct shell *shell = read->context;

	(void)content_type;
	collect(what, shell->core, &read->request->arena, &state);
	response.has_type = 1;
	response.type = what->type;
	if (what->member) {
		response.get_state = &state;
	} else {
		response.get_tasks = state.get_tasks;
		response.get_executors = state.get_executors;
		response.get_frameworks = state.get_frameworks;
		response.get_agents = state.get_agents;
	}
	proto_pack(&response, body);
}

/* ---- calls --------------------------------------------------------------------- */

static size_t count_objects(const struct state_read *what, const struct master *m)
{
	size_t frameworks = HASH_COUNT(m->frameworks) + HASH_COUNT(m->completed);
	size_t count = what->parts & TASKS ? read_all_tasks(m) : 0;

	if (what->parts & AGENTS)
		count += HASH_COUNT(m->agents);
	/* Offers and executors are at most some to an agent. */
	if (what->parts & (EXECUTORS | FRAMEWORKS))
		count += frameworks + HASH_COUNT(m->offers) + HASH_COUNT(m->agents);
	return count;
}

static void answer(const struct operator_call *c, const struct state_read *what)
{
	struct offload_read read = {
		.request = c->request,
		.render = c->media == HTTP_MEDIA_JSON ? render_json : render_protobuf,
		.context = c->shell,
		.what = what,
		.content_type = http_media_name(c->media),
	};

	read_any(c->shell, &read, count_objects(what, c->shell->core));
}

#define TYPE(name) MESOS__MASTER__RESPONSE__TYPE__##name, #name

void api_get_agents(const struct operator_call *c)
{
	static const struct state_read agents = {TYPE(GET_AGENTS), NULL, AGENTS};

	answer(c, &agents);
}

void api_get_frameworks(const struct operator_call *c)
{
	static const struct state_read frameworks = {TYPE(GET_FRAMEWORKS), NULL, FRAMEWORKS};

	answer(c, &frameworks);
}

void api_get_executors(const struct operator_call *c)
{
	static const struct state_read executors = {TYPE(GET_EXECUTORS), NULL, EXECUTORS};

	answer(c, &executors);
}

void api_get_tasks(const struct operator_call *c)
{
	static const struct state_read tasks = {TYPE(GET_TASKS), NULL, TASKS};

	answer(c, &tasks);
}

void api_get_state(const struct operator_call *c)
{
	static const struct state_read state = {TYPE(GET_STATE), "get_state", ALL};

	answer(c, &state);
}
