/* The agent's flags, what is made of them, and the rules of URIs. */
#include "agent_shell.h"

#include "agent/containers/fetch/fetcher.h"
#include "agent/flags.h"
#include "agent/host.h"
#include "base/time/clock.h"

TestSuite(agent_shell_flags, .init = make_directory, .fini = remove_directory, .timeout = 60);

static int parse(struct agent_flags *flags, struct err *err, const char *a, const char *b,
		 const char *c)
{
	char *argv[] = {(char *)a, (char *)b, (char *)c};
	int argc = !a ? 0 : !b ? 1 : !c ? 2 : 3;

	return agent_flags_parse(flags, argc, argv, NULL, err);
}

#define MASTER "--master=127.0.0.1:5050"

static void refused(const char *a, const char *b, const char *c, const char *why)
{
	struct agent_flags flags;
	struct err err = {""};

	cr_expect_lt(parse(&flags, &err, a, b, c), 0);
	cr_expect_not_null(strstr(err.text, why), "'%s' should say '%s'", err.text, why);
	agent_flags_free(&flags);
}

Test(agent_shell_flags, have_mesos_defaults)
{
	struct agent_flags flags;
	struct err err = {""};

	cr_assert_eq(parse(&flags, &err, MASTER, "--work_dir=/w/", NULL), 0, "%s", err.text);
	cr_expect_eq(flags.port, 5051);
	cr_expect_eq(flags.gc_delay, WEEK);
	cr_expect_eq(flags.executor_registration_timeout, MINUTE);
	cr_expect_eq(flags.executor_reregistration_timeout, 2 * SECOND);
	cr_expect_eq(flags.executor_shutdown_grace_period, 5 * SECOND);
	cr_expect_eq(flags.recovery_timeout, 15 * MINUTE);
	cr_expect(flags.switch_user);
	cr_expect_str_eq(flags.work_dir, "/w");
	cr_expect_eq(flags.runtime_dir[0], '/');
	agent_flags_free(&flags);
}

Test(agent_shell_flags, take_what_mesos_takes)
{
	static const char *const accepted[] = {"--no-systemd_enable_support",
					       "--launcher=linux",
					       "--isolation=cgroups/cpu,posix/mem",
					       "--fetcher_cache_dir=/x",
					       "--no-strict",
					       "--slave_subsystems=x",
					       "--containerizers=mesos,docker"};
	struct agent_flags flags;
	struct err err = {""};

	for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
		cr_expect_eq(parse(&flags, &err, MASTER, "--work_dir=w", accepted[i]), 0, "%s: %s",
			     accepted[i], err.text);
		cr_expect_eq(flags.work_dir[0], '/');
		agent_flags_free(&flags);
	}
}

Test(agent_shell_flags, refuse_what_is_wrong)
{
	refused(NULL, NULL, NULL, "--master");
	refused(MASTER, NULL, NULL, "--work_dir");
	refused("--master=host", "--work_dir=/w", NULL, "file://PATH");
	refused("--master=nowhere", "--work_dir=/w", NULL, "--master");
	refused(MASTER, "--work_dir=/w", "--no_such_flag=x", "no_such_flag");
	refused(MASTER, "--work_dir=/w", "--isolation=posix/cpuu", "posix/cpuu");
	refused(MASTER, "--work_dir=/w", "--launcher=windows", "--launcher");
	refused(MASTER, "--work_dir=/w", "--recover=maybe", "--recover");
	refused(MASTER, "--work_dir=/w", "--reconfiguration_policy=any",
		"--reconfiguration_policy");
	refused(MASTER, "--work_dir=/w", "--registration_backoff_factor=2mins",
		"--registration_backoff_factor");
	refused(MASTER, "--work_dir=/w", "--executor_reregistration_timeout=16secs", "15secs");
	refused(MASTER, "--work_dir=/w", "--credential=file:///no/such/file", "--credential");
	refused(MASTER, "--work_dir=/w", "--authenticate_http_readwrite",
		"realm 'mesos-agent-readwrite': give --http_credentials");
	refused(MASTER, "--work_dir=/w", "--authenticate_http_readonly",
		"realm 'mesos-agent-readonly': give --http_credentials");
	refused(MASTER, "--work_dir=/w", "--authenticate_http_executors",
		"--authenticate_http_executors");
	refused(MASTER, "--work_dir=/w", "--http_credentials=/no/such/file",
		"see --http_credentials flag");
	refused(MASTER, "--work_dir=/w", "--http_authenticators=other", "--http_authenticators");
	refused(MASTER, "--work_dir=/w", "argument", "argument");
}

Test(agent_shell_flags, credential_is_json_or_two_words)
{
	struct agent_flags flags;
	struct err err = {""};
	char *flag = text("--credential=%s", at("credential"));

	write_text(at("credential"), "{\"principal\": \"a\", \"secret\": \"b\"}");
	cr_expect_eq(parse(&flags, &err, MASTER, "--work_dir=/w", flag), 0, "%s", err.text);
	agent_flags_free(&flags);
	write_text(at("credential"), "a b\n");
	cr_expect_eq(parse(&flags, &err, MASTER, "--work_dir=/w", flag), 0, "%s", err.text);
	agent_flags_free(&flags);
	write_text(at("credential"), "a");
	refused(MASTER, "--work_dir=/w", flag, "--credential");
}

/* ---- the host ------------------------------------------------------------ */

