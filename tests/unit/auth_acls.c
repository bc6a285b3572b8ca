/* Access control lists against the tables of Mesos' local authorizer: what matches, what decides,
 * and what a file may not say. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "auth/acls.h"
#include "base/memory/buf.h"
#include "base/random.h"

static struct acls *read_good(const char *text)
{
	struct acls *acls = NULL;
	struct err err = {""};

	cr_assert_eq(acls_parse(text, strlen(text), &acls, &err), 0, "%s: %s", text, err.text);
	return acls;
}

static void refused(const char *text, const char *why)
{
	struct acls *acls = NULL;
	struct err err = {""};

	cr_expect_eq(acls_parse(text, strlen(text), &acls, &err), ERR_INVALID, "%s", text);
	cr_expect(strstr(err.text, why), "%s: %s", text, err.text);
}

TestSuite(auth_acls);

/* Of one list of rules: who, to what, and what comes of it. */
struct expected {
	const char *principal, *object;
	bool allowed;
};

static void expect_all(const char *text, enum acl_action action, const struct expected *list,
		       size_t count)
{
	struct acls *acls = read_good(text);

	/* Twice: what is remembered is the same. */
	for (size_t i = 0; i < 2 * count; i++) {
		const struct expected *e = &list[i % count];

		cr_expect_eq(acls_allow(acls, action, e->principal, e->object), e->allowed,
			     "%s: %s to %s", text, e->principal, e->object);
	}
	acls_free(acls);
}

