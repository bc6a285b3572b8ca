/* /containers, /monitor/statistics and GET_CONTAINERS: executors as the core shows them in its
 * state, with what their processes use. What a client may see is looked at when that is known. */
#include <stdlib.h>
#include <string.h>

#include "agent/core/show.h"
#include "agent/http/api_operator.h"
#include "agent/http/container_statistics.h"
#include "agent/http/usage.h"
#include "agent/shell.h"
#include "base/time/clock.h"

#define MB (1024.0 * 1024.0)

/* Which executors the query asks for. */
struct wanted {
	const char *container;
	const char *framework;
	const char *executor;
};

/* A request, until it is known what containers use. */
struct containers_read {
	struct usage_ask ask;
	struct agent_shell *shell;
	struct http_request *request;
	struct wanted wanted;		  /* in the request */
	bool full;			  /* with what only /containers has */
	bool nested;			  /* GET_CONTAINERS: those inside of others, too */
	bool standalone;		  /* GET_CONTAINERS: those of no executor, too */
	Mesos__Agent__Response *response; /* of GET_CONTAINERS, in the request's arena; or NULL */
};

/* Of one answer. */
struct listing {
	const struct containers_read *read;
	const struct usages *usages;
	struct json_writer *w;
};

/* What is inside of an executor's container is no child of it, and counts as its own. */
struct usage_sum {
	const struct listing *to;
	struct usage usage;
};

static const struct usage *usage_of(const struct listing *to, const char *container)
{
	int64_t pid = containers_pid(to->read->shell->containers, container);

	return pid ? usage_find(to->usages, pid) : NULL;
}

static void add_inside(void *context, const char *id)
{
	struct usage_sum *sum = context;
	const struct usage *usage = usage_of(sum->to, id);

	if (!usage)
		return;
	sum->usage.counted.cpus_user_time_secs += usage->counted.cpus_user_time_secs;
	sum->usage.counted.cpus_system_time_secs += usage->counted.cpus_system_time_secs;
	sum->usage.counted.mem_rss_bytes += usage->counted.mem_rss_bytes;
}

/* False: it has no process. */
static bool usage_with_inside(const struct listing *to, const struct shown_container *c,
			      struct usage *out)
{
	const struct usage *own = usage_of(to, c->container);
	struct usage_sum sum = {.to = to};

	if (!own)
		return false;
	sum.usage = *own;
	/* A control group counts those inside with it. */
	if (!own->group)
		agent_show_each_inside(to->read->shell->steps.core, c->container, add_inside, &sum);
	*out = sum.usage;
	return true;
}

static void write_statistics(const struct listing *to, const struct shown_container *c,
			     const struct usage *usage)
{
	Mesos__ResourceStatistics statistics = statistics_of(usage, c, to->read->shell->disks);
	struct json_writer *w = to->w;

	jw_key(w, "statistics");
	jw_begin_object(w);
	statistics_write(w, &statistics);
	jw_end_object(w);
}

static void write_networks(struct json_writer *w, const Mesos__ContainerStatus *networked)
{
	struct buf text = BUF_INIT;

	jw_key(w, "network_infos");
	jw_begin_array(w);
	for (size_t i = 0; i < networked->n_network_infos; i++) {
		buf_clear(&text);
		proto_to_json(networked->network_infos[i], SPELL_V0, &text);
		jw_raw(w, text.data, text.len);
	}
	jw_end_array(w);
	buf_free(&text);
}

static void rest_containers_write_status(struct json_writer *w, const struct shown_container *c,
					 int64_t pid)
{
	const char *container = c->container;

	jw_key(w, "status");
	jw_begin_object(w);
	jw_key(w, "container_id");
	jw_begin_object(w);
	jw_kv_string(w, "value", container);
	jw_end_object(w);
	jw_kv_int(w, "executor_pid", pid);
	if (c->networked)
		write_networks(w, c->networked);
	jw_end_object(w);
}

/* ---- GET_CONTAINERS ------------------------------------------------------------------- */

/* Of the parts of parent.own, which the id ends with. */
static Mesos__ContainerID *id_message(struct arena *arena, const char *id)
{
	Mesos__ContainerID *message = NULL;

	for (size_t len; *id; id += len + (id[len] == '.')) {
		Mesos__ContainerID *inner =
			PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);

		len = strcspn(id, ".");
		inner->value = arena_printf(arena, "%.*s", (int)len, id);
		inner->parent = message;
		message = inner;
	}
	return message;
}

static void name_executor(struct arena *arena, const struct shown_container *c,
			  Mesos__Agent__Response__GetContainers__Container *one)
{
	one->framework_id = PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	one->framework_id->value = (char *)c->framework_id;
	one->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	one->executor_id->value = (char *)c->executor_id;
	one->executor_name = (char *)c->name;
}

