/* JSON reader: iterative, one pass, memory in proportion to the text.
 *
 * Finished values wait on a scratch stack until their container closes; then they are
 * copied into the arena in one piece. What is accepted, and where an error is said to be,
 * follows picojson, since clients see the texts: numbers are whatever strtod takes as a
 * whole, and the text quoted is the rest of the line after what was read.
 */
#include "base/json/json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define END_OF_TEXT (-1)

struct frame {
	bool object;
	size_t first; /* place of the first member on the stack of values */
	size_t keys;  /* place of its first name on the stack of names */
};

struct parser {
	struct arena *arena;
	const char *data;
	size_t len;
	size_t pos;	 /* the next byte */
	size_t seen;	 /* bytes looked at so far */
	struct buf text; /* scratch: a string being unescaped */
	struct json *values;
	size_t value_count;
	size_t value_cap;
	struct slice *keys;
	size_t key_count;
	size_t key_cap;
	struct frame frames[JSON_DEPTH_MAX];
	size_t depth;
	size_t values_left; /* that it may have */
	bool too_many;	    /* the failure was that it has more */
	bool out_of_range;  /* or a number beyond double */
};

static int peek(struct parser *p)
{
	if (p->pos >= p->len)
		return END_OF_TEXT;
	if (p->seen < p->pos + 1)
		p->seen = p->pos + 1;
	return (unsigned char)p->data[p->pos];
}

static int json_next(struct parser *p)
{
	int c = peek(p);

	if (c != END_OF_TEXT)
		p->pos++;
	return c;
}

static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Steps over white space and then over `c`, if it is there. */
static bool json_expect(struct parser *p, int c)
{
	while (is_space(peek(p)))
		p->pos++;
	if (peek(p) != c)
		return false;
	p->pos++;
	return true;
}

static bool json_match(struct parser *p, const char *word)
{
	for (; *word; word++) {
		if (peek(p) != *word)
			return false;
		p->pos++;
	}
	return true;
}

static struct json *push_value(struct parser *p, enum json_type type)
{
	struct json *value;

	if (p->values_left)
		p->values_left--;
	else
		p->too_many = true;
	if (p->value_count == p->value_cap) {
		p->value_cap = p->value_cap ? p->value_cap * 2 : 32;
		p->values = xrealloc(p->values, p->value_cap * sizeof(*p->values));
	}
	value = &p->values[p->value_count++];
	*value = (struct json){.type = type};
	return value;
}

static void push_key(struct parser *p, struct slice key)
{
	if (p->key_count == p->key_cap) {
		p->key_cap = p->key_cap ? p->key_cap * 2 : 32;
		p->keys = xrealloc(p->keys, p->key_cap * sizeof(*p->keys));
	}
	p->keys[p->key_count++] = key;
}

