/* A ZooKeeper in memory for several clients at a time, in place of libzookeeper: what is asked is
 * done and answered at once, unless a fault is set. It knows what store/zookeeper/ asks. */
#ifndef TESTS_UNIT_STORE_ZOOKEEPER_FAKE_H
#define TESTS_UNIT_STORE_ZOOKEEPER_FAKE_H

#include <stdbool.h>
#include <stddef.h>

struct zookeeper_fake {
	int sessions;		 /* that were begun */
	int unknown;		 /* so many more times no server's name is known */
	bool unreachable;	 /* sessions are not begun */
	int lost;		 /* the answers to the next so many requests are lost */
	bool lost_are_done;	 /* though they are carried out */
	bool lost_expire;	 /* and the session with them */
	int refusal;		 /* a code for all requests, or 0 */
	int skipped;		 /* so many requests go well before a fault */
	int requests;		 /* that were made */
	int multis;		 /* that were carried out */
	int ops_max, bytes_max;	 /* of the largest of them */
	const char *credentials; /* of the last session */
	int acl_count;		 /* of the last node that was made */
};

extern struct zookeeper_fake zookeeper_fake;

void zookeeper_fake_reset(void);
/* NULL: there is no such node. */
const char *zookeeper_fake_data(const char *path);
void zookeeper_fake_put(const char *path, const char *data);
void zookeeper_fake_remove(const char *path);
/* Nodes without children. */
size_t zookeeper_fake_leaves(void);

#endif