#define EXPECT(text, action, ...)                                                                  \
	expect_all(text, action, (const struct expected[]){__VA_ARGS__},                           \
		   sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

Test(auth_acls, none_allow_everything)
{
	cr_expect(acls_allow(NULL, ACL_VIEW_FLAGS, NULL, NULL));
	EXPECT("{}", ACL_RUN_TASK, {"p", "root", true}, {NULL, NULL, true});
	EXPECT("{\"permissive\":false}", ACL_RUN_TASK, {"p", "root", false}, {NULL, NULL, false});
	EXPECT("{\"permissive\":true,\"no_such_list\":[{}]}", ACL_VIEW_ROLE, {"p", "r", true});
}

Test(auth_acls, some_principals_to_some_objects)
{
	EXPECT("{\"permissive\":false,\"run_tasks\":[{\"principals\":{\"values\":[\"p\",\"q\"]},"
	       "\"users\":{\"type\":\"SOME\",\"values\":[\"u\",\"v\"]}}]}",
	       ACL_RUN_TASK, {"p", "u", true}, {"q", "v", true}, {"p", "w", false},
	       {"r", "u", false}, {NULL, "u", false}, {"p", NULL, false}, {"", "u", false});
	EXPECT("{\"run_tasks\":[{\"principals\":{\"values\":[]},\"users\":{\"type\":\"NONE\"}}]}",
	       ACL_RUN_TASK, {"p", "u", true}, {NULL, "u", true});
}

Test(auth_acls, any_and_none)
{
	EXPECT("{\"permissive\":false,\"run_tasks\":[{\"principals\":{\"type\":\"ANY\"},"
	       "\"users\":{\"values\":[\"u\"]}}]}",
	       ACL_RUN_TASK, {"p", "u", true}, {NULL, "u", true}, {"p", "v", false},
	       {"p", NULL, false});
	EXPECT("{\"permissive\":false,\"run_tasks\":[{\"principals\":{\"values\":[\"p\"]},"
	       "\"users\":{\"type\":\"ANY\"}}]}",
	       ACL_RUN_TASK, {"p", "u", true}, {"p", NULL, true}, {NULL, "u", false});
	/* NONE of the principals may, NONE of the objects may be. */
	EXPECT("{\"run_tasks\":[{\"principals\":{\"type\":\"NONE\"},\"users\":{\"values\":[\"u\"]}}"
	       "]}",
	       ACL_RUN_TASK, {"p", "u", false}, {NULL, "u", false}, {"p", "v", true});
	EXPECT("{\"run_tasks\":[{\"principals\":{\"values\":[\"p\"]},\"users\":{\"type\":\"NONE\"}}"
	       "]}",
	       ACL_RUN_TASK, {"p", "u", false}, {"p", NULL, false}, {"q", "u", true},
	       {NULL, "u", true});
}

Test(auth_acls, the_first_rule_that_matches_decides)
{
	EXPECT("{\"run_tasks\":[{\"principals\":{\"values\":[\"p\"]},\"users\":{\"values\":[\"u\"]}"
	       "},"
	       "{\"principals\":{\"values\":[\"p\"]},\"users\":{\"type\":\"NONE\"}},"
	       "{\"principals\":{\"values\":[\"p\"]},\"users\":{\"type\":\"ANY\"}}]}",
	       ACL_RUN_TASK, {"p", "u", true}, {"p", "v", false}, {"q", "v", true});
	/* Each list is about its action alone. */
	EXPECT("{\"run_tasks\":[{\"principals\":{\"type\":\"ANY\"},\"users\":{\"type\":\"NONE\"}}]"
	       "}",
	       ACL_VIEW_TASK, {"p", "u", true});
}

Test(auth_acls, roles_below_others)
{
	static const char eng[] =
		"{\"permissive\":false,\"%s\":[{\"principals\":{\"type\":\"ANY\"},"
		"\"roles\":{\"values\":[\"eng/%%\",\"ops\"]}}]}";
	static const struct {
		const char *list;
		enum acl_action action;
	} lists[] = {
		{"register_frameworks", ACL_REGISTER_FRAMEWORK},
		{"reserve_resources", ACL_RESERVE_RESOURCES},
		{"create_volumes", ACL_CREATE_VOLUME},
		{"resize_volumes", ACL_RESIZE_VOLUME},
		{"get_quotas", ACL_GET_QUOTA},
		{"update_quotas", ACL_UPDATE_QUOTA},
		{"view_roles", ACL_VIEW_ROLE},
		{"update_weights", ACL_UPDATE_WEIGHT},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		snprintf(text, sizeof(text), eng, lists[i].list);
		EXPECT(text, lists[i].action, {"p", "eng/a", true}, {"p", "eng/a/b", true},
		       {"p", "eng", false}, {"p", "engineers", false}, {"p", "eng/", false},
		       {"p", "ops", true}, {"p", "ops/a", false}, {"p", "e", false});
	}
	/* A percent sign stands for itself elsewhere. */
	EXPECT("{\"permissive\":false,\"run_tasks\":[{\"principals\":{\"type\":\"ANY\"},"
	       "\"users\":{\"values\":[\"eng/%\"]}}]}",
	       ACL_RUN_TASK, {"p", "eng/a", false}, {"p", "eng/%", true});
}

/* Mesos asks with messages of these names: errors tell them. */
Test(auth_acls, lists_about_all_or_nothing)
{
	static const struct {
		const char *list, *key, *name;
	} lists[] = {
		{"access_mesos_logs", "logs", "AccessMesosLog"},
		{"view_flags", "flags", "ViewFlags"},
		{"set_log_level", "level", "SetLogLevel"},
		{"register_agents", "agents", "RegisterAgent"},
		{"update_maintenance_schedules", "machines", "UpdateMaintenanceSchedule"},
		{"get_maintenance_schedules", "machines", "GetMaintenanceSchedule"},
		{"start_maintenances", "machines", "StartMaintenance"},
		{"stop_maintenances", "machines", "StopMaintenance"},
		{"get_maintenance_statuses", "machines", "GetMaintenanceStatus"},
		{"drain_agents", "agents", "DrainAgent"},
		{"deactivate_agents", "agents", "DeactivateAgent"},
		{"reactivate_agents", "agents", "ReactivateAgent"},
		{"mark_agents_gone", "agents", "MarkAgentGone"},
		{"launch_standalone_containers", "users", "LaunchStandaloneContainer"},
		{"view_standalone_containers", "users", "ViewStandaloneContainer"},
		{"prune_images", "images", "PruneImages"},
		{"view_resource_providers", "resource_providers", "ViewResourceProvider"},
	};
	char text[256], why[128];

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		snprintf(text, sizeof(text),
			 "{\"%s\":[{\"principals\":{\"type\":\"ANY\"},\"%s\":{\"values\":[\"x\"]}}]"
			 "}",
			 lists[i].list, lists[i].key);
		snprintf(why, sizeof(why), "ACL.%s type must be either NONE or ANY", lists[i].name);
		refused(text, why);
		snprintf(text, sizeof(text), "{\"%s\":[{\"principals\":{\"type\":\"ANY\"}}]}",
			 lists[i].list);
		snprintf(why, sizeof(why), "Missing required field '%s'", lists[i].key);
		refused(text, why);
	}
	EXPECT("{\"view_flags\":[{\"principals\":{\"values\":[\"p\"]},\"flags\":{\"type\":\"ANY\"}}"
	       ","
	       "{\"principals\":{\"type\":\"ANY\"},\"flags\":{\"type\":\"NONE\"}}]}",
	       ACL_VIEW_FLAGS, {"p", NULL, true}, {"q", NULL, false}, {NULL, NULL, false});
}

