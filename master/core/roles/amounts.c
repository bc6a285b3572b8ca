/* See amounts.h. */
#include "master/core/roles/amounts.h"

#include <math.h>
#include <string.h>

void amounts_add(struct arena *arena, struct amount **list, const char *name, double milli)
{
	struct amount *amount;

	while (*list && strcmp((*list)->name, name) < 0)
		list = &(*list)->next;
	if (!*list || strcmp((*list)->name, name)) {
		amount = arena_alloc(arena, sizeof(*amount));
		*amount = (struct amount){name, 0, *list};
		*list = amount;
	}
	(*list)->milli += milli;
}

void amounts_add_list(struct arena *arena, struct amount **list, const struct amount *more,
		      int sign)
{
	for (; more; more = more->next)
		amounts_add(arena, list, more->name, sign * more->milli);
}

void amounts_add_piece(struct arena *arena, struct amount **list,
		       const struct resource_piece *piece, int sign)
{
	amounts_add(arena, list, resource_shape_name(piece->shape),
		    sign * (double)resource_piece_quantity(piece));
}

void amounts_add_resources(struct arena *arena, struct amount **list, const struct resources *r,
			   int sign)
{
	for (uint32_t i = 0; i < r->count; i++)
		amounts_add_piece(arena, list, &r->pieces[i], sign);
}

static const struct amount *amounts_find(const struct amount *list, const char *name)
{
	while (list && strcmp(list->name, name) < 0)
		list = list->next;
	return list && !strcmp(list->name, name) ? list : NULL;
}

double amounts_get(const struct amount *list, const char *name)
{
	const struct amount *amount = amounts_find(list, name);

	return amount ? amount->milli : 0;
}

bool amounts_contain(const struct amount *have, const struct amount *want)
{
	for (; want; want = want->next)
		if (amounts_get(have, want->name) < want->milli)
			return false;
	return true;
}

bool amounts_within(const struct amount *have, const struct amount *limits)
{
	for (; limits; limits = limits->next)
		if (amounts_get(have, limits->name) > limits->milli)
			return false;
	return true;
}

const char *amount_fault(double value)
{
	switch (fpclassify(value)) {
	case FP_INFINITE:
		return "Infinite values not supported";
	case FP_NAN:
		return "NaN not supported";
	case FP_SUBNORMAL:
		return "Subnormal values not supported";
	default:
		return value < 0 ? "Negative values not supported" : NULL;
	}
}

void amounts_print(const struct amount *list, bool zeros, struct buf *out)
{
	bool any = false;

	for (; list; list = list->next) {
		if (list->milli <= 0 && !zeros)
			continue;
		buf_printf(out, "%s%s:%.15g", any ? "; " : "", list->name, list->milli / 1000);
		any = true;
	}
	if (!any)
		buf_puts(out, "{}");
}
