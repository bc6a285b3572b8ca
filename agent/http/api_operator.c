#include "agent/http/api_operator.h"

#include <string.h>

#include "agent/core/show.h"
#include "agent/http/api_containers.h"
#include "agent/http/api_images.h"
#include "agent/http/sessions.h"
#include "net/api_body.h"
#include "net/daemon/audit.h"

struct agent_call {
	struct agent_shell *shell;
	struct http_request *request;
	const Mesos__Agent__Call *call;
	Mesos__Agent__Response *response; /* of the call's type, in the request's arena */
};

#define NEW(c, Type, name)                                                                         \
	PROTO_NEW(&(c)->request->arena, Mesos__Agent__Response__##Type,                            \
		  mesos__agent__response__##name##__descriptor)

/* ---- answers --------------------------------------------------------------------------- */

static void write_list(struct json_writer *w, const char *name, size_t count, void *const *items)
{
	jw_key(w, name);
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++)
		proto_write_json(items[i], SPELL_V1_ALL, w);
	jw_end_array(w);
}

#define LIST(w, get, member) write_list(w, #member, (get)->n_##member, (void *const *)(get)->member)

static void write_tasks(struct json_writer *w, const Mesos__Agent__Response__GetTasks *get)
{
	jw_key(w, "get_tasks");
	jw_begin_object(w);
	LIST(w, get, pending_tasks);
	LIST(w, get, queued_tasks);
	LIST(w, get, launched_tasks);
	LIST(w, get, terminated_tasks);
	LIST(w, get, completed_tasks);
	jw_end_object(w);
}

static void write_executors(struct json_writer *w, const Mesos__Agent__Response__GetExecutors *get)
{
	jw_key(w, "get_executors");
	jw_begin_object(w);
	LIST(w, get, executors);
	LIST(w, get, completed_executors);
	jw_end_object(w);
}

static void write_frameworks(struct json_writer *w,
			     const Mesos__Agent__Response__GetFrameworks *get)
{
	jw_key(w, "get_frameworks");
	jw_begin_object(w);
	LIST(w, get, frameworks);
	LIST(w, get, completed_frameworks);
	jw_end_object(w);
}

static void write_state(struct json_writer *w, const Mesos__Agent__Response__GetState *get)
{
	jw_key(w, "get_state");
	jw_begin_object(w);
	write_tasks(w, get->get_tasks);
	write_executors(w, get->get_executors);
	write_frameworks(w, get->get_frameworks);
	jw_end_object(w);
}

/* Lists are there though they be empty, as in Mesos, in these answers alone. False: it is none. */
static bool write_with_lists(const Mesos__Agent__Response *r, struct buf *out)
{
	struct json_writer w;

	if (!r->get_tasks && !r->get_executors && !r->get_frameworks && !r->get_state)
		return false;
	jw_init(&w, out);
	jw_begin_object(&w);
	jw_kv_string(&w, "type",
		     proto_enum_name(&mesos__agent__response__type__descriptor, r->type, SPELL_V1));
	if (r->get_tasks)
		write_tasks(&w, r->get_tasks);
	if (r->get_executors)
		write_executors(&w, r->get_executors);
	if (r->get_frameworks)
		write_frameworks(&w, r->get_frameworks);
	if (r->get_state)
		write_state(&w, r->get_state);
	jw_end_object(&w);
	return true;
}

static void write_response(const Mesos__Agent__Response *response, enum http_media media,
			   struct buf *body)
{
	if (media != HTTP_MEDIA_JSON)
		proto_pack(response, body);
	else if (!write_with_lists(response, body))
		proto_to_json(response, SPELL_V1_ALL, body);
}

void agent_api_respond(struct http_request *request, const Mesos__Agent__Response *response)
{
	enum http_media media = http_accept(request);
	struct buf body = BUF_INIT;

	write_response(response, media, &body);
	http_reply(request, 200, http_media_name(media), body.data, body.len, NULL);
	buf_free(&body);
}

static Mesos__Agent__Response *new_response(struct arena *arena, Mesos__Agent__Response__Type type)
{
	Mesos__Agent__Response *response =
		PROTO_NEW(arena, Mesos__Agent__Response, mesos__agent__response__descriptor);

	response->has_type = 1;
	response->type = type;
	return response;
}

static void respond(const struct agent_call *c)
{
	agent_api_respond(c->request, c->response);
}

/* ---- big answers --------------------------------------------------------------------------- */

/* What may be so much that a child process renders it. */
struct big_call {
	Mesos__Agent__Response__Type type;
	bool past; /* looks at what was, too */
	void (*fill)(const struct agent_call *c);
};

