/* flags: every way to give one, and the texts of what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flags/flags.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

struct target {
	const char *cluster;
	const char *roles;
	bool hostname_lookup;
	bool quiet;
	int64_t port;
	double factor;
	int64_t ping_timeout;
	uint64_t memory;
	const char *work_dir;
	bool no_color;
};

#define AT(member) offsetof(struct target, member)

static const struct flag table[] = {
	{"work_dir", NULL, FLAG_PATH, AT(work_dir), NULL, "Directory.", NULL, NULL},
	{"cluster", NULL, FLAG_STRING, AT(cluster), NULL, "Name.", NULL, NULL},
	{"roles", NULL, FLAG_STRING, AT(roles), "*", "Roles.", NULL, NULL},
	{"hostname_lookup", NULL, FLAG_BOOL, AT(hostname_lookup), "true", "Look.", NULL, NULL},
	{"quiet", "silent", FLAG_BOOL, AT(quiet), "false", "Hush.", NULL, NULL},
	{"port", NULL, FLAG_INT, AT(port), "5050", "Port.", NULL, NULL},
	{"factor", NULL, FLAG_DOUBLE, AT(factor), "0.8", "Share.", NULL, NULL},
	{"agent_ping_timeout", "slave_ping_timeout", FLAG_DURATION, AT(ping_timeout), "15secs",
	 "Wait.", NULL, NULL},
	{"memory", NULL, FLAG_BYTES, AT(memory), "4KB", "Bytes.", NULL, NULL},
	{"no_color", NULL, FLAG_BOOL, AT(no_color), "false", "Plain.", NULL, NULL},
	{"quorum", NULL, FLAG_IGNORED, 0, NULL, "Nothing.", NULL, NULL},
	{"session_timeout", NULL, FLAG_DURATION, FLAG_INERT, "10secs", NULL, NULL, NULL},
	{"profiling", NULL, FLAG_BOOL, FLAG_INERT, "false", NULL, NULL, NULL},
	{"webui_dir", NULL, FLAG_PATH, FLAG_INERT, NULL, NULL, NULL, NULL},
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

struct fixture {
	struct flag table[sizeof(table) / sizeof(*table)];
	struct target target;
	struct flags flags;
	struct buf warnings;
	struct err err;
};

/* Words and variables are separated by '|'. */
static int parse(struct fixture *f, const char *words, const char *variables)
{
	char *argv[20], *env[20], *line = xstrdup(words ? words : ""),
				  *list = xstrdup(variables ? variables : ""), *save;
	int argc = 0, envc = 0, rv;

	memset(f, 0, sizeof(*f));
	memcpy(f->table, table, sizeof(table));
	f->flags.table = f->table;
	f->flags.target = &f->target;
	f->flags.usage = "Usage: test [flags]";
	for (char *word = strtok_r(line, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = word;
	for (char *word = strtok_r(list, "|", &save); word; word = strtok_r(NULL, "|", &save))
		env[envc++] = word;
	env[envc] = NULL;
	rv = flags_parse(&f->flags, argc, argv, variables ? env : NULL, &f->warnings, &f->err);
	/* The positional words point into the line; only its count is looked at later. */
	for (size_t i = 0; i < f->flags.positional_count; i++)
		f->flags.positional[i] = arena_strdup(&f->flags.arena, f->flags.positional[i]);
	free(line);
	free(list);
	return rv;
}

static void finish(struct fixture *f)
{
	flags_free(&f->flags);
	buf_free(&f->warnings);
}

static struct flag *find(struct fixture *f, const char *name)
{
	struct flag *flag = f->table;

	while (strcmp(flag->name, name) != 0)
		flag++;
	return flag;
}

Test(flags, have_defaults)
{
	struct fixture f;

	cr_assert_eq(parse(&f, NULL, NULL), 0, "%s", f.err.text);
	cr_assert_null(f.target.cluster);
	cr_assert_null(f.target.work_dir);
	cr_assert_str_eq(f.target.roles, "*");
	cr_assert(f.target.hostname_lookup && !f.target.quiet);
	cr_assert_eq(f.target.port, 5050);
	cr_assert_eq(f.target.factor, 0.8);
	cr_assert_eq(f.target.ping_timeout, 15 * SECOND);
	cr_assert_eq(f.target.memory, 4096);
	cr_assert_null(find(&f, "port")->loaded_as);
	cr_assert_str_eq(find(&f, "port")->text, "5050");
	cr_assert_null(find(&f, "cluster")->text);
	finish(&f);
}

Test(flags, take_all_types)
{
	struct fixture f;

	cr_assert_eq(parse(&f,
			   "--cluster=a=b c|--port=-7|--factor=1e-3|--agent_ping_timeout=1.5mins|"
			   "--memory=2MB|--work_dir=file:///var/lib|--roles=|--quiet",
			   NULL),
		     0, "%s", f.err.text);
	cr_assert_str_eq(f.target.cluster, "a=b c");
	cr_assert_eq(f.target.port, -7);
	cr_assert_eq(f.target.factor, 1e-3);
	cr_assert_eq(f.target.ping_timeout, 90 * SECOND);
	cr_assert_eq(f.target.memory, 2 << 20);
	cr_assert_str_eq(f.target.work_dir, "/var/lib");
	cr_assert_str_eq(f.target.roles, "");
	cr_assert(f.target.quiet);
	cr_assert_str_eq(find(&f, "port")->loaded_as, "port");
	cr_assert_eq(f.warnings.len, 0);
	finish(&f);
}

Test(flags, booleans)
{
	static const struct {
		const char *word;
		bool value;
	} good[] = {
		{"--hostname_lookup", true},	     {"--hostname_lookup=", true},
		{"--hostname_lookup=true", true},    {"--hostname_lookup=1", true},
		{"--hostname_lookup=false", false},  {"--hostname_lookup=0", false},
		{"--no-hostname_lookup", false},     {"--no-hostname_lookup=", false},
		{"--no-hostname-lookup", false},     {"--HostName-Lookup=false", false},
		{"  --no-hostname_lookup  ", false},
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		cr_assert_eq(parse(&f, good[i].word, NULL), 0, "%s", f.err.text);
		cr_assert_eq(f.target.hostname_lookup, good[i].value, "%s", good[i].word);
		finish(&f);
	}
	cr_assert_eq(parse(&f, "--no-color", NULL), 0, "%s", f.err.text);
	cr_assert(f.target.no_color, "a name that begins with no_ is no negation");
	finish(&f);
}

Test(flags, refuse_with_the_words_of_mesos)
{
	static const struct {
		const char *words, *error;
	} bad[] = {
		{"--no_such_flag", "Failed to load unknown flag 'no_such_flag'"},
		{"--no_such_flag=x", "Failed to load unknown flag 'no_such_flag'"},
		{"--no-such_flag", "Failed to load unknown flag 'such_flag' via 'no-such_flag'"},
		{"--prot=1", "Failed to load unknown flag 'prot'; did you mean 'port'?"},
		{"--work-dri=x",
		 "Failed to load unknown flag 'work-dri'; did you mean 'work_dir'?"},
		{"--slave_ping_timeuot=1secs",
		 "Failed to load unknown flag 'slave_ping_timeuot'; did you mean "
		 "'slave_ping_timeout'?"},
		{"--no-hostname_lokup", "Failed to load unknown flag 'hostname_lokup' via "
					"'no-hostname_lokup'; did you mean 'hostname_lookup'?"},
		{"--=x", "Failed to load unknown flag ''"},
		{"--cluster", "Failed to load non-boolean flag 'cluster': Missing value"},
		{"--cluster|x", "Failed to load non-boolean flag 'cluster': Missing value"},
		{"--no-port", "Failed to load non-boolean flag 'port' via 'no-port'"},
		{"--no-port=1", "Failed to load non-boolean flag 'port' via 'no-port'"},
		{"--no-quiet=x",
		 "Failed to load boolean flag 'quiet' via 'no-quiet' with value 'x'"},
		{"--quiet=maybe",
		 "Failed to load flag 'quiet': Expecting a boolean (e.g., true or false)"},
		{"--quiet=TRUE",
		 "Failed to load flag 'quiet': Expecting a boolean (e.g., true or false)"},
		{"--port=", "Failed to load flag 'port': Failed to convert into required type"},
		{"--port=80x", "Failed to load flag 'port': Failed to convert into required type"},
		{"--port=0x50", "Failed to load flag 'port': Failed to convert into required type"},
		{"--port= 80", "Failed to load flag 'port': Failed to convert into required type"},
		{"--port=9223372036854775808",
		 "Failed to load flag 'port': Failed to convert into required type"},
		{"--factor=nan",
		 "Failed to load flag 'factor': Failed to convert into required type"},
		{"--factor=1e999",
		 "Failed to load flag 'factor': Failed to convert into required type"},
		{"--factor=.",
		 "Failed to load flag 'factor': Failed to convert into required type"},
		{"--agent_ping_timeout=15",
		 "Failed to load flag 'agent_ping_timeout': Invalid duration '15'"},
		{"--slave_ping_timeout=15",
		 "Failed to load flag 'slave_ping_timeout': Invalid duration '15'"},
		{"--memory=1.5GB", "Failed to load flag 'memory': Fractional bytes '1.5GB'"},
		{"--port=1|--port=1", "Flag 'port' is already loaded via name 'port'"},
		{"--agent_ping_timeout=1secs|--slave_ping_timeout=1secs",
		 "Flag 'slave_ping_timeout' is already loaded via name 'agent_ping_timeout'"},
		{"--quiet|--no-quiet", "Flag 'quiet' is already loaded via name 'quiet'"},
		{"--cluster=file:///no/such/file",
		 "Failed to load flag 'cluster': Error reading file '/no/such/file': No such file "
		 "or directory"},
		{"--cluster=file:///",
		 "Failed to load flag 'cluster': Error reading file '/': Is a directory"},
		{"--cluster=file:///dev/zero",
		 "Failed to load flag 'cluster': Error reading file '/dev/zero': File too large"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct fixture f;

		cr_assert_eq(parse(&f, bad[i].words, NULL), ERR_INVALID, "%s", bad[i].words);
		cr_assert_str_eq(f.err.text, bad[i].error);
		finish(&f);
	}
}

Test(flags, refuse_names_without_end)
{
	char word[100000] = "--";
	struct fixture f;

	memset(word + 2, 'a', sizeof(word) - 3);
	word[sizeof(word) - 1] = '\0';
	cr_assert_eq(parse(&f, word, NULL), ERR_INVALID);
	cr_assert(str_has_prefix(f.err.text, "Failed to load unknown flag 'aaaa"));
	finish(&f);
}

Test(flags, warn_of_old_names_and_of_those_without_effect)
{
	struct fixture f;

	cr_assert_eq(parse(&f, "--slave_ping_timeout=20secs|--quorum=2|--no-silent", NULL), 0, "%s",
		     f.err.text);
	cr_assert_eq(f.target.ping_timeout, 20 * SECOND);
	cr_assert_str_eq(find(&f, "agent_ping_timeout")->loaded_as, "slave_ping_timeout");
	cr_assert_str_eq(f.warnings.data,
			 "Loaded deprecated flag 'slave_ping_timeout', the name is now "
			 "'agent_ping_timeout'\n"
			 "Flag 'quorum' is accepted but has no effect\n"
			 "Loaded deprecated flag 'silent', the name is now 'quiet'\n");
	finish(&f);
	cr_assert_eq(parse(&f, "--quorum", NULL), 0);
	finish(&f);
	cr_assert_eq(parse(&f, "--no-quorum", NULL), 0);
	finish(&f);
}

Test(flags, come_from_the_environment_where_the_command_line_is_silent)
{
	struct fixture f;

	cr_assert_eq(
		parse(&f, "--port=1|--slave_ping_timeout=2secs",
		      "MESOS_PORT=not even a number|MESOS_AGENT_PING_TIMEOUT=3secs|"
		      "MESOS_CLUSTER=from=env|MESOS_no-hostname_lookup=|MESOS_UNKNOWN=x|PORT=9|"
		      "MESOS_ROLES|MESOS_quiet="),
		0, "%s", f.err.text);
	cr_assert_eq(f.target.port, 1);
	cr_assert_eq(f.target.ping_timeout, 2 * SECOND);
	cr_assert_str_eq(f.target.cluster, "from=env");
	cr_assert_str_eq(f.target.roles, "*");
	cr_assert_not(f.target.hostname_lookup);
	cr_assert(f.target.quiet);
	finish(&f);
	cr_assert_eq(parse(&f, NULL, "MESOS_PORT=x"), ERR_INVALID);
	cr_assert_str_eq(f.err.text,
			 "Failed to load flag 'port': Failed to convert into required type");
	finish(&f);
	cr_assert_eq(parse(&f, NULL, "MESOS_SILENT=1|MESOS_QUIET=1"), ERR_INVALID);
	cr_assert_str_eq(f.err.text, "Flag 'quiet' is already loaded via name 'silent'");
	finish(&f);
}

static char *file_with(const char *content, size_t len)
{
	char *path = xstrdup("/tmp/mesita-flags-XXXXXX");
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, content, len), (ssize_t)len);
	close(fd);
	return path;
}

static int parse_file(struct fixture *f, const char *flag, const char *content, size_t len)
{
	char *path = file_with(content, len), *word = xprintf("--%s=file://%s", flag, path);
	int rv = parse(f, word, NULL);

	unlink(path);
	free(path);
	free(word);
	return rv;
}

Test(flags, are_read_from_files)
{
	struct fixture f;

	cr_assert_eq(parse_file(&f, "cluster", "a\nb\n", 4), 0, "%s", f.err.text);
	cr_assert_str_eq(f.target.cluster, "a\nb\n", "nothing is trimmed");
	cr_assert(str_has_prefix(find(&f, "cluster")->text, "file://"));
	finish(&f);
	cr_assert_eq(parse_file(&f, "cluster", "", 0), 0);
	cr_assert_str_eq(f.target.cluster, "");
	finish(&f);
	cr_assert_eq(parse_file(&f, "port", "80", 2), 0);
	cr_assert_eq(f.target.port, 80);
	finish(&f);
	cr_assert_eq(parse_file(&f, "port", "80\n", 3), ERR_INVALID);
	finish(&f);
	cr_assert_eq(parse_file(&f, "cluster", "a\0b", 3), ERR_INVALID);
	cr_assert(str_has_suffix(f.err.text, "It contains a NUL byte"));
	finish(&f);
}

Test(flags, leave_other_words_alone)
{
	struct fixture f;

	cr_assert_eq(parse(&f, "run|--port=1|-x|-|--|--cluster=c|--|last", NULL), 0, "%s",
		     f.err.text);
	cr_assert(f.flags.after_dashes);
	cr_assert_null(f.target.cluster);
	cr_assert_eq(f.flags.positional_count, 6);
	cr_assert_str_eq(f.flags.positional[0], "run");
	cr_assert_str_eq(f.flags.positional[1], "-x");
	cr_assert_str_eq(f.flags.positional[2], "-");
	cr_assert_str_eq(f.flags.positional[3], "--cluster=c");
	cr_assert_str_eq(f.flags.positional[4], "--");
	cr_assert_str_eq(f.flags.positional[5], "last");
	finish(&f);
}

Test(flags, help_comes_before_errors)
{
	struct buf out = BUF_INIT;
	struct fixture f;

	cr_assert_eq(parse(&f, "--port=x|--help", NULL), 0);
	cr_assert(f.flags.help_wanted);
	cr_assert_eq(f.target.port, 5050);
	flags_help(&f.flags, &out);
	cr_assert(str_has_prefix(out.data, "Usage: test [flags]\n"));
	cr_assert_not_null(strstr(out.data, "--[no-]quiet, --[no-]silent"));
	cr_assert_not_null(strstr(out.data, "--port=VALUE "));
	cr_assert_not_null(strstr(out.data, "Port. (default: 5050)\n"));
	cr_assert_not_null(strstr(out.data, " --quorum --"));
	buf_free(&out);
	finish(&f);
	cr_assert_eq(parse(&f, "-h", NULL), 0);
	cr_assert(f.flags.help_wanted);
	finish(&f);
	cr_assert_eq(parse(&f, "--|--help", NULL), 0);
	cr_assert_not(f.flags.help_wanted);
	finish(&f);
}

Test(flags, are_shown_as_json)
{
	struct buf out = BUF_INIT;
	struct json_writer w;
	struct fixture f;

	cr_assert_eq(parse(&f,
			   "--slave_ping_timeout=60secs|--cluster=\"x\"|--quiet=1|--memory=2048KB|"
			   "--quorum=3|--work_dir=file:///tmp/w|--profiling=1",
			   NULL),
		     0, "%s", f.err.text);
	jw_init(&w, &out);
	flags_json(&f.flags, &w);
	cr_assert_str_eq(
		out.data,
		"{\"cluster\":\"\\\"x\\\"\",\"factor\":\"0.8\",\"hostname_lookup\":\"true\","
		"\"memory\":\"2MB\",\"no_color\":\"false\",\"port\":\"5050\",\"profiling\":"
		"\"true\","
		"\"quiet\":\"true\",\"quorum\":\"3\",\"roles\":\"*\",\"session_timeout\":"
		"\"10secs\","
		"\"slave_ping_timeout\":\"1mins\",\"work_dir\":\"/tmp/w\"}");
	buf_free(&out);
	finish(&f);
}

Test(flags, of_no_effect_are_checked_and_said)
{
	struct fixture f;

	cr_assert_eq(parse(&f, "--session_timeout=5secs|--webui_dir=/x", NULL), 0);
	cr_assert_str_eq(f.warnings.data, "Flag 'session_timeout' is accepted but has no effect\n"
					  "Flag 'webui_dir' is accepted but has no effect\n");
	finish(&f);
	cr_assert_lt(parse(&f, "--session_timeout=5", NULL), 0);
	finish(&f);
	cr_assert_lt(parse(&f, "--webui_dir", NULL), 0);
	finish(&f);
	cr_assert_lt(parse(&f, NULL, "MESOS_PROFILING=perhaps"), 0);
	finish(&f);
}
