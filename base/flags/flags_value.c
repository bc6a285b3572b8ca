/* Values of flags: text to typed value, files that stand for a value, and back to text. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flags/flags_internal.h"
#include "base/time/duration.h"

#define FILE_PREFIX "file://"
#define FILE_SIZE_MAX (16 << 20) /* a flag is a setting, not data */

void *flag_target(const struct flags *flags, const struct flag *flag)
{
	return (char *)flags->target + flag->offset;
}

static int read_all(int fd, struct buf *out)
{
	for (;;) {
		ssize_t got;

		buf_reserve(out, 4096);
		got = read(fd, out->data + out->len, out->cap - out->len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		out->len += (size_t)got;
		if (out->len > FILE_SIZE_MAX)
			return -EFBIG;
	}
	out->data[out->len] = '\0';
	/* A value is a string; the rest of such a file would be lost without a word. */
	return strlen(out->data) == out->len ? 0 : -EILSEQ;
}

/* The content of the file that `text` names, or `text` itself; in the arena. */
static int flags_value_fetch(struct flags *flags, const char *text, const char **out,
			     struct err *err)
{
	const char *path = text + strlen(FILE_PREFIX);
	struct buf content = BUF_INIT;
	int fd, rv;

	if (!str_has_prefix(text, FILE_PREFIX)) {
		*out = arena_strdup(&flags->arena, text);
		return 0;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rv = fd < 0 ? -errno : read_all(fd, &content);
	if (fd >= 0)
		close(fd);
	if (rv == 0)
		*out = arena_strndup(&flags->arena, content.data, content.len);
	buf_free(&content);
	if (rv < 0)
		return err_set(err, ERR_IO, "Error reading file '%s': %s", path,
			       rv == -EILSEQ ? "It contains a NUL byte" : strerror(-rv));
	return 0;
}

static int parse_bool(const char *text, bool *out, struct err *err)
{
	*out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
	if (!*out && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return err_set(err, ERR_INVALID, "Expecting a boolean (e.g., true or false)");
	return 0;
}

static int parse_int(const char *text, int64_t *out, struct err *err)
{
	size_t sign = *text == '-' || *text == '+';
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || *end || strspn(text + sign, "0123456789") == 0)
		return err_set(err, ERR_INVALID, "Failed to convert into required type");
	return 0;
}

static int parse_double(const char *text, double *out, struct err *err)
{
	char *end;

	*out = strtod(text, &end);
	/* Neither "inf" and "nan" nor hexadecimal, and nothing that overflows. */
	if (end == text || *end || strspn(text, "+-.0123456789eE") != strlen(text) ||
	    *out - *out != 0)
		return err_set(err, ERR_INVALID, "Failed to convert into required type");
	return 0;
}

/* Room for a value of any type, where there is no target. */
union value {
	const char *text;
	bool boolean;
	int64_t number;
	double fraction;
	uint64_t bytes;
};

static int flags_value_store(struct flags *flags, struct flag *flag, const char *text,
			     struct err *err)
{
	union value unused;
	void *target = flag->offset == FLAG_INERT ? &unused : flag_target(flags, flag);
	int rv;

	if (flag->type == FLAG_PATH) {
		if (str_has_prefix(text, FILE_PREFIX))
			text += strlen(FILE_PREFIX);
		*(const char **)target = text;
		return 0;
	}
	if ((rv = flags_value_fetch(flags, text, &text, err)) < 0)
		return rv;
	switch (flag->type) {
	case FLAG_STRING:
		*(const char **)target = text;
		return 0;
	case FLAG_BOOL:
		return parse_bool(text, target, err);
	case FLAG_INT:
		return parse_int(text, target, err);
	case FLAG_DOUBLE:
		return parse_double(text, target, err);
	case FLAG_DURATION:
		return duration_parse(text, target, err);
	case FLAG_BYTES:
		return bytes_parse(text, target, err);
	case FLAG_PATH:
	case FLAG_IGNORED:
		break;
	}
	return 0;
}

int flag_load(struct flags *flags, struct flag *flag, const char *loaded_as, const char *text,
	      bool preset, struct err *err)
{
	flag->text = text ? arena_strdup(&flags->arena, text) : NULL;
	flag->loaded_as = preset ? NULL : loaded_as;
	if (!text) {
		if (flag->offset != FLAG_INERT &&
		    (flag->type == FLAG_STRING || flag->type == FLAG_PATH))
			*(const char **)flag_target(flags, flag) = NULL;
		return 0;
	}
	if (flag->type != FLAG_IGNORED && flags_value_store(flags, flag, flag->text, err) < 0)
		return err_wrap(err, ERR_INVALID, "Failed to load flag '%s'", loaded_as);
	return 0;
}

static const char *shown_name(const struct flag *flag)
{
	return flag->loaded_as ? flag->loaded_as : flag->name;
}

static int by_shown_name(const void *a, const void *b)
{
	const struct flag *const *left = a, *const *right = b;

	return strcmp(shown_name(*left), shown_name(*right));
}

/* Values in one spelling, whatever was typed: "1" for a boolean is shown as "true". */
static void write_value(const struct flags *flags, const struct flag *flag, struct json_writer *w)
{
	const void *target;
	char text[DURATION_TEXT];

	/* Nothing was kept but the text. */
	if (flag->offset == FLAG_INERT) {
		bool boolean = false;

		if (flag->type == FLAG_BOOL)
			parse_bool(flag->text, &boolean, NULL);
		jw_string(w, flag->type != FLAG_BOOL ? flag->text : boolean ? "true" : "false");
		return;
	}
	target = flag_target(flags, flag);
	switch (flag->type) {
	case FLAG_STRING:
	case FLAG_PATH:
		jw_string(w, *(const char *const *)target);
		return;
	case FLAG_BOOL:
		jw_string(w, *(const bool *)target ? "true" : "false");
		return;
	case FLAG_INT:
		snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)target);
		break;
	case FLAG_DOUBLE:
		snprintf(text, sizeof(text), "%.15g", *(const double *)target);
		break;
	case FLAG_DURATION:
		duration_format(*(const int64_t *)target, text);
		break;
	case FLAG_BYTES:
		bytes_format(*(const uint64_t *)target, text);
		break;
	case FLAG_IGNORED:
		jw_string(w, flag->text);
		return;
	}
	jw_string(w, text);
}

void flags_json(const struct flags *flags, struct json_writer *w)
{
	const struct flag **sorted;
	size_t count = 0;

	for (const struct flag *flag = flags->table; flag->name; flag++)
		count += flag->text != NULL;
	sorted = xcalloc(count, sizeof(*sorted));
	count = 0;
	for (const struct flag *flag = flags->table; flag->name; flag++)
		if (flag->text)
			sorted[count++] = flag;
	qsort(sorted, count, sizeof(*sorted), by_shown_name);
	jw_begin_object(w);
	for (size_t i = 0; i < count; i++) {
		jw_key(w, shown_name(sorted[i]));
		write_value(flags, sorted[i], w);
	}
	jw_end_object(w);
	free(sorted);
}
