/* A ZooKeeper of one client in memory, in place of libzookeeper: what is asked is done and answered
 * at once, unless a fault is set. */
#ifndef TESTS_UNIT_NET_ZOOKEEPER_H
#define TESTS_UNIT_NET_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>

struct fake_zookeeper {
	int sessions; /* that were begun */
	bool unknown; /* no server's name is known */
	/* The answers to the next requests are lost, and the connection with them. */
	int lost;
	bool lost_are_done;   /* though they are carried out */
	int refusal;	      /* a code for all requests, or 0 */
	bool withheld;	      /* nothing is answered until fake_zookeeper_answer() */
	int lost_reads;	      /* as `lost`, but of what a node says alone */
	const char *vanishes; /* a node that is gone when somebody asks what it says */
	int recv_timeout_ms;  /* of a session; 0: a minute */
};

extern struct fake_zookeeper fake_zookeeper;

void fake_zookeeper_reset(void);
/* Answers what was withheld. */
void fake_zookeeper_answer(void);
void fake_zookeeper_connect(void);
void fake_zookeeper_disconnect(void);
void fake_zookeeper_refuse_credentials(void);
/* Its ephemeral nodes vanish. */
void fake_zookeeper_expire(void);
/* Somebody else's doing; watches fire. */
void fake_zookeeper_put(const char *path, const char *data);
void fake_zookeeper_remove(const char *path);
/* NULL: there is no such node. */
const char *fake_zookeeper_data(const char *path);
/* Names of the children, in the order of making. */
size_t fake_zookeeper_children(const char *path, char *names[], size_t max);
/* How many nodes are of the present session. */
size_t fake_zookeeper_owned(void);
bool fake_zookeeper_is_open(void);

#endif
