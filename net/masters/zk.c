/* The session; see zk.h.
 *
 * libzookeeper calls back on threads of its own: what it says is copied to a note, and the loop is
 * woken to read the notes. A life is the time of one handle: notes of an earlier one are dropped.
 * Making a handle resolves names and closing it waits for the server, so both are done on a thread
 * of libuv's pool, one after the other.
 */
#include "net/masters/zk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/zk/zk_handle.h"

#define OPEN_RETRY_MS 1000
/* libzookeeper tries on in silence: somebody should say so. */
#define SILENCE_FIRST_MS 3000
#define SILENCE_NEXT_MS 60000
#define OPEN_TRIES 600 /* 10 minutes, as Mesos waits for names */

struct zk_life {
	struct zk *zk;
	uint64_t number;
	zhandle_t *handle; /* set by the thread that makes it */
};

enum note_kind { NOTE_STATE, NOTE_CHANGED, NOTE_ANSWER };

struct zk_note {
	struct list link;
	enum note_kind kind;
	uint64_t life;
	int state;
	zk_answered *answered;
	struct zk_result result; /* heap */
};

struct zk_request {
	struct zk_life *life;
	zk_answered *answered;
};

struct zk {
	uv_loop_t *loop;
	struct zk_url url;
	int timeout_ms;
	struct zk_handlers handlers;
	void *context;
	uv_async_t wake;
	uv_timer_t timer; /* the next try to open; a word when nobody answers; or the session's end
			     while it is not reached */
	uv_work_t work;
	bool working;	      /* on a thread: closes `old`, then makes the handle of `life` */
	struct zk_life *life; /* NULL: none is wanted */
	struct zk_life *old;
	int problem; /* errno of the last try to open */
	int tries;
	uint64_t lives;
	bool begun; /* the session of this life was reached once */
	bool connected;
	bool failed;
	bool closing;
	int open_handles;

	pthread_mutex_t lock; /* guards what threads share: */
	struct list notes;
};

const char *zk_text(int code)
{
	return zerror(code);
}

/* ---- notes ---------------------------------------------------------------------- */

static void note_free(struct zk_note *note)
{
	for (size_t i = 0; i < note->result.count; i++)
		free(note->result.names[i]);
	free((void *)note->result.names);
	free((void *)note->result.name);
	free((void *)note->result.data.data);
	free(note);
}

static struct zk_note *note_make(const struct zk_life *life, enum note_kind kind)
{
	struct zk_note *note = xcalloc(1, sizeof(*note));

	note->kind = kind;
	note->life = life->number;
	return note;
}

/* Any thread; the note is the loop's from now on. */
static void note_post(struct zk *zk, struct zk_note *note)
{
	pthread_mutex_lock(&zk->lock);
	list_append(&zk->notes, &note->link);
	pthread_mutex_unlock(&zk->lock);
	uv_async_send(&zk->wake);
}

static struct zk_note *note_take(struct zk *zk)
{
	struct zk_note *note;

	pthread_mutex_lock(&zk->lock);
	note = list_first(&zk->notes, struct zk_note, link);
	if (note)
		list_remove(&note->link);
	pthread_mutex_unlock(&zk->lock);
	return note;
}

/* ---- on libzookeeper's threads -------------------------------------------------- */

static void state_seen(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	struct zk_life *life = context;
	struct zk_note *note;

	(void)handle;
	(void)path;
	if (type != ZOO_SESSION_EVENT)
		return;
	note = note_make(life, NOTE_STATE);
	note->state = state;
	note_post(life->zk, note);
}

static void children_seen(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	struct zk_life *life = context;

	(void)handle;
	(void)state;
	(void)path;
	/* What becomes of the session is told to the other watcher. */
	if (type != ZOO_SESSION_EVENT)
		note_post(life->zk, note_make(life, NOTE_CHANGED));
}

/* The note that answers a request, which is freed. */
static struct zk_note *answer(const void *data, int code)
{
	struct zk_request *request = (struct zk_request *)data;
	struct zk_note *note = note_make(request->life, NOTE_ANSWER);

	note->answered = request->answered;
	note->result.code = code;
	return note;
}

static void answer_post(const void *data, struct zk_note *note)
{
	struct zk_request *request = (struct zk_request *)data;
	struct zk *zk = request->life->zk;

	free(request);
	note_post(zk, note);
}

static void made_cb(int code, const char *name, const void *data)
{
	struct zk_note *note = answer(data, code);

	note->result.name = code == ZOK && name ? xstrdup(name) : NULL;
	answer_post(data, note);
}

