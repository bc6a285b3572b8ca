/* What a handler may ask of a request: headers, query, form, accepted media. And how a
 * request is made of the bytes collected: paths are decoded, bodies inflated.
 *
 * Requests that the server answers itself: path without '/' in front 400, a path with
 * "/.." or one that cannot be decoded 404, malformed query 400, a body that is not the
 * gzip it claims to be 400, one that inflates beyond the limit 413, a target of more than
 * 64 KiB 414. */
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/gzip.h"

/* -- making it -- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool http_decode(const char *text, size_t len, bool plus_is_space, char *out)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (c == '%') {
			if (len - i < 3)
				return false;
			int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if (c == '\0')
			return false;
		*out++ = c;
	}
	*out = '\0';
	return true;
}

void http_encode(struct buf *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
		    (*c >= 'A' && *c <= 'Z') || strchr("-_.~/", *c))
			buf_putc(out, (char)*c);
		else
			buf_printf(out, "%%%02X", *c);
	}
}

/* Splits the collected head: url NUL, then name NUL value NUL of each header. */
static void split_head(struct http_connection *connection, struct http_request *request)
{
	char *at = arena_memdup(&request->arena, connection->head.data, connection->head.len);

	request->target = at;
	at += strlen(at) + 1;
	request->header_count = connection->header_count;
	request->headers = arena_alloc(&request->arena,
				       (request->header_count + 1) * sizeof(*request->headers));
	for (size_t i = 0; i < request->header_count; i++) {
		struct http_header *header = &request->headers[i];
		header->name = at;
		at += strlen(at) + 1;
		header->value = at;
		size_t len = strlen(at);
		char *end = at + len;
		while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
			*--end = '\0';
		at += len + 1;
	}
}

