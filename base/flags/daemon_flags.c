/* Flags of master and agent; see daemon_flags.h. */
#include "base/flags/daemon_flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory/arena.h"

#define JSON_FILE_MAX (1024 * 1024) /* bytes */

static void log_lines(const struct buf *lines)
{
	for (const char *line = lines->data; line && *line;) {
		const char *end = strchr(line, '\n');

		log_warning("%.*s", end ? (int)(end - line) : (int)strlen(line), line);
		line = end ? end + 1 : NULL;
	}
}

/* Warnings about flags are lines of the log, too. */
static bool wants_json(const struct flags *flags)
{
	for (const struct flag *flag = flags->table; flag->name; flag++) {
		if (!strcmp(flag->name, "log_format"))
			return flag->text && !strcmp(flag->text, "json");
	}
	return false;
}

int daemon_flags_parse(struct flags *flags, int argc, char **argv, char **env, const bool *version,
		       struct err *err)
{
	struct buf text = BUF_INIT;
	int rv = flags_parse(flags, argc, argv, env, &text, err);

	log_set_json(wants_json(flags));
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

int daemon_flags_text(struct arena *arena, const char *name, const char *value, struct slice *out,
		      struct err *err)
{
	struct buf text = BUF_INIT;
	int rv = 0;

	if (*value == '/')
		rv = file_read(value, JSON_FILE_MAX, &text, err);
	else
		buf_puts(&text, value);
	*out = (struct slice){arena_strndup(arena, text.data ? text.data : "", text.len), text.len};
	buf_free(&text);
	return rv < 0 ? err_wrap(err, ERR_INVALID, "Invalid value for --%s", name) : 0;
}

int daemon_flags_json(struct arena *arena, const char *name, const char *value, struct json **out,
		      struct err *err)
{
	struct slice text;

	if (daemon_flags_text(arena, name, value, &text, err) < 0)
		return ERR_INVALID;
	return json_parse(arena, text.data, text.len, out, err) < 0
		       ? err_wrap(err, ERR_INVALID, "Invalid value for --%s", name)
		       : 0;
}

static enum log_level wanted_level(const struct daemon_log *log)
{
	if (getenv("MESITA_DEBUG"))
		return LOG_LEVEL_DEBUG;
	if (!strcmp(log->logging_level, "ERROR") || log->quiet)
		return LOG_LEVEL_ERROR;
	return !strcmp(log->logging_level, "WARNING") ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO;
}

int daemon_log_start(const struct daemon_log *log, enum log_level *level, char **path,
		     struct err *err)
{
	bool json = !strcmp(log->log_format, "json");
	char *own;
	int rv = 0;

	if (!json && strcmp(log->log_format, "text"))
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --log_format: expected text or json",
			       log->log_format);
	*level = wanted_level(log);
	log_setup(*level, STDERR_FILENO);
	log_set_json(json);
	*path = log->external_log_file ? xstrdup(log->external_log_file) : NULL;
	if (!log->log_dir)
		return 0;
	own = xprintf("%s/%s", log->log_dir, log->file);
	if (mkdir(log->log_dir, 0755) < 0 && errno != EEXIST)
		rv = err_set(err, ERR_IO, "cannot make --log_dir=%s: %s", log->log_dir,
			     strerror(errno));
	if (rv == 0)
		rv = log_open(own, err);
	if (*path)
		free(own);
	else
		*path = own;
	return rv;
}
