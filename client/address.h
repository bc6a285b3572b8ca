/* "host:port" texts, as users and redirects give them. */
#ifndef CLIENT_ADDRESS_H
#define CLIENT_ADDRESS_H

#include "base/err.h"

/* Splits; also takes "http://host:port/...", "https://host:port/...", "//host:port/...",
 * "master@host:port". A missing port is `default_port`. `host` is heap. */
int address_parse(const char *text, int default_port, char **host, int *port, struct err *err);

#endif
