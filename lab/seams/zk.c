/* A session with the simulated ZooKeeper on a loop. As net/masters/zk.c: one after the other for
 * ever; one that is not reached for its time is taken for over. */
#include "net/masters/zk.h"

#include <stdlib.h>
#include <zookeeper/zookeeper.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "lab/keeper/keeper.h"
#include "lab/seams/seams.h"

struct zk {
	uv_loop_t *loop;
	int timeout_ms;
	struct zk_handlers handlers;
	void *context;
	struct keeper_session *session;
	struct list asked; /* struct asked.link: in this session */
	uv_timer_t unreached;
	bool begun; /* the session was reached once */
};

struct asked {
	struct list link;
	struct zk *zk;
	zk_answered *answered;
};

const char *zk_text(int code)
{
	return zerror(code);
}

static void session_begin(struct zk *zk);

static void session_over(struct zk *zk)
{
	bool begun = zk->begun;

	zk_renew(zk);
	if (begun)
		zk->handlers.expired(zk->context);
}

static void zk_unreached_cb(uv_timer_t *timer)
{
	session_over(timer->data);
}

static void zk_connected(void *context, bool fresh)
{
	struct zk *zk = context;

	uv_timer_stop(&zk->unreached);
	zk->begun = true;
	zk->handlers.connected(zk->context, fresh);
}

static void zk_lost(void *context)
{
	struct zk *zk = context;

	if (zk->begun)
		uv_timer_start(&zk->unreached, zk_unreached_cb,
			       (uint64_t)keeper_timeout_ms(zk->session), 0);
}

static void zk_expired(void *context)
{
	session_over(context);
}

static void zk_changed(void *context)
{
	struct zk *zk = context;

	zk->handlers.changed(zk->context);
}

static void session_begin(struct zk *zk)
{
	static const struct keeper_handlers handlers = {
		.connected = zk_connected,
		.lost = zk_lost,
		.expired = zk_expired,
		.changed = zk_changed,
	};
	struct process *process = zk->loop->process;

	zk->begun = false;
	zk->session = keeper_open(process->world->keeper, process, zk->timeout_ms, &handlers, zk);
}

struct zk *zk_open(uv_loop_t *loop, const struct zk_url *url, int timeout_ms,
		   const struct zk_handlers *handlers, void *context)
{
	struct zk *zk = xcalloc(1, sizeof(*zk));

	(void)url; /* there is one ensemble */
	zk->loop = loop;
	zk->timeout_ms = timeout_ms;
	zk->handlers = *handlers;
	zk->context = context;
	list_init(&zk->asked);
	uv_timer_init(loop, &zk->unreached);
	zk->unreached.data = zk;
	session_begin(zk);
	return zk;
}

static void zk_freed_cb(uv_handle_t *handle)
{
	free(handle->data);
}

static void asked_free(struct asked *asked)
{
	list_remove(&asked->link);
	free(asked);
}

static void session_leave(struct zk *zk, bool in_order)
{
	keeper_close(zk->session, in_order);
	while (!list_empty(&zk->asked))
		asked_free(list_first(&zk->asked, struct asked, link));
}

void zk_close(struct zk *zk)
{
	session_leave(zk, !zk->loop->process->killed);
	uv_close((uv_handle_t *)&zk->unreached, zk_freed_cb);
}

void zk_renew(struct zk *zk)
{
	uv_timer_stop(&zk->unreached);
	session_leave(zk, true);
	session_begin(zk);
}

/* ---- requests ---------------------------------------------------------------------------- */

static void zk_answer(void *context, const struct keeper_answer *answer)
{
	struct asked *asked = context;
	zk_answered *answered = asked->answered;
	struct zk *zk = asked->zk;
	const struct zk_result result = {
		.code = answer->code,
		.name = answer->name,
		.data = answer->data,
		.names = answer->names,
		.count = answer->count,
	};

	asked_free(asked);
	answered(zk->context, &result);
}

static void zk_ask(struct zk *zk, const struct keeper_op *op, zk_answered *answered)
{
	struct asked *asked = xcalloc(1, sizeof(*asked));

	asked->zk = zk;
	asked->answered = answered;
	list_append(&zk->asked, &asked->link);
	keeper_ask(zk->session, op, 1, NULL, zk_answer, asked);
}

void zk_create(struct zk *zk, const char *path, struct slice data, int flags, zk_answered *answered)
{
	const struct keeper_op op = {
		.kind = KEEPER_CREATE, .path = path, .data = data, .flags = flags};

	zk_ask(zk, &op, answered);
}

void zk_get(struct zk *zk, const char *path, zk_answered *answered)
{
	const struct keeper_op op = {.kind = KEEPER_GET, .path = path};

	zk_ask(zk, &op, answered);
}

void zk_children(struct zk *zk, const char *path, zk_answered *answered)
{
	const struct keeper_op op = {.kind = KEEPER_CHILDREN, .path = path, .watch = true};

	zk_ask(zk, &op, answered);
}
