/* SUBSCRIBE of the operator API: the state of now, and from then on an event for each change that
 * its principal may see. The core makes the events (master/core/watch.h), while anybody wants them.
 *
 * Each event is written down once in each format, whoever gets it; agents, which tell of roles,
 * once more for each who may not see all. Who does not read is cut off at a bound. */
#include "master/http/api/api_operator.h"

#include <stdlib.h>
#include <string.h>

#include "master/http/api/api_objects.h"
#include "net/fanout.h"

#define HEARTBEAT_MS 15000 /* a constant in Mesos, too */
/* So many times what it took to write down is the state of the beginning used for others. */
#define START_SHARE 50

/* Watchers who get the same. */
struct audience {
	struct list link; /* shell.audiences */
	struct fanout_line *line;
	enum http_media media;
	char *principal; /* or NULL; without access control lists all are the same */
	size_t count;
	struct fanout_start *start; /* the state of some time ago, for those who come; or NULL */
	uint64_t start_until;	    /* uv_now() */
};

struct watcher {
	struct list link; /* shell.watchers, oldest first */
	struct shell *shell;
	struct http_stream *stream;
	struct audience *audience;
	struct fanout_reader *reader;
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

static void send_to(struct audience *a, struct encoded *e)
{
	const struct buf *bytes = encode(e, a->media);

	fanout_write(a->line, bytes->data, bytes->len);
}

static void make_heartbeat(Mesos__Master__Event *event)
{
	mesos__master__event__init(event);
	event->has_type = true;
	event->type = MESOS__MASTER__EVENT__TYPE__HEARTBEAT;
}

/* ---- audiences ------------------------------------------------------------------------ */

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct audience *join_audience(struct shell *shell, enum http_media media,
				      const char *principal)
{
	struct audience *a, *next;

	list_for_each (a, next, &shell->audiences, link) {
		if (a->media == media && is_same(a->principal, principal)) {
			a->count++;
			return a;
		}
	}
	a = xcalloc(1, sizeof(*a));
	a->media = media;
	a->principal = principal ? xstrdup(principal) : NULL;
	a->line = fanout_line_create(shell->fanout);
	a->count = 1;
	list_append(&shell->audiences, &a->link);
	return a;
}

static void leave_audience(struct audience *a)
{
	if (--a->count)
		return;
	list_remove(&a->link);
	fanout_start_free(a->start);
	fanout_line_free(a->line);
	free(a->principal);
	free(a);
}

static void forget_start(struct audience *a)
{
	fanout_start_free(a->start);
	a->start = NULL;
}

static void beat_watchers_cb(uv_timer_t *timer)
{
	struct shell *shell = timer->data;
	struct audience *a, *next;
	Mesos__Master__Event event;
	struct encoded e = {.event = &event};

	make_heartbeat(&event);
	list_for_each (a, next, &shell->audiences, link) {
		send_to(a, &e);
		if (a->start && uv_now(&shell->loop) >= a->start_until)
			forget_start(a);
	}
	encoded_free(&e);
}

/* ---- watchers ------------------------------------------------------------------------ */

/* False: its stream is in the middle of an event. */
static bool forget_watcher(struct watcher *w)
{
	struct shell *shell = w->shell;
	bool whole;

	list_remove(&w->link);
	shell->watcher_count--;
	master_watch(shell->steps.core, shell->watcher_count > 0);
	if (!shell->watcher_count)
		uv_timer_stop(&shell->watch_beat);
	whole = fanout_leave(w->reader);
	leave_audience(w->audience);
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

/* The state of now, written down for all of the audience who come soon. What that takes is a small
   share of the loop's time then, however many come. */
static void make_start(struct shell *shell, struct audience *a, const struct view *view,
		       struct arena *arena)
{
	uint64_t begin = uv_hrtime(), took;
	struct buf state = BUF_INIT;
	Mesos__Master__Event event;
	struct encoded e = {.event = &event};
	const struct buf *beat;

	make_heartbeat(&event);
	beat = encode(&e, a->media);
	api_write_subscribed(view, arena, a->media, HEARTBEAT_MS / 1000, &state);
	forget_start(a);
	a->start = fanout_start_create(
		a->line, (const struct slice[]){{state.data, state.len}, {beat->data, beat->len}},
		2);
	encoded_free(&e);
	buf_free(&state);
	took = (uv_hrtime() - begin) / 1000000;
	a->start_until = uv_now(&shell->loop) + took * START_SHARE;
}

void api_subscribe(const struct operator_call *c)
{
	struct shell *shell = c->shell;
	struct view view = shell_view(shell, c->request);
	struct watcher *w;

	end_oldest(shell);
	w = xcalloc(1, sizeof(*w));
	w->shell = shell;
	w->audience = join_audience(shell, c->media, view.acls ? view.principal : NULL);
	list_append(&shell->watchers, &w->link);
	if (!shell->watcher_count++)
		uv_timer_start(&shell->watch_beat, beat_watchers_cb, HEARTBEAT_MS, HEARTBEAT_MS);
	master_watch(shell->steps.core, true);
	if (!w->audience->start || !fanout_start_good(w->audience->start) ||
	    uv_now(&shell->loop) >= w->audience->start_until)
		make_start(shell, w->audience, &view, &c->request->arena);
	w->stream = http_stream_open(c->request, http_media_name(c->media), NULL, FANOUT_BYTES_MAX,
				     watcher_closed, w);
	w->reader = fanout_join(w->audience->start, w->stream);
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
		struct view view = {.m = shell->steps.core,
				    .principal = a->principal,
				    .acls = shell->flags->allowed};

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
