/* The master strings of libmesos' drivers: "host:port", "master@host:port", "file:///path" (whose
 * content is one of the others), "local" (a cluster of the driver's own), "zk://servers/path" of
 * several masters. */
#ifndef CLIENT_LIBMESOS_MASTER_H
#define CLIENT_LIBMESOS_MASTER_H

#include <stdbool.h>

#include "base/err.h"

/* What a string says: "host:port", "zk://..." or "local", heap. ERR_INVALID with libmesos' words if
 * it says nothing that can be used. Reads a file, so it is not for the loop's thread. */
int libmesos_master_parse(const char *text, char **out, struct err *err);
bool libmesos_master_is_local(const char *master);

#endif
