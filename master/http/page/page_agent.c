/* Files of agents, by way of the master: whoever reaches the master reads sandboxes, also where
 * agents have addresses that nobody else reaches.
 *
 * GET /agent/ID/files/browse?path=PATH, and read and download. A path is one of
 *
 *	/frameworks/ID/executors/ID/runs/RUN/...	a sandbox; RUN may be "latest"
 *	/slave/log					the agent's log
 *
 * and no other. Two say who may: the lists of this master, and the agent's, to which the client's
 * Authorization is shown as the client itself would. The answer goes through in parts, as fast as
 * the client takes them. What does not come is an answer of 5xx, or ends the connection.
 */
#include <stdlib.h>
#include <string.h>

#include "master/core/agents/pid.h"
#include "master/core/objects.h"
#include "master/http/page/page.h"
#include "net/client.h"
#include "net/http_parts.h"

#define PREFIX "/master/agent/"
#define TEXT "text/plain; charset=utf-8"
/* At a time. Each holds a connection to an agent, and PASSING_HIGH bytes at most. */
#define PASSED_MAX 128
#define PASSING_HIGH (256 * 1024)
#define HEAD_TIMEOUT_MS 15000
#define STALL_MS 30000		/* in which nothing of a body comes */
#define REFUSAL_MAX (64 * 1024) /* what is kept of an answer that is not 200 */

struct passing {
	struct list link; /* shell.passings */
	struct shell *shell;
	struct http_client *client;
	struct http_request *request; /* NULL: it was answered */
	struct http_stream *stream;   /* NULL: there is no body to pass on */
	int status;
	const char *media; /* of an answer of 200 */
	struct buf refusal;
	uv_timer_t stall;
	bool paused;
};

/* ---- the end ----------------------------------------------------------------------------- */

static void passing_freed_cb(uv_handle_t *handle)
{
	struct passing *p = handle->data;

	buf_free(&p->refusal);
	free(p);
}

static void passing_free(struct passing *p)
{
	list_remove(&p->link);
	p->shell->passing_count--;
	http_client_close(p->client);
	uv_close((uv_handle_t *)&p->stall, passing_freed_cb);
}

static void passing_fail(struct passing *p, int status, const char *why)
{
	if (p->stream)
		http_stream_end(p->stream);
	else
		http_reply_text(p->request, status, why);
	passing_free(p);
}

static void stalled_cb(uv_timer_t *timer)
{
	passing_fail(timer->data, 504, "The agent does not answer\n");
}

static void client_gone(void *context, struct http_stream *stream)
{
	struct passing *p = context;

	(void)stream;
	p->stream = NULL;
	passing_free(p);
}

/* ---- what the agent answers ------------------------------------------------------------- */

static void pause_by_need(struct passing *p)
{
	bool full = http_stream_waiting(p->stream) > PASSING_HIGH;

	if (full == p->paused)
		return;
	p->paused = full;
	http_client_pause(p->client, full);
	/* A client that does not read is the server's to end. */
	if (full)
		uv_timer_stop(&p->stall);
	else
		uv_timer_start(&p->stall, stalled_cb, STALL_MS, 0);
}

static void taken(void *context, struct http_stream *stream)
{
	(void)stream;
	pause_by_need(context);
}

static void head_came(void *context, const struct http_answer *answer, int64_t length)
{
	struct passing *p = context;
	struct arena *arena = &p->request->arena;
	const char *headers[] = {"X-Content-Type-Options",
				 "nosniff",
				 "Content-Security-Policy",
				 "sandbox",
				 NULL,
				 NULL,
				 NULL};

	if (answer->status == 0) {
		passing_fail(p, 502,
			     arena_printf(arena, "Cannot reach the agent: %s\n", answer->error));
		return;
	}
	p->status = answer->status;
	uv_timer_start(&p->stall, stalled_cb, STALL_MS, 0);
	if (answer->status != 200)
		return;
	if (length < 0) {
		passing_fail(p, 502, "The agent does not tell the length of its answer\n");
		return;
	}
	if (*answer->disposition) {
		headers[4] = "Content-Disposition";
		headers[5] = arena_strdup(arena, answer->disposition);
	}
	if (length == 0) {
		http_reply(p->request, 200, p->media, NULL, 0, headers);
		passing_free(p);
		return;
	}
	p->stream = http_body_open(p->request, p->media, headers, (uint64_t)length, taken,
				   client_gone, p);
	p->request = NULL;
}

static void part_came(void *context, struct slice part)
{
	struct passing *p = context;

	uv_timer_start(&p->stall, stalled_cb, STALL_MS, 0);
	if (!p->stream && part.len > REFUSAL_MAX - p->refusal.len) {
		passing_fail(p, 502, "The agent's answer is too long\n");
		return;
	}
	if (!p->stream) {
		buf_append(&p->refusal, part.data, part.len);
		return;
	}
	http_stream_write(p->stream, part.data, part.len);
	if (p->stream)
		pause_by_need(p);
}

static void body_ended(void *context, bool whole)
{
	struct passing *p = context;

	if (p->stream) {
		http_stream_end(p->stream);
		passing_free(p);
	} else if (whole) {
		http_reply(p->request, p->status, p->refusal.len ? TEXT : NULL, p->refusal.data,
			   p->refusal.len, NULL);
		passing_free(p);
	} else {
		passing_fail(p, 502, "The agent's answer ended early\n");
	}
}