static void got_cb(int code, const char *value, int len, const struct Stat *stat, const void *data)
{
	struct zk_note *note = answer(data, code);

	if (code == ZOK && value && len > 0)
		note->result.data = (struct slice){xmemdup(value, (size_t)len), (size_t)len};
	answer_post(data, note);
}

static void children_cb(int code, const struct String_vector *names, const void *data)
{
	struct zk_note *note = answer(data, code);
	size_t count = code == ZOK && names && names->count > 0 ? (size_t)names->count : 0;
	char **copies = xcalloc(count + 1, sizeof(*copies));

	for (size_t i = 0; i < count; i++)
		copies[i] = xstrdup(names->data[i]);
	note->result.names = copies;
	note->result.count = count;
	answer_post(data, note);
}

/* ---- handles, on a thread of the pool -------------------------------------------- */

static void turn_life(uv_work_t *work)
{
	struct zk *zk = work->data;
	struct zk_life *life = zk->life;

	if (zk->old && zk->old->handle)
		zookeeper_close(zk->old->handle);
	if (!life)
		return;
	life->handle = zk_handle_open(&zk->url, state_seen, zk->timeout_ms, life);
	zk->problem = life->handle ? 0 : errno;
}

static void turned_cb(uv_work_t *work, int status);

/* Begins to close the present life, if there is one, and to make the next, if one is wanted. */
static void life_turn(struct zk *zk)
{
	if (zk->working)
		return; /* turned_cb() sees what is wanted */
	zk->working = true;
	zk->begun = zk->connected = false;
	zk->old = zk->life;
	zk->life = NULL;
	if (!zk->closing && !zk->failed) {
		zk->life = xcalloc(1, sizeof(*zk->life));
		zk->life->zk = zk;
		zk->life->number = ++zk->lives;
	}
	zk->work.data = zk;
	uv_timer_stop(&zk->timer);
	uv_queue_work(zk->loop, &zk->work, turn_life, turned_cb);
}

/* ---- on the loop ------------------------------------------------------------------ */

static void zk_freed_cb(uv_handle_t *handle)
{
	struct zk *zk = handle->data;
	struct zk_note *note;

	if (--zk->open_handles > 0)
		return;
	while ((note = note_take(zk)))
		note_free(note);
	pthread_mutex_destroy(&zk->lock);
	zk_url_free(&zk->url);
	free(zk);
}

static void zk_fail(struct zk *zk, const char *why)
{
	if (zk->failed)
		return;
	zk->failed = true;
	zk->connected = false;
	uv_timer_stop(&zk->timer);
	zk->handlers.failed(zk->context, why);
}

static void session_over(struct zk *zk)
{
	bool begun = zk->begun;

	life_turn(zk);
	if (begun)
		zk->handlers.expired(zk->context);
}

/* The servers would have ended it by now, and nobody can tell. */
static void unreached_cb(uv_timer_t *timer)
{
	struct zk *zk = timer->data;

	log_warning("ZooKeeper was not reached for the time of the session: taking it for over");
	session_over(zk);
}

static void unanswered_cb(uv_timer_t *timer)
{
	struct zk *zk = timer->data;

	log_warning("ZooKeeper at %s does not answer; trying on", zk->url.servers);
}

static void reopen_cb(uv_timer_t *timer)
{
	life_turn(timer->data);
}

static void take_state(struct zk *zk, int state)
{
	bool fresh = !zk->begun;

	if (state == ZOO_CONNECTED_STATE) {
		uv_timer_stop(&zk->timer);
		zk->begun = zk->connected = true;
		zk->tries = 0;
		log_debug("connected to ZooKeeper at %s%s", zk->url.servers,
			  fresh ? " in a new session" : " again");
		zk->handlers.connected(zk->context, fresh);
	} else if (state == ZOO_EXPIRED_SESSION_STATE) {
		log_warning("the session with ZooKeeper has expired");
		session_over(zk);
	} else if (state == ZOO_AUTH_FAILED_STATE) {
		zk_fail(zk, "ZooKeeper refuses the credentials");
	} else if (zk->connected) {
		log_warning("the connection to ZooKeeper is lost");
		zk->connected = false;
		uv_timer_start(&zk->timer, unreached_cb,
			       (uint64_t)zoo_recv_timeout(zk->life->handle), 0);
	}
}

