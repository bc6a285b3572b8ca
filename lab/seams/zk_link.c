/* The link of a store's thread to the simulated ZooKeeper: the thread is a simulated one, and what
 * it waits for takes the world's time. */
#include "store/zookeeper/zk_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "lab/keeper/keeper.h"
#include "lab/world/thread.h"

struct zk_link {
	const struct zk_url *url;
	int timeout_ms;
	struct process *process;
	struct keeper_session *session;
	struct sim_thread *waits; /* or NULL */
	bool connected, over;
};

/* ---- the session --------------------------------------------------------------------------- */

static void link_wakes(struct zk_link *link)
{
	if (link->waits)
		thread_wake(link->waits);
}

static void link_connected(void *context, bool fresh)
{
	struct zk_link *link = context;

	(void)fresh;
	link->connected = true;
	link_wakes(link);
}

static void link_lost(void *context)
{
	((struct zk_link *)context)->connected = false;
}

static void link_expired(void *context)
{
	struct zk_link *link = context;

	link->connected = false;
	link->over = true;
	link_wakes(link);
}

static const struct keeper_handlers link_handlers = {
	.connected = link_connected,
	.lost = link_lost,
	.expired = link_expired,
};

/* Who ends kills the thread. */
struct zk_link *zk_link_open(const struct zk_url *url, int timeout_ms, const atomic_bool *given_up)
{
	struct zk_link *link = xcalloc(1, sizeof(*link));

	(void)given_up;
	link->url = url;
	link->timeout_ms = timeout_ms;
	link->process = thread_process(thread_self());
	return link;
}

static void link_session_close(struct zk_link *link)
{
	if (link->session)
		keeper_close(link->session, !link->process->killed);
	link->session = NULL;
	link->connected = link->over = false;
}

void zk_link_close(struct zk_link *link)
{
	link_session_close(link);
	free(link);
}

/* False: the process is being killed. */
static bool link_wait(struct zk_link *link, int64_t until)
{
	bool alive;

	link->waits = thread_self();
	alive = thread_wait(link->waits, until);
	link->waits = NULL;
	return alive;
}

zhandle_t *zk_link_reach(struct zk_link *link, int64_t deadline, struct err *err)
{
	bool alive = true;

	do {
		if (link->over)
			link_session_close(link);
		if (!link->session)
			link->session = keeper_open(link->process->world->keeper, link->process,
						    link->timeout_ms, &link_handlers, link);
		while (alive && !link->connected && !link->over && clock_steady() < deadline)
			alive = link_wait(link, deadline);
		if (alive && link->connected)
			return (zhandle_t *)link;
	} while (alive && clock_steady() < deadline);
	err_set(err, ERR_IO, "ZooKeeper at %s is not reached", link->url->servers);
	return NULL;
}

/* ---- questions ------------------------------------------------------------------------------ */

/* What a thread waits for. Of the answer the last data and version are kept. */
struct wanted {
	struct zk_link *link;
	bool done;
	int code, version;
	char *data; /* heap */
	size_t len;
	zk_link_listed *listed;
	zk_link_got *got;
	void *context;
};

static void wanted_each(void *context, size_t index, const struct keeper_answer *answer)
{
	struct wanted *wanted = context;

	if (answer->code != ZOK)
		return;
	if (wanted->listed) {
		struct String_vector names = {(int32_t)answer->count, answer->names};

		wanted->listed(wanted->context, index, &names);
	}
	if (wanted->got)
		wanted->got(wanted->context, index, answer->data);
}

static void wanted_came(void *context, const struct keeper_answer *answer)
{
	struct wanted *wanted = context;

	wanted->done = true;
	wanted->code = answer->code;
	wanted->version = answer->version;
	if (answer->code == ZOK && answer->data.data) {
		wanted->data = xmemdup(answer->data.data, answer->data.len + 1);
		wanted->len = answer->data.len;
	}
	link_wakes(wanted->link);
}

/* A code. What was read is the caller's. */
static int ask(zhandle_t *handle, const struct keeper_op *ops, size_t count, struct wanted *wanted)
{
	struct zk_link *link = (struct zk_link *)handle;

	wanted->link = link;
	keeper_ask(link->session, ops, count, wanted_each, wanted_came, wanted);
	while (!wanted->done) {
		if (!link_wait(link, TIME_NEVER)) {
			/* Its answer must not come any more. */
			link_session_close(link);
			return ZCLOSING;
		}
	}
	return wanted->code;
}

