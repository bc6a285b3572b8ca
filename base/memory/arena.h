/* Arena: memory of one request or event, freed in one go.
 *
 * Allocation is a pointer bump; blocks double up to 64 KiB. Running out of
 * memory aborts the process (as xmalloc does): the daemons are supervised and
 * nothing acknowledged is lost by that.
 */
#ifndef BASE_MEMORY_ARENA_H
#define BASE_MEMORY_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	char *at, *end;		  /* room that is left in the head */
	struct arena_block *head; /* newest block */
	size_t used;		  /* bytes handed out, for limits */
};

void arena_init(struct arena *arena);
void arena_free(struct arena *arena); /* ready for use again afterwards */
/* As arena_free(), but keeps a block for what comes next: for one that is used again and
 * again. */
void arena_reset(struct arena *arena);

#define ARENA_ALIGNMENT 16

void *arena_take_slowly(struct arena *arena, size_t size);

/* Aligned, for whoever writes all of it. */
static inline void *arena_take(struct arena *arena, size_t size)
{
	char *memory = arena->at;

	/* What is left is a multiple of the alignment. */
	if (!size || size > (size_t)(arena->end - memory))
		return arena_take_slowly(arena, size);
	size = (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
	arena->at = memory + size;
	arena->used += size;
	return memory;
}

/* Aligned, zeroed. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
void *arena_memdup(struct arena *arena, const void *data, size_t len);
/* The texts one behind the other; NULL ends them. */
char *arena_join(struct arena *arena, const char *first, ...) __attribute__((sentinel));
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Heap memory that aborts with a message when there is none. `handler` is called first, on the
 * thread that asked; it may leave by longjmp(), as who lives in another's process does. */
void memory_on_exhaustion(void (*handler)(void));
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *pointer, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
void *xmemdup(const void *data, size_t len);
char *xprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
