/* How many files a daemon may have open. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/open_files.h"

/* In a child, with these limits; what it exits with. */
static int in_child(rlim_t soft, rlim_t hard, int (*check)(const struct rlimit *before))
{
	struct rlimit limit = {soft, hard}, before = {0, 0};
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			_exit(100);
		open_files_raise(&before);
		_exit(check(&before));
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static int is_raised(const struct rlimit *before)
{
	struct rlimit limit;

	if (before->rlim_cur != 200 || before->rlim_max != 1000)
		return 1;
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != limit.rlim_max || limit.rlim_cur < 1000)
		return 2;
	return open_files_connections() == (limit.rlim_cur - 128) / 2 ? 0 : 3;
}

static int is_small(const struct rlimit *before)
{
	struct rlimit limit = {20, 20};

	(void)before;
	setrlimit(RLIMIT_NOFILE, &limit);
	return open_files_connections() == 16 ? 0 : 1;
}

Test(base_open_files, the_soft_limit_is_raised)
{
	cr_expect_eq(in_child(200, 1000, is_raised), 0);
}

Test(base_open_files, there_always_are_some_connections)
{
	cr_expect_eq(in_child(100, 100, is_small), 0);
}
