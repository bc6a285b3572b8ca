/* What Mesos' master refuses in its flags beyond a wrong type: names that do not exist,
 * numbers and times out of range, a credentials file without credentials. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flags/daemon_flags.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "master/flags.h"
#include "net/daemon/firewall.h"
#include "proto/resources.h"

static int flags_check_invalid(struct err *err, const char *name, const char *value,
			       const char *why)
{
	return err_set(err, ERR_INVALID, "Invalid value '%s' for --%s: %s", value, name, why);
}

/* "permits/duration" to permits per second. */
static int rate_parse(const char *text, double *out, struct err *err)
{
	char *end;
	double permits = strtod(text, &end);
	int64_t span;

	if (end == text || *end != '/' || !(permits > 0) || permits > 1e9 ||
	    duration_parse(end + 1, &span, err) < 0 || span <= 0)
		return flags_check_invalid(err, "agent_removal_rate_limit", text,
					   "expected a rate such as 1/10mins");
	*out = permits / ((double)span / SECOND);
	return 0;
}

static int check_percentage(const char *text, struct err *err)
{
	const char *name = "recovery_agent_removal_limit";
	char *end;
	double percent = strtod(text, &end);

	if (!str_has_suffix(text, "%"))
		return flags_check_invalid(err, name, text, "missing '%'");
	if (end == text || strcmp(end, "%") != 0)
		return flags_check_invalid(err, name, text, "expected a number before the '%'");
	if (!(percent >= 0 && percent <= 100))
		return flags_check_invalid(err, name, text, "Must be within [0%-100%]");
	return 0;
}

static int check_registry(struct master_flags *f, struct err *err)
{
	const struct {
		const char *name;
		enum registry_kind kind;
	} kinds[] = {
		{"replicated_log", f->zk ? REGISTRY_ZOOKEEPER : REGISTRY_LEVELDB},
		{"leveldb", REGISTRY_LEVELDB},
		{"zookeeper", REGISTRY_ZOOKEEPER},
		{"in_memory", REGISTRY_MEMORY},
	};
	size_t i = 0, count = sizeof(kinds) / sizeof(*kinds);

	while (i < count && strcmp(f->registry, kinds[i].name))
		i++;
	if (i == count)
		return flags_check_invalid(
			err, "registry", f->registry,
			"expected replicated_log, leveldb, zookeeper or in_memory");
	f->registry_kind = kinds[i].kind;
	if (f->registry_kind == REGISTRY_ZOOKEEPER && !f->zk)
		return err_set(err, ERR_INVALID, "--registry=zookeeper needs --zk");
	if (!f->work_dir && f->registry_kind == REGISTRY_LEVELDB)
		return err_set(err, ERR_INVALID,
			       "--work_dir needed for the registry (or use --registry=in_memory)");
	if (f->registry_strict)
		return err_set(err, ERR_INVALID, "Support for '--registry_strict' is gone");
	return check_percentage(f->recovery_agent_removal_limit, err);
}

static int check_names(const struct master_flags *f, struct err *err)
{
	const struct {
		const char *name, *value;
		const char *choice[3];
	} names[] = {
		{"logging_level", f->logging_level, {"INFO", "WARNING", "ERROR"}},
		{"role_sorter", f->role_sorter, {"drf", "random"}},
		{"framework_sorter", f->framework_sorter, {"drf", "random"}},
		{"allocator", f->allocator, {"hierarchical", "HierarchicalDRF"}},
		{"authenticators", f->authenticators, {"crammd5"}},
		{"authorizers", f->authorizers, {"local"}},
		{"http_authenticators", f->http_authenticators, {"basic"}},
		{"http_framework_authenticators",
		 f->http_framework_authenticators ? f->http_framework_authenticators : "basic",
		 {"basic"}},
	};
	struct in_addr address;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *const *choice = names[i].choice;
		bool known = false;

		for (int j = 0; j < 3 && choice[j]; j++)
			known = known || !strcmp(choice[j], names[i].value);
		if (!known)
			return err_set(err, ERR_INVALID,
				       "Invalid value '%s' for --%s: expected %s%s%s%s%s",
				       names[i].value, names[i].name, choice[0],
				       choice[1] ? " or " : "", choice[1] ? choice[1] : "",
				       choice[2] ? " or " : "", choice[2] ? choice[2] : "");
	}
	if (strcmp(f->role_sorter, f->framework_sorter))
		return err_set(err, ERR_INVALID,
			       "Failed to create allocator '%s': Unsupported combination of "
			       "'role_sorter' and 'framework_sorter': must be equal (for now)",
			       f->allocator);
	if (f->advertise_ip && inet_pton(AF_INET, f->advertise_ip, &address) != 1)
		return flags_check_invalid(err, "advertise_ip", f->advertise_ip,
					   "expected an IPv4 address");
	return 0;
}