static void take_note(struct zk *zk, const struct zk_note *note)
{
	if (zk->closing || zk->failed || !zk->life || note->life != zk->life->number)
		return;
	switch (note->kind) {
	case NOTE_STATE:
		take_state(zk, note->state);
		break;
	case NOTE_CHANGED:
		zk->handlers.changed(zk->context);
		break;
	case NOTE_ANSWER:
		note->answered(zk->context, &note->result);
		break;
	}
}

static void wake_cb(uv_async_t *async)
{
	struct zk *zk = async->data;
	struct zk_note *note;

	/* While a thread makes the handle it is not ours to use. */
	while (!zk->working && (note = note_take(zk))) {
		take_note(zk, note);
		note_free(note);
	}
}

static void try_again(struct zk *zk)
{
	char *why;

	free(zk->life);
	zk->life = NULL;
	if (++zk->tries < OPEN_TRIES) {
		log_warning("cannot reach ZooKeeper at %s: %s", zk->url.servers,
			    zk->problem == ENOENT || zk->problem == EINVAL ? "its name is not known"
									   : strerror(zk->problem));
		uv_timer_start(&zk->timer, reopen_cb, OPEN_RETRY_MS, 0);
		return;
	}
	why = xprintf("ZooKeeper's servers %s are not known", zk->url.servers);
	zk_fail(zk, why);
	free(why);
}

static void turned_cb(uv_work_t *work, int status)
{
	struct zk *zk = work->data;

	(void)status;
	zk->working = false;
	free(zk->old);
	zk->old = NULL;
	if (zk->closing && zk->life) {
		life_turn(zk);
	} else if (zk->closing) {
		zk->open_handles = 2;
		uv_close((uv_handle_t *)&zk->wake, zk_freed_cb);
		uv_close((uv_handle_t *)&zk->timer, zk_freed_cb);
	} else if (zk->life && !zk->life->handle) {
		try_again(zk);
	} else {
		if (zk->life)
			uv_timer_start(&zk->timer, unanswered_cb, SILENCE_FIRST_MS,
				       SILENCE_NEXT_MS);
		uv_async_send(&zk->wake);
	}
}

struct zk *zk_open(uv_loop_t *loop, const struct zk_url *url, int timeout_ms,
		   const struct zk_handlers *handlers, void *context)
{
	struct zk *zk = xcalloc(1, sizeof(*zk));

	zk->loop = loop;
	zk->url = (struct zk_url){.servers = xstrdup(url->servers), .path = xstrdup(url->path)};
	if (url->credentials)
		zk->url.credentials = xstrdup(url->credentials);
	zk->timeout_ms = timeout_ms;
	zk->handlers = *handlers;
	zk->context = context;
	pthread_mutex_init(&zk->lock, NULL);
	list_init(&zk->notes);
	uv_async_init(loop, &zk->wake, wake_cb);
	uv_timer_init(loop, &zk->timer);
	zk->wake.data = zk->timer.data = zk;
	life_turn(zk);
	return zk;
}

void zk_renew(struct zk *zk)
{
	life_turn(zk);
}

void zk_close(struct zk *zk)
{
	zk->closing = true;
	uv_timer_stop(&zk->timer);
	life_turn(zk);
}

/* ---- requests --------------------------------------------------------------------- */

static struct zk_request *request_make(struct zk *zk, zk_answered *answered)
{
	struct zk_request *request = xcalloc(1, sizeof(*request));

	request->life = zk->life;
	request->answered = answered;
	return request;
}

/* What was not even sent is answered from the loop, too. */
static void request_sent(struct zk_request *request, int code)
{
	if (code != ZOK)
		answer_post(request, answer(request, code));
}

void zk_create(struct zk *zk, const char *path, struct slice data, int flags, zk_answered *answered)
{
	struct zk_request *request = request_make(zk, answered);

	request_sent(request, zoo_acreate(zk->life->handle, path, data.data, (int)data.len,
					  zk_handle_acl(&zk->url), flags, made_cb, request));
}

void zk_get(struct zk *zk, const char *path, zk_answered *answered)
{
	struct zk_request *request = request_make(zk, answered);

	request_sent(request, zoo_aget(zk->life->handle, path, 0, got_cb, request));
}

void zk_children(struct zk *zk, const char *path, zk_answered *answered)
{
	struct zk_request *request = request_make(zk, answered);

	request_sent(request, zoo_awget_children(zk->life->handle, path, children_seen, zk->life,
						 children_cb, request));
}