bool http_plain_path(const char *path, size_t len)
{
	static const bool plain[256] = {
		['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = 1, ['_'] = 1,
		['-'] = 1,	   ['('] = 1,	      [')'] = 1,
	};

	if (len == 0 || *path != '/')
		return false;
	for (const char *c = path; c < path + len; c++) {
		if (!plain[(unsigned char)*c] && !(*c == '.' && c[-1] != '/') &&
		    !(*c == '/' && c[1] != '/'))
			return false;
	}
	return true;
}

static int split_target(struct http_request *request, const char **text)
{
	struct http_parser_url url;
	const char *target = request->target;
	size_t len = strlen(target);

	request->path = request->query = "";
	/* http-parser's offsets have 16 bits. */
	if (len > UINT16_MAX)
		return 414;
	if (http_plain_path(target, len)) {
		request->path = target;
		return 0;
	}
	http_parser_url_init(&url);
	if (http_parser_parse_url(target, len, 0, &url) != 0)
		return -1;

	const char *path = "";
	size_t path_len = 0;
	if (url.field_set & (1 << UF_PATH)) {
		path = target + url.field_data[UF_PATH].off;
		path_len = url.field_data[UF_PATH].len;
	}
	if (url.field_set & (1 << UF_QUERY))
		request->query =
			arena_strndup(&request->arena, target + url.field_data[UF_QUERY].off,
				      url.field_data[UF_QUERY].len);
	char *decoded = arena_alloc(&request->arena, path_len + 1);
	bool readable = http_decode(path, path_len, false, decoded);

	if (path_len == 0 || path[0] != '/') {
		*text = "Request URL path must start with '/'";
		return 400;
	}
	if (!readable || strstr(decoded, "/.."))
		return 404;
	request->path = decoded;
	/* As sent, whatever scheme and host were before it. */
	if (path != target || url.field_set & (1 << UF_FRAGMENT))
		request->target = arena_printf(&request->arena, "%.*s%s%s", (int)path_len, path,
					       *request->query ? "?" : "", request->query);
	char *scratch = arena_alloc(&request->arena, strlen(request->query) + 1);
	if (!http_decode(request->query, strlen(request->query), true, scratch)) {
		*text = "Malformed % escape in the query";
		return 400;
	}
	return 0;
}

static int inflate_body(struct http_request *request, struct exchange *exchange, size_t max,
			const char **text)
{
	const char *encoding = http_header(request, "Content-Encoding");
	struct buf inflated = BUF_INIT;

	if (!encoding || strcasecmp(encoding, "gzip") != 0 || exchange->body.len == 0)
		return 0;
	int rv = gzip_inflate(&inflated, exchange->body.data, exchange->body.len, max);
	buf_free(&exchange->body);
	if (rv != 0) {
		buf_free(&inflated);
		*text = rv == ERR_LIMIT ? NULL : "Failed to decompress the gzip body";
		return rv == ERR_LIMIT ? 413 : 400;
	}
	exchange->body = inflated;
	return 0;
}

int http_request_begin(struct http_connection *connection, struct exchange **out, const char **text)
{
	struct exchange *exchange = http_exchange_make(connection);
	struct http_request *request = &exchange->request;

	request->method = http_method_str((enum http_method)connection->parser.method);
	request->keep_alive = http_should_keep_alive(&connection->parser);
	split_head(connection, request);
	buf_recycle(&connection->head);

	int status = split_target(request, text);
	if (status < 0) {
		http_exchange_free(exchange);
		return status;
	}
	request->body = (struct slice){"", 0};
	*out = exchange;
	return status;
}

int http_request_finish(struct http_connection *connection, struct exchange *exchange,
			const char **text)
{
	struct http_request *request = &exchange->request;
	int status;

	exchange->body = connection->body;
	connection->body = BUF_INIT;
	status = inflate_body(request, exchange, connection->server->options.body_max, text);
	request->body =
		(struct slice){exchange->body.data ? exchange->body.data : "", exchange->body.len};
	return status;
}

struct exchange *http_exchange_make(struct http_connection *connection)
{
	struct exchange *exchange = connection->server->spare;

	connection->server->spare = NULL;
	if (!exchange)
		exchange = xcalloc(1, sizeof(*exchange));
	exchange->connection = connection;
	exchange->request.connection = connection;
	exchange->request.server = connection->server;
	exchange->request.answer = exchange;
	return exchange;
}

/* The next request is made of it, with the memory that it has. */
static void spare(struct http_server *server, struct exchange *exchange)
{
	struct arena arena = exchange->request.arena;

	arena_reset(&arena);
	*exchange = (struct exchange){.request.arena = arena};
	server->spare = exchange;
}

void http_exchange_free(struct exchange *exchange)
{
	struct http_server *server = exchange->request.server;

	buf_free(&exchange->body);
	free(exchange->peer);
	free(exchange->local);
	if (server && !server->spare) {
		spare(server, exchange);
		return;
	}
	arena_free(&exchange->request.arena);
	free(exchange);
}

/* -- reading it -- */

static bool is_header(const struct http_request *request, size_t i, const char *name)
{
	const char *at = request->headers[i].name;

	return (*at | 0x20) == (*name | 0x20) && strcasecmp(at, name) == 0;
}

const char *http_header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (is_header(request, i, name))
			return request->headers[i].value;
	return NULL;
}

const char *http_header_list(struct http_request *request, const char *name)
{
	const char *list = http_header(request, name);
	struct buf all = BUF_INIT;

	for (size_t i = 0; i < request->header_count; i++)
		if (is_header(request, i, name) && request->headers[i].value != list)
			buf_printf(&all, ", %s", request->headers[i].value);
	if (all.len)
		list = arena_printf(&request->arena, "%s%s", list, all.data);
	buf_free(&all);
	return list;
}

/* Whether the text is the name when it is decoded, which makes nothing longer. */
static bool is_name(struct http_request *request, struct slice text, const char *name)
{
	size_t len = strlen(name);
	char *key;

	if (text.len < len || text.len > 3 * len)
		return false;
	key = arena_alloc(&request->arena, text.len + 1);
	return http_decode(text.data, text.len, true, key) && strcmp(key, name) == 0;
}

static size_t parameter_length(const char *text, const char *end)
{
	size_t size = 0;

	while (text + size < end && text[size] != '&' && text[size] != ';')
		size++;
	return size;
}

