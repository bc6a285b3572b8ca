/* SUBSCRIBE of the operator API: the state of now, and from then on an event for each change that
 * its principal may see. The core makes the events (master/core/watch.h), while anybody wants them.
 *
 * Each event is written down once in each format, whoever gets it; agents, which tell of roles,
 * once more for each who may not see all. Who does not read is cut off at a bound. */
#include <stdlib.h>

#include "master/http/api/api_audience.h"
#include "master/http/api/api_operator.h"

/* An event in the formats that were asked for. */
struct encoded {
	const Mesos__Master__Event *event;
	struct buf json, packed;
};

static void encoded_free(struct encoded *e)
{
	buf_free(&e->json);
	buf_free(&e->packed);
}

static void send_to(struct audience *a, struct encoded *e)
{
	struct buf *bytes = a->media == HTTP_MEDIA_JSON ? &e->json : &e->packed;

	if (!bytes->len)
		audience_encode(e->event, a->media, bytes);
	fanout_write(a->line, bytes->data, bytes->len);
}

/* ---- watchers ------------------------------------------------------------------------ */

static void beat_watchers_cb(uv_timer_t *timer)
{
	struct shell *shell = timer->data;
	struct audience *a, *next;
	const Mesos__Master__Event event = audience_heartbeat();
	struct encoded e = {.event = &event};

	list_for_each (a, next, &shell->audiences, link) {
		send_to(a, &e);
		audience_tidy(a);
	}
	encoded_free(&e);
}

/* False: its stream is in the middle of an event. */
static bool forget_watcher(struct watcher *w)
{
	struct shell *shell = w->shell;
	bool whole = true;

	list_remove(&w->link);
	list_remove(&w->link_waiting);
	shell->watcher_count--;
	master_watch(shell->steps.core, shell->watcher_count > 0);
	if (!shell->watcher_count)
		uv_timer_stop(&shell->watch_beat);
	if (w->reader)
		whole = fanout_leave(w->reader);
	audience_leave(w->audience);
	free(w);
	return whole;
}

static void watcher_closed(void *context, struct http_stream *stream)
{
	(void)stream;
	forget_watcher(context);
}

/* Makes room for one more. */
static void end_oldest(struct shell *shell)
{
	while (shell->watcher_count &&
	       (int64_t)shell->watcher_count >=
		       shell->flags->max_operator_event_stream_subscribers) {
		struct watcher *oldest = list_first(&shell->watchers, struct watcher, link);
		struct http_stream *stream = oldest->stream;

		if (!forget_watcher(oldest))
			http_stream_cut(stream);
		http_stream_end(stream);
	}
}

void api_subscribe(const struct operator_call *c)
{
	struct shell *shell = c->shell;
	struct view view = shell_view(shell, c->request);
	struct watcher *w;

	end_oldest(shell);
	w = xcalloc(1, sizeof(*w));
	w->shell = shell;
	list_init(&w->link_waiting);
	w->audience = audience_join(shell, c->media, view.acls ? view.principal : NULL);
	list_append(&shell->watchers, &w->link);
	if (!shell->watcher_count++)
		uv_timer_start(&shell->watch_beat, beat_watchers_cb, API_HEARTBEAT_MS,
			       API_HEARTBEAT_MS);
	master_watch(shell->steps.core, true);
	w->stream = http_stream_open(c->request, http_media_name(c->media), NULL, FANOUT_BYTES_MAX,
				     watcher_closed, w);
	audience_begin(w->audience, w);
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

/* The agent with what the audience may see of it. */
static void send_agent(struct audience *a, const struct view *v, const Mesos__Master__Event *event)
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
	send_to(a, &e);
	encoded_free(&e);
	arena_free(&arena);
}

void shell_tell_watchers(struct shell *shell, const Mesos__Master__Event *event,
			 const char *framework_user, const char *task_user)
{
	struct encoded e = {.event = event};
	struct audience *a, *next;

	list_for_each (a, next, &shell->audiences, link) {
		struct view view = audience_view(a);

		if ((framework_user && !view_allows(&view, ACL_VIEW_FRAMEWORK, framework_user)) ||
		    (task_user && !view_allows(&view, ACL_VIEW_TASK, task_user)))
			continue;
		if (event->agent_added && view.acls)
			send_agent(a, &view, event);
		else
			send_to(a, &e);
	}
	encoded_free(&e);
}