/* What of the query the agent is told: no JSONP, which pages of other sites read. */
static const char *target_of(struct http_request *request, const char *call)
{
	static const char *const names[] = {"path", "offset", "length"};
	struct buf target = BUF_INIT;
	const char *copy, *value;

	buf_puts(&target, call);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		value = http_query(request, names[i]);
		if (!value)
			continue;
		buf_printf(&target, "%c%s=", i ? '&' : '?', names[i]);
		http_encode(&target, value);
	}
	copy = arena_strndup(&request->arena, target.data, target.len);
	buf_free(&target);
	return copy;
}

static void ask_agent(struct shell *shell, struct http_request *request, const struct agent *agent,
		      const char *call)
{
	static const struct http_relay_handlers handlers = {
		.head = head_came,
		.part = part_came,
		.ended = body_ended,
	};
	const char *headers[] = {NULL, NULL, NULL};
	struct passing *p = xcalloc(1, sizeof(*p));
	char ip[64];

	headers[1] = http_header(request, "Authorization");
	if (headers[1])
		headers[0] = "Authorization";
	pid_ip(agent->pid, ip, sizeof(ip));
	p->shell = shell;
	p->request = request;
	/* What is in a sandbox, or what an agent says of it, must be no page of this origin. */
	p->media = str_has_suffix(call, "download") ? "application/octet-stream"
						    : http_media_name(HTTP_MEDIA_JSON);
	list_append(&shell->passings, &p->link);
	shell->passing_count++;
	uv_timer_init(&shell->loop, &p->stall);
	p->stall.data = p;
	p->client = http_client_create(&shell->loop, ip, pid_port(agent->pid));
	http_client_relay(p->client, target_of(request, call), headers, HEAD_TIMEOUT_MS, &handlers,
			  p);
}

void page_stop(struct shell *shell)
{
	struct passing *p, *next;

	list_for_each (p, next, &shell->passings, link)
		passing_fail(p, 503, "The master is ending");
}

/* ---- who may ask what -------------------------------------------------------------------- */

/* The next name of a path, which begins with '/'; in the arena. NULL: there is none, or one that
 * leads elsewhere. */
static const char *next_name(struct arena *arena, const char **path)
{
	const char *name = *path + 1;
	size_t len = strcspn(name, "/");

	if (**path != '/' || len == 0 || (len <= 2 && strspn(name, ".") >= len))
		return NULL;
	*path = name + len;
	return arena_strndup(arena, name, len);
}

/* False: answered. */
static bool may_open(const struct shell *shell, struct http_request *request, const char *path)
{
	static const char *const words[] = {"frameworks", NULL, "executors", NULL, "runs", NULL};
	const char *names[6], *name;
	struct view view = shell_view(shell, request);

	if (!strcmp(path, "/slave/log"))
		return shell_allows(shell, request, ACL_ACCESS_MESOS_LOG, NULL);
	for (int i = 0; i < 6; i++) {
		names[i] = next_name(&request->arena, &path);
		if (!names[i] || (words[i] && strcmp(words[i], names[i]))) {
			http_reply_text(request, 404, "No sandbox has this path\n");
			return false;
		}
	}
	while (*path && strcmp(path, "/")) {
		name = next_name(&request->arena, &path);
		if (!name) {
			http_reply_text(request, 404, "No sandbox has this path\n");
			return false;
		}
	}
	if (view_opens_sandbox(&view, names[1], names[3]))
		return true;
	http_reply_text(request, 403, NULL);
	return false;
}

/* The part of the path behind the agent's id; NULL: it is none of the three. */
static const char *files_call(const char *rest)
{
	static const char *const calls[] = {"/files/browse", "/files/read", "/files/download"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(rest, calls[i]))
			return calls[i];
	return NULL;
}

void page_agent_files(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct arena *arena = &request->arena;
	const char *path = router_resolve(&shell->router, request);
	const char *rest = str_has_prefix(path, PREFIX) ? path + strlen(PREFIX) : "";
	const char *id = arena_strndup(arena, rest, strcspn(rest, "/"));
	const char *call = files_call(rest + strlen(id));
	const char *file = http_query(request, "path");
	const struct agent *agent = master_find_agent(shell->steps.core, id);

	if (strcmp(request->method, "GET"))
		http_reply_not_allowed(request, "GET");
	else if (!call)
		http_reply_text(request, 404, NULL);
	else if (!file || !*file)
		http_reply_text(request, 400, "Expecting 'path=value' in query.\n");
	else if (!agent || !agent->pid)
		http_reply_text(request, 404,
				arena_printf(arena, "No agent '%s' is registered\n", id));
	else if (agent->state != AGENT_CONNECTED)
		http_reply_text(request, 503,
				arena_printf(arena, "Agent '%s' is not connected\n", id));
	else if (shell->passing_count >= PASSED_MAX)
		http_reply_text(request, 503,
				"Too many files are being read through this master\n");
	else if (may_open(shell, request, file))
		ask_agent(shell, request, agent, call);
}
