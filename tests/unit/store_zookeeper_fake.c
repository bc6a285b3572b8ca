/* See store_zookeeper_fake.h. The functions of libzookeeper that store/ and base/zk/ call are here,
 * so none of the library is linked. */
#include "tests/unit/store_zookeeper_fake.h"

#ifndef THREADED
#define THREADED
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"

const int ZOO_SESSION_EVENT = -1;
const int ZOO_EXPIRED_SESSION_STATE = -112, ZOO_AUTH_FAILED_STATE = -113;
const int ZOO_CONNECTING_STATE = 1, ZOO_CONNECTED_STATE = 3;
static struct ACL open_acl[] = {{0x1f, {(char *)"world", (char *)"anyone"}}};
struct ACL_vector ZOO_OPEN_ACL_UNSAFE = {1, open_acl};

struct zookeeper_fake zookeeper_fake;

struct node {
	char *path, *data;
	int len, version;
};

static struct node *nodes;
static size_t node_count;

struct _zhandle {
	watcher_fn watcher;
	void *context;
	bool over;
};

/* ---- the tree --------------------------------------------------------------------------- */

static struct node *node_find(const char *path)
{
	for (size_t i = 0; i < node_count; i++)
		if (!strcmp(nodes[i].path, path))
			return &nodes[i];
	return NULL;
}

static bool has_child(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < node_count; i++)
		if (!strncmp(nodes[i].path, path, len) && nodes[i].path[len] == '/')
			return true;
	return false;
}

static int node_create(const char *path, const char *data, int len)
{
	char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	bool orphan = *parent && !node_find(parent);

	free(parent);
	if (orphan)
		return ZNONODE;
	if (node_find(path))
		return ZNODEEXISTS;
	nodes = xrealloc(nodes, (node_count + 1) * sizeof(*nodes));
	nodes[node_count++] = (struct node){xstrdup(path), xmemdup(data, (size_t)len), len, 0};
	return ZOK;
}

static int node_set(const char *path, const char *data, int len, int version, struct Stat *stat)
{
	struct node *node = node_find(path);

	if (!node)
		return ZNONODE;
	if (version >= 0 && version != node->version)
		return ZBADVERSION;
	free(node->data);
	node->data = xmemdup(data, (size_t)len);
	node->len = len;
	node->version++;
	if (stat)
		stat->version = node->version;
	return ZOK;
}

static int node_delete(const char *path)
{
	struct node *node = node_find(path);

	if (!node)
		return ZNONODE;
	free(node->path);
	free(node->data);
	*node = nodes[--node_count];
	return ZOK;
}

void zookeeper_fake_reset(void)
{
	while (node_count)
		node_delete(nodes[0].path);
	free(nodes);
	nodes = NULL;
	zookeeper_fake = (struct zookeeper_fake){0};
}

const char *zookeeper_fake_data(const char *path)
{
	static char text[256];
	const struct node *node = node_find(path);

	if (!node)
		return NULL;
	memcpy(text, node->data, (size_t)node->len);
	text[node->len] = '\0';
	return text;
}

void zookeeper_fake_put(const char *path, const char *data)
{
	if (node_create(path, data, (int)strlen(data)) == ZNODEEXISTS)
		node_set(path, data, (int)strlen(data), -1, NULL);
}

void zookeeper_fake_remove(const char *path)
{
	node_delete(path);
}

size_t zookeeper_fake_leaves(void)
{
	size_t count = 0;

	for (size_t i = 0; i < node_count; i++)
		count += !has_child(nodes[i].path) && strlen(strrchr(nodes[i].path, '/')) > 3;
	return count;
}

/* ---- sessions ------------------------------------------------------------------------------ */

static void state_tell(zhandle_t *h, int state)
{
	h->watcher(h, ZOO_SESSION_EVENT, state, "", h->context);
}

