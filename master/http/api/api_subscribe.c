/* SUBSCRIBE of the operator API: the state of now, and from then on an event for each change that
 * its principal may see. The core makes the events (master/core/watch.h), while anybody wants them.
 *
 * Each event is written down once in each format, whoever gets it; agents, which tell of roles,
 * once more for each who may not see all. Who does not read is cut off at a bound. */
#include "master/http/api/api_operator.h"

#include <stdlib.h>
#include <string.h>

#include "master/http/api/api_objects.h"
#include "net/http_parts.h"

#define HEARTBEAT_MS 15000 /* a constant in Mesos, too */
/* What may wait for a watcher, the state of the beginning not counted. */
#define BACKLOG_MAX ((size_t)16 << 20)

struct watcher {
	struct list link; /* shell.watchers, oldest first */
	struct shell *shell;
	struct http_stream *stream;
	enum http_media media;
	char *principal; /* or NULL */
	uv_timer_t beat;
};

/* An event in the formats that were asked for. */
struct encoded {
	const Mesos__Master__Event *event;
	struct buf json, packed;
};

static const struct buf *encode(struct encoded *e, enum http_media media)
{
	if (media == HTTP_MEDIA_JSON && !e->json.len)
		proto_to_json(e->event, SPELL_V1_ALL, &e->json);
	if (media != HTTP_MEDIA_JSON && !e->packed.len)
		proto_pack(e->event, &e->packed);
	return media == HTTP_MEDIA_JSON ? &e->json : &e->packed;
}

static void encoded_free(struct encoded *e)
{
	buf_free(&e->json);
	buf_free(&e->packed);
}

static void send_to(struct watcher *w, struct encoded *e)
{
	const struct buf *bytes = encode(e, w->media);

	http_stream_record(w->stream, bytes->data, bytes->len);
}

/* ---- watchers ------------------------------------------------------------------------ */

static void free_watcher(uv_handle_t *beat)
{
	struct watcher *w = beat->data;

	free(w->principal);
	free(w);
}

static void forget_watcher(struct watcher *w)
{
	list_remove(&w->link);
	w->shell->watcher_count--;
	master_watch(w->shell->steps.core, w->shell->watcher_count > 0);
	uv_close((uv_handle_t *)&w->beat, free_watcher);
}

static void watcher_closed(void *context, struct http_stream *stream)
{
	(void)stream;
	forget_watcher(context);
}

static void send_heartbeat(struct watcher *w)
{
	Mesos__Master__Event event = MESOS__MASTER__EVENT__INIT;
	struct encoded e = {.event = &event};

	event.has_type = true;
	event.type = MESOS__MASTER__EVENT__TYPE__HEARTBEAT;
	send_to(w, &e);
	encoded_free(&e);
}

static void beat_cb(uv_timer_t *beat)
{
	send_heartbeat(beat->data);
}

/* Makes room for one more. */
static void end_oldest(struct shell *shell)
{
	while (shell->watcher_count &&
	       (int64_t)shell->watcher_count >=
		       shell->flags->max_operator_event_stream_subscribers) {
		struct watcher *oldest = list_first(&shell->watchers, struct watcher, link);

		http_stream_end(oldest->stream);
		forget_watcher(oldest);
	}
}

void api_subscribe(const struct operator_call *c)
{
	struct shell *shell = c->shell;
	struct view view = shell_view(shell, c->request);
	struct buf state = BUF_INIT;
	struct watcher *w;

	end_oldest(shell);
	api_write_subscribed(&view, &c->request->arena, c->media, HEARTBEAT_MS / 1000, &state);
	w = xcalloc(1, sizeof(*w));
	w->shell = shell;
	w->media = c->media;
	w->principal = view.principal ? xstrdup(view.principal) : NULL;
	list_append(&shell->watchers, &w->link);
	shell->watcher_count++;
	uv_timer_init(&shell->loop, &w->beat);
	w->beat.data = w;
	uv_timer_start(&w->beat, beat_cb, HEARTBEAT_MS, HEARTBEAT_MS);
	master_watch(shell->steps.core, true);
	w->stream = http_stream_open(c->request, http_media_name(c->media), NULL,
				     BACKLOG_MAX + state.len, watcher_closed, w);
	http_stream_record(w->stream, state.data, state.len);
	send_heartbeat(w);
	buf_free(&state);
}

/* ---- events --------------------------------------------------------------------------------- */

static const char *allocated_to(const Mesos__Resource *r)
{
	return r->allocation_info ? r->allocation_info->role : NULL;
}

static bool sees_resource(const struct view *v, const Mesos__Resource *r)
{
	const char *role = r->n_reservations ? r->reservations[r->n_reservations - 1]->role : NULL;

	return (!role || view_sees_role(v, role)) &&
	       (!allocated_to(r) || view_sees_role(v, allocated_to(r)));
}

static size_t keep_seen(const struct view *v, struct arena *arena, Mesos__Resource *const *all,
			size_t count, Mesos__Resource ***out)
{
	size_t kept = 0;

	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		if (sees_resource(v, all[i]))
			proto_push(arena, kept, *out, all[i]);
	}
	return kept;
}

/* The agent with what the watcher may see of it. */
static void send_agent(struct watcher *w, const struct view *v, const Mesos__Master__Event *event)
{
	const Mesos__Master__Response__GetAgents__Agent *all = event->agent_added->agent;
	Mesos__Master__Response__GetAgents__Agent agent = *all;
	Mesos__Master__Event__AgentAdded added = *event->agent_added;
	Mesos__Master__Event copy = *event;
	struct encoded e = {.event = &copy};
	struct arena arena;

	arena_init(&arena);
	agent.n_total_resources = keep_seen(v, &arena, all->total_resources, all->n_total_resources,
					    &agent.total_resources);
	agent.n_allocated_resources =
		keep_seen(v, &arena, all->allocated_resources, all->n_allocated_resources,
			  &agent.allocated_resources);
	agent.n_offered_resources = keep_seen(v, &arena, all->offered_resources,
					      all->n_offered_resources, &agent.offered_resources);
	added.agent = &agent;
	copy.agent_added = &added;
	send_to(w, &e);
	encoded_free(&e);
	arena_free(&arena);
}

void shell_tell_watchers(struct shell *shell, const Mesos__Master__Event *event,
			 const char *framework_user, const char *task_user)
{
	struct encoded e = {.event = event};
	struct watcher *w, *next;

	list_for_each (w, next, &shell->watchers, link) {
		struct view view = {.m = shell->steps.core,
				    .principal = w->principal,
				    .acls = shell->flags->allowed};

		if ((framework_user && !view_allows(&view, ACL_VIEW_FRAMEWORK, framework_user)) ||
		    (task_user && !view_allows(&view, ACL_VIEW_TASK, task_user)))
			continue;
		if (event->agent_added && view.acls)
			send_agent(w, &view, event);
		else
			send_to(w, &e);
	}
	encoded_free(&e);
}