/* The number of nodes is limited by what a request may hold, not by this. */
static int ask_many(zhandle_t *handle, enum keeper_kind kind, char *const *paths, size_t count,
		    struct wanted *wanted)
{
	struct keeper_op *ops;
	int code;

	if (!count)
		return ZOK;
	ops = xcalloc(count, sizeof(*ops));
	for (size_t i = 0; i < count; i++)
		ops[i] = (struct keeper_op){.kind = kind, .path = paths[i]};
	code = ask(handle, ops, count, wanted);
	free(wanted->data);
	free(ops);
	return code;
}

int zk_link_list(zhandle_t *handle, char *const *paths, size_t count, zk_link_listed *each,
		 void *context)
{
	struct wanted wanted = {.listed = each, .context = context};

	return ask_many(handle, KEEPER_CHILDREN, paths, count, &wanted);
}

int zk_link_get(zhandle_t *handle, char *const *paths, size_t count, zk_link_got *each,
		void *context)
{
	struct wanted wanted = {.got = each, .context = context};

	return ask_many(handle, KEEPER_GET, paths, count, &wanted);
}

int zk_link_sync(zhandle_t *handle, const char *path)
{
	char *const paths[] = {(char *)path};
	struct wanted wanted = {0};

	return ask_many(handle, KEEPER_SYNC, paths, 1, &wanted);
}

int zoo_create(zhandle_t *handle, const char *path, const char *value, int len,
	       const struct ACL_vector *acl, int flags, char *made, int made_len)
{
	const struct keeper_op op = {
		.kind = KEEPER_CREATE, .path = path, .data = {value, (size_t)len}, .flags = flags};
	struct wanted wanted = {0};

	(void)acl, (void)made, (void)made_len;
	return ask(handle, &op, 1, &wanted);
}

int zoo_get(zhandle_t *handle, const char *path, int watch, char *value, int *len,
	    struct Stat *stat)
{
	const struct keeper_op op = {.kind = KEEPER_GET, .path = path};
	struct wanted wanted = {0};
	int code = ask(handle, &op, 1, &wanted);

	(void)watch;
	if (code == ZOK) {
		*len = (int)wanted.len < *len ? (int)wanted.len : *len;
		memcpy(value, wanted.data, (size_t)*len);
		stat->version = wanted.version;
	}
	free(wanted.data);
	return code;
}

int zoo_set2(zhandle_t *handle, const char *path, const char *value, int len, int version,
	     struct Stat *stat)
{
	const struct keeper_op op = {
		.kind = KEEPER_SET, .path = path, .data = {value, (size_t)len}, .version = version};
	struct wanted wanted = {0};
	int code = ask(handle, &op, 1, &wanted);

	stat->version = wanted.version;
	return code;
}

static struct keeper_op op_of(const zoo_op_t *op)
{
	if (op->type == ZOO_CREATE_OP)
		return (struct keeper_op){
			.kind = KEEPER_CREATE,
			.path = op->create_op.path,
			.data = {op->create_op.data, (size_t)op->create_op.datalen},
			.flags = op->create_op.flags,
		};
	if (op->type == ZOO_DELETE_OP)
		return (struct keeper_op){
			.kind = KEEPER_DELETE,
			.path = op->delete_op.path,
			.version = op->delete_op.version,
		};
	return (struct keeper_op){
		.kind = KEEPER_SET,
		.path = op->set_op.path,
		.data = {op->set_op.data, (size_t)op->set_op.datalen},
		.version = op->set_op.version,
	};
}

/* The first one sets a node. */
int zoo_multi(zhandle_t *handle, int count, const zoo_op_t *ops, zoo_op_result_t *results)
{
	struct keeper_op *mine = xcalloc((size_t)count, sizeof(*mine));
	struct wanted wanted = {0};
	int code;

	(void)results;
	for (int i = 0; i < count; i++)
		mine[i] = op_of(&ops[i]);
	code = ask(handle, mine, (size_t)count, &wanted);
	free(mine);
	if (code == ZOK)
		ops[0].set_op.stat->version = wanted.version;
	return code;
}
