/* See url.h. What a request line could not carry (spaces, control characters) is
 * refused, so that no URL can smuggle a header. */
#include "cli/url.h"

#include <http_parser.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

static int check_characters(const char *text, struct err *err)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return err_set(err, ERR_INVALID, "The URL '%s' has invalid characters",
				       text);
	return 0;
}

static char *url_part(const char *text, const struct http_parser_url *u, int field)
{
	return xprintf("%.*s", (int)u->field_data[field].len, text + u->field_data[field].off);
}

static char *path_of(const char *text, const struct http_parser_url *u)
{
	char *path = url_part(text, u, UF_PATH), *query = url_part(text, u, UF_QUERY), *all;
	bool asks = u->field_set & (1 << UF_QUERY);

	all = xprintf("%s%s%s", *path ? path : "/", asks ? "?" : "", query);
	free(path);
	free(query);
	return all;
}

static int parse_absolute(const char *text, struct url *out, struct err *err)
{
	struct http_parser_url u;
	char *scheme;

	http_parser_url_init(&u);
	if (http_parser_parse_url(text, strlen(text), 0, &u) || !(u.field_set & (1 << UF_HOST)))
		return err_set(err, ERR_INVALID, "'%s' is not a URL", text);
	scheme = url_part(text, &u, UF_SCHEMA);
	out->tls = !strcasecmp(scheme, "https");
	if (!out->tls && strcasecmp(scheme, "http")) {
		err_set(err, ERR_INVALID, "The scheme '%s' is not supported", scheme);
		free(scheme);
		return ERR_INVALID;
	}
	free(scheme);
	out->port = u.field_set & (1 << UF_PORT) ? u.port : out->tls ? 443 : 80;
	out->host = url_part(text, &u, UF_HOST);
	out->path = path_of(text, &u);
	return 0;
}

/* The directory of the base's path, or all of it before the query. */
static char *join_path(const char *base, const char *reference)
{
	size_t len = strcspn(base, "?");
	char *joined;

	if (*reference == '/')
		len = 0;
	else if (*reference != '?' && *reference != '#' && *reference)
		while (len > 0 && base[len - 1] != '/')
			len--;
	joined = xprintf("%.*s%s", (int)len, base, reference);
	joined[strcspn(joined, "#")] = 0;
	return joined;
}

int url_resolve(const struct url *base, const char *reference, struct url *out, struct err *err)
{
	size_t scheme = strspn(reference, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	char *text;
	int rv;

	if (check_characters(reference, err))
		return ERR_INVALID;
	if (scheme && reference[scheme] == ':')
		return parse_absolute(reference, out, err);
	if (!strncmp(reference, "//", 2)) {
		text = xprintf("%s:%s", base->tls ? "https" : "http", reference);
		rv = parse_absolute(text, out, err);
		free(text);
		return rv;
	}
	*out = (struct url){
		.tls = base->tls,
		.host = xstrdup(base->host),
		.port = base->port,
		.path = join_path(base->path, reference),
	};
	return 0;
}

char *url_format(const struct url *url)
{
	bool ipv6 = strchr(url->host, ':') != NULL;

	return xprintf("%s://%s%s%s:%d%s", url->tls ? "https" : "http", ipv6 ? "[" : "", url->host,
		       ipv6 ? "]" : "", url->port, url->path);
}

void url_free(struct url *url)
{
	free(url->host);
	free(url->path);
	url->host = url->path = NULL;
}
