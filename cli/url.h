/* URLs of HTTP, as far as following a redirect needs them. */
#ifndef CLI_URL_H
#define CLI_URL_H

#include <stdbool.h>

#include "base/err.h"

struct url {
	bool tls;   /* https */
	char *host; /* without the brackets of an IPv6 address */
	int port;
	char *path; /* with the query, without the fragment; starts with '/' */
};

/* A `reference` (an absolute URL, or "//host/..", "/..", "?..", "..") as seen from
 * `base`. Error: ERR_INVALID, nothing in `out`. */
int url_resolve(const struct url *base, const char *reference, struct url *out, struct err *err);
/* The whole text. Heap. */
char *url_format(const struct url *url);
void url_free(struct url *url);

#endif