/* The last one of a name that can be decoded counts, and both '&' and ';' separate, as in Mesos. */
static const char *find_parameter(struct http_request *request, const char *text, size_t len,
				  const char *name)
{
	const char *found = NULL;
	const char *end = text + len;

	while (text < end) {
		size_t size = parameter_length(text, end);
		const char *equal = memchr(text, '=', size);
		struct slice key = {text, equal ? (size_t)(equal - text) : size};
		size_t value_len = equal ? size - key.len - 1 : 0;

		if (size > 0 && is_name(request, key, name)) {
			char *value = arena_alloc(&request->arena, value_len + 1);

			if (http_decode(text + size - value_len, value_len, true, value))
				found = value;
		}
		text += size + 1;
	}
	return found;
}

const char *http_query(struct http_request *request, const char *name)
{
	return find_parameter(request, request->query, strlen(request->query), name);
}

/* Whether the text has more parameters than any form of ours needs. */
static bool has_too_many(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len && count <= HTTP_FORM_VALUES_MAX; i++)
		count += text[i] == '&' || text[i] == ';';
	return count > HTTP_FORM_VALUES_MAX;
}

const char *http_form(struct http_request *request, const char *name)
{
	if (has_too_many(request->body.data, request->body.len))
		return NULL;
	return find_parameter(request, request->body.data, request->body.len, name);
}

/* Where the first escape that cannot be decoded begins; `len` if there is none. */
static size_t malformed_escape(const char *text, size_t len)
{
	char scratch[4];

	for (size_t i = 0; i < len; i++)
		if (text[i] == '%' &&
		    !http_decode(text + i, len - i < 3 ? len - i : 3, true, scratch))
			return i;
	return len;
}

const char *http_form_error(struct http_request *request)
{
	const char *text = request->body.data, *equal;
	size_t len = request->body.len, begin, end, at;

	if (has_too_many(text, len))
		return arena_printf(&request->arena, "More than %d values in the form",
				    HTTP_FORM_VALUES_MAX);
	at = len ? malformed_escape(text, len) : 0;
	if (at == len)
		return NULL;
	/* Mesos shows the key or the value that it is in. */
	for (begin = at; begin && !strchr("&;", text[begin - 1]); begin--)
		;
	for (end = at; end < len && !strchr("&;", text[end]); end++)
		;
	equal = memchr(text + begin, '=', end - begin);
	if (equal && (size_t)(equal - text) < at)
		begin = (size_t)(equal - text) + 1;
	else if (equal)
		end = (size_t)(equal - text);
	return arena_printf(&request->arena, "Malformed %% escape in '%.*s': '%.*s'",
			    (int)(end - begin), text + begin, (int)(end - at < 3 ? end - at : 3),
			    text + at);
}

const char *http_peer(const struct http_request *request)
{
	const struct exchange *exchange = request->answer;

	return exchange->connection ? exchange->connection->peer : exchange->peer;
}

const char *http_local(const struct http_request *request)
{
	const struct exchange *exchange = request->answer;

	return exchange->connection ? exchange->connection->local : exchange->local;
}

bool http_is_reset(const struct http_request *request)
{
	const struct exchange *exchange = request->answer;

	return !exchange->connection || transport_is_reset(&exchange->connection->transport);
}

/* -- media -- */

const char *http_media_name(enum http_media media)
{
	switch (media) {
	case HTTP_MEDIA_JSON:
		return "application/json";
	case HTTP_MEDIA_PROTOBUF:
		return "application/x-protobuf";
	default:
		return "";
	}
}

enum http_media http_content_type(const struct http_request *request)
{
	const char *type = http_header(request, "Content-Type");

	if (type && strcmp(type, http_media_name(HTTP_MEDIA_JSON)) == 0)
		return HTTP_MEDIA_JSON;
	if (type && strcmp(type, http_media_name(HTTP_MEDIA_PROTOBUF)) == 0)
		return HTTP_MEDIA_PROTOBUF;
	return HTTP_MEDIA_NONE;
}

enum http_media http_accept(struct http_request *request)
{
	const char *accept = http_header_list(request, "Accept");

	if (!accept || http_accepts(accept, "application/json", "application/*", "*/*"))
		return HTTP_MEDIA_JSON;
	if (http_accepts(accept, "application/x-protobuf", "application/*", "*/*"))
		return HTTP_MEDIA_PROTOBUF;
	return HTTP_MEDIA_NONE;
}
