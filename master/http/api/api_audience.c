#include "master/http/api/api_audience.h"

#include <stdlib.h>
#include <string.h>

#include "master/http/api/api_operator.h"
#include "master/http/rest/rest.h"

/* So many times what it took to write down is the state of the beginning used for others. What that
 * takes is a small share of the time then, however many come. */
#define START_SHARE 50

void audience_encode(const Mesos__Master__Event *event, enum http_media media, struct buf *out)
{
	if (media == HTTP_MEDIA_JSON)
		proto_to_json(event, SPELL_V1_ALL, out);
	else
		proto_pack(event, out);
}

Mesos__Master__Event audience_heartbeat(void)
{
	Mesos__Master__Event event = MESOS__MASTER__EVENT__INIT;

	event.has_type = true;
	event.type = MESOS__MASTER__EVENT__TYPE__HEARTBEAT;
	return event;
}

struct view audience_view(const struct audience *a)
{
	return (struct view){.m = a->shell->steps.core,
			     .principal = a->principal,
			     .acls = a->shell->flags->allowed};
}

/* ---- the state of the beginning ---------------------------------------------------------- */

static void render_start(const struct offload_text *text, struct buf *out)
{
	const struct audience *a = container_of(text, struct audience, text);
	const Mesos__Master__Event beat = audience_heartbeat();
	struct view view = audience_view(a);
	struct buf record = BUF_INIT;
	struct arena arena;

	arena_init(&arena);
	api_write_subscribed(&view, &arena, a->media, API_HEARTBEAT_MS / 1000, &record);
	http_chunk_record(out, record.data, record.len);
	buf_clear(&record);
	audience_encode(&beat, a->media, &record);
	http_chunk_record(out, record.data, record.len);
	buf_free(&record);
	arena_free(&arena);
}

static void forget_start(struct audience *a)
{
	fanout_start_free(a->start);
	a->start = NULL;
}

/* From here on the line has what the state does not have yet. */
static void start_begun(struct offload_text *text)
{
	struct audience *a = container_of(text, struct audience, text);

	forget_start(a);
	a->start = fanout_start_create(a->line);
	a->begun = uv_hrtime();
}

static void audience_free(struct audience *a)
{
	forget_start(a);
	fanout_line_free(a->line);
	free(a->principal);
	free(a);
}

/* Without a state, or when more happened since than the line holds, nobody can begin. */
static void end_waiting(struct audience *a, bool good)
{
	struct watcher *w, *next;

	list_for_each (w, next, &a->waiting, link_waiting) {
		list_remove(&w->link_waiting);
		if (good)
			w->reader = fanout_join(a->start, w->stream);
		else
			http_stream_cut(w->stream);
	}
}

static void start_done(struct offload_text *text, struct buf *made)
{
	struct audience *a = container_of(text, struct audience, text);
	uint64_t took = (uv_hrtime() - a->begun) / 1000000;
	bool good;

	a->writing = false;
	if (a->deserted) {
		audience_free(a);
		return;
	}
	good = made && fanout_start_good(a->start);
	if (good)
		fanout_start_fill(a->start, made);
	else
		forget_start(a);
	a->start_until = uv_now(&a->shell->loop) + took * START_SHARE;
	end_waiting(a, good);
}

static void write_start(struct audience *a)
{
	struct view view = audience_view(a);
	struct buf made = BUF_INIT;

	a->writing = true;
	if (api_state_count(&view) > READ_INLINE) {
		offload_make(a->shell->offload, &a->text);
		return;
	}
	start_begun(&a->text);
	render_start(&a->text, &made);
	start_done(&a->text, &made);
	buf_free(&made);
}

static bool has_start(const struct audience *a)
{
	return a->start && fanout_start_good(a->start) && uv_now(&a->shell->loop) < a->start_until;
}

void audience_begin(struct audience *a, struct watcher *w)
{
	if (!a->writing && has_start(a)) {
		w->reader = fanout_join(a->start, w->stream);
		return;
	}
	list_append(&a->waiting, &w->link_waiting);
	if (!a->writing)
		write_start(a);
}

void audience_tidy(struct audience *a)
{
	if (!a->writing && a->start && !has_start(a))
		forget_start(a);
}

/* ---- who is in it -------------------------------------------------------------------------- */

struct audience *audience_join(struct shell *shell, enum http_media media, const char *principal)
{
	struct audience *a, *next;

	list_for_each (a, next, &shell->audiences, link) {
		if (a->media == media && str_same(a->principal, principal)) {
			a->count++;
			return a;
		}
	}
	a = xcalloc(1, sizeof(*a));
	a->shell = shell;
	a->media = media;
	a->principal = principal ? xstrdup(principal) : NULL;
	a->line = fanout_line_create(shell->fanout);
	a->count = 1;
	a->text = (struct offload_text){render_start, start_begun, start_done};
	list_init(&a->waiting);
	list_append(&shell->audiences, &a->link);
	return a;
}

void audience_leave(struct audience *a)
{
	if (--a->count)
		return;
	list_remove(&a->link);
	if (a->writing)
		a->deserted = true;
	else
		audience_free(a);
}
