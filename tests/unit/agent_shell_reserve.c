/* Room on the disk that is kept for cleaning it. */
#include "agent_shell.h"

#include <sys/stat.h>

#include "agent/reserve.h"

TestSuite(agent_shell_reserve, .init = make_directory, .fini = remove_directory, .timeout = 60);

static off_t reserved(void)
{
	struct stat st;

	return stat(at(".reserve"), &st) ? 0 : st.st_blocks * 512;
}

Test(agent_shell_reserve, is_kept_while_there_is_room)
{
	cr_expect_gt(reserve_available(test_directory), 0);
	cr_expect_eq(reserve_available("/no/such/directory"), INT64_MAX);
	reserve_keep(test_directory, 9 * (int64_t)RESERVE_BYTES);
	cr_expect_eq(reserved(), 0);
	reserve_keep(test_directory, 10 * (int64_t)RESERVE_BYTES);
	cr_expect_geq(reserved(), RESERVE_BYTES);
	reserve_keep(test_directory, INT64_MAX);
	cr_expect_geq(reserved(), RESERVE_BYTES);
}

Test(agent_shell_reserve, is_freed_when_there_is_none)
{
	reserve_release(test_directory, 0);
	reserve_keep(test_directory, INT64_MAX);
	reserve_release(test_directory, RESERVE_BYTES);
	cr_expect_geq(reserved(), RESERVE_BYTES);
	reserve_release(test_directory, RESERVE_BYTES - 1);
	cr_expect_eq(reserved(), 0);
}
