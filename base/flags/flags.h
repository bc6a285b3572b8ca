/* Command-line flags the way Mesos spells them.
 *
 * --name=value, --name (booleans), --no-name, the environment MESOS_NAME (the
 * command line wins), `file:///path` values replaced by the file's content. Names
 * have underscores; dashes typed instead of them, and capitals, are taken too. A
 * flag that Mesos has and mesita does not need is in the table with FLAG_INERT for
 * its offset, or of type FLAG_IGNORED if it has neither default nor checks: accepted
 * with one warning line. An unknown one is an error that names the nearest match.
 */
#ifndef BASE_FLAGS_FLAGS_H
#define BASE_FLAGS_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

enum flag_type {
	FLAG_STRING,   /* const char * (NULL when unset and no default) */
	FLAG_BOOL,     /* bool */
	FLAG_INT,      /* int64_t */
	FLAG_DOUBLE,   /* double */
	FLAG_DURATION, /* int64_t, nanoseconds */
	FLAG_BYTES,    /* uint64_t */
	FLAG_PATH,     /* const char *, a path: file:// is stripped, not read */
	FLAG_IGNORED,  /* accepted with a warning; no target */
};

/* Offset of a flag that has no target: its value is checked and shown, not stored. */
#define FLAG_INERT SIZE_MAX

struct flag {
	const char *name;
	const char *alias; /* deprecated other name, or NULL */
	enum flag_type type;
	size_t offset;	    /* of the target in the caller's struct; unused for IGNORED */
	const char *preset; /* default as text, or NULL */
	const char *help;   /* one sentence */
	/* set by flags_parse */
	const char *text;      /* value as given or defaulted; NULL if unset */
	const char *loaded_as; /* name it was loaded under; NULL if defaulted */
};

struct flags {
	struct flag *table;	 /* ends with name == NULL; the caller's, writable */
	void *target;		 /* struct the values are written into */
	const char *usage;	 /* first line of the help text */
	const char **positional; /* out: arguments that are no flags, in order */
	size_t positional_count;
	bool help_wanted;   /* out: --help or -h was given */
	bool after_dashes;  /* out: "--" was met; the rest is positional */
	struct arena arena; /* values and positional; zeroed at first, see flags_free */
};

/* Parses argv (without the program's name). `env` is the environment to read
 * MESOS_* from, or NULL for none. Strings written to the target live until
 * flags_free. Warnings (ignored and deprecated flags) are appended, one line
 * each, to `warnings` (may be NULL). When help is wanted nothing else is looked at:
 * all flags have their defaults. */
int flags_parse(struct flags *flags, int argc, char **argv, char **env, struct buf *warnings,
		struct err *err);
void flags_free(struct flags *flags);
void flags_help(const struct flags *flags, struct buf *out);
/* {"name":"value",...} of every flag that has a value, sorted by name. */
void flags_json(const struct flags *flags, struct json_writer *w);

#endif