/* Four hexadecimal digits, or -1. */
static int parse_quad(struct parser *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(p);

		if (c == END_OF_TEXT || !isxdigit(c))
			return -1;
		p->pos++;
		value = value * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

static void append_utf8(struct buf *out, unsigned long code)
{
	char bytes[4];
	size_t len = 0;

	if (code < 0x80) {
		bytes[len++] = (char)code;
	} else if (code < 0x800) {
		bytes[len++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[len++] = (char)(0xe0 | code >> 12);
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[len++] = (char)(0xf0 | code >> 18);
		bytes[len++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[len++] = (char)(0x80 | (code & 0x3f));
	buf_append(out, bytes, len);
}

/* After "\u". Half a surrogate pair is an error. */
static bool parse_code_point(struct parser *p)
{
	int high = parse_quad(p), low;

	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return false;
	if (high < 0xd800 || high > 0xdfff) {
		append_utf8(&p->text, (unsigned long)high);
		return true;
	}
	if (!json_match(p, "\\u"))
		return false;
	low = parse_quad(p);
	if (low < 0xdc00 || low > 0xdfff)
		return false;
	append_utf8(&p->text, 0x10000 + ((unsigned long)(high - 0xd800) << 10 |
					 (unsigned long)(low - 0xdc00)));
	return true;
}

/* After a backslash. */
static bool parse_escape(struct parser *p)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	int c = json_next(p);
	const char *at;

	if (c == 'u')
		return parse_code_point(p);
	at = c > 0 ? strchr(names, c) : NULL;
	if (!at)
		return false;
	buf_putc(&p->text, meanings[at - names]);
	return true;
}

/* Those without escapes, which are most, need no scratch. */
static bool parse_plain_text(struct parser *p, struct slice *out)
{
	const unsigned char *at = (const unsigned char *)p->data + p->pos;
	const unsigned char *start = at, *end = (const unsigned char *)p->data + p->len;

	while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
		at++;
	if (at == end || *at != '"')
		return false;
	out->len = (size_t)(at - start);
	out->data = arena_strndup(p->arena, (const char *)start, out->len);
	p->pos += out->len + 1;
	if (p->seen < p->pos)
		p->seen = p->pos;
	return true;
}

/* After the opening quote. */
static bool parse_text(struct parser *p, struct slice *out)
{
	if (parse_plain_text(p, out))
		return true;
	buf_clear(&p->text);
	for (;;) {
		size_t start = p->pos;
		int c;

		while (p->pos < p->len && (unsigned char)p->data[p->pos] >= ' ' &&
		       p->data[p->pos] != '"' && p->data[p->pos] != '\\')
			p->pos++;
		c = peek(p);
		buf_append(&p->text, p->data + start, p->pos - start);
		if (c < ' ')
			return false; /* the end or a control character */
		p->pos++;
		if (c == '"')
			break;
		if (!parse_escape(p))
			return false;
	}
	out->data = arena_strndup(p->arena, p->text.data, p->text.len);
	out->len = p->text.len;
	return true;
}

static bool number_byte(int c)
{
	return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == 'e' || c == 'E' || c == '.';
}

#define PLAIN_DIGITS 18 /* of a natural number that surely is no more than it should be */

/* Whether strtod() takes it as a whole. */
static bool check_number(struct parser *p, const char *text, size_t len)
{
	char *end;
	double number;

	if (len <= PLAIN_DIGITS && strspn(text, "0123456789") == len)
		return len > 0;
	number = strtod(text, &end);
	if (*end || end == text)
		return false;
	p->out_of_range = isinf(number);
	return !p->out_of_range;
}

static bool json_parse_number(struct parser *p)
{
	size_t start = p->pos;
	struct json *value;
	const char *text;

	while (number_byte(peek(p)))
		p->pos++;
	text = arena_strndup(p->arena, p->data + start, p->pos - start);
	if (!check_number(p, text, p->pos - start))
		return false;
	value = push_value(p, JSON_NUMBER);
	value->text = (struct slice){text, p->pos - start};
	return true;
}

static bool open_container(struct parser *p, bool object)
{
	if (p->depth == JSON_DEPTH_MAX)
		return false;
	p->frames[p->depth++] = (struct frame){object, p->value_count, p->key_count};
	return true;
}

static void close_container(struct parser *p)
{
	struct frame frame = p->frames[--p->depth];
	size_t count = p->value_count - frame.first;
	struct json *value, *items = NULL;
	struct slice *keys = NULL;

	if (count) {
		items = arena_memdup(p->arena, p->values + frame.first, count * sizeof(*items));
		if (frame.object)
			keys = arena_memdup(p->arena, p->keys + frame.keys, count * sizeof(*keys));
	}
	p->value_count = frame.first;
	p->key_count = frame.keys;
	value = push_value(p, frame.object ? JSON_OBJECT : JSON_ARRAY);
	value->items = items;
	value->keys = keys;
	value->count = count;
}

static bool parse_key(struct parser *p)
{
	struct slice key;

	if (!json_expect(p, '"') || !parse_text(p, &key) || !json_expect(p, ':'))
		return false;
	push_key(p, key);
	return true;
}

enum progress { FAILED, VALUE_DONE, VALUE_WANTED };

/* A scalar, an empty container, or the beginning of a container up to its first value. */
static enum progress parse_start(struct parser *p)
{
	struct slice text;
	int c;

	while (is_space(peek(p)))
		p->pos++;
	c = peek(p);
	if (c == '-' || (c >= '0' && c <= '9'))
		return json_parse_number(p) ? VALUE_DONE : FAILED;
	if (c == END_OF_TEXT || !strchr("nft\"[{", c) || c == 0)
		return FAILED;
	p->pos++;
	switch (c) {
	case 'n':
		if (!json_match(p, "ull"))
			return FAILED;
		push_value(p, JSON_NULL);
		return VALUE_DONE;
	case 'f':
	case 't':
		if (!json_match(p, c == 't' ? "rue" : "alse"))
			return FAILED;
		push_value(p, JSON_BOOL)->boolean = c == 't';
		return VALUE_DONE;
	case '"':
		if (!parse_text(p, &text))
			return FAILED;
		push_value(p, JSON_STRING)->text = text;
		return VALUE_DONE;
	}
	if (!open_container(p, c == '{'))
		return FAILED;
	if (json_expect(p, c == '{' ? '}' : ']')) {
		close_container(p);
		return VALUE_DONE;
	}
	return c == '[' || parse_key(p) ? VALUE_WANTED : FAILED;
}

/* After a value: the separator and what it leads to, or the ends of containers. */
static enum progress parse_rest(struct parser *p)
{
	while (p->depth) {
		bool object = p->frames[p->depth - 1].object;

		if (json_expect(p, ','))
			return !object || parse_key(p) ? VALUE_WANTED : FAILED;
		if (!json_expect(p, object ? '}' : ']'))
			return FAILED;
		close_container(p);
	}
	return VALUE_DONE;
}

static bool parse_document(struct parser *p)
{
	for (;;) {
		enum progress progress = parse_start(p);

		if (p->too_many)
			return false;
		if (progress == VALUE_DONE)
			progress = parse_rest(p);
		if (progress != VALUE_WANTED)
			return progress == VALUE_DONE;
	}
}

static int syntax_error(struct parser *p, size_t max, struct err *err)
{
	char near[ERR_TEXT_MAX];
	size_t len = 0;
	long line = 1;

	if (p->too_many)
		return err_set(err, ERR_LIMIT, "More than %zu values", max);
	if (p->out_of_range)
		return err_set(err, ERR_INVALID, "Value out of range");
	/* A line counts once a byte of the next one was looked at. */
	for (size_t i = 0; i + 1 < p->seen; i++)
		line += p->data[i] == '\n';
	for (size_t i = p->pos; i < p->len && p->data[i] != '\n'; i++) {
		if ((unsigned char)p->data[i] < ' ')
			continue;
		near[len++] = p->data[i];
		if (len == sizeof(near) - 1)
			break;
	}
	near[len] = '\0';
	return err_set(err, ERR_INVALID, "syntax error at line %ld near: %s", line, near);
}

static int trailing_error(struct parser *p, struct err *err)
{
	size_t end = p->len, len;

	while (is_space((unsigned char)p->data[end - 1]))
		end--;
	len = end - p->pos;
	return err_set(err, ERR_INVALID,
		       "Parsed JSON included non-whitespace trailing characters: %.*s",
		       (int)(len < ERR_TEXT_MAX ? len : ERR_TEXT_MAX), p->data + p->pos);
}

int json_parse(struct arena *arena, const char *data, size_t len, struct json **out,
	       struct err *err)
{
	return json_parse_up_to(SIZE_MAX, arena, data, len, out, err);
}

int json_parse_up_to(size_t max, struct arena *arena, const char *data, size_t len,
		     struct json **out, struct err *err)
{
	struct parser p = {.arena = arena, .data = data, .len = len, .values_left = max};
	int rv = 0;

	*out = NULL;
	if (!parse_document(&p) || p.too_many) {
		rv = syntax_error(&p, max, err);
	} else {
		size_t end = p.pos;

		while (end < len && is_space((unsigned char)data[end]))
			end++;
		if (end < len)
			rv = trailing_error(&p, err);
		else
			*out = arena_memdup(arena, &p.values[0], sizeof(**out));
	}
	buf_free(&p.text);
	free(p.values);
	free(p.keys);
	return rv;
}

const struct json *json_get(const struct json *json, const char *key)
{
	if (!json || json->type != JSON_OBJECT)
		return NULL;
	for (size_t i = json->count; i-- > 0;)
		if (slice_eq(json->keys[i], key))
			return &json->items[i];
	return NULL;
}

const char *json_get_string(const struct json *json, const char *key)
{
	const struct json *value = json_get(json, key);

	return value && value->type == JSON_STRING ? value->text.data : "";
}

double json_number(const struct json *json)
{
	return json && json->type == JSON_NUMBER ? strtod(json->text.data, NULL) : 0;
}

bool json_integer(const struct json *json, int64_t *out)
{
	long long value;
	double number;
	char *end;

	if (!json || json->type != JSON_NUMBER)
		return false;
	errno = 0;
	value = strtoll(json->text.data, &end, 10);
	if (*end == '\0') {
		if (errno)
			return false;
		*out = value;
		return true;
	}
	number = strtod(json->text.data, NULL);
	if (number != trunc(number) || number < -0x1p63 || number >= 0x1p63)
		return false;
	*out = (int64_t)number;
	return true;
}
