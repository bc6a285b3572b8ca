/* meta/slaves/latest: set, moved, and noticed when somebody took it away. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/latest.h"

static char dir[] = "/tmp/mesita-unit-XXXXXX";

static const char *at(const char *path)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s/%s", dir, path);
	return text;
}

static void set_up(void)
{
	cr_assert(mkdtemp(dir));
	cr_assert_eq(mkdir(at("meta"), 0755), 0);
}

static void tear_down(void)
{
	unlink(at("meta/slaves/latest"));
	rmdir(at("meta/slaves/M-S0"));
	rmdir(at("meta/slaves/M-S1"));
	rmdir(at("meta/slaves"));
	rmdir(at("meta"));
	rmdir(dir);
}

TestSuite(agent_latest, .init = set_up, .fini = tear_down);

static void expect_latest(const char *id)
{
	char target[256], wanted[256];
	ssize_t len = readlink(at("meta/slaves/latest"), target, sizeof(target) - 1);

	cr_assert_gt(len, 0);
	target[len] = '\0';
	snprintf(wanted, sizeof(wanted), "%s/meta/slaves/%s", dir, id);
	cr_expect_str_eq(target, wanted);
}

Test(agent_latest, follows_the_identity)
{
	cr_expect_not(latest_removed(dir));
	latest_set(dir, "M-S0");
	expect_latest("M-S0");
	latest_set(dir, "M-S1");
	expect_latest("M-S1");
	latest_set(dir, "M-S1");
	cr_expect_not(latest_removed(dir));
}

Test(agent_latest, a_removed_link_is_noticed)
{
	latest_set(dir, "M-S0");
	cr_assert_eq(unlink(at("meta/slaves/latest")), 0);
	cr_expect(latest_removed(dir));
	latest_set(dir, "M-S1");
	cr_expect_not(latest_removed(dir));
}

/* Killed between the link and the directory. */
Test(agent_latest, a_link_without_directory_is_fine)
{
	latest_set(dir, "M-S0");
	cr_assert_eq(rmdir(at("meta/slaves/M-S0")), 0);
	cr_expect_not(latest_removed(dir));
	cr_assert_eq(unlink(at("meta/slaves/latest")), 0);
	cr_expect_not(latest_removed(dir));
}
