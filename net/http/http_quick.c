/* Requests in the form in which nearly all of them come, without http-parser: whole in the bytes
 * at hand, kept alive, with a plain path and a body of known length or of one chunk. That takes a
 * tenth of the time.
 *
 * Whatever is not exactly so is left to http-parser, which alone decides what it means; what is
 * taken here means to it just the same (tests/unit/net_http_quick.c). */
#include "net/http/http_internal.h"

#include <string.h>
#include <strings.h>

#define QUICK_TARGET_MAX 4096
#define QUICK_HEADERS_MAX 24
#define QUICK_DIGITS_MAX 7 /* of a length: far from any overflow */

enum body_kind { BODY_NONE, BODY_LENGTH, BODY_CHUNKED };

/* The parts are of the bytes received. */
struct quick {
	const char *start, *at, *end;
	bool post;
	const char *left_type; /* Content-Type of what is left to http-parser; or NULL */
	struct slice target;
	struct slice names[QUICK_HEADERS_MAX], values[QUICK_HEADERS_MAX];
	size_t count;
	enum body_kind kind;
	size_t length;
	struct slice body;
};

/* Inline, so that comparing takes a few instructions: the lengths are constants. */
static inline bool http_quick_take(struct quick *quick, const char *text, size_t len)
{
	if ((size_t)(quick->end - quick->at) < len || memcmp(quick->at, text, len) != 0)
		return false;
	quick->at += len;
	return true;
}

#define TAKE(quick, literal) http_quick_take((quick), literal, sizeof(literal) - 1)

static bool take_request_line(struct quick *quick)
{
	quick->post = TAKE(quick, "POST ");
	if (!quick->post && !TAKE(quick, "GET "))
		return false;

	const char *start = quick->at;
	size_t max = (size_t)(quick->end - start);
	const char *blank = memchr(start, ' ', max < QUICK_TARGET_MAX ? max : QUICK_TARGET_MAX);
	if (!blank)
		return false;
	quick->target = (struct slice){start, (size_t)(blank - start)};
	quick->at = blank;
	return http_plain_path(start, quick->target.len) && TAKE(quick, " HTTP/1.1\r\n");
}

