/* Which node of ZooKeeper holds which key. Pure. Internal to store/zookeeper/. */
#ifndef STORE_ZOOKEEPER_ZK_NAMES_H
#define STORE_ZOOKEEPER_ZK_NAMES_H

#include "base/memory/buf.h"

/* Records lie in as many nodes, that the list of what is in one stays small: ZooKeeper answers no
 * more than 1 MiB at once. */
#define ZK_BUCKETS 256

unsigned zk_bucket(struct slice key);
/* The node of a key below `root`: "<root>/<bucket>/<name>". Heap. */
char *zk_key_path(const char *root, struct slice key);
char *zk_bucket_path(const char *root, unsigned bucket);
/* Appends the key that a node's name, without the path, stands for. False: it is none of ours. */
bool zk_key_parse(const char *name, struct buf *key);

#endif
