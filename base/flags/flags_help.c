/* Words for people about flags: the help text, and the name somebody may have meant. */
#include <string.h>

#include "base/flags/flags_internal.h"

#define NAME_MAX_LEN 64 /* longer names are not compared */
#define DISTANCE_MAX 4	/* farther names are no help */
#define HELP_COLUMN 40
#define LINE_MAX_LEN 100

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein: insertions, deletions and replacements; `a` and `b` within NAME_MAX_LEN. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t replaced = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = least(replaced, least(diagonal, row[j]) + 1);
		}
	}
	return row[len];
}

const char *flag_nearest(const struct flags *flags, const char *name)
{
	size_t len = strlen(name), best = least(DISTANCE_MAX, len / 3 + 1) + 1;
	const char *nearest = NULL;
	char folded[NAME_MAX_LEN + 1];

	if (len > NAME_MAX_LEN)
		return NULL;
	for (size_t i = 0; i <= len; i++)
		folded[i] = name[i] == '-' ? '_' : name[i];
	for (const struct flag *flag = flags->table; flag->name; flag++) {
		const char *names[] = {flag->name, flag->alias};

		for (size_t i = 0; i < 2; i++) {
			size_t distance;

			if (!names[i] || strlen(names[i]) > NAME_MAX_LEN)
				continue;
			distance = edit_distance(folded, names[i]);
			if (distance < best) {
				best = distance;
				nearest = names[i];
			}
		}
	}
	return nearest;
}

static void append_name(struct buf *out, const struct flag *flag, const char *name)
{
	if (flag->type == FLAG_BOOL)
		buf_printf(out, "--[no-]%s", name);
	else
		buf_printf(out, "--%s=VALUE", name);
}

static void append_flag(struct buf *out, const struct flag *flag)
{
	size_t start = out->len, width;

	buf_puts(out, "  ");
	append_name(out, flag, flag->name);
	if (flag->alias) {
		buf_puts(out, ", ");
		append_name(out, flag, flag->alias);
	}
	width = out->len - start;
	if (width + 2 > HELP_COLUMN) {
		buf_putc(out, '\n');
		width = 0;
	}
	buf_printf(out, "%*s%s", (int)(HELP_COLUMN - width), "", flag->help ? flag->help : "");
	if (flag->preset && *flag->preset)
		buf_printf(out, " (default: %s)", flag->preset);
	buf_putc(out, '\n');
}

static bool without_effect(const struct flag *flag)
{
	return flag->type == FLAG_IGNORED || flag->offset == FLAG_INERT;
}

/* Names only: there is nothing to say about flags without effect. */
static void append_ignored(struct buf *out, const struct flags *flags)
{
	size_t width = 0;

	for (const struct flag *flag = flags->table; flag->name; flag++) {
		if (!without_effect(flag))
			continue;
		if (!width)
			buf_puts(out, "\nFlags of Mesos that are accepted and have no effect:\n");
		if (!width || width + strlen(flag->name) > LINE_MAX_LEN) {
			buf_puts(out, width ? "\n " : " ");
			width = 1;
		}
		buf_printf(out, " --%s", flag->name);
		width += strlen(flag->name) + 3;
	}
	if (width)
		buf_putc(out, '\n');
}

void flags_help(const struct flags *flags, struct buf *out)
{
	if (flags->usage)
		buf_printf(out, "%s\n\n", flags->usage);
	for (const struct flag *flag = flags->table; flag->name; flag++)
		if (!without_effect(flag))
			append_flag(out, flag);
	buf_puts(out,
		 "\nEach flag may also be given as MESOS_<NAME> in the environment. A value of\n"
		 "the form file:///path stands for the content of that file.\n");
	append_ignored(out, flags);
}
