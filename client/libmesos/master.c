/* See master.h. */
#include "client/libmesos/master.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/zk/zk_url.h"
#include "client/address.h"

#define FILE_PREFIX "file://"
#define FILE_MAX 4096 /* bytes of a master string in a file */
#define DEFAULT_PORT 5050

static int master_read_file(const char *path, char **out, struct err *err)
{
	char text[FILE_MAX + 1];
	FILE *file = fopen(path, "re");
	size_t len;

	if (!file)
		return err_set(err, ERR_NOT_FOUND, "Failed to read from file at '%s'", path);
	len = fread(text, 1, FILE_MAX, file);
	fclose(file);
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	*out = xstrndup(text, len);
	return 0;
}

static int parse_address(const char *text, char **out, struct err *err)
{
	char *host;
	int port, rv;

	/* libmesos has no port of its own, and a slip of the pen should not be a host's name. */
	if (!strchr(text, ':'))
		return err_set(err, ERR_INVALID, "'%s' is no address: expected host:port", text);
	rv = address_parse(text, DEFAULT_PORT, &host, &port, err);

	if (rv < 0)
		return rv;
	*out = xprintf("%s:%d", host, port);
	free(host);
	return 0;
}

static int parse_group(const char *text, char **out, struct err *err)
{
	struct zk_url url;
	int rv = zk_url_parse(text, &url, err);

	if (rv == 0)
		*out = xstrdup(text);
	zk_url_free(&url);
	return rv;
}

static int master_parse(const char *text, char **out, struct err *err)
{
	if (!*text)
		return err_set(err, ERR_INVALID, "it is empty");
	if (str_has_prefix(text, FILE_PREFIX))
		return err_set(err, ERR_INVALID, "a file names no other file");
	if (libmesos_master_is_local(text)) {
		*out = xstrdup(text);
		return 0;
	}
	return zk_url_is(text) ? parse_group(text, out, err) : parse_address(text, out, err);
}

int libmesos_master_parse(const char *text, char **out, struct err *err)
{
	char *content = NULL;
	int rv = 0;

	if (str_has_prefix(text, FILE_PREFIX))
		rv = master_read_file(text + strlen(FILE_PREFIX), &content, err);
	if (rv == 0)
		rv = master_parse(content ? content : text, out, err);
	free(content);
	return rv < 0 ? err_wrap(err, rv, "Failed to create a master detector for '%s'", text) : 0;
}

bool libmesos_master_is_local(const char *master)
{
	return !strcmp(master, "local") || !strcmp(master, "localquiet");
}
