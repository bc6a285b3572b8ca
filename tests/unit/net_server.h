/* A server and one client of it, for each test of a suite. */
#ifndef TESTS_UNIT_NET_SERVER_H
#define TESTS_UNIT_NET_SERVER_H

#include "net_harness.h"

static struct fixture fixture;
static struct raw raw;

static inline void set_up(void)
{
	fixture_init(&fixture);
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
}

static inline void tear_down(void)
{
	raw_close(&raw);
	fixture_finish(&fixture);
}

#define SERVER_SUITE(name) TestSuite(name, .init = set_up, .fini = tear_down, .timeout = 60)

#endif
