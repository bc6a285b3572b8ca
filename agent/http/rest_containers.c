/* /containers and /monitor/statistics: executors as the core
 * shows them in its state, with what /proc says of their processes. */
#include <string.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"
#include "agent/core/show.h"
#include "agent/http/api_operator.h"
#include "agent/shell.h"
#include "base/clock.h"

#define MB (1024.0 * 1024.0)

/* Which executors the query asks for. */
struct wanted {
	const char *container;
	const char *framework;
	const char *executor;
};

struct usage {
	double user;
	double system;
	uint64_t rss;
};

/* Of GET_CONTAINERS. */
struct collecting {
	const struct agent_shell *shell;
	struct arena *arena;
	Mesos__Agent__Response__GetContainers *get;
	struct process_list processes;
};

static void rest_containers_measure(struct process_list *all, pid_t pid, struct usage *usage)
{
	double tick = (double)sysconf(_SC_CLK_TCK);

	memset(usage, 0, sizeof(*usage));
	process_list_mark(all, pid);
	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = &all->items[i];

		if (!p->member)
			continue;
		usage->user += (double)p->user_ticks / tick;
		usage->system += (double)p->system_ticks / tick;
		usage->rss += p->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	}
}

static void write_statistics(struct json_writer *w, const struct shown_container *c,
			     const struct usage *usage)
{
	jw_key(w, "statistics");
	jw_begin_object(w);
	if (c->cpus > 0)
		jw_kv_double(w, "cpus_soft_limit", c->cpus);
	jw_kv_double(w, "cpus_system_time_secs", usage->system);
	jw_kv_double(w, "cpus_user_time_secs", usage->user);
	if (c->mem > 0)
		jw_kv_int(w, "mem_limit_bytes", (int64_t)(c->mem * MB));
	jw_kv_int(w, "mem_rss_bytes", (int64_t)usage->rss);
	if (c->mem > 0)
		jw_kv_int(w, "mem_soft_limit_bytes", (int64_t)(c->mem * MB));
	jw_kv_double(w, "timestamp", clock_seconds(clock_now()));
	jw_end_object(w);
}

static void rest_containers_write_status(struct json_writer *w, const char *container, pid_t pid)
{
	jw_key(w, "status");
	jw_begin_object(w);
	jw_key(w, "container_id");
	jw_begin_object(w);
	jw_kv_string(w, "value", container);
	jw_end_object(w);
	jw_kv_int(w, "executor_pid", pid);
	jw_end_object(w);
}

static void collect_container(void *context, const struct shown_container *c)
{
	struct collecting *to = context;
	struct arena *arena = to->arena;
	pid_t pid = containers_pid(to->shell->containers, c->container);
	Mesos__Agent__Response__GetContainers__Container *one;
	Mesos__ResourceStatistics *statistics;
	struct usage usage;

	if (!pid)
		return;
	rest_containers_measure(&to->processes, pid, &usage);
	one = PROTO_NEW(arena, Mesos__Agent__Response__GetContainers__Container,
			mesos__agent__response__get_containers__container__descriptor);
	one->framework_id = PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	one->framework_id->value = (char *)c->framework_id;
	one->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	one->executor_id->value = (char *)c->executor_id;
	one->executor_name = (char *)c->name;
	one->container_id = PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);
	one->container_id->value = (char *)c->container;
	one->container_status =
		PROTO_NEW(arena, Mesos__ContainerStatus, mesos__container_status__descriptor);
	one->container_status->container_id = one->container_id;
	one->container_status->has_executor_pid = true;
	one->container_status->executor_pid = (uint32_t)pid;
	statistics =
		PROTO_NEW(arena, Mesos__ResourceStatistics, mesos__resource_statistics__descriptor);
	statistics->timestamp = clock_seconds(clock_now());
	statistics->has_cpus_soft_limit = statistics->has_cpus_system_time_secs = true;
	statistics->has_cpus_user_time_secs = statistics->has_mem_rss_bytes = true;
	statistics->has_mem_limit_bytes = statistics->has_mem_soft_limit_bytes = true;
	statistics->cpus_soft_limit = c->cpus;
	statistics->cpus_system_time_secs = usage.system;
	statistics->cpus_user_time_secs = usage.user;
	statistics->mem_rss_bytes = usage.rss;
	statistics->mem_limit_bytes = statistics->mem_soft_limit_bytes = (uint64_t)(c->mem * MB);
	one->resource_statistics = statistics;
	proto_push(arena, to->get->n_containers, to->get->containers, one);
}

void agent_collect_containers(const struct agent_shell *shell, struct http_request *request,
			      Mesos__Agent__Response__GetContainers *get)
{
	struct collecting to = {.shell = shell, .arena = &request->arena, .get = get};
	struct agent_view view = agent_shell_view(shell, request);

	process_list_read(&to.processes);
	agent_show_each_container(&view, collect_container, &to);
	process_list_free(&to.processes);
}

/* ---- REST ---------------------------------------------------------------------------- */

struct listing {
	const struct agent_shell *shell;
	const struct wanted *wanted;
	struct json_writer *w;
	struct process_list processes;
	bool full; /* with what only /containers has */
};

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
	struct listing *to = context;
	struct json_writer *w = to->w;
	pid_t pid = containers_pid(to->shell->containers, c->container);
	struct usage usage;

	if (!pid || !is_wanted(to->wanted, c))
		return;
	rest_containers_measure(&to->processes, pid, &usage);
	jw_begin_object(w);
	if (to->full)
		jw_kv_string(w, "container_id", c->container);
	jw_kv_string(w, "executor_id", c->executor_id);
	jw_kv_string(w, "executor_name", c->name);
	jw_kv_string(w, "framework_id", c->framework_id);
	jw_kv_string(w, "source", c->source);
	write_statistics(w, c, &usage);
	if (to->full)
		rest_containers_write_status(w, c->container, pid);
	jw_end_object(w);
}

static void reply_executors(const struct agent_shell *shell, struct http_request *request,
			    const struct wanted *wanted, bool full)
{
	struct buf body = BUF_INIT;
	struct json_writer w;
	struct listing to = {.shell = shell, .wanted = wanted, .w = &w, .full = full};
	struct agent_view view = agent_shell_view(shell, request);

	process_list_read(&to.processes);
	jw_init(&w, &body);
	jw_begin_array(&w);
	agent_show_each_container(&view, list_container, &to);
	jw_end_array(&w);
	process_list_free(&to.processes);
	router_reply_json(request, &body);
	buf_free(&body);
}

void agent_reply_statistics(const struct agent_shell *shell, struct http_request *request)
{
	static const struct wanted all;

	reply_executors(shell, request, &all, false);
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
		reply_executors(context, request, &wanted, true);
}
