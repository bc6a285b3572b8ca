/* Flags of master and agent; see daemon_flags.h. */
#include "base/flags/daemon_flags.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void log_lines(const struct buf *lines)
{
	for (const char *line = lines->data; line && *line;) {
		const char *end = strchr(line, '\n');

		log_warning("%.*s", end ? (int)(end - line) : (int)strlen(line), line);
		line = end ? end + 1 : NULL;
	}
}

int daemon_flags_parse(struct flags *flags, int argc, char **argv, char **env, const bool *version,
		       struct err *err)
{
	struct buf text = BUF_INIT;
	int rv = flags_parse(flags, argc, argv, env, &text, err);

	log_lines(&text);
	buf_free(&text);
	if (rv < 0)
		return rv;
	if (flags->help_wanted) {
		flags_help(flags, &text);
		fputs(text.data, stdout);
		buf_free(&text);
		return 1;
	}
	if (*version) {
		puts("mesita " MESITA_VERSION);
		return 1;
	}
	if (flags->positional_count > 0)
		return err_set(err, ERR_INVALID, "unexpected argument '%s': flags start with --",
			       flags->positional[0]);
	return 0;
}

int daemon_flags_refuse(const struct flag_refusal *list, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].set)
			return err_set(err, ERR_INVALID,
				       "--%s is not supported by this version of mesita and is too "
				       "important to be ignored: leave it out",
				       list[i].name);
	return 0;
}
