/* See net_zookeeper.h. The functions of libzookeeper that net/masters/ calls are here, so none of
 * the library is linked. */
#include "tests/unit/net_zookeeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"

#define NODES_MAX 64
#define WITHHELD_MAX 16

const int ZOO_PERM_READ = 1, ZOO_PERM_ALL = 0x1f;
const int ZOO_EPHEMERAL = 1, ZOO_SEQUENCE = 2;
const int ZOO_SESSION_EVENT = -1, ZOO_CHILD_EVENT = 4;
const int ZOO_EXPIRED_SESSION_STATE = -112, ZOO_AUTH_FAILED_STATE = -113;
const int ZOO_CONNECTING_STATE = 1, ZOO_CONNECTED_STATE = 3;
static struct ACL open_acl[] = {{0x1f, {(char *)"world", (char *)"anyone"}}};
struct ACL_vector ZOO_OPEN_ACL_UNSAFE = {1, open_acl};

struct fake_zookeeper fake_zookeeper;

struct node {
	char *path, *data;
	int owner; /* session, or 0 */
};

static struct node nodes[NODES_MAX];
static size_t node_count;
static int sequence;

struct _zhandle {
	watcher_fn watcher;
	void *context;
	int session;
	bool connected;
	char *watched;
	watcher_fn child_watcher;
	void *child_context;
};

static zhandle_t *open_handle;
static void (*withheld[WITHHELD_MAX])(void *);
static void *withheld_data[WITHHELD_MAX];
static size_t withheld_count;

/* ---- nodes --------------------------------------------------------------------------- */

static struct node *node_find(const char *path)
{
	for (size_t i = 0; i < node_count; i++)
		if (!strcmp(nodes[i].path, path))
			return &nodes[i];
	return NULL;
}

static bool is_child(const char *node, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(node, path, len) && node[len] == '/' && !strchr(node + len + 1, '/');
}

static bool parent_exists(const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path);
	char *parent = xstrndup(path, len);
	bool exists = !len || node_find(parent);

	free(parent);
	return exists;
}

static void watch_fires(const char *path)
{
	zhandle_t *h = open_handle;

	if (!h || !h->watched || !is_child(path, h->watched))
		return;
	free(h->watched);
	h->watched = NULL;
	h->child_watcher(h, ZOO_CHILD_EVENT, ZOO_CONNECTED_STATE, path, h->child_context);
}

static void node_remove(size_t index)
{
	char *path = nodes[index].path;

	free(nodes[index].data);
	memmove(nodes + index, nodes + index + 1, (--node_count - index) * sizeof(*nodes));
	watch_fires(path);
	free(path);
}

static void node_put(const char *path, const char *data, size_t len, int owner)
{
	struct node *node = node_find(path);

	if (!node)
		node = &nodes[node_count++];
	else
		free(node->path), free(node->data);
	*node = (struct node){xstrdup(path), xstrndup(data, len), owner};
	watch_fires(path);
}

static void session_end(int session)
{
	for (size_t i = node_count; i-- > 0;)
		if (nodes[i].owner == session)
			node_remove(i);
}

/* ---- the test's side -------------------------------------------------------------------- */

void fake_zookeeper_reset(void)
{
	while (node_count)
		node_remove(node_count - 1);
	fake_zookeeper = (struct fake_zookeeper){0};
	withheld_count = 0;
	sequence = 0;
}

static void tell_state(int state)
{
	if (open_handle)
		open_handle->watcher(open_handle, ZOO_SESSION_EVENT, state, "",
				     open_handle->context);
}

void fake_zookeeper_connect(void)
{
	open_handle->connected = true;
	tell_state(ZOO_CONNECTED_STATE);
}

void fake_zookeeper_disconnect(void)
{
	open_handle->connected = false;
	tell_state(ZOO_CONNECTING_STATE);
}

void fake_zookeeper_refuse_credentials(void)
{
	tell_state(ZOO_AUTH_FAILED_STATE);
}

void fake_zookeeper_expire(void)
{
	session_end(open_handle->session);
	open_handle->connected = false;
	tell_state(ZOO_EXPIRED_SESSION_STATE);
}

void fake_zookeeper_put(const char *path, const char *data)
{
	node_put(path, data, strlen(data), 0);
}

void fake_zookeeper_remove(const char *path)
{
	struct node *node = node_find(path);

	if (node)
		node_remove((size_t)(node - nodes));
}

const char *fake_zookeeper_data(const char *path)
{
	struct node *node = node_find(path);

	return node ? node->data : NULL;
}

size_t fake_zookeeper_children(const char *path, char *names[], size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < node_count && count < max; i++)
		if (is_child(nodes[i].path, path))
			names[count++] = nodes[i].path + strlen(path) + 1;
	return count;
}

size_t fake_zookeeper_owned(void)
{
	size_t count = 0;

	for (size_t i = 0; i < node_count; i++)
		count += open_handle && nodes[i].owner == open_handle->session;
	return count;
}

bool fake_zookeeper_is_open(void)
{
	return open_handle != NULL;
}

