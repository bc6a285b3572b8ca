/* The simulator's heap instead of the C library's: a sixth of the time went into that.
 *
 * There is one thread, and what is given back is soon wanted again in the same size: lists of
 * free blocks by size, nothing else. Blocks are neither split nor joined, so memory stays at the
 * most that there was of each size. Not in builds for a sanitizer, which brings its own;
 * valgrind needs --soname-synonyms=somalloc=NONE to find these. Memory with an alignment of its
 * own, which nobody here asks for, would come from the C library and must not. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 16
#define HEADER sizeof(size_t) /* in front of a block: the class of its size */
/* Classes are of 16 bytes each up to FINE, and then four from one power of two to the next. */
#define FINE 1024
#define FINE_CLASSES (FINE / ALIGNMENT)
#define CLASSES (FINE_CLASSES + 4 * 32)
#define LARGEST ((size_t)1 << 41)
#define PIECE ((size_t)1 << 20) /* of the kernel's */

struct block {
	size_t class;
	union {
		char data[HEADER];
		struct block *next; /* of those that are free */
	};
};

/* One heap a process: there is no other way to stand in for the C library's. */
static struct block *spare[CLASSES + 1];
static char *piece, *piece_end;

/* With the header. */
static size_t class_size(size_t class)
{
	size_t coarse = class - FINE_CLASSES - 1;

	if (class <= FINE_CLASSES)
		return class * ALIGNMENT;
	return ((size_t)FINE << coarse / 4) / 4 * (5 + coarse % 4);
}

static size_t class_of(size_t size)
{
	unsigned above;
	size_t quarter;

	size += HEADER;
	if (size <= FINE)
		return (size + ALIGNMENT - 1) / ALIGNMENT;
	/* The power of two is FINE << above. */
	above = 63 - (unsigned)__builtin_clzll(size - 1) - 10;
	quarter = ((size_t)FINE << above) / 4;
	return FINE_CLASSES + 1 + (size_t)above * 4 + (size - 1) / quarter - 4;
}

static struct block *block_of(void *data)
{
	return (struct block *)((char *)data - HEADER);
}

static void *heap_cut(size_t class)
{
	size_t size = class_size(class);
	struct block *block;

	/* What is left of the last piece is too little. */
	if ((size_t)(piece_end - piece) < size) {
		size_t wanted = size + HEADER > PIECE ? size + HEADER : PIECE;
		void *fresh = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (fresh == MAP_FAILED) {
			errno = ENOMEM;
			return NULL;
		}
		piece = (char *)fresh + ALIGNMENT - HEADER;
		piece_end = (char *)fresh + wanted;
	}
	block = (struct block *)piece;
	piece += size;
	block->class = class;
	return block->data;
}

static void *heap_take(size_t size)
{
	struct block *block;
	size_t class;

	if (size > LARGEST) {
		errno = ENOMEM;
		return NULL;
	}
	class = class_of(size);
	block = spare[class];
	if (!block)
		return heap_cut(class);
	spare[class] = block->next;
	return block->data;
}

/* ---- what the C library has --------------------------------------------------------- */

void *malloc(size_t size)
{
	return heap_take(size);
}

void free(void *data)
{
	struct block *block;

	if (!data)
		return;
	block = block_of(data);
	block->next = spare[block->class];
	spare[block->class] = block;
}

void *calloc(size_t count, size_t size)
{
	void *data;

	if (__builtin_mul_overflow(count, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	data = heap_take(size);
	return data ? memset(data, 0, size) : NULL;
}

static size_t heap_room(const struct block *block)
{
	return class_size(block->class) - HEADER;
}

void *realloc(void *data, size_t size)
{
	struct block *block = data ? block_of(data) : NULL;
	void *other;

	if (!block)
		return heap_take(size);
	if (size <= heap_room(block))
		return data;
	other = heap_take(size);
	if (!other)
		return NULL;
	memcpy(other, data, heap_room(block));
	free(data);
	return other;
}