static int flags_check_check_roles(const char *list, struct err *err)
{
	char *copy = xstrdup(list), *save = NULL;
	int rv = 0;

	for (char *role = strtok_r(copy, ",", &save); role && !rv;
	     role = strtok_r(NULL, ",", &save))
		if (!role_valid(role, err))
			rv = err_wrap(err, ERR_INVALID, "Failed to parse roles");
	free(copy);
	return rv;
}

static int check_numbers(const struct master_flags *f, struct err *err)
{
	const struct {
		const char *name;
		int64_t value, least, most;
	} ranges[] = {
		{"port", f->port, 0, 65535},
		{"advertise_port", f->advertise_port, 0, 65535},
		{"max_agent_ping_timeouts", f->max_agent_ping_timeouts, 1, INT_MAX},
		{"max_completed_frameworks", f->max_completed_frameworks, 0, INT_MAX},
		{"max_completed_tasks_per_framework", f->max_completed_tasks_per_framework, 0,
		 INT_MAX},
		{"max_unreachable_tasks_per_framework", f->max_unreachable_tasks_per_framework, 0,
		 INT_MAX},
		{"max_operator_event_stream_subscribers", f->max_operator_event_stream_subscribers,
		 1, INT_MAX},
		{"registry_max_agent_count", f->registry_max_agent_count, 1, INT_MAX},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most)
			return err_set(err, ERR_INVALID,
				       "Invalid value '%" PRId64 "' for --%s: Must be within "
				       "[%" PRId64 "-%" PRId64 "]",
				       ranges[i].value, ranges[i].name, ranges[i].least,
				       ranges[i].most);
	if (f->allocator_agent_recovery_factor < 0)
		return err_set(err, ERR_INVALID,
			       "--allocator_agent_recovery_factor must not be negative");
	return 0;
}

static bool has_value(const struct master_flags *f, const char *name)
{
	for (const struct flag *flag = f->parsed.table; flag->name; flag++)
		if (!strcmp(flag->name, name))
			return flag->text != NULL;
	return false;
}

static int check_times(const struct master_flags *f, struct err *err)
{
	const struct {
		const char *name;
		int64_t value, least, most;
		const char *why;
	} ranges[] = {
		{"zk_session_timeout", f->zk_session_timeout, SECOND, HOUR,
		 "Must be between 1secs and 1hrs"},
		{"registry_store_timeout", f->registry_store_timeout, SECOND, INT64_MAX,
		 "Must be at least 1secs"},
		{"agent_ping_timeout", f->agent_ping_timeout, SECOND, 15 * MINUTE,
		 "Must be between 1secs and 15mins"},
		{"agent_reregister_timeout", f->agent_reregister_timeout, 10 * MINUTE, INT64_MAX,
		 "Must be at least 10mins"},
		{"allocation_interval", f->allocation_interval, 1, INT64_MAX,
		 "Must be greater than zero"},
		{"offer_timeout", f->offer_timeout, has_value(f, "offer_timeout"), INT64_MAX,
		 "Must be greater than zero"},
		{"authentication_v0_timeout", f->authentication_v0_timeout, 5 * SECOND, INT64_MAX,
		 "Must be at least 5secs"},
		{"allocator_recovery_timeout", f->allocator_recovery_timeout, 0, INT64_MAX,
		 "Must not be negative"},
		{"registry_gc_interval", f->registry_gc_interval, 1, INT64_MAX,
		 "Must be greater than zero"},
		{"registry_max_agent_age", f->registry_max_agent_age, 1, INT64_MAX,
		 "Must be greater than zero"},
	};
	char text[DURATION_TEXT];

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most)
			continue;
		duration_format(ranges[i].value, text);
		return flags_check_invalid(err, ranges[i].name, text, ranges[i].why);
	}
	return 0;
}