static void render_big(const struct offload_read *read, struct buf *body, const char **content_type)
{
	const struct big_call *big = read->what;
	struct agent_call c = {.shell = read->context, .request = read->request};

	(void)content_type;
	c.response = new_response(&c.request->arena, big->type);
	big->fill(&c);
	write_response(c.response, http_accept(c.request), body);
}

static void read_big(const struct agent_call *c, const struct big_call *what)
{
	agent_shell_read(c->shell,
			 &(struct offload_read){
				 .request = c->request,
				 .render = render_big,
				 .context = c->shell,
				 .what = what,
				 .content_type = http_media_name(http_accept(c->request)),
			 },
			 what->past);
}

#define BIG(name) MESOS__AGENT__RESPONSE__TYPE__##name

/* ---- what the agent is ------------------------------------------------------------------- */

static void get_health(const struct agent_call *c)
{
	c->response->get_health = NEW(c, GetHealth, get_health);
	c->response->get_health->healthy = 1;
	respond(c);
}

static void get_flags(const struct agent_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Agent__Response__GetFlags *get = NEW(c, GetFlags, get_flags);

	if (!agent_shell_allows(c->shell, c->request, ACL_VIEW_FLAGS, NULL))
		return;
	for (const struct flag *f = c->shell->flags->parsed.table; f->name; f++) {
		Mesos__Flag *item;

		if (!f->text)
			continue;
		item = PROTO_NEW(arena, Mesos__Flag, mesos__flag__descriptor);
		item->name = (char *)f->name;
		item->value = (char *)f->text;
		proto_push(arena, get->n_flags, get->flags, item);
	}
	c->response->get_flags = get;
	respond(c);
}

static void get_version(const struct agent_call *c)
{
	c->response->get_version = NEW(c, GetVersion, get_version);
	c->response->get_version->version_info = agent_version_info(c->shell, &c->request->arena);
	respond(c);
}

static void add_metric(void *context, const char *name, double value)
{
	const struct agent_call *c = context;
	struct arena *arena = &c->request->arena;
	Mesos__Agent__Response__GetMetrics *get = c->response->get_metrics;
	Mesos__Metric *metric = PROTO_NEW(arena, Mesos__Metric, mesos__metric__descriptor);

	metric->name = arena_strdup(arena, name);
	metric->has_value = 1;
	metric->value = value;
	proto_push(arena, get->n_metrics, get->metrics, metric);
}

static void fill_metrics(const struct agent_call *c)
{
	c->response->get_metrics = NEW(c, GetMetrics, get_metrics);
	agent_metrics_each(c->shell, &c->request->arena, add_metric, (void *)c);
}

static void get_metrics(const struct agent_call *c)
{
	static const struct big_call metrics = {BIG(GET_METRICS), false, fill_metrics};

	read_big(c, &metrics);
}

/* ---- logging --------------------------------------------------------------------------------- */

static void get_logging_level(const struct agent_call *c)
{
	c->response->get_logging_level = NEW(c, GetLoggingLevel, get_logging_level);
	c->response->get_logging_level->level = c->shell->verbosity.level;
	respond(c);
}

static void set_logging_level(const struct agent_call *c)
{
	const Mesos__Agent__Call__SetLoggingLevel *set = c->call->set_logging_level;

	if (!agent_shell_allows(c->shell, c->request, ACL_SET_LOG_LEVEL, NULL))
		return;
	audit_change(c->request, "SET_LOGGING_LEVEL",
		     arena_printf(&c->request->arena, "level=%u", set->level), 200);
	verbosity_set(&c->shell->verbosity, set->level, set->duration->nanoseconds);
	http_reply_text(c->request, 200, NULL);
}

/* ---- what it has --------------------------------------------------------------------------------
 */

static Mesos__Agent__Response__GetTasks *tasks_of(const struct agent_call *c)
{
	Mesos__Agent__Response__GetTasks *get = NEW(c, GetTasks, get_tasks);
	struct agent_view view = agent_shell_view(c->shell, c->request);

	agent_show_tasks(&view, &c->request->arena, get);
	return get;
}

static Mesos__Agent__Response__GetExecutors *executors_of(const struct agent_call *c)
{
	Mesos__Agent__Response__GetExecutors *get = NEW(c, GetExecutors, get_executors);
	struct agent_view view = agent_shell_view(c->shell, c->request);

	agent_show_executors(&view, &c->request->arena, get);
	return get;
}

