/* The nodes of a simulated ZooKeeper: versions, ephemeral and sequential nodes, all or nothing of
 * several changes, and what a server that is behind still shows. Codes are those of zookeeper.h.
 * Internal to lab/keeper/. */
#ifndef LAB_KEEPER_KEEPER_TREE_H
#define LAB_KEEPER_KEEPER_TREE_H

#include "lab/keeper/keeper.h"

struct keeper_tree {
	struct keeper_node *nodes; /* table by path */
	struct list log;	   /* struct tree_change.link: the last changes, oldest first */
	uint64_t zxid;		   /* number of the last one */
	/* The children of a node are not what they were. */
	void (*changed)(struct keeper_tree *tree, const char *parent);
};

void tree_init(struct keeper_tree *tree);
void tree_free(struct keeper_tree *tree);
/* All of them, or none: the code of the first that cannot be. What the last one made is named in
 * `name` (heap, NULL if it made none), the version of what the first one set in `version`. */
int tree_change(struct keeper_tree *tree, int64_t now, uint64_t session,
		const struct keeper_op *ops, size_t count, char **name, int *version);
/* What the session made for its time goes. */
void tree_end_session(struct keeper_tree *tree, int64_t now, uint64_t session);

/* The last change that was there at that time. */
uint64_t tree_zxid_at(const struct keeper_tree *tree, int64_t when);
/* As it was after that change, of which not too many are kept. Data and names are heap. */
int tree_get(const struct keeper_tree *tree, uint64_t zxid, const char *path, struct slice *data,
	     int *version);
int tree_children(const struct keeper_tree *tree, uint64_t zxid, const char *path, char ***names,
		  size_t *count);
/* Whether the children of the path were others then. */
bool tree_children_differ(const struct keeper_tree *tree, uint64_t zxid, const char *path);

#endif