Test(auth_acls, what_they_may_not_say)
{
	refused("", "");
	refused("[]", "not a JSON object");
	refused("{\"permissive\":1}", "'permissive'");
	refused("{\"run_tasks\":{}}", "'run_tasks' is not an array");
	refused("{\"run_tasks\":[1]}", "Missing required field 'principals' in 'run_tasks'");
	refused("{\"run_tasks\":[{\"users\":{\"type\":\"ANY\"}}]}", "'principals'");
	refused("{\"run_tasks\":[{\"principals\":{\"type\":\"ANY\"},\"users\":[]}]}", "'users'");
	refused("{\"run_tasks\":[{\"principals\":{\"type\":\"any\"},\"users\":{}}]}",
		"a type that is not SOME, ANY or NONE");
	refused("{\"run_tasks\":[{\"principals\":{\"type\":1},\"users\":{}}]}",
		"a type that is not SOME, ANY or NONE");
	refused("{\"run_tasks\":[{\"principals\":{\"values\":\"p\"},\"users\":{}}]}",
		"'values' in 'run_tasks' is not an array");
	refused("{\"run_tasks\":[{\"principals\":{\"values\":[1]},\"users\":{}}]}",
		"A value in 'run_tasks' is not a text");
	refused("{\"get_endpoints\":[{\"principals\":{},\"paths\":{\"values\":[\"/state\"]}}]}",
		"Path: '/state' is not an authorizable path");
	EXPECT("{\"get_endpoints\":[{\"principals\":{\"type\":\"NONE\"},\"paths\":{\"values\":"
	       "[\"/metrics/snapshot\",\"/containers\",\"/containerizer/debug\",\"/files/debug\","
	       "\"/logging/toggle\",\"/monitor/statistics\"]}}]}",
	       ACL_GET_ENDPOINT, {"p", "/metrics/snapshot", false}, {"p", "/containers", false},
	       {"p", "/monitor/statistics", false});
}

Test(auth_acls, files_and_texts)
{
	char path[] = "/tmp/mesita-acls-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct err err = {""};
	struct acls *acls;

	fputs("{\"permissive\":false}", file);
	fclose(file);
	cr_assert_eq(acls_read(path, &acls, &err), 0, "%s", err.text);
	cr_expect_not(acls_allow(acls, ACL_VIEW_FLAGS, "p", NULL));
	acls_free(acls);
	remove(path);
	cr_expect_eq(acls_read(path, &acls, &err), ERR_INVALID);
	cr_expect(strstr(err.text, path), "%s", err.text);
	cr_assert_eq(acls_read("{\"permissive\":true}", &acls, &err), 0);
	cr_expect(acls_allow(acls, ACL_VIEW_FLAGS, "p", NULL));
	acls_free(acls);
	acls_free(NULL);
}

/* What is remembered must never be another's verdict: parts of keys run into each other, are long,
 * are absent, and are more than is remembered. */