void fake_zookeeper_answer(void)
{
	fake_zookeeper.withheld = false;
	for (size_t i = 0; i < withheld_count; i++)
		withheld[i](withheld_data[i]);
	withheld_count = 0;
}

/* ---- libzookeeper ------------------------------------------------------------------------- */

int zoo_set_servers_resolution_delay(zhandle_t *handle, int delay_ms)
{
	(void)handle;
	(void)delay_ms;
	return ZOK;
}

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
			   const clientid_t *clientid, void *context, int flags,
			   log_callback_fn log)
{
	zhandle_t *h;

	if (fake_zookeeper.unknown) {
		errno = EINVAL;
		return NULL;
	}
	h = xcalloc(1, sizeof(*h));
	h->watcher = fn;
	h->context = context;
	h->session = ++fake_zookeeper.sessions;
	open_handle = h;
	return h;
}

int zookeeper_close(zhandle_t *h)
{
	if (open_handle == h)
		open_handle = NULL;
	session_end(h->session);
	free(h->watched);
	free(h);
	return ZOK;
}

int zoo_add_auth(zhandle_t *h, const char *scheme, const char *cert, int len,
		 void_completion_t completion, const void *data)
{
	return ZOK;
}

int zoo_recv_timeout(zhandle_t *h)
{
	return fake_zookeeper.recv_timeout_ms ? fake_zookeeper.recv_timeout_ms : 60000;
}

const char *zerror(int code)
{
	return code == ZNOAUTH ? "not authenticated" : "an error";
}

/* Whether the request is carried out; `code` is what is answered then. */
static bool is_done(int *code)
{
	*code = fake_zookeeper.refusal;
	if (!open_handle->connected)
		*code = ZCONNECTIONLOSS;
	if (*code)
		return false;
	if (!fake_zookeeper.lost)
		return true;
	fake_zookeeper.lost--;
	*code = ZCONNECTIONLOSS;
	return fake_zookeeper.lost_are_done;
}

/* An answer: now, or when the test says so. */
static void later(void (*run)(void *data), void *data)
{
	if (!fake_zookeeper.withheld) {
		run(data);
		return;
	}
	withheld[withheld_count] = run;
	withheld_data[withheld_count++] = data;
}

struct made {
	int code;
	char *path;
	string_completion_t completion;
	const void *data;
};

static void made_run(void *data)
{
	struct made *made = data;

	made->completion(made->code, made->path, made->data);
	free(made->path);
	free(made);
}

/* Tests may have taken some of the numbers. */
static char *next_name(const char *path)
{
	char *name = xprintf("%s%010d", path, sequence++);

	while (node_find(name)) {
		free(name);
		name = xprintf("%s%010d", path, sequence++);
	}
	return name;
}

static int create(const char *path, const char *value, int len, int mode, char **name)
{
	*name = mode & ZOO_SEQUENCE ? next_name(path) : xstrdup(path);
	if (!parent_exists(*name))
		return ZNONODE;
	if (node_find(*name))
		return ZNODEEXISTS;
	node_put(*name, value, (size_t)len, mode & ZOO_EPHEMERAL ? open_handle->session : 0);
	return ZOK;
}

int zoo_acreate(zhandle_t *h, const char *path, const char *value, int len,
		const struct ACL_vector *acl, int mode, string_completion_t completion,
		const void *data)
{
	struct made *made = xcalloc(1, sizeof(*made));
	int code;

	*made = (struct made){.completion = completion, .data = data};
	if (is_done(&made->code)) {
		code = create(path, value, len, mode, &made->path);
		made->code = made->code ? made->code : code;
	}
	later(made_run, made);
	return ZOK;
}

int zoo_aget(zhandle_t *h, const char *path, int watch, data_completion_t completion,
	     const void *data)
{
	struct Stat stat = {0};
	struct node *node;
	int code;

	if (fake_zookeeper.vanishes && !strcmp(path, fake_zookeeper.vanishes))
		fake_zookeeper_remove(path);
	node = node_find(path);
	if (is_done(&code) && !code)
		code = node ? ZOK : ZNONODE;
	if (!code && fake_zookeeper.lost_reads && fake_zookeeper.lost_reads--)
		code = ZCONNECTIONLOSS;
	if (node)
		stat.ephemeralOwner = node->owner;
	completion(code, code ? NULL : node->data, code ? -1 : (int)strlen(node->data), &stat,
		   data);
	return ZOK;
}

int zoo_awget_children(zhandle_t *h, const char *path, watcher_fn watcher, void *context,
		       strings_completion_t completion, const void *data)
{
	char *names[NODES_MAX];
	struct String_vector found = {0, names};
	int code;

	if (is_done(&code) && !code)
		code = node_find(path) ? ZOK : ZNONODE;
	if (!code) {
		found.count = (int32_t)fake_zookeeper_children(path, names, NODES_MAX);
		free(h->watched);
		h->watched = xstrdup(path);
		h->child_watcher = watcher;
		h->child_context = context;
	}
	completion(code, &found, data);
	return ZOK;
}
