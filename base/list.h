/* Intrusive doubly linked list with a sentinel head: no allocation to queue,
 * O(1) removal. A node that is in no list points at itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *node)
{
	node->next = node->prev = node;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_prepend(struct list *head, struct list *node)
{
	list_append(head->next, node);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* All of `from` to the end of `head`. */
static inline void list_move(struct list *head, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = head->prev;
	from->prev->next = head;
	head->prev->next = from->next;
	head->prev = from->prev;
	list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member)                                                             \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

/* Walks the list; `item` may be removed (and freed) in the body, `tmp` is a second
 * cursor of the same type. */
#define list_for_each(item, tmp, head, member)                                                     \
	for ((item) = list_entry((head)->next, __typeof__(*(item)), member),                       \
	    (tmp) = list_entry((item)->member.next, __typeof__(*(item)), member);                  \
	     &(item)->member != (head);                                                            \
	     (item) = (tmp), (tmp) = list_entry((item)->member.next, __typeof__(*(item)), member))

#endif
