/* Where ZooKeeper keeps a group of masters: "zk://[user:password@]host:port[,host:port...]/path".
 */
#ifndef BASE_ZK_ZK_URL_H
#define BASE_ZK_ZK_URL_H

#include <stdbool.h>

#include "base/err.h"

#define ZK_URL_PREFIX "zk://"

/* All heap. */
struct zk_url {
	char *servers;	   /* "host:port,host:port" */
	char *credentials; /* "user:password", or NULL */
	char *path;	   /* "/mesos": no '/' at its end */
};

/* Blanks around it do not count. ERR_INVALID with Mesos' words; `out` holds nothing then. */
int zk_url_parse(const char *text, struct zk_url *out, struct err *err);
void zk_url_free(struct zk_url *url);
/* Whether the text, after blanks, is meant as one. */
bool zk_url_is(const char *text);

#endif
