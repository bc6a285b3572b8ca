/* The parser of expressions: recursive descent, emitting a program as it goes. What is
 * repeated is parsed again for each time. */
#include "allocator/pattern_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define REPEAT_MAX 1000 /* of {n,m}, as in RE2 */
#define NESTING_MAX 50	/* groups in groups */
#define WORK_MAX 20000	/* atoms looked at: repetitions parse theirs again */

struct parser {
	struct pattern *p;
	const char *at;
	size_t most;
	size_t work;
	int nesting;
	bool fold, newline; /* (?i), (?s) */
	struct err *err;
};

/* ---- emitting ----------------------------------------------------------------- */

static int emit(struct parser *ps, size_t at, struct instruction instruction)
{
	struct pattern *p = ps->p;

	if (p->count >= ps->most)
		return err_set(ps->err, ERR_INVALID,
			       "too complex: its program is larger than the maximum of %zu allowed",
			       ps->most);
	if (p->count == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->code = xrealloc(p->code, p->cap * sizeof(*p->code));
	}
	memmove(&p->code[at + 1], &p->code[at], (p->count - at) * sizeof(*p->code));
	p->code[at] = instruction;
	p->count++;
	return 0;
}

static void add_range(struct pattern *p, uint32_t low, uint32_t high)
{
	if (p->range_count == p->range_cap) {
		p->range_cap = p->range_cap ? p->range_cap * 2 : 16;
		p->ranges = xrealloc(p->ranges, p->range_cap * sizeof(*p->ranges));
	}
	p->ranges[p->range_count++] = (struct range){low, high};
}

/* The range, and the letters of other case if they do not matter. */
static void add_chars(struct parser *ps, uint32_t low, uint32_t high)
{
	add_range(ps->p, low, high);
	for (uint32_t c = low; ps->fold && c <= high && c < 128; c++) {
		if (pattern_letter(c))
			add_range(ps->p, c ^ 0x20, c ^ 0x20);
	}
}

static int emit_class(struct parser *ps, size_t first, bool negated)
{
	struct pattern *p = ps->p;
	struct instruction i = {.op = OP_CLASS, .negated = negated, .first = (uint32_t)first};

	/* Repetitions parse their ranges again, so these are bounded like the code. */
	if (p->range_count > 64 * ps->most)
		return err_set(ps->err, ERR_INVALID, "too complex: too many character ranges");
	i.count = (uint32_t)(p->range_count - first);
	return emit(ps, p->count, i);
}

static int emit_char(struct parser *ps, uint32_t c)
{
	size_t first = ps->p->range_count;

	add_chars(ps, c, c);
	return emit_class(ps, first, false);
}

/* ---- characters ------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *ranges; /* pairs */
} posix_classes[] = {
	{"alnum", "09AZaz"},
	{"alpha", "AZaz"},
	{"ascii", "\x01\x7f"},
	{"blank", "\t\t  "},
	{"cntrl", "\x01\x1f\x7f\x7f"},
	{"digit", "09"},
	{"graph", "!~"},
	{"lower", "az"},
	{"print", " ~"},
	{"punct", "!/:@[`{~"},
	{"space", "\t\r  "},
	{"upper", "AZ"},
	{"word", "09AZ__az"},
	{"xdigit", "09AFaf"},
};

/* The complement of pairs in ascending order. */
static void add_others(struct parser *ps, const char *pairs)
{
	uint32_t next = 0;

	for (const char *r = pairs; *r; r += 2) {
		if ((unsigned char)r[0] > next)
			add_range(ps->p, next, (unsigned char)r[0] - 1u);
		next = (unsigned char)r[1] + 1u;
	}
	add_range(ps->p, next, END - 1);
}

static void add_pairs(struct parser *ps, const char *pairs, bool negated)
{
	if (negated) {
		add_others(ps, pairs);
		return;
	}
	for (const char *r = pairs; *r; r += 2)
		add_chars(ps, (unsigned char)r[0], (unsigned char)r[1]);
}

