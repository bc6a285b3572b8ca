/* A registry in the ZooKeeper in memory of store_zookeeper_fake.h, as its tests open, write and
 * read it. */
#ifndef TESTS_UNIT_STORE_ZOOKEEPER_RIG_H
#define TESTS_UNIT_STORE_ZOOKEEPER_RIG_H

#include <stdatomic.h>

#include "store/backend.h"
#include "tests/unit/store_zookeeper_fake.h"

#define ROOT "/mesos.mesita/registry"

extern struct zk_url url;
extern struct err err; /* of what was tried last */
extern atomic_bool given_up;

void reset_zookeeper(void); /* before and after each test */
int try_open(int64_t patience, struct store_backend **out);
int try_open_with(const struct store_cache *cache, int64_t patience, struct store_backend **out);
struct store_backend *open_store(void);
/* NULL deletes. */
int write_one(struct store_backend *b, const char *key, const char *value);
/* Of load(): appends "key=value;" to a buf. */
int append_pair(void *context, struct slice key, struct slice value);
void expect_all(struct store_backend *b, const char *prefix, const char *expected);

#endif
