/* The election on a ZooKeeper in memory, and under faults. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"
#include "base/random.h"
#include "net/masters/election.h"
#include "net/masters/member.h"
#include "tests/unit/net_zookeeper.h"

static Mesos__MasterInfo candidate(void)
{
	Mesos__MasterInfo info = MESOS__MASTER_INFO__INIT;

	info.id = (char *)"me";
	info.ip = 83886090;
	info.port = 5050;
	info.pid = (char *)"master@10.0.0.5:5050";
	return info;
}

static uv_loop_t loop;
static struct election *election;
static char told[64]; /* the leader's pid, "none" or "" */
static bool told_ours;
static int lost;
static char failure[256];

static void on_leader(void *context, const Mesos__MasterInfo *leader, bool ours)
{
	snprintf(told, sizeof(told), "%s", leader ? leader->pid : "none");
	told_ours = ours;
}

static void on_lost(void *context)
{
	lost++;
}

static void on_failed(void *context, const char *why)
{
	snprintf(failure, sizeof(failure), "%s", why);
}

static void settle(void)
{
	/* Threads of the pool make and close handles; after that all happens in the loop. */
	do
		uv_run(&loop, UV_RUN_NOWAIT);
	while (loop.active_reqs.count > 0);
	for (int i = 0; i < 20; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
}

static void open_election(bool stands)
{
	static const struct election_handlers handlers = {on_leader, on_lost, on_failed};
	Mesos__MasterInfo info = candidate();
	struct zk_url url;
	struct err err;

	cr_assert_eq(zk_url_parse("zk://h:1/a/b", &url, &err), 0);
	election = election_open(&loop, &url, 10000, stands ? &info : NULL, &handlers, NULL);
	zk_url_free(&url);
	settle();
}

static void election_set_up(void)
{
	fake_zookeeper_reset();
	uv_loop_init(&loop);
}

static void election_tear_down(void)
{
	if (election)
		election_close(election);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	cr_expect_not(fake_zookeeper_is_open());
	fake_zookeeper_reset();
}

TestSuite(election, .init = election_set_up, .fini = election_tear_down, .timeout = 60);

#define OTHER "{\"id\":\"o\",\"ip\":1,\"port\":1,\"pid\":\"master@1.1.1.1:1\"}"

static void reconnect(void)
{
	fake_zookeeper_disconnect();
	settle();
	fake_zookeeper_connect();
	settle();
}

Test(election, who_looks_sees_who_comes_and_goes)
{
	open_election(false);
	cr_expect_str_eq(told, "");
	fake_zookeeper_connect();
	settle();
	cr_expect_str_eq(told, "none");
	fake_zookeeper_put("/a/b/json.info_0000000005", OTHER);
	settle();
	cr_expect_str_eq(told, "master@1.1.1.1:1");
	cr_expect_not(told_ours);
	fake_zookeeper_put("/a/b/0000000004", "master@2.2.2.2:2");
	settle();
	cr_expect_str_eq(told, "master@2.2.2.2:2");
	/* The connection alone changes nothing. */
	told[0] = '\0';
	reconnect();
	cr_expect_str_eq(told, "");
	fake_zookeeper_remove("/a/b/0000000004");
	settle();
	cr_expect_str_eq(told, "master@1.1.1.1:1");
	fake_zookeeper_remove("/a/b/json.info_0000000005");
	settle();
	cr_expect_str_eq(told, "none");
	cr_expect_eq(fake_zookeeper_owned(), 0);
	cr_expect_str_eq(failure, "");
}

Test(election, a_candidate_stands_leads_and_leaves)
{
	fake_zookeeper_put("/a", "");
	fake_zookeeper_put("/a/b", "");
	fake_zookeeper_put("/a/b/json.info_-000000001", OTHER);
	open_election(true);
	fake_zookeeper_connect();
	settle();
	cr_expect_eq(fake_zookeeper_owned(), 1);
	cr_expect_str_eq(told, "master@1.1.1.1:1");
	fake_zookeeper_remove("/a/b/json.info_-000000001");
	settle();
	cr_expect(told_ours);
	cr_expect_str_eq(told, "master@10.0.0.5:5050");
	fake_zookeeper_expire();
	settle();
	cr_expect_eq(lost, 1);
	cr_expect_str_eq(told, "none");
	fake_zookeeper_connect();
	settle();
	cr_expect(told_ours);
	cr_expect_eq(fake_zookeeper_owned(), 1);
	cr_expect_eq(fake_zookeeper.sessions, 2);
}

Test(election, a_node_that_somebody_removes_is_made_again)
{
	open_election(true);
	fake_zookeeper_connect();
	settle();
	cr_expect(told_ours);
	fake_zookeeper_remove("/a/b/json.info_0000000000");
	settle();
	cr_expect_eq(lost, 1);
	cr_expect(told_ours);
	cr_expect_not_null(fake_zookeeper_data("/a/b/json.info_0000000001"));
}

/* It may be there or not: two would be one too many. */
Test(election, an_undecided_candidate_stands_in_another_session)
{
	for (int done = 0; done < 2; done++) {
		fake_zookeeper_reset();
		fake_zookeeper_put("/a", "");
		fake_zookeeper_put("/a/b", "");
		open_election(true);
		fake_zookeeper.withheld = true;
		fake_zookeeper_connect();
		settle(); /* "/a" is answered: it is there */
		fake_zookeeper_answer();
		fake_zookeeper.withheld = true;
		settle();
		fake_zookeeper.lost = 1;
		fake_zookeeper.lost_are_done = done;
		fake_zookeeper_answer();
		settle();
		cr_expect_eq(fake_zookeeper.sessions, 2);
		fake_zookeeper_connect();
		settle();
		cr_expect_eq(fake_zookeeper_owned(), 1);
		cr_expect(told_ours);
		election_close(election);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	election = NULL;
}

Test(election, a_leader_that_is_gone_when_it_is_read)
{
	open_election(false);
	fake_zookeeper_connect();
	settle();
	fake_zookeeper.vanishes = "/a/b/json.info_0000000001";
	fake_zookeeper_put("/a/b/json.info_0000000001", OTHER);
	fake_zookeeper_put("/a/b/json.info_0000000002", OTHER);
	settle();
	cr_expect_str_eq(told, "master@1.1.1.1:1", "the next one is read");
	fake_zookeeper_remove("/a/b/json.info_0000000002");
	fake_zookeeper_put("/a/b/json.info_0000000001", OTHER);
	settle();
	cr_expect_str_eq(told, "none");
	cr_expect_str_eq(failure, "");
}

static bool told_somebody(void)
{
	return strchr(told, '@') != NULL;
}

/* What fails for now is tried again some seconds later. */
static void run_until(bool (*reached)(void))
{
	while (!reached())
		uv_run(&loop, UV_RUN_ONCE);
}

Test(election, a_leader_that_cannot_be_read_for_now)
{
	uint64_t begun;

	open_election(false);
	fake_zookeeper_connect();
	settle();
	fake_zookeeper.lost_reads = 1;
	fake_zookeeper_put("/a/b/json.info_0000000001", OTHER);
	settle();
	cr_expect_str_eq(told, "none", "nobody else was told");
	begun = uv_now(&loop);
	run_until(told_somebody);
	cr_expect_geq(uv_now(&loop) - begun, 1900);
	cr_expect_str_eq(told, "master@1.1.1.1:1");
}

static bool leads(void)
{
	return told_ours;
}

Test(election, a_group_that_somebody_removes_is_made_again)
{
	open_election(true);
	fake_zookeeper_connect();
	settle();
	cr_expect(told_ours);
	fake_zookeeper_remove("/a/b/json.info_0000000000");
	fake_zookeeper_remove("/a/b");
	fake_zookeeper_remove("/a");
	settle();
	cr_expect_eq(lost, 1);
	cr_expect_str_eq(told, "none");
	cr_expect_not(told_ours);
	run_until(leads);
	cr_expect_not_null(fake_zookeeper_data("/a/b/json.info_0000000001"));
	cr_expect_eq(fake_zookeeper.sessions, 1);
}

Test(election, a_group_that_is_gone_when_it_is_joined_is_made_again)
{
	open_election(true);
	fake_zookeeper.withheld = true;
	fake_zookeeper_connect();
	settle();
	fake_zookeeper_answer(); /* "/a" is there */
	fake_zookeeper.withheld = true;
	settle();
	fake_zookeeper_remove("/a/b");
	fake_zookeeper_answer(); /* as is "/a/b", it says */
	settle();
	cr_expect_not(told_ours);
	run_until(leads);
	cr_expect_eq(fake_zookeeper_owned(), 1);
	cr_expect_str_eq(failure, "");
}

/* Nobody says that the session is over while ZooKeeper cannot be reached. */
Test(election, who_cannot_be_reached_for_the_sessions_time_lost_it)
{
	open_election(true);
	fake_zookeeper.recv_timeout_ms = 30;
	fake_zookeeper_connect();
	settle();
	fake_zookeeper_disconnect();
	settle();
	cr_expect(told_ours, "for the time of the session");
	while (fake_zookeeper.sessions == 1)
		uv_run(&loop, UV_RUN_ONCE);
	settle();
	cr_expect_eq(lost, 1);
	cr_expect_str_eq(told, "none");
	fake_zookeeper_connect();
	settle();
	cr_expect(told_ours);
}

Test(election, one_that_is_reached_again_in_time_goes_on)
{
	open_election(true);
	fake_zookeeper.recv_timeout_ms = 50;
	fake_zookeeper_connect();
	settle();
	reconnect();
	for (uint64_t begun = uv_now(&loop); uv_now(&loop) < begun + 150;)
		uv_run(&loop, UV_RUN_NOWAIT);
	cr_expect_eq(fake_zookeeper.sessions, 1);
	cr_expect_eq(lost, 0);
	cr_expect(told_ours);
}

Test(election, refused_credentials_end_it)
{
	open_election(true);
	fake_zookeeper_connect();
	settle();
	fake_zookeeper_refuse_credentials();
	settle();
	cr_expect_str_eq(failure, "ZooKeeper refuses the credentials");
	failure[0] = '\0';
	fake_zookeeper_put("/a/b/what_0000000001", OTHER);
	fake_zookeeper_refuse_credentials();
	settle();
	cr_expect_str_eq(failure, "", "it ends once");
}

Test(election, what_makes_no_sense_ends_it)
{
	fake_zookeeper_put("/a", "");
	fake_zookeeper_put("/a/b", "");
	fake_zookeeper_put("/a/b/what_0000000001", OTHER);
	open_election(false);
	fake_zookeeper_connect();
	settle();
	cr_expect_str_eq(failure, "Failed to read the leading master '/a/b/what_0000000001': its "
				  "label is not known");
	election_close(election);
	uv_run(&loop, UV_RUN_DEFAULT);
	failure[0] = '\0';
	fake_zookeeper_remove("/a/b/what_0000000001");
	open_election(true);
	fake_zookeeper.refusal = ZNOAUTH;
	fake_zookeeper_connect();
	settle();
	cr_expect_str_eq(failure, "Failed to join '/a/b' in ZooKeeper: not authenticated");
}

Test(election, ends_in_any_state)
{
	for (int step = 0; step < 6; step++) {
		fake_zookeeper_reset();
		fake_zookeeper.unknown = step == 0;
		open_election(true);
		fake_zookeeper.withheld = step == 2;
		if (step > 1)
			fake_zookeeper_connect();
		if (step > 2)
			settle();
		if (step == 4)
			fake_zookeeper_disconnect();
		if (step == 5)
			fake_zookeeper_expire();
		election_close(election);
		if (step == 2)
			fake_zookeeper_answer();
		uv_run(&loop, UV_RUN_DEFAULT);
		cr_expect_not(fake_zookeeper_is_open());
	}
	election = NULL;
}

/* ---- under faults ------------------------------------------------------------------------ */

static void disturb(struct rng *rng)
{
	char path[64];

	switch ((rng_next(rng) % 8)) {
	case 0:
	case 1:
		snprintf(path, sizeof(path), "/a/b/json.info_%010d",
			 (int)(rng_next(rng) % 40) - 20);
		fake_zookeeper_put(path, OTHER);
		break;
	case 2:
		snprintf(path, sizeof(path), "/a/b/json.info_%010d",
			 (int)(rng_next(rng) % 40) - 20);
		fake_zookeeper_remove(path);
		break;
	case 3:
		fake_zookeeper_disconnect();
		break;
	case 4:
		fake_zookeeper_connect();
		break;
	case 5:
		fake_zookeeper_expire();
		break;
	case 6:
		fake_zookeeper.lost = (int)(rng_next(rng) % 3);
		fake_zookeeper.lost_are_done = (rng_next(rng) % 2);
		break;
	default:
		settle();
	}
}

static void check_leader(uint64_t seed)
{
	char *names[64], path[128];
	size_t count = fake_zookeeper_children("/a/b", names, 64);
	const char *leader = member_leader(names, count), *says;

	cr_assert_eq(fake_zookeeper_owned(), 1, "seed %lu", seed);
	cr_assert(leader, "seed %lu", seed);
	snprintf(path, sizeof(path), "/a/b/%s", leader);
	says = fake_zookeeper_data(path);
	cr_assert_eq(told_ours, strstr(says, "\"me\"") != NULL, "seed %lu", seed);
	cr_assert_str_eq(told, told_ours ? "master@10.0.0.5:5050" : "master@1.1.1.1:1", "seed %lu",
			 seed);
}

Test(election, after_all_faults_the_lowest_leads)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng;

		fake_zookeeper_reset();
		rng_seed(&rng, seed);
		open_election(true);
		for (int i = 0; i < 30; i++) {
			if (loop.active_reqs.count == 0)
				disturb(&rng);
			else
				settle();
		}
		settle();
		fake_zookeeper.lost = 0;
		/* In the end there is a connection that stays. */
		for (int i = 0; i < 3; i++)
			reconnect();
		cr_assert_str_eq(failure, "", "seed %lu: %s", seed, failure);
		check_leader(seed);
		election_close(election);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	election = NULL;
}