/* Letters and '-': all names that matter. */
static bool take_name(struct quick *quick, struct slice *name)
{
	static const bool of_names[256] = {['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['-'] = 1};
	const char *at = quick->at;

	while (at < quick->end && of_names[(unsigned char)*at])
		at++;
	*name = (struct slice){quick->at, (size_t)(at - quick->at)};
	quick->at = at;
	return name->len > 0 && TAKE(quick, ": ");
}

static bool take_value(struct quick *quick, struct slice *value)
{
	const char *at = quick->at;
	size_t len = str_printable(at, (size_t)(quick->end - at));

	*value = (struct slice){at, len};
	quick->at += len;
	return len > 0 && at[0] != ' ' && at[len - 1] != ' ' && TAKE(quick, "\r\n");
}

static bool http_quick_is(struct slice text, const char *name, size_t len)
{
	return text.len == len && strncasecmp(text.data, name, len) == 0;
}

#define IS(slice, literal) http_quick_is((slice), literal, sizeof(literal) - 1)

static bool begins(struct slice text, const char *name)
{
	size_t len = strlen(name);

	return text.len >= len && strncasecmp(text.data, name, len) == 0;
}

static bool take_number(const char **at, const char *end, unsigned base, size_t *number)
{
	const char *start = *at;

	for (*number = 0; *at < end; ++*at) {
		unsigned digit = (unsigned)(**at - '0');

		if (digit > 9 && base == 16 && (unsigned)((**at | 0x20) - 'a') < 6)
			digit = (unsigned)((**at | 0x20) - 'a') + 10;
		if (digit >= base)
			break;
		*number = *number * base + digit;
		if (*at - start == QUICK_DIGITS_MAX)
			return false;
	}
	return *at > start;
}

/* Headers on which it depends where the request ends, or what follows. */
static bool heed(struct quick *quick, struct slice name, struct slice value)
{
	const char *digits = value.data;

	if (IS(name, "Content-Length")) {
		if (quick->kind != BODY_NONE)
			return false;
		quick->kind = BODY_LENGTH;
		return take_number(&digits, value.data + value.len, 10, &quick->length) &&
		       digits == value.data + value.len;
	}
	/* A longer name counts to http-parser, too. */
	if (begins(name, "Transfer-Encoding")) {
		if (quick->kind != BODY_NONE)
			return false;
		quick->kind = BODY_CHUNKED;
		return IS(name, "Transfer-Encoding") && IS(value, "chunked");
	}
	if (IS(name, "Connection"))
		return IS(value, "keep-alive");
	if (quick->left_type && IS(name, "Content-Type"))
		return value.len != strlen(quick->left_type) ||
		       memcmp(value.data, quick->left_type, value.len);
	return !IS(name, "Content-Encoding") && !IS(name, "Proxy-Connection") &&
	       !IS(name, "Upgrade");
}

static bool take_headers(struct quick *quick)
{
	while (!TAKE(quick, "\r\n")) {
		struct slice *name = &quick->names[quick->count];
		struct slice *value = &quick->values[quick->count];

		if (quick->count == QUICK_HEADERS_MAX || !take_name(quick, name) ||
		    !take_value(quick, value) || !heed(quick, *name, *value))
			return false;
		quick->count++;
	}
	return quick->at - quick->start <= HTTP_HEAD_MAX;
}

static bool take_body(struct quick *quick, size_t max)
{
	bool chunked = quick->kind == BODY_CHUNKED;

	if (chunked && (!take_number(&quick->at, quick->end, 16, &quick->length) ||
			quick->length == 0 || !TAKE(quick, "\r\n")))
		return false;
	if (quick->length > max || quick->length > (size_t)(quick->end - quick->at))
		return false;
	quick->body = (struct slice){quick->at, quick->length};
	quick->at += quick->length;
	return !chunked || TAKE(quick, "\r\n0\r\n\r\n");
}

static const char *http_quick_keep(char *copy, const char *start, struct slice part)
{
	char *text = copy + (part.data - start);

	text[part.len] = '\0'; /* a blank, a colon or the end of a line was there */
	return text;
}

static struct exchange *http_quick_make(struct http_connection *connection,
					const struct quick *quick)
{
	struct exchange *exchange = http_exchange_make(connection);
	struct http_request *request = &exchange->request;
	struct arena *arena = &request->arena;
	const char *start = quick->target.data;
	const char *last = quick->count ? quick->values[quick->count - 1].data +
						  quick->values[quick->count - 1].len
					: start + quick->target.len;
	char *copy = arena_memdup(arena, start, (size_t)(last - start) + 1);

	request->method = quick->post ? "POST" : "GET";
	request->keep_alive = true;
	request->target = request->path = http_quick_keep(copy, start, quick->target);
	request->query = "";
	request->header_count = quick->count;
	request->headers = arena_take(arena, (quick->count + 1) * sizeof(*request->headers));
	for (size_t i = 0; i < quick->count; i++) {
		request->headers[i].name = http_quick_keep(copy, start, quick->names[i]);
		request->headers[i].value = http_quick_keep(copy, start, quick->values[i]);
	}
	request->body.len = quick->body.len;
	request->body.data = arena_strndup(arena, quick->body.data, quick->body.len);
	return exchange;
}

size_t http_quick(struct http_connection *connection, const char *data, size_t len,
		  struct exchange **out)
{
	const struct http_server_options *options = &connection->server->options;
	struct quick quick = {.start = data,
			      .at = data,
			      .end = data + len,
			      .left_type = options->streams ? options->streams_type : NULL};

	if (!take_request_line(&quick) || !take_headers(&quick) ||
	    !take_body(&quick, options->body_max))
		return 0;
	*out = http_quick_make(connection, &quick);
	return (size_t)(quick.at - data);
}