/* \d and its kind; false if it is none. */
static bool add_perl(struct parser *ps, char c)
{
	bool negated = c == 'D' || c == 'S' || c == 'W';
	char kind = negated ? (char)(c | 0x20) : c;
	const char *pairs = kind == 'd'	  ? "09"
			    : kind == 's' ? "\t\n\f\r  "
			    : kind == 'w' ? "09AZ__az"
					  : NULL;

	if (!pairs)
		return false;
	add_pairs(ps, pairs, negated);
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \xHH or \x{H..}, after the x. */
static int parse_hex(struct parser *ps, uint32_t *out)
{
	bool braces = *ps->at == '{';
	int digits = 0;

	*out = 0;
	ps->at += braces;
	while (hex_value(*ps->at) >= 0 && digits < (braces ? 6 : 2)) {
		*out = *out * 16 + (uint32_t)hex_value(*ps->at++);
		digits++;
	}
	if (braces ? !digits || *ps->at != '}' : digits != 2)
		return err_set(ps->err, ERR_INVALID, "invalid escape sequence: \\x");
	ps->at += braces;
	return 0;
}

/* One escaped character, after the backslash. */
static int parse_escape(struct parser *ps, uint32_t *out)
{
	static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
	char c = *ps->at;
	const char *name = c ? strchr(names, c) : NULL;

	if (!c)
		return err_set(ps->err, ERR_INVALID, "trailing \\");
	if (c == 'x') {
		ps->at++;
		return parse_hex(ps, out);
	}
	if (name) {
		ps->at++;
		*out = (unsigned char)values[name - names];
		return 0;
	}
	if (isalnum((unsigned char)c))
		return err_set(ps->err, ERR_INVALID, "invalid escape sequence: \\%c", c);
	*out = pattern_next(&ps->at);
	return 0;
}

/* ---- classes ------------------------------------------------------------------------- */

/* [:name:] or [:^name:] in a class; 1 if it was one. */
static int parse_posix(struct parser *ps)
{
	const char *name = ps->at + 2, *end;
	bool negated;

	if (strncmp(ps->at, "[:", 2) != 0 || !(end = strstr(name, ":]")))
		return 0;
	negated = *name == '^';
	name += negated;
	for (size_t i = 0; i < sizeof(posix_classes) / sizeof(*posix_classes); i++) {
		if (strlen(posix_classes[i].name) != (size_t)(end - name) ||
		    strncmp(posix_classes[i].name, name, (size_t)(end - name)) != 0)
			continue;
		add_pairs(ps, posix_classes[i].ranges, negated);
		ps->at = end + 2;
		return 1;
	}
	return err_set(ps->err, ERR_INVALID, "invalid character class range: [:%.*s:]",
		       (int)(end - name > 20 ? 20 : end - name), name);
}

static int parse_class_char(struct parser *ps, uint32_t *out)
{
	if (!*ps->at)
		return err_set(ps->err, ERR_INVALID, "missing ]");
	if (*ps->at == '\\') {
		ps->at++;
		return parse_escape(ps, out);
	}
	*out = pattern_next(&ps->at);
	return 0;
}

static int parse_class_range(struct parser *ps)
{
	uint32_t low, high;
	int rv = parse_class_char(ps, &low);

	high = low;
	if (rv == 0 && ps->at[0] == '-' && ps->at[1] && ps->at[1] != ']') {
		ps->at++;
		rv = parse_class_char(ps, &high);
	}
	if (rv == 0 && high < low)
		rv = err_set(ps->err, ERR_INVALID, "invalid character class range");
	if (rv == 0)
		add_chars(ps, low, high);
	return rv;
}

/* After the bracket. */
static int parse_class(struct parser *ps)
{
	size_t first = ps->p->range_count;
	bool negated = *ps->at == '^', empty = true;
	int rv = 0;

	ps->at += negated;
	while (rv == 0 && (*ps->at != ']' || empty)) {
		empty = false;
		rv = parse_posix(ps);
		if (rv > 0) {
			rv = 0;
		} else if (rv == 0 && ps->at[0] == '\\' && add_perl(ps, ps->at[1])) {
			ps->at += 2;
		} else if (rv == 0) {
			rv = parse_class_range(ps);
		}
	}
	if (rv < 0)
		return rv;
	ps->at++;
	return emit_class(ps, first, negated);
}

/* ---- atoms ---------------------------------------------------------------------------- */

static int parse_alternatives(struct parser *ps);

/* After "(?": flags for the rest, or for a group. 1: no group follows. */
static int parse_flags(struct parser *ps)
{
	bool on = true;

	for (;; ps->at++) {
		switch (*ps->at) {
		case '-':
			on = false;
			break;
		case 'i':
			ps->fold = on;
			break;
		case 's':
			ps->newline = on;
			break;
		case 'U': /* who is greedy does not matter */
			break;
		case ':':
			ps->at++;
			return 0;
		case ')':
			ps->at++;
			return 1;
		default:
			return err_set(ps->err, ERR_INVALID, "invalid or unsupported (?...)");
		}
	}
}

/* After the parenthesis. */
static int parse_group(struct parser *ps)
{
	bool fold = ps->fold, newline = ps->newline;
	int rv = 0;

	if (*ps->at == '?') {
		ps->at++;
		rv = parse_flags(ps);
		if (rv)
			return rv < 0 ? rv : 0;
	}
	if (++ps->nesting > NESTING_MAX)
		return err_set(ps->err, ERR_INVALID, "too complex: groups are nested too deep");
	rv = parse_alternatives(ps);
	if (rv == 0 && *ps->at != ')')
		rv = err_set(ps->err, ERR_INVALID, "missing )");
	if (rv < 0)
		return rv;
	ps->at++;
	ps->nesting--;
	ps->fold = fold;
	ps->newline = newline;
	return 0;
}

/* After the backslash, outside of classes. */
static int parse_backslash(struct parser *ps)
{
	static const char asserts[] = "AzbB";
	static const enum op ops[] = {OP_BEGIN, OP_FINISH, OP_WORD, OP_INNER};
	const char *assert = *ps->at ? strchr(asserts, *ps->at) : NULL;
	size_t first = ps->p->range_count;
	uint32_t c;
	int rv;

	if (assert) {
		ps->at++;
		return emit(ps, ps->p->count, (struct instruction){.op = ops[assert - asserts]});
	}
	if (add_perl(ps, *ps->at)) {
		ps->at++;
		return emit_class(ps, first, false);
	}
	rv = parse_escape(ps, &c);
	return rv < 0 ? rv : emit_char(ps, c);
}

static int parse_atom(struct parser *ps)
{
	const char *at = ps->at;
	size_t first = ps->p->range_count;

	if (++ps->work > WORK_MAX)
		return err_set(ps->err, ERR_INVALID, "too complex: too many repetitions");
	switch (*at) {
	case '(':
		ps->at++;
		return parse_group(ps);
	case '[':
		ps->at++;
		return parse_class(ps);
	case '\\':
		ps->at++;
		return parse_backslash(ps);
	case '.':
		ps->at++;
		if (!ps->newline)
			add_range(ps->p, '\n', '\n');
		return emit_class(ps, first, true);
	case '^':
	case '$':
		ps->at++;
		return emit(ps, ps->p->count,
			    (struct instruction){.op = *at == '^' ? OP_BEGIN : OP_FINISH});
	case '*':
	case '+':
	case '?':
		return err_set(ps->err, ERR_INVALID, "no argument for repetition operator: %c",
			       *at);
	default:
		return emit_char(ps, pattern_next(&ps->at));
	}
}

/* ---- repetitions ------------------------------------------------------------------------- */

/* {n}, {n,}, {n,m}: 1 if there is one (anything else is taken literally). */
static int parse_counts(struct parser *ps, long *least, long *most)
{
	char *end;

	if (!isdigit((unsigned char)ps->at[1]))
		return 0;
	*least = *most = strtol(ps->at + 1, &end, 10);
	if (*end == ',') {
		*most = -1;
		if (isdigit((unsigned char)end[1]))
			*most = strtol(end + 1, &end, 10);
		else
			end++;
	}
	if (*end != '}')
		return 0;
	if (*least > REPEAT_MAX || *most > REPEAT_MAX || (*most >= 0 && *most < *least))
		return err_set(ps->err, ERR_INVALID, "invalid repetition size: %.*s",
			       (int)(end + 1 - ps->at), ps->at);
	ps->at = end + 1;
	return 1;
}

/* How often; 1 if it is said. most = -1: without limit. */
static int parse_repetition(struct parser *ps, long *least, long *most)
{
	int rv = 1;

	*least = *ps->at == '+';
	*most = *ps->at == '?' ? 1 : -1;
	if (*ps->at == '{')
		rv = parse_counts(ps, least, most);
	else if (*ps->at && strchr("*+?", *ps->at))
		ps->at++;
	else
		rv = 0;
	if (rv > 0 && *ps->at == '?')
		ps->at++;
	return rv;
}

/* The code from `start` on becomes optional, or is repeated any number of times. */
static int make_optional(struct parser *ps, size_t start, bool repeat)
{
	int length = (int)(ps->p->count - start), rv;

	rv = emit(ps, start,
		  (struct instruction){.op = OP_SPLIT, .x = 1, .y = length + 1 + repeat});
	if (rv == 0 && repeat)
		rv = emit(ps, ps->p->count,
			  (struct instruction){.op = OP_JUMP, .x = -(length + 1)});
	return rv;
}

/* The atom at `atom`, which began the code at `start`, again and again. */
static int repeat_atom(struct parser *ps, const char *atom, size_t start, long least, long most)
{
	const char *after = ps->at;
	int rv = 0;

	ps->p->count = start;
	for (long i = 0; rv == 0 && i < (most < 0 ? least + 1 : most); i++) {
		size_t begin = ps->p->count;

		ps->at = atom;
		rv = parse_atom(ps);
		if (rv == 0 && i >= least)
			rv = make_optional(ps, begin, most < 0);
	}
	ps->at = after;
	return rv;
}

static int parse_piece(struct parser *ps)
{
	const char *atom = ps->at;
	size_t start = ps->p->count;
	long least, most;
	int rv = parse_atom(ps);

	if (rv < 0)
		return rv;
	rv = parse_repetition(ps, &least, &most);
	if (rv <= 0)
		return rv;
	rv = repeat_atom(ps, atom, start, least, most);
	if (rv == 0 && *ps->at && strchr("*+?", *ps->at))
		return err_set(ps->err, ERR_INVALID, "bad repetition operator: %c", *ps->at);
	return rv;
}

static int parse_sequence(struct parser *ps)
{
	int rv = 0;

	while (rv == 0 && *ps->at && *ps->at != '|' && *ps->at != ')')
		rv = parse_piece(ps);
	return rv;
}

static int parse_alternatives(struct parser *ps)
{
	size_t start = ps->p->count, length;
	int rv = parse_sequence(ps);

	if (rv < 0 || *ps->at != '|')
		return rv;
	ps->at++;
	length = ps->p->count - start;
	rv = emit(ps, start, (struct instruction){.op = OP_SPLIT, .x = 1, .y = (int)length + 2});
	if (rv == 0)
		rv = emit(ps, ps->p->count, (struct instruction){.op = OP_JUMP});
	start += length + 1;
	if (rv == 0 && ++ps->nesting > (int)ps->most)
		rv = err_set(ps->err, ERR_INVALID, "too complex: too many alternatives");
	if (rv == 0)
		rv = parse_alternatives(ps);
	if (rv == 0)
		ps->p->code[start].x = (int)(ps->p->count - start);
	ps->nesting--;
	return rv;
}

int pattern_create(const char *text, size_t most, struct pattern **out, struct err *err)
{
	struct parser ps = {.p = xcalloc(1, sizeof(struct pattern)), .most = most, .err = err};
	int rv;

	ps.at = text;
	rv = parse_alternatives(&ps);
	if (rv == 0 && *ps.at)
		rv = err_set(err, ERR_INVALID, "unexpected )");
	if (rv == 0)
		rv = emit(&ps, ps.p->count, (struct instruction){.op = OP_MATCH});
	if (rv < 0) {
		pattern_destroy(ps.p);
		return rv;
	}
	*out = ps.p;
	return 0;
}

void pattern_destroy(struct pattern *p)
{
	if (!p)
		return;
	free(p->ranges);
	free(p->code);
	free(p);
}