/* What asks for credentials has some. */
static int check_authentication(struct master_flags *f, struct err *err)
{
	const struct {
		bool asks;
		const char *realm;
	} realms[] = {
		{f->authenticate_http_readonly, MASTER_REALM_READONLY},
		{f->authenticate_http_readwrite, MASTER_REALM_READWRITE},
		{f->authenticate_http_frameworks, MASTER_REALM_FRAMEWORKS},
	};
	int rv = 0;

	if (f->credentials)
		rv = credentials_load(f->credentials, "credentials", &f->known, err);
	for (size_t i = 0; !rv && !f->credentials && i < sizeof(realms) / sizeof(*realms); i++) {
		if (realms[i].asks)
			rv = err_set(err, ERR_INVALID,
				     "No credentials provided for the default 'basic' HTTP "
				     "authenticator for realm '%s': give --credentials",
				     realms[i].realm);
	}
	if (!rv && f->authenticate_http_frameworks && !f->http_framework_authenticators)
		rv = err_set(err, ERR_INVALID,
			     "Missing `--http_framework_authenticators` flag. This must be used in "
			     "conjunction with `--authenticate_http_frameworks`");
	if (!rv && (f->authenticate_agents || f->authenticate_frameworks) && !f->credentials)
		rv = err_set(err, ERR_INVALID,
			     "Failed to start master with authentication enabled: No credentials "
			     "provided: give --credentials");
	return rv;
}

static int check_acls(struct master_flags *f, struct err *err)
{
	if (!f->acls || !acls_read(f->acls, &f->allowed, err))
		return 0;
	return err_wrap(err, ERR_INVALID, "Invalid value for --acls");
}

static int check_firewall(struct master_flags *f, struct err *err)
{
	struct json *rules;
	int rv;

	if (!f->firewall_rules)
		return 0;
	rv = daemon_flags_json(&f->arena, "firewall_rules", f->firewall_rules, &rules, err);
	if (rv < 0)
		return rv;
	rv = firewall_parse(&f->arena, rules, &f->disabled, err);
	return rv < 0 ? err_wrap(err, rv, "Invalid value for --firewall_rules") : 0;
}

/* What is in it is checked where it is used. */
static int check_rate_limits(struct master_flags *f, struct err *err)
{
	return f->rate_limits
		       ? daemon_flags_json(&f->arena, "rate_limits", f->rate_limits, &f->rates, err)
		       : 0;
}

static int check_zk(struct master_flags *f, struct err *err)
{
	bool is_file = f->zk && str_has_prefix(f->zk, "file://");
	struct slice text;
	int rv;

	if (!f->zk)
		return 0;
	rv = daemon_flags_text(&f->arena, "zk", is_file ? f->zk + strlen("file://") : f->zk, &text,
			       err);
	if (rv == 0)
		rv = zk_url_parse(arena_strndup(&f->arena, text.data, text.len), &f->group, err);
	return rv < 0 ? err_wrap(err, rv, "Invalid value for --zk") : 0;
}

int master_flags_check(struct master_flags *f, struct err *err)
{
	int rv = check_registry(f, err);

	if (!rv)
		rv = check_names(f, err);
	if (!rv && f->roles)
		rv = flags_check_check_roles(f->roles, err);
	if (!rv)
		rv = check_numbers(f, err);
	if (!rv)
		rv = check_times(f, err);
	if (!rv)
		rv = check_authentication(f, err);
	if (!rv)
		rv = check_acls(f, err);
	if (!rv && f->agent_removal_rate_limit)
		rv = rate_parse(f->agent_removal_rate_limit, &f->agent_removals_per_second, err);
	if (!rv)
		rv = check_firewall(f, err);
	if (!rv)
		rv = check_rate_limits(f, err);
	if (!rv)
		rv = check_zk(f, err);
	return rv;
}
