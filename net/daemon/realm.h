/* Realms: parts of a daemon's surface that ask who calls. It is said by HTTP Basic, or, by
 * executors, with a JSON Web Token. */
#ifndef NET_REALM_H
#define NET_REALM_H

#include <stdbool.h>

#include "auth/credentials.h"
#include "net/http.h"

enum realm {
	REALM_NONE, /* never asks */
	REALM_READONLY,
	REALM_READWRITE,
	REALM_FRAMEWORKS, /* the scheduler API */
	REALM_EXECUTORS,  /* the executor API */
	REALMS,
};

struct realm_guard {
	const char *name;		       /* "mesos-master-readonly" */
	const struct credentials *credentials; /* NULL and no secret: everybody is let in, without
						  a principal */
	struct slice secret; /* that signs tokens; empty: Basic is asked for. With credentials:
				either will do */
};

/* Notes in the request who calls. False: it says nothing that the realm knows, and was answered
 * 401. */
bool realm_admits(const struct realm_guard *guard, struct http_request *request);

#endif
