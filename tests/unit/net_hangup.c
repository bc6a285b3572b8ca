/* SIGHUP of a daemon: its log goes on in a new file, its certificates are read anew if it has any.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log/log.h"
#include "net/daemon/hangup.h"
#include "net_harness.h"

static struct fixture fixture;
static struct hangup hangup;
static char folder[] = "/tmp/mesita-hangup-XXXXXX";
static char path[64], moved[64];

static void set_up(void)
{
	struct err err;

	fixture_init(&fixture);
	hangup = (struct hangup){0};
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/log", folder);
	snprintf(moved, sizeof(moved), "%s/log.1", folder);
	cr_assert_eq(log_open(path, &err), 0, "%s", err.text);
	hangup_init(&hangup, &fixture.loop);
}

static void tear_down(void)
{
	hangup_close(&hangup);
	fixture_finish(&fixture);
	hangup_free(&hangup);
	unlink(path);
	unlink(moved);
	rmdir(folder);
}

TestSuite(hangup, .init = set_up, .fini = tear_down, .timeout = 60);

Test(hangup, the_log_goes_on_in_a_new_file)
{
	cr_assert_eq(rename(path, moved), 0);
	raise(SIGHUP);
	until(&fixture, access(path, F_OK) == 0);
}

Test(hangup, a_place_that_is_gone_is_no_end)
{
	cr_assert_eq(rename(path, moved), 0);
	cr_assert_eq(mkdir(path, 0700), 0);
	raise(SIGHUP);
	for (int i = 0; i < 3; i++)
		fixture_turn(&fixture);
	log_info("still here");
	cr_assert_eq(rmdir(path), 0);
	/* The next one finds its place again. */
	raise(SIGHUP);
	until(&fixture, access(path, F_OK) == 0);
}
