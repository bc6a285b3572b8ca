/* Which paths of the files API are sandboxes, and whose. */
#include "agent_harness.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/paths.h"

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_paths, .init = start, .fini = stop);

static bool resolves(const char *path, const char *to)
{
	char *real = NULL;
	bool ok = agent_resolve_path(rig.agent, path, &real);
	bool same = to ? ok && strcmp(real, to) == 0 : !ok;

	free(real);
	return same;
}

Test(agent_paths, sandboxes_only)
{
	cr_assert(resolves("/frameworks/F/executors/e/runs/latest/stdout",
			   "/w/slaves/M-S0/frameworks/F/executors/e/runs/latest/stdout"));
	cr_assert(resolves("/w/slaves/M-S0/frameworks/F/executors/e/runs/c",
			   "/w/slaves/M-S0/frameworks/F/executors/e/runs/c"));
	cr_assert(resolves("/frameworks/F/executors/e/runs", NULL));
	cr_assert(resolves("/frameworks/F/executors/e/runs/latest/a/../b",
			   "/w/slaves/M-S0/frameworks/F/executors/e/runs/latest/a/../b"));
	cr_assert(resolves("/frameworks/F/executors/e/../runs/latest/b", NULL));
	cr_assert(resolves("/frameworks/F/executors/e/runs/./b", NULL));
	cr_assert(resolves("/w/slaves/M-S0/frameworks/F/executors/e/runs/../../../..", NULL));
	cr_assert(resolves("/w/meta", NULL));
	cr_assert(resolves("/etc/passwd", NULL));
	cr_assert(resolves("", NULL));
}

static void expect_owner(const char *path, const char *framework, const char *executor)
{
	char *framework_id = NULL, *executor_id = NULL;

	cr_expect(agent_path_owner(rig.agent, path, &framework_id, &executor_id), "%s", path);
	cr_expect_str_eq(framework_id, framework, "%s", path);
	cr_expect_str_eq(executor_id, executor, "%s", path);
	free(framework_id);
	free(executor_id);
}

Test(agent_paths, their_owners)
{
	static const char *const nobodys[] = {"", "/etc/passwd", "/w/meta",
					      "/frameworks/F/executors/e/runs",
					      "/frameworks/F/executors/e/../runs/latest/b"};
	char *framework_id = NULL, *executor_id = NULL;

	expect_owner("/frameworks/F/executors/e/runs/latest/stdout", "F", "e");
	expect_owner("/frameworks//F/executors/e/runs/latest", "F", "e");
	expect_owner("/w/slaves/M-S0/frameworks/G/executors/other/runs/c/a/b", "G", "other");
	for (size_t i = 0; i < sizeof(nobodys) / sizeof(*nobodys); i++) {
		cr_expect_not(agent_path_owner(rig.agent, nobodys[i], &framework_id, &executor_id),
			      "%s", nobodys[i]);
		cr_expect(!framework_id && !executor_id);
	}
}
