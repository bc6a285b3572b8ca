/* What master and agent do alike with their flags. */
#ifndef BASE_FLAGS_DAEMON_FLAGS_H
#define BASE_FLAGS_DAEMON_FLAGS_H

#include "base/flags/flags.h"
#include "base/json/json.h"
#include "base/log/log.h"

/* Parses, with `table`, `target` and `usage` set: warnings are logged, arguments that are no
 * flags are errors, --help and --version (whose target is `version`) are answered on standard
 * output; then 1 is returned, and the daemon is to end. */
int daemon_flags_parse(struct flags *flags, int argc, char **argv, char **env, const bool *version,
		       struct err *err);

/* The value of a flag that is a text, or the absolute path of a file of it, in the arena.
 * ERR_INVALID. */
int daemon_flags_text(struct arena *arena, const char *name, const char *value, struct slice *out,
		      struct err *err);
/* Likewise JSON. */
int daemon_flags_json(struct arena *arena, const char *name, const char *value, struct json **out,
		      struct err *err);

/* What flags say about the log. */
struct daemon_log {
	const char *logging_level;
	const char *log_format;
	const char *log_dir;	       /* NULL: standard error */
	const char *file;	       /* its name there */
	const char *external_log_file; /* where somebody else keeps it, or NULL */
	bool quiet;
};
/* Has the log written so. *path (heap) is the file that holds it, NULL if nobody knows one; also
 * after an error. */
int daemon_log_start(const struct daemon_log *log, enum log_level *level, char **path,
		     struct err *err);

#endif
