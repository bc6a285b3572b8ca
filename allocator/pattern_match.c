/* The simulation of a program: every thread takes each character in turn, none is
 * followed twice at one place. */
#include "allocator/pattern_internal.h"

#include <stdlib.h>

#include "base/arena.h"

uint32_t pattern_next(const char **at)
{
	const unsigned char *s = (const unsigned char *)*at;
	int more = s[0] >= 0xf0 && s[0] < 0xf8 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = s[0];

	if (!s[0])
		return END;
	if (s[0] >= 0xf8)
		more = 0;
	if (more)
		c = s[0] & (0x3f >> more);
	for (int i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			/* Not UTF-8: apart from all characters that are. */
			*at += 1;
			return 0x110000 + s[0];
		}
		c = c << 6 | (s[i] & 0x3f);
	}
	if (!more && s[0] >= 0x80)
		c = 0x110000 + s[0];
	*at += more + 1;
	return c;
}

struct threads {
	size_t *at;
	size_t count;
};

struct matcher {
	const struct pattern *p;
	size_t *marks; /* the position at which an instruction was last added, from 1 */
	size_t *stack;
	size_t position;
	uint32_t before, after; /* characters around the position */
};

static bool is_word(uint32_t c)
{
	return pattern_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool holds(const struct matcher *m, enum op op)
{
	bool word = is_word(m->before) != is_word(m->after);

	return op == OP_BEGIN	 ? m->before == END
	       : op == OP_FINISH ? m->after == END
	       : op == OP_WORD	 ? word
				 : !word;
}

static size_t push(struct matcher *m, size_t depth, size_t to)
{
	if (m->marks[to] == m->position)
		return depth;
	m->marks[to] = m->position;
	m->stack[depth] = to;
	return depth + 1;
}

/* Follows all that takes no character. */
static void add_thread(struct matcher *m, struct threads *threads, size_t first)
{
	size_t depth = push(m, 0, first);

	while (depth) {
		size_t at = m->stack[--depth];
		const struct instruction *i = &m->p->code[at];

		switch (i->op) {
		case OP_SPLIT:
			depth = push(m, depth, at + (size_t)(ptrdiff_t)i->y);
			depth = push(m, depth, at + (size_t)(ptrdiff_t)i->x);
			break;
		case OP_JUMP:
			depth = push(m, depth, at + (size_t)(ptrdiff_t)i->x);
			break;
		case OP_CLASS:
		case OP_MATCH:
			threads->at[threads->count++] = at;
			break;
		default:
			if (holds(m, i->op))
				depth = push(m, depth, at + 1);
		}
	}
}

static bool takes(const struct pattern *p, const struct instruction *i, uint32_t c)
{
	for (uint32_t r = 0; r < i->count; r++) {
		if (c >= p->ranges[i->first + r].low && c <= p->ranges[i->first + r].high)
			return !i->negated;
	}
	return i->negated;
}

bool pattern_matches(const struct pattern *p, const char *text)
{
	size_t *memory = xcalloc(p->count * 4, sizeof(*memory));
	struct matcher m = {.p = p, .marks = memory, .stack = memory + p->count, .position = 1};
	struct threads now = {memory + 2 * p->count, 0}, next = {memory + 3 * p->count, 0}, swap;
	bool matched = false;

	m.before = END;
	m.after = pattern_next(&text);
	add_thread(&m, &now, 0);
	while (m.after != END && now.count) {
		uint32_t c = m.after;

		m.before = c;
		m.after = pattern_next(&text);
		m.position++;
		next.count = 0;
		for (size_t i = 0; i < now.count; i++) {
			const struct instruction *at = &p->code[now.at[i]];

			if (at->op == OP_CLASS && takes(p, at, c))
				add_thread(&m, &next, now.at[i] + 1);
		}
		swap = now;
		now = next;
		next = swap;
	}
	for (size_t i = 0; i < now.count; i++)
		matched |= p->code[now.at[i]].op == OP_MATCH;
	free(memory);
	return matched;
}
