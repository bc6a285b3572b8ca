#include "allocator_oracle_sorter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

const char *const oracle_names[ORACLE_NAMES] = {"cpus", "mem", "disk", "gpus"};

int oracle_name(const char *name)
{
	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (strcmp(name, oracle_names[i]) == 0)
			return i;
	}
	return -1;
}

void amounts_add(struct amounts *to, const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		int name = oracle_name(resource_shape_name(r->pieces[i].shape));

		if (name >= 0)
			to->of[name] += r->pieces[i].milli;
	}
}

static struct onode *node_new(const char *path, struct onode *parent, bool leaf)
{
	struct onode *node = xcalloc(1, sizeof(*node));

	snprintf(node->path, sizeof(node->path), "%s", path);
	node->parent = parent;
	node->leaf = leaf;
	if (parent->count == ORACLE_SORTED)
		abort();
	parent->children[parent->count++] = node;
	return node;
}

static void node_clear(struct onode *node)
{
	for (int i = 0; i < ORACLE_AGENTS; i++)
		resources_free(&node->held[i]);
}

static void node_delete(struct onode *node)
{
	struct onode *parent = node->parent;
	size_t i = 0;

	while (parent->children[i] != node)
		i++;
	memmove(&parent->children[i], &parent->children[i + 1],
		(--parent->count - i) * sizeof(*parent->children));
	node_clear(node);
	free(node);
}

static struct onode *child_of(struct onode *node, const char *path)
{
	for (size_t i = 0; i < node->count; i++) {
		if (strcmp(node->children[i]->path, path) == 0)
			return node->children[i];
	}
	return NULL;
}

void osorter_init(struct osorter *s)
{
	memset(s, 0, sizeof(*s));
}

static void subtree_free(struct onode *node)
{
	while (node->count > 0)
		subtree_free(node->children[node->count - 1]);
	if (node->parent)
		node_delete(node);
}

void osorter_free(struct osorter *s)
{
	subtree_free(&s->root);
	node_clear(&s->root);
}

/* Walks down the path; the leaf of the client, or NULL. */
static struct onode *find(struct osorter *s, const char *client)
{
	struct onode *node = &s->root;
	char path[ORACLE_PATH] = "";

	for (const char *at = client;; at++) {
		if (*at == '/' || *at == '\0') {
			snprintf(path, sizeof(path), "%.*s", (int)(at - client), client);
			node = child_of(node, path);
			if (!node)
				return NULL;
		}
		if (*at == '\0')
			break;
	}
	if (node->leaf)
		return node;
	snprintf(path, sizeof(path), "%.40s/.", client);
	return child_of(node, path);
}

bool osorter_has(struct osorter *s, const char *client)
{
	return find(s, client) != NULL;
}

static void virtual_path(const struct onode *node, char path[ORACLE_PATH])
{
	snprintf(path, ORACLE_PATH, "%.40s/.", node->path);
}

static void leaf_to_parent(struct onode *node)
{
	char path[ORACLE_PATH];

	virtual_path(node, path);
	struct onode *leaf = node_new(path, node, true);
	leaf->active = node->active;
	leaf->gifts = node->gifts;
	for (int i = 0; i < ORACLE_AGENTS; i++)
		resources_copy(&leaf->held[i], &node->held[i]);
	node->leaf = false;
}

void osorter_add(struct osorter *s, const char *client)
{
	struct onode *node = &s->root;
	char path[ORACLE_PATH];

	for (const char *at = client;; at++) {
		if (*at == '/' || *at == '\0') {
			snprintf(path, sizeof(path), "%.*s", (int)(at - client), client);
			if (node->leaf)
				leaf_to_parent(node);
			struct onode *child = child_of(node, path);
			if (!child)
				child = node_new(path, node, *at == '\0');
			else if (*at == '\0') {
				virtual_path(child, path);
				child = node_new(path, child, true);
			}
			node = child;
		}
		if (*at == '\0')
			return;
	}
}

void osorter_remove(struct osorter *s, const char *client)
{
	struct onode *node = find(s, client);
	char path[ORACLE_PATH];

	while (node != &s->root) {
		struct onode *parent = node->parent;

		virtual_path(node, path);
		if (node->count == 0) {
			node_delete(node);
		} else if (node->count == 1 && child_of(node, path)) {
			node->leaf = true;
			node->active = node->children[0]->active;
			node_delete(node->children[0]);
		}
		node = parent;
	}
}

void osorter_activate(struct osorter *s, const char *client, bool active)
{
	find(s, client)->active = active;
}

void osorter_allocated(struct osorter *s, const char *client, int agent,
		       const struct resources *more, bool gift)
{
	for (struct onode *node = find(s, client); node; node = node->parent) {
		resources_add(&node->held[agent], more);
		node->gifts += gift;
	}
}

void osorter_unallocated(struct osorter *s, const char *client, int agent,
			 const struct resources *less)
{
	for (struct onode *node = find(s, client); node; node = node->parent)
		resources_subtract(&node->held[agent], less);
}

static double value(int64_t milli)
{
	return (double)(milli / 1000) + (double)(milli % 1000) / 1000.0;
}

static double node_share(const struct onode *node, const struct oscale *scale)
{
	struct amounts held = {0};
	double share = 0;

	for (int i = 0; i < ORACLE_AGENTS; i++)
		amounts_add(&held, &node->held[i]);
	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (scale->pool.of[i] <= 0 || scale->excluded[i])
			continue;
		double part = value(held.of[i]) / value(scale->pool.of[i]);
		if (part > share)
			share = part;
	}
	return share;
}

static bool is_virtual(const struct onode *node)
{
	size_t len = strlen(node->path);

	return len > 2 && strcmp(node->path + len - 2, "/.") == 0;
}

/* By this nodes are ordered. A virtual leaf has the weight 1. */
static double node_key(const struct onode *node, const struct oscale *scale)
{
	double share = node_share(node, scale);

	return scale->weight && !is_virtual(node)
		       ? share / scale->weight(scale->context, node->path)
		       : share;
}

double osorter_share(struct osorter *s, const char *client, const struct oscale *scale)
{
	struct onode *node = find(s, client);

	return node ? node_key(node, scale) : 0;
}

static bool before(const struct onode *a, const struct onode *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (a->gifts != b->gifts)
		return a->gifts < b->gifts;
	return strcmp(a->path, b->path) < 0;
}

static void walk(struct onode *node, const struct oscale *scale,
		 char out[ORACLE_SORTED][ORACLE_PATH], size_t *count)
{
	struct onode *order[ORACLE_SORTED];

	if (node->leaf) {
		if (node->active) {
			strcpy(out[*count], node->path);
			if (is_virtual(node))
				out[*count][strlen(node->path) - 2] = '\0';
			++*count;
		}
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		struct onode *child = node->children[i];
		size_t at = i;

		child->key = node_key(child, scale);
		for (; at > 0 && before(child, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = child;
	}
	for (size_t i = 0; i < node->count; i++)
		walk(order[i], scale, out, count);
}

size_t osorter_sort(struct osorter *s, const struct oscale *scale,
		    char out[ORACLE_SORTED][ORACLE_PATH])
{
	size_t count = 0;

	walk(&s->root, scale, out, &count);
	return count;
}
