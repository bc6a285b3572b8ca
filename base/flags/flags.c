/* Reads flags from the command line and the environment, with Mesos' rules and texts.
 *
 * The command line comes first; the environment fills in what it left out; then defaults
 * apply. The first error ends it, and the target may then be half filled: a program that
 * was called wrongly does not start.
 */
#include "base/flags/flags.h"

#include <ctype.h>
#include <string.h>

#include "base/flags/flags_internal.h"

#define ENV_PREFIX "MESOS_"

/* One flag as it was given. */
struct given {
	const char *name;  /* lower case, as given: may begin with "no-" */
	const char *value; /* NULL when there was no '=' */
	bool environment;
};

/* A dash in what the user typed stands for an underscore. */
static bool same_name(const char *known, const char *given)
{
	if (!known)
		return false;
	for (; *known && *given; known++, given++)
		if (*known != *given && !(*known == '_' && *given == '-'))
			return false;
	return *known == *given;
}

/* `as` becomes the name of the table that fits, the alias perhaps. */
static struct flag *flag_find(struct flags *flags, const char *name, const char **as)
{
	for (struct flag *flag = flags->table; flag->name; flag++) {
		if (same_name(flag->name, name)) {
			*as = flag->name;
			return flag;
		}
		if (same_name(flag->alias, name)) {
			*as = flag->alias;
			return flag;
		}
	}
	return NULL;
}

static int unknown_flag(struct flags *flags, const char *name, const char *via, struct err *err)
{
	const char *nearest = flag_nearest(flags, name);
	struct buf text = BUF_INIT;

	/* The hint is worth more than the whole of a name that never ends. */
	buf_printf(&text, "Failed to load unknown flag '%.200s'", name);
	if (via)
		buf_printf(&text, " via '%.200s'", via);
	if (nearest)
		buf_printf(&text, "; did you mean '%s'?", nearest);
	err_set(err, ERR_INVALID, "%s", text.data);
	buf_free(&text);
	return ERR_INVALID;
}

/* The text of a boolean from "--x", "--x=v", "--no-x". */
static const char *boolean_text(const struct given *given, bool negated)
{
	if (!given->value || !*given->value)
		return negated ? "false" : "true";
	return negated ? NULL : given->value;
}

static int check_form(const struct flag *flag, const struct given *given, bool negated,
		      const char *name, struct err *err)
{
	if (flag->type == FLAG_IGNORED)
		return 0;
	if (flag->type != FLAG_BOOL) {
		if (negated)
			return err_set(err, ERR_INVALID,
				       "Failed to load non-boolean flag '%s' via '%s'", name,
				       given->name);
		if (!given->value)
			return err_set(err, ERR_INVALID,
				       "Failed to load non-boolean flag '%s': Missing value", name);
	} else if (!boolean_text(given, negated)) {
		return err_set(err, ERR_INVALID,
			       "Failed to load boolean flag '%s' via '%s' with value '%s'", name,
			       given->name, given->value);
	}
	return 0;
}

static void warn(const struct flag *flag, const char *as, struct buf *warnings)
{
	if (!warnings)
		return;
	if (flag->type == FLAG_IGNORED || flag->offset == FLAG_INERT)
		buf_printf(warnings, "Flag '%s' is accepted but has no effect\n", as);
	else if (as == flag->alias)
		buf_printf(warnings, "Loaded deprecated flag '%s', the name is now '%s'\n", as,
			   flag->name);
}

static int load_given(struct flags *flags, const struct given *given, struct buf *warnings,
		      struct err *err)
{
	const char *as, *text;
	/* A name of the table that begins with "no_" is itself, not a negation. */
	struct flag *flag = flag_find(flags, given->name, &as);
	bool negated = !flag && str_has_prefix(given->name, "no-");

	if (negated)
		flag = flag_find(flags, given->name + 3, &as);
	if (!flag) {
		if (given->environment)
			return 0;
		return unknown_flag(flags, given->name + (negated ? 3 : 0),
				    negated ? given->name : NULL, err);
	}
	if (flag->loaded_as)
		return err_set(err, ERR_INVALID, "Flag '%s' is already loaded via name '%s'", as,
			       flag->loaded_as);
	if (check_form(flag, given, negated, as, err) < 0)
		return ERR_INVALID;
	text = given->value;
	if (flag->type == FLAG_BOOL || !text)
		text = boolean_text(given, negated);
	if (flag_load(flags, flag, as, text, false, err) < 0)
		return ERR_INVALID;
	warn(flag, as, warnings);
	return 0;
}