int zoo_set_servers_resolution_delay(zhandle_t *handle, int delay_ms)
{
	(void)handle;
	(void)delay_ms;
	return ZOK;
}

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
			   const clientid_t *clientid, void *context, int flags,
			   log_callback_fn log_callback)
{
	zhandle_t *h;

	if (zookeeper_fake.unknown > 0) {
		zookeeper_fake.unknown--;
		errno = ENOENT;
		return NULL;
	}
	h = xcalloc(1, sizeof(*h));
	h->watcher = fn;
	h->context = context;
	zookeeper_fake.sessions++;
	zookeeper_fake.credentials = NULL;
	state_tell(h, zookeeper_fake.unreachable ? ZOO_CONNECTING_STATE : ZOO_CONNECTED_STATE);
	return h;
}

int zookeeper_close(zhandle_t *h)
{
	free(h);
	return ZOK;
}

int zoo_add_auth(zhandle_t *h, const char *scheme, const char *cert, int len,
		 void_completion_t completion, const void *data)
{
	zookeeper_fake.credentials = cert;
	return ZOK;
}

const char *zerror(int code)
{
	return code == ZNOAUTH ? "not authenticated" : "an error";
}

/* What becomes of a request: ZOK lets it be done. `*undone`: it is not, whatever is answered. */
static int fault_of(zhandle_t *h, bool *undone)
{
	*undone = true;
	zookeeper_fake.requests++;
	if (h->over)
		return ZINVALIDSTATE;
	if (zookeeper_fake.skipped > 0) {
		zookeeper_fake.skipped--;
		*undone = false;
		return ZOK;
	}
	if (zookeeper_fake.refusal)
		return zookeeper_fake.refusal;
	*undone = false;
	if (zookeeper_fake.lost <= 0)
		return ZOK;
	zookeeper_fake.lost--;
	*undone = !zookeeper_fake.lost_are_done;
	return ZCONNECTIONLOSS;
}

static void after_fault(zhandle_t *h, int code)
{
	if (code != ZCONNECTIONLOSS)
		return;
	h->over = zookeeper_fake.lost_expire;
	state_tell(h, ZOO_CONNECTING_STATE);
	state_tell(h, h->over ? ZOO_EXPIRED_SESSION_STATE : ZOO_CONNECTED_STATE);
}

/* ---- requests ------------------------------------------------------------------------------ */

#define REQUEST(h, did)                                                                            \
	do {                                                                                       \
		bool undone;                                                                       \
		int fault = fault_of(h, &undone), done = undone ? fault : (did);                   \
                                                                                                   \
		after_fault(h, fault);                                                             \
		return fault != ZOK ? fault : done;                                                \
	} while (0)

int zoo_create(zhandle_t *h, const char *path, const char *value, int len,
	       const struct ACL_vector *acl, int flags, char *made, int made_len)
{
	zookeeper_fake.acl_count = acl->count;
	REQUEST(h, node_create(path, value, len));
}

static int get(const char *path, char *buffer, int *len, struct Stat *stat)
{
	const struct node *node = node_find(path);

	if (!node)
		return ZNONODE;
	*len = node->len < *len ? node->len : *len;
	memcpy(buffer, node->data, (size_t)*len);
	stat->version = node->version;
	return ZOK;
}

int zoo_get(zhandle_t *h, const char *path, int watch, char *buffer, int *len, struct Stat *stat)
{
	REQUEST(h, get(path, buffer, len, stat));
}

int zoo_set2(zhandle_t *h, const char *path, const char *buffer, int len, int version,
	     struct Stat *stat)
{
	REQUEST(h, node_set(path, buffer, len, version, stat));
}

static void aget(const char *path, int fault, data_completion_t completion, const void *data)
{
	const struct node *node = node_find(path);
	struct Stat stat = {.version = node ? node->version : 0};

	if (fault != ZOK || !node)
		completion(fault ? fault : ZNONODE, NULL, -1, NULL, data);
	else
		completion(ZOK, node->data, node->len, &stat, data);
}

int zoo_aget(zhandle_t *h, const char *path, int watch, data_completion_t completion,
	     const void *data)
{
	bool undone;
	int fault = fault_of(h, &undone);

	if (fault == ZINVALIDSTATE)
		return fault;
	aget(path, fault, completion, data);
	after_fault(h, fault);
	return ZOK;
}

