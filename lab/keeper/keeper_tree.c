#include "lab/keeper/keeper_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"
#include "base/table.h"

#define KEPT (5 * SECOND) /* of changes; no server is behind by more */

struct keeper_node {
	UT_hash_handle hh;
	char *path;
	char *data; /* with a NUL behind it */
	size_t len;
	int version;
	uint64_t session; /* that made it for its time; 0: it stays */
	uint64_t made;	  /* children so far: numbers of sequential ones */
	size_t children;
};

/* What a node was before. */
struct tree_change {
	struct list link;
	uint64_t zxid;
	int64_t time;
	char *path;
	bool was, is; /* there */
	char *data;
	size_t len;
	int version;
};

void tree_init(struct keeper_tree *tree)
{
	*tree = (struct keeper_tree){0};
	list_init(&tree->log);
}

static void change_free(struct tree_change *change)
{
	list_remove(&change->link);
	free(change->path);
	free(change->data);
	free(change);
}

static void node_free(struct keeper_tree *tree, struct keeper_node *node)
{
	HASH_DEL(tree->nodes, node);
	free(node->path);
	free(node->data);
	free(node);
}

void tree_free(struct keeper_tree *tree)
{
	struct keeper_node *node, *next;

	HASH_ITER (hh, tree->nodes, node, next)
		node_free(tree, node);
	while (!list_empty(&tree->log))
		change_free(list_first(&tree->log, struct tree_change, link));
}

static struct keeper_node *node_find(const struct keeper_tree *tree, const char *path)
{
	struct keeper_node *node;

	HASH_FIND_STR(tree->nodes, path, node);
	return node;
}