Test(auth_acls, remembers_each_request_apart)
{
	struct acls *acls = read_good("{\"permissive\":false,"
				      "\"view_roles\":[{\"principals\":{\"values\":[\"a\",\"\"]},"
				      "\"roles\":{\"values\":[\"b\",\"ab\",\"\"]}}],"
				      "\"get_quotas\":[{\"principals\":{\"values\":[\"ab\"]},"
				      "\"roles\":{\"type\":\"ANY\"}}]}");
	static const struct {
		enum acl_action action;
		const char *principal, *object;
		bool allowed;
	} asked[] = {
		{ACL_VIEW_ROLE, "a", "b", true},    {ACL_VIEW_ROLE, "ab", "", false},
		{ACL_VIEW_ROLE, "", "ab", true},    {ACL_VIEW_ROLE, NULL, "ab", false},
		{ACL_VIEW_ROLE, "", "", true},	    {ACL_VIEW_ROLE, "", NULL, false},
		{ACL_VIEW_ROLE, NULL, NULL, false}, {ACL_GET_QUOTA, "ab", "", true},
		{ACL_GET_QUOTA, "ab", NULL, true},  {ACL_GET_QUOTA, "a", "b", false},
	};
	char role[1000], longest[600];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
			cr_expect_eq(acls_allow(acls, asked[i].action, asked[i].principal,
						asked[i].object),
				     asked[i].allowed, "%zu", i);
		for (int i = 0; i < 9000; i++) {
			snprintf(role, sizeof(role), "r%d", i);
			cr_assert_not(acls_allow(acls, ACL_VIEW_ROLE, "a", role));
		}
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	cr_expect(acls_allow(acls, ACL_GET_QUOTA, "ab", longest));
	cr_expect_not(acls_allow(acls, ACL_VIEW_ROLE, longest, "b"));
	acls_free(acls);
}

/* ---- against a plain reading of the rules --------------------------------------------------- */

struct plain_entity {
	int type; /* 0 SOME, 1 ANY, 2 NONE */
	bool has[4];
};

static const char *const names[4] = {"a", "b", "a/c", "a/%"};

static void random_entity(struct rng *rng, struct plain_entity *e, struct buf *text)
{
	static const char *const types[] = {"SOME", "ANY", "NONE"};
	bool comma = false;

	e->type = (int)(rng_next(rng) % 4) % 3;
	buf_printf(text, "{\"type\":\"%s\",\"values\":[", types[e->type]);
	for (int i = 0; i < 4; i++) {
		e->has[i] = (rng_next(rng) % 3) == 0;
		if (e->has[i])
			buf_printf(text, "%s\"%s\"", comma ? "," : "", names[i]);
		comma = comma || e->has[i];
	}
	buf_printf(text, "]}");
}

/* Mesos' two questions of an entity, for a request of one value or of any. */
static bool plain_matches(const struct plain_entity *e, int value, bool roles)
{
	if (e->type)
		return true;
	return value >= 0 && (e->has[value] || (roles && value == 2 && e->has[3]) ||
			      (roles && value == 3 && e->has[3]));
}

static bool plain_allows(const struct plain_entity *e, int value, bool roles)
{
	return e->type == 1 || (e->type == 0 && plain_matches(e, value, roles));
}

Test(auth_acls, agree_with_a_plain_reading)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int round = 0; round < 3000; round++) {
		struct plain_entity principals[4], objects[4];
		struct buf text = BUF_INIT;
		bool permissive = (rng_next(&rng) % 2), roles = (rng_next(&rng) % 2);
		int count = (int)(rng_next(&rng) % 5);
		struct acls *acls;

		buf_printf(&text, "{\"permissive\":%s,\"%s\":[", permissive ? "true" : "false",
			   roles ? "view_roles" : "run_tasks");
		for (int i = 0; i < count; i++) {
			buf_printf(&text, "%s{\"principals\":", i ? "," : "");
			random_entity(&rng, &principals[i], &text);
			buf_printf(&text, ",\"%s\":", roles ? "roles" : "users");
			random_entity(&rng, &objects[i], &text);
			buf_printf(&text, "}");
		}
		buf_printf(&text, "]}");
		acls = read_good(text.data);
		for (int p = -1; p < 4; p++) {
			for (int o = -1; o < 4; o++) {
				bool expected = permissive;

				for (int i = count - 1; i >= 0; i--) {
					if (plain_matches(&principals[i], p, false) &&
					    plain_matches(&objects[i], o, roles))
						expected = plain_allows(&principals[i], p, false) &&
							   plain_allows(&objects[i], o, roles);
				}
				cr_assert_eq(acls_allow(acls, roles ? ACL_VIEW_ROLE : ACL_RUN_TASK,
							p < 0 ? NULL : names[p],
							o < 0 ? NULL : names[o]),
					     expected, "%s: %d %d", text.data, p, o);
			}
		}
		acls_free(acls);
		buf_free(&text);
	}
}
