/* The master's flags: Mesos' defaults, and what Mesos refuses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time/clock.h"
#include "master/flags.h"

static struct master_flags flags;
static struct err err;

/* Words are separated by '|'. */
static int parse(const char *words)
{
	char *argv[10], *line = xstrdup(words), *save;
	int argc = 0, rv;

	for (char *word = strtok_r(line, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = word;
	rv = master_flags_parse(&flags, argc, argv, &err);
	free(line);
	return rv;
}

static void refused(const char *words, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "--registry=in_memory|%s", words);
	cr_expect_lt(parse(text), 0, "%s", words);
	cr_expect_not_null(strstr(err.text, why), "'%s' should say '%s'", err.text, why);
	master_flags_free(&flags);
}

static void accepted(const char *words)
{
	char text[256];

	snprintf(text, sizeof(text), "--registry=in_memory|%s", words);
	cr_expect_eq(parse(text), 0, "%s: %s", words, err.text);
	master_flags_free(&flags);
}

Test(master_flags, have_the_defaults_of_mesos)
{
	static const char *const shown[] = {
		"\"agent_ping_timeout\":\"15secs\"",
		"\"agent_reregister_timeout\":\"10mins\"",
		"\"allocation_interval\":\"1secs\"",
		"\"allocator\":\"hierarchical\"",
		"\"allocator_agent_recovery_factor\":\"0.8\"",
		"\"allocator_recovery_timeout\":\"10mins\"",
		"\"authenticate_agents\":\"false\"",
		"\"authentication_v0_timeout\":\"15secs\"",
		"\"authenticators\":\"crammd5\"",
		"\"authorizers\":\"local\"",
		"\"help\":\"false\"",
		"\"http_authenticators\":\"basic\"",
		"\"initialize_driver_logging\":\"true\"",
		"\"log_auto_initialize\":\"true\"",
		"\"logbufsecs\":\"0\"",
		"\"max_operator_event_stream_subscribers\":\"1000\"",
		"\"min_allocatable_resources\":\"cpus:0.01|mem:32\"",
		"\"offer_constraints_re2_max_mem\":\"4KB\"",
		"\"port\":\"5050\"",
		"\"recovery_agent_removal_limit\":\"100%\"",
		"\"registry\":\"replicated_log\"",
		"\"registry_fetch_timeout\":\"1mins\"",
		"\"registry_max_agent_age\":\"2weeks\"",
		"\"registry_strict\":\"false\"",
		"\"version\":\"false\"",
		"\"zk_session_timeout\":\"10secs\"",
	};
	struct buf out = BUF_INIT;
	struct json_writer w;

	cr_assert_eq(parse("--work_dir=/w"), 0, "%s", err.text);
	jw_init(&w, &out);
	flags_json(&flags.parsed, &w);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		cr_expect_not_null(strstr(out.data, shown[i]), "no %s in %s", shown[i], out.data);
	cr_expect_null(strstr(out.data, "advertise_port"));
	cr_expect_null(strstr(out.data, "quorum"));
	buf_free(&out);
	master_flags_free(&flags);
}

Test(master_flags, need_a_place_for_the_registry)
{
	cr_assert_lt(parse("--quiet"), 0);
	cr_assert_not_null(strstr(err.text, "--work_dir needed"));
	master_flags_free(&flags);
	refused("--work_dir=/w|--registry=x", "already loaded");
	cr_assert_lt(parse("--work_dir=/w|--registry=x"), 0);
	cr_assert_not_null(strstr(err.text, "Invalid value 'x' for --registry"));
	master_flags_free(&flags);
}

Test(master_flags, refuse_times_out_of_range)
{
	refused("--agent_ping_timeout=999ms", "between 1secs and 15mins");
	refused("--slave_ping_timeout=16mins", "between 1secs and 15mins");
	refused("--agent_reregister_timeout=9mins", "Must be at least 10mins");
	refused("--offer_timeout=0secs", "Must be greater than zero");
	refused("--offer_timeout=-1secs", "offer_timeout");
	refused("--registry_gc_interval=0ns", "Must be greater than zero");
	refused("--registry_store_timeout=soon", "registry_store_timeout");
	accepted("--agent_ping_timeout=1secs|--offer_timeout=1ns");
}

Test(master_flags, refuse_numbers_out_of_range)
{
	refused("--port=65536", "Must be within [0-65535]");
	refused("--port=-1", "Must be within [0-65535]");
	refused("--max_agent_ping_timeouts=0", "Must be within [1-");
	refused("--max_completed_frameworks=-1", "--max_completed_frameworks");
	refused("--max_completed_tasks_per_framework=99999999999", "Must be within");
	refused("--recovery_agent_removal_limit=50", "missing '%'");
	refused("--recovery_agent_removal_limit=x%", "expected a number");
	refused("--recovery_agent_removal_limit=101%", "within [0%-100%]");
	refused("--agent_removal_rate_limit=1", "1/10mins");
	refused("--agent_removal_rate_limit=0/10mins", "1/10mins");
	accepted("--recovery_agent_removal_limit=0%|--agent_removal_rate_limit=2/1mins");
}

Test(master_flags, refuse_names_that_are_none)
{
	refused("--logging_level=LOUD", "expected INFO or WARNING or ERROR");
	refused("--advertise_ip=here", "expected an IPv4 address");
	refused("--authenticators=none", "expected crammd5");
	refused("--role_sorter=fair", "expected drf or random");
	refused("--role_sorter=random", "'framework_sorter': must be equal");
	refused("--framework_sorter=random", "'framework_sorter': must be equal");
	refused("--roles=a,b c", "Failed to parse roles");
	refused("--registry_strict", "registry_strict");
	refused("--offer_timeuot=1secs", "did you mean 'offer_timeout'");
	accepted("--allocator=HierarchicalDRF|--roles=a,b/c");
	accepted("--role_sorter=random|--framework_sorter=random");
	accepted("--user_sorter=random|--framework_sorter=random");
}

Test(master_flags, read_access_control_lists)
{
	struct master_flags flags;
	struct err err = {""};
	char *argv[] = {"--registry=in_memory", "--acls={\"permissive\":false}"};

	cr_assert_eq(master_flags_parse(&flags, 2, argv, &err), 0, "%s", err.text);
	cr_expect_not(acls_allow(flags.allowed, ACL_VIEW_FLAGS, "p", NULL));
	master_flags_free(&flags);
	cr_assert_eq(master_flags_parse(&flags, 1, argv, &err), 0, "%s", err.text);
	cr_expect_null(flags.allowed);
	master_flags_free(&flags);
	refused("--acls={\"permissive\":1}", "Invalid value for --acls: 'permissive' is neither");
	refused("--acls=", "Invalid value for --acls");
}

Test(master_flags, who_asks_for_credentials_has_some)
{
	refused("--authenticate_http_readonly", "realm 'mesos-master-readonly'");
	refused("--authenticate_http_readwrite", "realm 'mesos-master-readwrite'");
	refused("--authenticate_http", "realm 'mesos-master-readwrite'");
	refused("--authenticate_http_frameworks", "realm 'mesos-master-scheduler'");
	refused("--http_framework_authenticators=other", "--http_framework_authenticators");
	refused("--authenticate_agents", "No credentials provided");
	refused("--authenticate_frameworks", "No credentials provided");
	refused("--authentication_v0_timeout=1secs", "Must be at least 5secs");
}

Test(master_flags, look_into_the_file_of_credentials)
{
	char path[] = "/tmp/mesita-credentials-XXXXXX", flag[64];
	const struct {
		const char *text;
		bool good;
	} cases[] = {
		{"", false},
		{"alice\n", false},
		{"alice secret\n", true},
		{"\nalice secret\nbob other", true},
		{"alice secret\nbob\n", false},
		{"{}", false},
		{"{\"credentials\":[]}", false},
		{"{\"credentials\":[{\"principal\":\"a\",\"secret\":\"b\"}]}", true},
	};
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	snprintf(flag, sizeof(flag), "--credentials=%s", path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t len = strlen(cases[i].text);

		cr_assert_eq(ftruncate(fd, 0), 0);
		cr_assert_eq(pwrite(fd, cases[i].text, len, 0), (ssize_t)len);
		if (cases[i].good)
			accepted(flag);
		else
			refused(flag, "see --credentials flag");
	}
	close(fd);
	unlink(path);
	refused("--credentials=/nonexistent/file", "Failed to read credentials file");
}