static void push_container(const struct listing *to, const struct shown_container *c,
			   const char *id, const struct usage *usage)
{
	struct arena *arena = &to->read->request->arena;
	Mesos__Agent__Response__GetContainers *get = to->read->response->get_containers;
	Mesos__Agent__Response__GetContainers__Container *one =
		PROTO_NEW(arena, Mesos__Agent__Response__GetContainers__Container,
			  mesos__agent__response__get_containers__container__descriptor);
	/* Limits are those of the outermost. */
	const struct shown_container *limits = strcmp(id, c->container) ? NULL : c;

	if (c->executor_id)
		name_executor(arena, c, one);
	one->container_id = id_message(arena, id);
	one->container_status =
		PROTO_NEW(arena, Mesos__ContainerStatus, mesos__container_status__descriptor);
	one->container_status->container_id = one->container_id;
	one->container_status->has_executor_pid = true;
	one->container_status->executor_pid = (uint32_t)usage->pid;
	if (c->networked) {
		one->container_status->n_network_infos = c->networked->n_network_infos;
		one->container_status->network_infos = c->networked->network_infos;
	}
	one->resource_statistics =
		PROTO_NEW(arena, Mesos__ResourceStatistics, mesos__resource_statistics__descriptor);
	*one->resource_statistics = statistics_of(usage, limits, to->read->shell->disks);
	proto_push(arena, get->n_containers, get->containers, one);
}

struct collection {
	const struct listing *to;
	const struct shown_container *of;
};

static void collect_inside(void *context, const char *id)
{
	const struct collection *collection = context;
	const struct usage *usage = usage_of(collection->to, id);

	if (usage)
		push_container(collection->to, collection->of, id, usage);
}

static void collect_container(void *context, const struct shown_container *c)
{
	const struct listing *to = context;
	struct collection inside = {to, c};
	struct usage usage;

	if (!usage_with_inside(to, c, &usage))
		return;
	push_container(to, c, c->container, &usage);
	if (to->read->nested)
		agent_show_each_inside(to->read->shell->steps.core, c->container, collect_inside,
				       &inside);
}

/* ---- REST ---------------------------------------------------------------------------- */

static bool is_wanted(const struct wanted *wanted, const struct shown_container *c)
{
	if (wanted->container && strcmp(wanted->container, c->container))
		return false;
	if (wanted->framework && strcmp(wanted->framework, c->framework_id))
		return false;
	return !wanted->executor || !strcmp(wanted->executor, c->executor_id);
}

static void list_container(void *context, const struct shown_container *c)
{
	const struct listing *to = context;
	struct json_writer *w = to->w;
	struct usage usage;

	if (!is_wanted(&to->read->wanted, c) || !usage_with_inside(to, c, &usage))
		return;
	jw_begin_object(w);
	if (to->read->full)
		jw_kv_string(w, "container_id", c->container);
	jw_kv_string(w, "executor_id", c->executor_id);
	jw_kv_string(w, "executor_name", c->name);
	jw_kv_string(w, "framework_id", c->framework_id);
	jw_kv_string(w, "source", c->source);
	write_statistics(to, c, &usage);
	if (to->read->full)
		rest_containers_write_status(w, c, usage.pid);
	jw_end_object(w);
}

static void list_containers(const struct agent_view *view, struct listing *to)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &body);
	to->w = &w;
	jw_begin_array(&w);
	agent_show_each_container(view, list_container, to);
	jw_end_array(&w);
	router_reply_json(to->read->request, &body);
	buf_free(&body);
}

/* ---- requests ------------------------------------------------------------------------- */

static void containers_answer(struct usage_ask *ask, const struct usages *usages)
{
	struct containers_read *read = container_of(ask, struct containers_read, ask);
	struct agent_view view = agent_shell_view(read->shell, read->request);
	struct listing to = {.read = read, .usages = usages};

	if (!usages) {
		http_reply_text(read->request, 503, "The agent is ending.\n");
	} else if (read->response) {
		agent_show_each_container(&view, collect_container, &to);
		if (read->standalone)
			agent_show_each_standalone(&view, collect_container, &to);
		agent_api_respond(read->request, read->response);
	} else {
		list_containers(&view, &to);
	}
	free(read);
}

static void containers_ask(const struct containers_read *what)
{
	struct containers_read *read = xmalloc(sizeof(*read));

	*read = *what;
	read->ask.done = containers_answer;
	usage_read(&read->shell->usage, &read->ask);
}

void agent_containers_call(struct agent_shell *shell, struct http_request *request,
			   Mesos__Agent__Response *response,
			   const Mesos__Agent__Call__GetContainers *get)
{
	containers_ask(&(struct containers_read){
		.shell = shell,
		.request = request,
		.response = response,
		.nested = get && get->show_nested,
		.standalone = get && get->show_standalone,
	});
}

void agent_reply_statistics(struct agent_shell *shell, struct http_request *request)
{
	containers_ask(&(struct containers_read){.shell = shell, .request = request});
}

void agent_rest_containers(void *context, struct http_request *request)
{
	struct wanted wanted = {http_query(request, "container_id"),
				http_query(request, "framework_id"),
				http_query(request, "executor_id")};

	if ((wanted.container && (wanted.framework || wanted.executor)) ||
	    (wanted.executor && !wanted.framework)) {
		http_reply_text(
			request, 400,
			"Expecting 'container_id', or 'framework_id', or 'framework_id' and "
			"'executor_id' in query.\n");
		return;
	}
	if (agent_shell_allows(context, request, ACL_GET_ENDPOINT, "/containers"))
		containers_ask(&(struct containers_read){
			.shell = context, .request = request, .wanted = wanted, .full = true});
}