int zoo_aget_children(zhandle_t *h, const char *path, int watch, strings_completion_t completion,
		      const void *data)
{
	char **names = xcalloc(node_count + 1, sizeof(*names));
	struct String_vector list = {0, names};
	size_t len = strlen(path);
	bool undone;
	int fault = fault_of(h, &undone);

	for (size_t i = 0; i < node_count; i++)
		if (!strncmp(nodes[i].path, path, len) && nodes[i].path[len] == '/' &&
		    !strchr(nodes[i].path + len + 1, '/'))
			names[list.count++] = nodes[i].path + len + 1;
	if (fault == ZOK && !node_find(path))
		fault = ZNONODE;
	completion(fault, &list, data);
	free(names);
	after_fault(h, fault);
	return ZOK;
}

int zoo_async(zhandle_t *h, const char *path, string_completion_t completion, const void *data)
{
	bool undone;
	int fault = fault_of(h, &undone);

	completion(fault, path, data);
	after_fault(h, fault);
	return ZOK;
}

/* ---- multi ---------------------------------------------------------------------------------- */

void zoo_create_op_init(zoo_op_t *op, const char *path, const char *value, int len,
			const struct ACL_vector *acl, int mode, char *made, int made_len)
{
	op->type = ZOO_CREATE_OP;
	op->create_op.path = path;
	op->create_op.data = value;
	op->create_op.datalen = len;
	op->create_op.acl = acl;
}

void zoo_delete_op_init(zoo_op_t *op, const char *path, int version)
{
	op->type = ZOO_DELETE_OP;
	op->delete_op.path = path;
}

void zoo_set_op_init(zoo_op_t *op, const char *path, const char *buffer, int len, int version,
		     struct Stat *stat)
{
	op->type = ZOO_SETDATA_OP;
	op->set_op.path = path;
	op->set_op.data = buffer;
	op->set_op.datalen = len;
	op->set_op.version = version;
	op->set_op.stat = stat;
}

/* Whether it could be done: all or nothing. */
static int would_do(const zoo_op_t *op)
{
	const struct node *node;

	if (op->type == ZOO_CREATE_OP)
		return node_find(op->create_op.path) ? ZNODEEXISTS : ZOK;
	node = node_find(op->type == ZOO_DELETE_OP ? op->delete_op.path : op->set_op.path);
	if (!node)
		return ZNONODE;
	return op->type == ZOO_SETDATA_OP && op->set_op.version >= 0 &&
			       op->set_op.version != node->version
		       ? ZBADVERSION
		       : ZOK;
}

static void note_size(int count, const zoo_op_t *ops)
{
	int bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += ops[i].type == ZOO_CREATE_OP	? ops[i].create_op.datalen
			 : ops[i].type == ZOO_DELETE_OP ? 0
							: ops[i].set_op.datalen;
	zookeeper_fake.multis++;
	if (count > zookeeper_fake.ops_max)
		zookeeper_fake.ops_max = count;
	if (bytes > zookeeper_fake.bytes_max)
		zookeeper_fake.bytes_max = bytes;
}

static int multi(int count, const zoo_op_t *ops)
{
	int code = ZOK;

	for (int i = 0; i < count && code == ZOK; i++)
		code = would_do(&ops[i]);
	if (code != ZOK)
		return code;
	note_size(count, ops);
	for (int i = 0; i < count && code == ZOK; i++) {
		if (ops[i].type == ZOO_CREATE_OP)
			code = node_create(ops[i].create_op.path, ops[i].create_op.data,
					   ops[i].create_op.datalen);
		else if (ops[i].type == ZOO_DELETE_OP)
			code = node_delete(ops[i].delete_op.path);
		else
			code = node_set(ops[i].set_op.path, ops[i].set_op.data,
					ops[i].set_op.datalen, ops[i].set_op.version,
					ops[i].set_op.stat);
	}
	return code;
}

int zoo_multi(zhandle_t *h, int count, const zoo_op_t *ops, zoo_op_result_t *results)
{
	REQUEST(h, multi(count, ops));
}