/* The path without its last part, in `out`. */
static const char *parent_of(const char *path, char out[KEEPER_PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(out, KEEPER_PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
	return out;
}

static struct keeper_node *parent_find(const struct keeper_tree *tree, const char *path)
{
	char parent[KEEPER_PATH_MAX];

	return node_find(tree, parent_of(path, parent));
}

/* ---- changes ---------------------------------------------------------------------------- */

static void change_note(struct keeper_tree *tree, int64_t now, const char *path,
			const struct keeper_node *before, bool is)
{
	struct tree_change *change = xcalloc(1, sizeof(*change));

	change->zxid = tree->zxid;
	change->time = now;
	change->path = xstrdup(path);
	change->was = before != NULL;
	change->is = is;
	if (before) {
		change->data = xmemdup(before->data, before->len + 1);
		change->len = before->len;
		change->version = before->version;
	}
	list_append(&tree->log, &change->link);
}

static void log_trim(struct keeper_tree *tree, int64_t now)
{
	struct tree_change *change;

	while ((change = list_first(&tree->log, struct tree_change, link)) &&
	       change->time < now - KEPT)
		change_free(change);
}

static void tell_changed(struct keeper_tree *tree, const char *path)
{
	char parent[KEEPER_PATH_MAX];

	if (tree->changed)
		tree->changed(tree, parent_of(path, parent));
}

static void node_set(struct keeper_node *node, struct slice data)
{
	free(node->data);
	node->data = xmalloc(data.len + 1);
	if (data.len)
		memcpy(node->data, data.data, data.len);
	node->data[data.len] = '\0';
	node->len = data.len;
}

static void do_create(struct keeper_tree *tree, int64_t now, uint64_t session,
		      const struct keeper_op *op, char **name)
{
	struct keeper_node *parent = parent_find(tree, op->path);
	struct keeper_node *node = xcalloc(1, sizeof(*node));

	node->path = op->flags & ZOO_SEQUENCE
			     ? xprintf("%s%010llu", op->path, (unsigned long long)parent->made)
			     : xstrdup(op->path);
	node->session = op->flags & ZOO_EPHEMERAL ? session : 0;
	node_set(node, op->data);
	if (parent) {
		parent->made++;
		parent->children++;
	}
	change_note(tree, now, node->path, NULL, true);
	HASH_ADD_KEYPTR(hh, tree->nodes, node->path, strlen(node->path), node);
	free(*name);
	*name = xstrdup(node->path);
	tell_changed(tree, node->path);
}

static void do_delete(struct keeper_tree *tree, int64_t now, struct keeper_node *node)
{
	struct keeper_node *parent = parent_find(tree, node->path);
	char *path = xstrdup(node->path);

	change_note(tree, now, node->path, node, false);
	if (parent)
		parent->children--;
	node_free(tree, node);
	tell_changed(tree, path);
	free(path);
}

static bool is_top(const char *path)
{
	return strrchr(path, '/') == path;
}

/* Whether it can be done now. In one request no node is named twice but by who sets it. */
static int check_op(const struct keeper_tree *tree, const struct keeper_op *op)
{
	const struct keeper_node *node = node_find(tree, op->path);

	if (op->kind == KEEPER_CREATE && !is_top(op->path) && !parent_find(tree, op->path))
		return ZNONODE;
	if (op->kind == KEEPER_CREATE)
		return node && !(op->flags & ZOO_SEQUENCE) ? ZNODEEXISTS : ZOK;
	if (!node)
		return ZNONODE;
	if (op->version != -1 && op->version != node->version)
		return ZBADVERSION;
	return op->kind == KEEPER_DELETE && node->children ? ZNOTEMPTY : ZOK;
}

int tree_change(struct keeper_tree *tree, int64_t now, uint64_t session,
		const struct keeper_op *ops, size_t count, char **name, int *version)
{
	*name = NULL;
	*version = -1;
	for (size_t i = 0; i < count; i++) {
		int code = check_op(tree, &ops[i]);

		if (code != ZOK)
			return code;
	}
	tree->zxid++;
	log_trim(tree, now);
	for (size_t i = 0; i < count; i++) {
		struct keeper_node *node = node_find(tree, ops[i].path);

		if (ops[i].kind == KEEPER_CREATE) {
			do_create(tree, now, session, &ops[i], name);
		} else if (ops[i].kind == KEEPER_DELETE) {
			do_delete(tree, now, node);
		} else {
			change_note(tree, now, node->path, node, true);
			node_set(node, ops[i].data);
			node->version++;
			if (*version == -1)
				*version = node->version;
		}
	}
	return ZOK;
}

void tree_end_session(struct keeper_tree *tree, int64_t now, uint64_t session)
{
	struct keeper_node *node, *next;

	tree->zxid++;
	HASH_ITER (hh, tree->nodes, node, next) {
		if (node->session == session)
			do_delete(tree, now, node);
	}
}

/* ---- what is, and was ---------------------------------------------------------------------- */

uint64_t tree_zxid_at(const struct keeper_tree *tree, int64_t when)
{
	for (const struct list *at = tree->log.next; at != &tree->log; at = at->next) {
		const struct tree_change *change = list_entry(at, struct tree_change, link);

		if (change->time > when)
			return change->zxid - 1;
	}
	return tree->zxid;
}

/* The first change of the node after that one, or NULL. */
static const struct tree_change *change_after(const struct keeper_tree *tree, uint64_t zxid,
					      const char *path)
{
	for (const struct list *at = tree->log.next; at != &tree->log; at = at->next) {
		const struct tree_change *change = list_entry(at, struct tree_change, link);

		if (change->zxid > zxid && !strcmp(change->path, path))
			return change;
	}
	return NULL;
}

static bool was_there(const struct keeper_tree *tree, uint64_t zxid, const char *path)
{
	const struct tree_change *change = change_after(tree, zxid, path);

	return change ? change->was : node_find(tree, path) != NULL;
}

int tree_get(const struct keeper_tree *tree, uint64_t zxid, const char *path, struct slice *data,
	     int *version)
{
	const struct tree_change *change = change_after(tree, zxid, path);
	const struct keeper_node *node = node_find(tree, path);

	if (change ? !change->was : !node)
		return ZNONODE;
	*version = change ? change->version : node->version;
	*data = change ? (struct slice){xmemdup(change->data, change->len + 1), change->len}
		       : (struct slice){xmemdup(node->data, node->len + 1), node->len};
	return ZOK;
}

static bool is_child(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	return !strncmp(path, parent, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

struct name_list {
	char **names;
	size_t count, cap;
};

static void name_add(struct name_list *list, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->names[i], name))
			return;
	}
	if (list->count == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 8;
		list->names = xrealloc(list->names, list->cap * sizeof(*list->names));
	}
	list->names[list->count++] = xstrdup(name);
}

int tree_children(const struct keeper_tree *tree, uint64_t zxid, const char *path, char ***names,
		  size_t *count)
{
	const struct keeper_node *parent = node_find(tree, path);
	struct name_list list = {0};
	const struct keeper_node *node;

	if (!was_there(tree, zxid, path))
		return ZNONODE;
	if (!parent || parent->children) {
		for (node = tree->nodes; node; node = node->hh.next) {
			if (is_child(node->path, path) && was_there(tree, zxid, node->path))
				name_add(&list, node->path);
		}
	}
	for (const struct list *at = tree->log.next; at != &tree->log; at = at->next) {
		const struct tree_change *change = list_entry(at, struct tree_change, link);

		if (is_child(change->path, path) && was_there(tree, zxid, change->path))
			name_add(&list, change->path);
	}
	*names = list.names;
	*count = list.count;
	return ZOK;
}

bool tree_children_differ(const struct keeper_tree *tree, uint64_t zxid, const char *path)
{
	for (const struct list *at = tree->log.next; at != &tree->log; at = at->next) {
		const struct tree_change *change = list_entry(at, struct tree_change, link);

		if (change->zxid > zxid && change->was != change->is &&
		    is_child(change->path, path))
			return true;
	}
	return false;
}