Test(agent_shell_flags, missing_resources_are_detected)
{
	struct resource_shapes *shapes = resource_shapes_create();
	struct resources found;
	struct err err = {""};

	cr_assert_eq(
		host_resources(shapes, "cpus:3.5;mem:0;licences:{a,b}", "r", "/", &found, &err), 0,
		"%s", err.text);
	cr_expect_eq(resources_quantity(&found, "cpus"), 3500);
	cr_expect_eq(resources_quantity(&found, "mem"), 0);
	cr_expect_gt(resources_quantity(&found, "disk"), 0);
	cr_expect_eq(resources_quantity(&found, "ports"), 1001 * 1000);
	resources_free(&found);
	cr_expect_lt(host_resources(shapes, "cpus:many:x", "*", "/", &found, &err), 0);
	cr_expect_not_null(strstr(err.text, "--resources"));
	resources_free(&found);
	resource_shapes_destroy(shapes);
}

Test(agent_shell_flags, attributes_are_guessed)
{
	Mesos__Attribute **list;
	struct arena arena;
	struct err err = {""};
	size_t count;

	arena_init(&arena);
	cr_assert_eq(host_attributes(&arena, "rack:2; zone:a:b;r:[1-3, 5-6];", &list, &count, &err),
		     0, "%s", err.text);
	cr_assert_eq(count, 3);
	cr_expect_str_eq(list[0]->name, "rack");
	cr_expect_eq(list[0]->scalar->value, 2);
	cr_expect_str_eq(list[1]->name, "zone");
	cr_expect_str_eq(list[1]->text->value, "a:b");
	cr_expect_eq(list[2]->ranges->n_range, 2);
	cr_expect_eq(list[2]->ranges->range[1]->end, 6);
	cr_expect_lt(host_attributes(&arena, "rack", &list, &count, &err), 0);
	cr_expect_lt(host_attributes(&arena, "r:[3-1]", &list, &count, &err), 0);
	cr_expect_eq(host_attributes(&arena, NULL, &list, &count, &err), 0);
	cr_expect_eq(count, 0);
	arena_free(&arena);
}

Test(agent_shell_flags, environment_and_domain_are_json)
{
	const char *const *pairs;
	Mesos__DomainInfo *domain;
	struct arena arena;
	struct err err = {""};

	arena_init(&arena);
	cr_assert_eq(host_environment(&arena, "{\"A\":\"1\",\"B\":\"x y\"}", &pairs, &err), 0);
	cr_expect_str_eq(pairs[0], "A=1");
	cr_expect_str_eq(pairs[1], "B=x y");
	cr_expect_null(pairs[2]);
	cr_expect_lt(host_environment(&arena, "{\"A\":1}", &pairs, &err), 0);
	cr_expect_lt(host_environment(&arena, "[]", &pairs, &err), 0);
	cr_assert_eq(
		host_domain(&arena,
			    "{\"fault_domain\":{\"region\":{\"name\":\"r\"},\"zone\":{\"name\":"
			    "\"z\"}}}",
			    &domain, &err),
		0, "%s", err.text);
	cr_expect_str_eq(domain->fault_domain->zone->name, "z");
	cr_expect_lt(host_domain(&arena, "{\"fault_domain\":{}}", &domain, &err), 0);
	arena_free(&arena);
}

/* ---- URIs ---------------------------------------------------------------- */

static void expect_invalid(const char *uri, const char *output, const char *why)
{
	Mesos__CommandInfo command = MESOS__COMMAND_INFO__INIT;
	Mesos__CommandInfo__URI one = MESOS__COMMAND_INFO__URI__INIT, *uris[] = {&one};
	struct err err = {""};

	one.value = (char *)uri;
	one.output_file = (char *)output;
	command.n_uris = 1;
	command.uris = uris;
	cr_expect_eq(fetch_validate(&command, &err) < 0, why != NULL, "%s", uri);
	cr_expect_str_eq(err.text, why ? why : "");
}

Test(agent_shell_flags, uris_are_checked)
{
	expect_invalid("http://host/file?a=b", NULL, NULL);
	expect_invalid("file", "d/x", NULL);
	expect_invalid("http://host", NULL, "Malformed URI (missing path): http://host");
	expect_invalid("http://host/", NULL, "Malformed URI (missing path): http://host/");
	expect_invalid("/a'b", NULL, "Illegal characters in URI");
	expect_invalid("/a\\b", NULL, "Illegal characters in URI");
	expect_invalid("/a", "", "URI output file path is empty");
	expect_invalid("/a", "/etc/x", "URI output file must be within the sandbox directory");
	expect_invalid("/a", "d/../../x", "URI output file must be within the sandbox directory");
}

Test(agent_shell_flags, uris_have_local_paths)
{
	const char *path;
	struct arena arena;
	struct err err = {""};

	arena_init(&arena);
	cr_expect_eq(fetch_local_path(&arena, "file:///a/b", NULL, &path, &err), 0);
	cr_expect_str_eq(path, "/a/b");
	cr_expect_eq(fetch_local_path(&arena, "file://localhost/a", NULL, &path, &err), 0);
	cr_expect_str_eq(path, "/a");
	cr_expect_eq(fetch_local_path(&arena, "a/b", "/home", &path, &err), 0);
	cr_expect_str_eq(path, "/home/a/b");
	cr_expect_eq(fetch_local_path(&arena, "hdfs://a/b", "/home", &path, &err), 0);
	cr_expect_null(path);
	cr_expect_lt(fetch_local_path(&arena, "a/b", "", &path, &err), 0);
	cr_expect_lt(fetch_local_path(&arena, "file://a/b", "/home", &path, &err), 0);
	arena_free(&arena);
}
