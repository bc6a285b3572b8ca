/* err, arena and buf: what is kept, cut, aligned and terminated. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

Test(err, sets_and_wraps)
{
	struct err err = {""};

	cr_assert_eq(err_set(&err, ERR_LIMIT, "%d of %s", 3, "them"), ERR_LIMIT);
	cr_assert_str_eq(err.text, "3 of them");
	cr_assert_eq(err_wrap(&err, ERR_INVALID, "Reading '%s'", "x"), ERR_INVALID);
	cr_assert_str_eq(err.text, "Reading 'x': 3 of them");
	cr_assert_eq(err_set(&err, ERR_IO, "again: %s", err.text), ERR_IO);
	cr_assert_str_eq(err.text, "again: Reading 'x': 3 of them");
	cr_assert_eq(err_set(NULL, ERR_STATE, "nobody hears"), ERR_STATE);
	cr_assert_eq(err_wrap(NULL, ERR_STATE, "nobody hears"), ERR_STATE);
}

Test(err, wraps_silence)
{
	struct err err = {""};

	err_wrap(&err, ERR_IO, "opening");
	cr_assert_str_eq(err.text, "opening");
}

Test(err, cuts_long_texts)
{
	struct err err = {""};
	char text[3 * ERR_TEXT_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_INVALID, "%s", text);
	cr_assert_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	err_wrap(&err, ERR_INVALID, "prefix");
	cr_assert_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	cr_assert(str_has_prefix(err.text, "prefix: xxx"));
}

Test(arena, gives_aligned_zeroed_memory)
{
	struct arena arena;
	size_t total = 0;

	arena_init(&arena);
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *memory = arena_alloc(&arena, size);

		cr_assert_eq((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			cr_assert_eq(memory[i], 0);
		memset(memory, 0xff, size);
		total += size;
	}
	cr_assert_geq(arena.used, total);
	arena_free(&arena);
	cr_assert_eq(arena.used, 0);
	cr_assert_not_null(arena_alloc(&arena, 1), "usable after arena_free");
	arena_free(&arena);
}

Test(arena, is_used_again)
{
	struct arena arena = {0};

	arena_reset(&arena);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < round; i++) {
			unsigned char *memory = arena_alloc(&arena, 100);

			for (int k = 0; k < 100; k++)
				cr_assert_eq(memory[k], 0);
			memset(memory, 0xff, 100);
		}
		if (round % 10 == 9)
			memset(arena_alloc(&arena, 1000000), 0xff, 1000000);
		arena_reset(&arena);
		cr_assert_eq(arena.used, 0);
	}
	arena_free(&arena);
}

Test(arena, joins_texts)
{
	struct arena arena = {0};

	cr_assert_str_eq(arena_join(&arena, "a", "", "/", "bc", NULL), "a/bc");
	cr_assert_str_eq(arena_join(&arena, "", NULL), "");
	cr_assert_str_eq(arena_join(&arena, NULL, NULL), "");
	arena_free(&arena);
}

Test(arena, keeps_what_was_written_when_large_requests_come_between)
{
	struct arena arena = {0};
	char *small[200];

	for (int i = 0; i < 200; i++) {
		small[i] = arena_printf(&arena, "text %d", i);
		memset(arena_alloc(&arena, i % 10 ? 40 : 100000), 'x', 40);
	}
	for (int i = 0; i < 200; i++) {
		char text[20];

		snprintf(text, sizeof(text), "text %d", i);
		cr_assert_str_eq(small[i], text);
	}
	arena_free(&arena);
}

Test(arena, copies)
{
	struct arena arena = {0};

	cr_assert_str_eq(arena_strdup(&arena, ""), "");
	cr_assert_str_eq(arena_strndup(&arena, "abcdef", 3), "abc");
	cr_assert_str_eq(arena_strndup(&arena, NULL, 0), "");
	cr_assert_arr_eq(arena_memdup(&arena, "a\0b", 3), "a\0b", 3);
	cr_assert_not_null(arena_memdup(&arena, NULL, 0));
	cr_assert_str_eq(arena_printf(&arena, "%s", ""), "");
	arena_free(&arena);
}

Test(xmalloc, copies)
{
	char *a = xstrdup("abc"), *b = xstrndup("abcdef", 2), *c = xprintf("%d", 7);
	void *d = xmemdup(NULL, 0), *e = xmalloc(0), *f = xcalloc(0, 4);

	cr_assert_str_eq(a, "abc");
	cr_assert_str_eq(b, "ab");
	cr_assert_str_eq(c, "7");
	cr_assert(d && e && f);
	free(a);
	free(b);
	free(c);
	free(d);
	free(xrealloc(e, 0));
	free(f);
}

Test(buf, is_always_terminated)
{
	struct buf buf = BUF_INIT;

	buf_append(&buf, NULL, 0);
	cr_assert_str_eq(buf.data, "");
	for (int i = 0; i < 1000; i++) {
		buf_putc(&buf, 'a');
		cr_assert_eq(buf.data[buf.len], '\0');
		cr_assert_lt(buf.len, buf.cap);
	}
	buf_clear(&buf);
	cr_assert_str_eq(buf.data, "");
	buf_puts(&buf, "one ");
	buf_printf(&buf, "%s %d", "two", 3);
	cr_assert_str_eq(buf.data, "one two 3");
	buf_free(&buf);
	cr_assert_null(buf.data);
}

Test(buf, prints_texts_of_any_length)
{
	for (int width = 1; width < 400; width++) {
		struct buf buf = BUF_INIT;

		buf_puts(&buf, "<");
		buf_printf(&buf, "%*d", width, 7);
		buf_puts(&buf, ">");
		cr_assert_eq(buf.len, (size_t)width + 2);
		cr_assert_eq(strlen(buf.data), buf.len);
		cr_assert(str_has_suffix(buf.data, "7>"));
		buf_free(&buf);
	}
}

Test(buf, consumes_and_is_taken)
{
	struct buf buf = BUF_INIT;
	char *text;

	buf_consume(&buf, 5);
	buf_puts(&buf, "hello world");
	buf_consume(&buf, 6);
	cr_assert_str_eq(buf.data, "world");
	buf_consume(&buf, 100);
	cr_assert_eq(buf.len, 0);
	text = buf_take(&buf);
	cr_assert_str_eq(text, "");
	free(text);
	text = buf_take(&buf);
	cr_assert_str_eq(text, "", "an untouched buffer is an empty string");
	free(text);
	cr_assert_null(buf.data);
}

Test(slice, compares)
{
	cr_assert(slice_eq(SLICE("abc"), "abc"));
	cr_assert_not(slice_eq(SLICE("abc"), "ab"));
	cr_assert_not(slice_eq(SLICE("ab"), "abc"));
	cr_assert_not(slice_eq((struct slice){"a\0b", 3}, "a"));
	cr_assert(slice_eq((struct slice){0}, ""));
	cr_assert(slice_eq(slice_of(NULL), ""));
	cr_assert(str_has_prefix("abc", "") && str_has_prefix("abc", "ab"));
	cr_assert_not(str_has_prefix("a", "ab"));
	cr_assert(str_has_suffix("abc", "") && str_has_suffix("abc", "bc"));
	cr_assert_not(str_has_suffix("c", "bc"));
}

struct item {
	int number;
	struct list link;
};

Test(list, keeps_order_and_lets_go_while_walking)
{
	struct item items[5], *item, *tmp;
	struct list head;
	int sum = 0, seen = 0;

	list_init(&head);
	cr_assert_null(list_first(&head, struct item, link));
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		list_append(&head, &items[i].link);
	}
	list_for_each (item, tmp, &head, link) {
		cr_assert_eq(item->number, seen++);
		if (item->number % 2)
			list_remove(&item->link);
	}
	list_for_each (item, tmp, &head, link)
		sum = sum * 10 + item->number;
	cr_assert_eq(sum, 24);
	list_remove(&items[1].link);
	list_prepend(&head, &items[1].link);
	cr_assert_eq(list_first(&head, struct item, link)->number, 1);
}

Test(buf, finds_the_first_control_character_wherever_it_is)
{
	static const char control[] = {'\0', '\n', 0x1f, 0x7f};
	char text[33];

	for (size_t at = 0; at < sizeof(text); at++) {
		for (size_t i = 0; i < sizeof(control); i++) {
			memset(text, i % 2 ? ' ' : '\xff', sizeof(text));
			cr_assert_eq(str_printable(text, at), at);
			text[at] = control[i];
			memset(text + at + 1, '!', sizeof(text) - at - 1);
			cr_assert_eq(str_printable(text, sizeof(text)), at);
		}
	}
}
