/* The agent's read endpoints but /metrics, /monitor and /files: /state, /flags, /health,
 * /version. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/core/show.h"
#include "agent/shell.h"
#include "base/time/clock.h"
#include "net/daemon/help.h"
#include "net/daemon/system_stats.h"

#define BUILD_USER "mesita"
#define BUILD_DATE_TEXT 32

/* The time of the binary, since nothing that changes by itself is compiled in. */
static time_t build_time(const struct agent_shell *shell, char text[BUILD_DATE_TEXT])
{
	struct stat info;
	struct tm tm;
	time_t when =
		stat(shell->program, &info) ? (time_t)(shell->start_time / SECOND) : info.st_mtime;

	gmtime_r(&when, &tm);
	strftime(text, BUILD_DATE_TEXT, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return when;
}

static void write_build(const struct agent_shell *shell, struct json_writer *w)
{
	char text[BUILD_DATE_TEXT];
	time_t when = build_time(shell, text);

	jw_kv_string(w, "build_date", text);
	jw_kv_double(w, "build_time", (double)when);
	jw_kv_string(w, "build_user", BUILD_USER);
}

Mesos__VersionInfo *agent_version_info(const struct agent_shell *shell, struct arena *arena)
{
	Mesos__VersionInfo *info =
		PROTO_NEW(arena, Mesos__VersionInfo, mesos__version_info__descriptor);
	char text[BUILD_DATE_TEXT];

	info->version = (char *)MESITA_VERSION;
	info->has_build_time = 1;
	info->build_time = (double)build_time(shell, text);
	info->build_date = arena_strdup(arena, text);
	info->build_user = (char *)BUILD_USER;
	return info;
}

static void write_flags(const struct agent_shell *shell, struct json_writer *w)
{
	jw_key(w, "flags");
	flags_json(&shell->flags->parsed, w);
}

static void write_master(const struct agent_shell *shell, struct json_writer *w)
{
	char host[PID_MAX];
	char *name;

	if (!shell->master || !pid_parse(shell->master, NULL, host, NULL))
		return;
	name = !strcmp(host, shell->ip) ? xstrdup(shell->hostname) : xstrdup(host);
	jw_kv_string(w, "master_hostname", name);
	free(name);
}

static void render_agent_state(const struct offload_read *read, struct buf *body,
			       const char **content_type)
{
	const struct agent_shell *shell = read->context;
	struct agent_view view = agent_shell_view(shell, read->request);
	bool sees_flags = agent_view_allows(&view, ACL_VIEW_FLAGS, NULL);
	struct json_writer w;

	router_begin_json(read->request, body, content_type);
	jw_init(&w, body);
	jw_begin_object(&w);
	jw_kv_string(&w, "version", MESITA_VERSION);
	write_build(shell, &w);
	jw_kv_double(&w, "start_time", clock_seconds(shell->start_time));
	agent_write_state(&view, &w);
	write_master(shell, &w);
	if (sees_flags && shell->flags->log_dir)
		jw_kv_string(&w, "log_dir", shell->flags->log_dir);
	if (sees_flags && shell->flags->external_log_file)
		jw_kv_string(&w, "external_log_file", shell->flags->external_log_file);
	if (sees_flags)
		write_flags(shell, &w);
	jw_end_object(&w);
	router_end_json(read->request, body);
}

void agent_rest_state(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;

	if (agent_recovering(shell->steps.core))
		http_reply_text(request, 503, "Agent has not finished recovery");
	else
		agent_shell_read(shell,
				 &(struct offload_read){
					 .request = request,
					 .render = render_agent_state,
					 .context = shell,
					 .content_type = http_media_name(HTTP_MEDIA_JSON),
				 },
				 true);
}

void agent_rest_flags(void *context, struct http_request *request)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	if (!agent_shell_allows(context, request, ACL_VIEW_FLAGS, NULL))
		return;
	jw_init(&w, &body);
	jw_begin_object(&w);
	write_flags(context, &w);
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}

void agent_rest_version(void *context, struct http_request *request)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &body);
	jw_begin_object(&w);
	write_build(context, &w);
	jw_kv_string(&w, "version", MESITA_VERSION);
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}

void agent_rest_logging(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;

	if (agent_shell_allows(shell, request, ACL_GET_ENDPOINT, "/logging/toggle"))
		verbosity_toggle(&shell->verbosity, request);
}

void agent_rest_system(void *context, struct http_request *request)
{
	(void)context;
	system_stats_reply(request);
}

void agent_rest_help(void *context, struct http_request *request)
{
	const struct agent_shell *shell = context;

	help_reply(&shell->router, request);
}

void agent_rest_health(void *context, struct http_request *request)
{
	http_reply(request, 200, NULL, NULL, 0, NULL);
}