static Mesos__Agent__Response__GetFrameworks *frameworks_of(const struct agent_call *c)
{
	Mesos__Agent__Response__GetFrameworks *get = NEW(c, GetFrameworks, get_frameworks);
	struct agent_view view = agent_shell_view(c->shell, c->request);

	agent_show_frameworks(&view, &c->request->arena, get);
	return get;
}

static void fill_tasks(const struct agent_call *c)
{
	c->response->get_tasks = tasks_of(c);
}

static void fill_executors(const struct agent_call *c)
{
	c->response->get_executors = executors_of(c);
}

static void fill_frameworks(const struct agent_call *c)
{
	c->response->get_frameworks = frameworks_of(c);
}

static void fill_state(const struct agent_call *c)
{
	c->response->get_state = NEW(c, GetState, get_state);
	c->response->get_state->get_tasks = tasks_of(c);
	c->response->get_state->get_executors = executors_of(c);
	c->response->get_state->get_frameworks = frameworks_of(c);
}

static void get_tasks(const struct agent_call *c)
{
	static const struct big_call tasks = {BIG(GET_TASKS), true, fill_tasks};

	read_big(c, &tasks);
}

static void get_executors(const struct agent_call *c)
{
	static const struct big_call executors = {BIG(GET_EXECUTORS), true, fill_executors};

	read_big(c, &executors);
}

static void get_frameworks(const struct agent_call *c)
{
	static const struct big_call frameworks = {BIG(GET_FRAMEWORKS), true, fill_frameworks};

	read_big(c, &frameworks);
}

static void get_state(const struct agent_call *c)
{
	static const struct big_call state = {BIG(GET_STATE), true, fill_state};

	read_big(c, &state);
}

static void get_agent(const struct agent_call *c)
{
	c->response->get_agent = NEW(c, GetAgent, get_agent);
	agent_show_agent(c->shell->steps.core, &c->request->arena, c->response->get_agent);
	respond(c);
}

static void get_operations(const struct agent_call *c)
{
	c->response->get_operations = NEW(c, GetOperations, get_operations);
	agent_show_operations(c->shell->steps.core, &c->request->arena,
			      c->response->get_operations);
	respond(c);
}

/* There are none here. */
static void get_resource_providers(const struct agent_call *c)
{
	c->response->get_resource_providers = NEW(c, GetResourceProviders, get_resource_providers);
	respond(c);
}

static void get_containers(const struct agent_call *c)
{
	const Mesos__Agent__Call__GetContainers *get = c->call->get_containers;

	c->response->get_containers = NEW(c, GetContainers, get_containers);
	agent_containers_call(c->shell, c->request, c->response, get);
}

static void container_call(const struct agent_call *c)
{
	agent_container_call(c->shell, c->request, c->call);
}

static void attach_output(const struct agent_call *c)
{
	if (!agent_container_allowed(c->shell, c->request, c->call)) {
		audit_change(c->request, "ATTACH_CONTAINER_OUTPUT", "", 403);
		http_reply_text(c->request, 403, NULL);
		return;
	}
	session_attach_output(c->shell, c->request,
			      agent_container_key(&c->request->arena,
						  c->call->attach_container_output->container_id));
}

static void attach_input(const struct agent_call *c)
{
	http_reply_text(c->request, 415,
			"Expecting 'Content-Type' of application/recordio for "
			"ATTACH_CONTAINER_INPUT");
}

static void list_files(const struct agent_call *c)
{
	agent_files_list_call(c->shell, c->request, c->call->list_files->path, c->response);
}

static void read_file(const struct agent_call *c)
{
	const Mesos__Agent__Call__ReadFile *read = c->call->read_file;

	agent_files_read_call(c->shell, c->request, read->path, read->offset,
			      read->has_length ? read->length : UINT64_MAX, c->response);
}

static void prune_images(const struct agent_call *c)
{
	agent_api_prune(c->shell, c->request, c->call);
}

/* ---- dispatch -------------------------------------------------------------------- */

#define TYPE(name) MESOS__AGENT__CALL__TYPE__##name, MESOS__AGENT__RESPONSE__TYPE__##name
#define FIELD(member) offsetof(Mesos__Agent__Call, member)
/* Of a change there is no response. */
#define CHANGE(name) MESOS__AGENT__CALL__TYPE__##name, MESOS__AGENT__RESPONSE__TYPE__UNKNOWN

/* What is changed in a container's life; the core has the answer. */
#define CONTAINER(name, member) CHANGE(name), FIELD(member), #member, container_call

