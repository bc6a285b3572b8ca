/* The files of the web page, built by CMake from this folder's sources and part of the binary. */
#ifndef WEBUI_ASSETS_H
#define WEBUI_ASSETS_H

#include "base/memory/buf.h"

struct asset {
	const char *name;  /* "app.js" */
	const char *media; /* its Content-Type */
	struct slice plain;
	struct slice packed; /* the same by gzip */
};

/* The one of that name; "index.html" is the page. False: there is none, as in a binary that was
 * built without the page. */
bool webui_asset(const char *name, struct asset *out);

#endif
