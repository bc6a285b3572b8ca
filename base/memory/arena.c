/* Arena and the heap functions that abort when memory runs out.
 *
 * Blocks double from about 1 KiB to 64 KiB. A request too large for a block gets one of its own
 * behind the head, so that the room left in the head is not lost.
 */
#include "base/memory/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK (1024 - sizeof(struct arena_block)) /* the heap has such at hand */
#define LAST_BLOCK (64 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t size; /* of data; a multiple of the alignment */
	_Alignas(ARENA_ALIGNMENT) char data[];
};

static void (*_Atomic exhaustion_handler)(void);

void memory_on_exhaustion(void (*handler)(void))
{
	exhaustion_handler = handler;
}

static _Noreturn void out_of_memory(size_t size)
{
	void (*handler)(void) = exhaustion_handler;

	if (handler)
		handler();
	fprintf(stderr, "out of memory: cannot allocate %zu bytes\n", size);
	abort();
}

void arena_init(struct arena *arena)
{
	*arena = (struct arena){0};
}

static void free_blocks(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
}

void arena_free(struct arena *arena)
{
	free_blocks(arena->head);
	arena_init(arena);
}

/* A sanitizer is to see what is used too late. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_BLOCKS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_BLOCKS false
#endif
#endif
#ifndef KEEPS_BLOCKS
#define KEEPS_BLOCKS true
#endif

/* Blocks with more than the usual are of one large request: not kept. */
void arena_reset(struct arena *arena)
{
	struct arena_block *head = arena->head;

	if (!KEEPS_BLOCKS || !head || head->size > LAST_BLOCK) {
		arena_free(arena);
		return;
	}
	free_blocks(head->next);
	head->next = NULL;
	arena->at = head->data;
	arena->end = head->data + head->size;
	arena->used = 0;
}

static struct arena_block *block_new(size_t size)
{
	struct arena_block *block;

	if (size > SIZE_MAX - sizeof(*block))
		out_of_memory(size);
	block = xmalloc(sizeof(*block) + size);
	block->next = NULL;
	block->size = size;
	return block;
}

static void add_head(struct arena *arena, size_t size)
{
	struct arena_block *block = block_new(size);

	block->next = arena->head;
	arena->head = block;
	arena->at = block->data;
	arena->end = block->data + size;
}

static size_t usual_size(const struct arena_block *head)
{
	if (!head)
		return FIRST_BLOCK;
	return head->size < LAST_BLOCK / 2 ? head->size * 2 : LAST_BLOCK;
}

void *arena_take_slowly(struct arena *arena, size_t size)
{
	struct arena_block *head = arena->head, *block;

	if (size > SIZE_MAX - ARENA_ALIGNMENT)
		out_of_memory(size);
	size = size ? (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1)
		    : ARENA_ALIGNMENT;
	if (head && size > usual_size(head) / 2 && size > (size_t)(arena->end - arena->at)) {
		block = block_new(size);
		block->next = head->next;
		head->next = block;
		arena->used += size;
		return block->data;
	}
	if (size > (size_t)(arena->end - arena->at))
		add_head(arena, size > usual_size(head) / 2 ? size : usual_size(head));
	return arena_take(arena, size);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	return memset(arena_take(arena, size), 0, size);
}

void *arena_memdup(struct arena *arena, const void *data, size_t len)
{
	void *copy = arena_take(arena, len);

	return len ? memcpy(copy, data, len) : copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		out_of_memory(len);
	copy = arena_take(arena, len + 1);
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_join(struct arena *arena, const char *first, ...)
{
	size_t len = 0;
	va_list args;
	char *joined, *at;

	va_start(args, first);
	for (const char *text = first; text; text = va_arg(args, const char *))
		len += strlen(text);
	va_end(args);
	joined = at = arena_take(arena, len + 1);
	va_start(args, first);
	for (const char *text = first; text; text = va_arg(args, const char *))
		at = stpcpy(at, text);
	va_end(args);
	*at = '\0';
	return joined;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	char *text;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	if (len < 0)
		len = 0;
	text = arena_take(arena, (size_t)len + 1);
	if (vsnprintf(text, (size_t)len + 1, format, again) < 0)
		text[0] = '\0';
	va_end(again);
	va_end(args);
	return text;
}

void *xmalloc(size_t size)
{
	void *memory = malloc(size ? size : 1);

	if (!memory)
		out_of_memory(size);
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		out_of_memory(count);
	return memory;
}

void *xrealloc(void *pointer, size_t size)
{
	void *memory = realloc(pointer, size ? size : 1);

	if (!memory)
		out_of_memory(size);
	return memory;
}

void *xmemdup(const void *data, size_t len)
{
	void *copy = xmalloc(len);

	return len ? memcpy(copy, data, len) : copy;
}

char *xstrndup(const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		out_of_memory(len);
	copy = xmalloc(len + 1);
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *xprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		out_of_memory(0);
	va_end(args);
	return text;
}