/* Calls about resource providers have no row: 501. */
static const struct {
	Mesos__Agent__Call__Type type;
	Mesos__Agent__Response__Type response;
	size_t field;	   /* of the sub-message that must be there; 0 = none */
	const char *named; /* in the error */
	void (*handle)(const struct agent_call *c);
} calls[] = {
	{TYPE(GET_HEALTH), 0, NULL, get_health},
	{TYPE(GET_FLAGS), 0, NULL, get_flags},
	{TYPE(GET_VERSION), 0, NULL, get_version},
	{TYPE(GET_METRICS), FIELD(get_metrics), "get_metrics", get_metrics},
	{TYPE(GET_LOGGING_LEVEL), 0, NULL, get_logging_level},
	{CHANGE(SET_LOGGING_LEVEL), FIELD(set_logging_level), "set_logging_level",
	 set_logging_level},
	{TYPE(LIST_FILES), FIELD(list_files), "list_files", list_files},
	{TYPE(READ_FILE), FIELD(read_file), "read_file", read_file},
	{TYPE(GET_STATE), 0, NULL, get_state},
	{TYPE(GET_TASKS), 0, NULL, get_tasks},
	{TYPE(GET_EXECUTORS), 0, NULL, get_executors},
	{TYPE(GET_FRAMEWORKS), 0, NULL, get_frameworks},
	{TYPE(GET_AGENT), 0, NULL, get_agent},
	{TYPE(GET_CONTAINERS), 0, NULL, get_containers},
	{CONTAINER(LAUNCH_NESTED_CONTAINER, launch_nested_container)},
	{CONTAINER(WAIT_NESTED_CONTAINER, wait_nested_container)},
	{CONTAINER(KILL_NESTED_CONTAINER, kill_nested_container)},
	{CONTAINER(REMOVE_NESTED_CONTAINER, remove_nested_container)},
	{CONTAINER(LAUNCH_NESTED_CONTAINER_SESSION, launch_nested_container_session)},
	{CHANGE(ATTACH_CONTAINER_OUTPUT), FIELD(attach_container_output), "attach_container_output",
	 attach_output},
	{CHANGE(ATTACH_CONTAINER_INPUT), FIELD(attach_container_input), "attach_container_input",
	 attach_input},
	{CONTAINER(LAUNCH_CONTAINER, launch_container)},
	{CONTAINER(WAIT_CONTAINER, wait_container)},
	{CONTAINER(KILL_CONTAINER, kill_container)},
	{CONTAINER(REMOVE_CONTAINER, remove_container)},
	{CHANGE(PRUNE_IMAGES), 0, NULL, prune_images},
	{TYPE(GET_OPERATIONS), 0, NULL, get_operations},
	{TYPE(GET_RESOURCE_PROVIDERS), 0, NULL, get_resource_providers},
};

static void dispatch(struct agent_call *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].type != c->call->type)
			continue;
		if (calls[i].field && !*(void **)((char *)c->call + calls[i].field)) {
			http_reply_text(c->request, 400,
					arena_printf(&c->request->arena,
						     "Failed to validate agent::Call: Expecting "
						     "'%s' to be present",
						     calls[i].named));
			return;
		}
		c->response = new_response(&c->request->arena, calls[i].response);
		calls[i].handle(c);
		return;
	}
	http_reply_text(c->request, 501, NULL);
}

/* An answer that is a stream, which the client says that it takes. */
static bool takes_records(const struct agent_call *c)
{
	const char *accept = http_header_list(c->request, "Accept");

	return (c->call->type == MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION ||
		c->call->type == MESOS__AGENT__CALL__TYPE__ATTACH_CONTAINER_OUTPUT) &&
	       accept && strstr(accept, "application/recordio");
}

void agent_api_operator(void *context, struct http_request *request)
{
	struct agent_call c = {.shell = context, .request = request};

	if (agent_recovering(c.shell->steps.core)) {
		http_reply_text(request, 503, "Agent has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	if (session_is_input(request)) {
		session_attach_input(c.shell, request);
		return;
	}
	c.call = api_body_decode(request, &mesos__agent__call__descriptor);
	if (!c.call)
		return;
	if (!c.call->has_type)
		http_reply_text(request, 400,
				"Failed to validate agent::Call: Expecting 'type' to be present");
	else if (http_accept(request) == HTTP_MEDIA_NONE && !takes_records(&c))
		http_reply_text(request, 406,
				"Expecting 'Accept' to allow 'application/x-protobuf' or "
				"'application/json'");
	else
		dispatch(&c);
}