static const char *lower(struct flags *flags, const char *name, size_t len)
{
	char *copy = arena_strndup(&flags->arena, name, len);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

static struct given flags_split(struct flags *flags, const char *text)
{
	const char *equals = strchr(text, '=');
	struct given given = {
		.name = lower(flags, text, equals ? (size_t)(equals - text) : strlen(text)),
		.value = equals ? equals + 1 : NULL,
	};

	return given;
}

/* Mesos trims words of the command line before it looks at them. */
static const char *flags_trimmed(struct flags *flags, const char *word)
{
	size_t len;

	while (isspace((unsigned char)*word))
		word++;
	len = strlen(word);
	while (len && isspace((unsigned char)word[len - 1]))
		len--;
	return arena_strndup(&flags->arena, word, len);
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 ||
		    strcmp(argv[i], "--help=true") == 0)
			return true;
	return false;
}

static int load_command_line(struct flags *flags, int argc, char **argv, struct buf *warnings,
			     struct err *err)
{
	for (int i = 0; i < argc; i++) {
		const char *word = flags_trimmed(flags, argv[i]);

		if (!flags->after_dashes && strcmp(word, "--") == 0) {
			flags->after_dashes = true;
		} else if (flags->after_dashes || !str_has_prefix(word, "--")) {
			flags->positional[flags->positional_count++] = argv[i];
		} else {
			struct given given = flags_split(flags, word + 2);

			if (load_given(flags, &given, warnings, err) < 0)
				return ERR_INVALID;
		}
	}
	return 0;
}

static int load_environment(struct flags *flags, char **env, struct buf *warnings, struct err *err)
{
	size_t count = 0, loaded = 0;
	struct flag **before;
	int rv = 0;

	/* What the command line gave stays; the environment may not give a flag twice. */
	for (struct flag *flag = flags->table; flag->name; flag++)
		count += flag->loaded_as != NULL;
	before = arena_alloc(&flags->arena, count * sizeof(*before));
	for (struct flag *flag = flags->table; flag->name; flag++)
		if (flag->loaded_as)
			before[loaded++] = flag;
	for (; *env && rv == 0; env++) {
		struct given given;
		struct flag *flag;
		const char *as;
		size_t i = 0;

		if (!str_has_prefix(*env, ENV_PREFIX) || !strchr(*env, '='))
			continue;
		given = flags_split(flags, *env + strlen(ENV_PREFIX));
		given.environment = true;
		flag = flag_find(flags, given.name, &as);
		if (!flag && str_has_prefix(given.name, "no-"))
			flag = flag_find(flags, given.name + 3, &as);
		while (i < count && before[i] != flag)
			i++;
		if (flag && i == count)
			rv = load_given(flags, &given, warnings, err);
	}
	return rv;
}

int flags_parse(struct flags *flags, int argc, char **argv, char **env, struct buf *warnings,
		struct err *err)
{
	int rv = 0;

	flags->positional =
		arena_alloc(&flags->arena, ((size_t)argc + 1) * sizeof(*flags->positional));
	flags->positional_count = 0;
	flags->after_dashes = false;
	flags->help_wanted = asks_for_help(argc, argv);
	if (!flags->help_wanted) {
		rv = load_command_line(flags, argc, argv, warnings, err);
		if (rv == 0 && env)
			rv = load_environment(flags, env, warnings, err);
	}
	for (struct flag *flag = flags->table; rv == 0 && flag->name; flag++)
		if (!flag->loaded_as)
			rv = flag_load(flags, flag, flag->name, flag->preset, true, err);
	return rv;
}

void flags_free(struct flags *flags)
{
	for (struct flag *flag = flags->table; flag && flag->name; flag++) {
		flag->text = NULL;
		flag->loaded_as = NULL;
	}
	flags->positional = NULL;
	flags->positional_count = 0;
	arena_free(&flags->arena);
}
