/* Finding masters: names and texts of members, and the detector by addresses, files and a ZooKeeper
 * in memory. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"
#include "base/random.h"
#include "net/masters/detector.h"
#include "net/masters/election.h"
#include "net/masters/member.h"
#include "tests/unit/net_zookeeper.h"

/* ---- members ---------------------------------------------------------------------- */

Test(masters, the_lowest_number_leads)
{
	static const struct {
		char *names[6];
		const char *leader;
	} cases[] = {
		{{NULL}, NULL},
		{{"log_replicas", "readme", "x_", "x_1a", "x_99999999999", NULL}, NULL},
		{{"json.info_0000000012", "json.info_0000000003", NULL}, "json.info_0000000003"},
		{{"json.info_0000000012", "info_0000000003", "0000000004", NULL},
		 "info_0000000003"},
		{{"a_b_0000000007", "0000000009", NULL}, "a_b_0000000007"},
		{{"json.info_2147483647", "json.info_-2147483648", NULL}, "json.info_-2147483648"},
		{{"json.info_2147483648", "json.info_+1", "json.info_ 1", NULL}, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t count = 0;
		const char *leader;

		while (cases[i].names[count])
			count++;
		leader = member_leader(cases[i].names, count);
		cr_expect_str_eq(leader ? leader : "none",
				 cases[i].leader ? cases[i].leader : "none", "case %zu", i);
	}
}

Test(masters, members_say_where_they_are)
{
	static const struct {
		const char *name, *data, *pid; /* NULL: an error */
	} cases[] = {
		{"json.info_1",
		 "{\"address\":{\"ip\":\"10.0.0.5\",\"port\":5050},\"id\":\"x\",\"ip\":1,\"port\":"
		 "1}",
		 "master@10.0.0.5:5050"},
		{"json.info_1", "{\"id\":\"x\",\"ip\":83886090,\"port\":5051}",
		 "master@10.0.0.5:5051"},
		{"json.info_1",
		 "{\"id\":\"x\",\"ip\":1,\"port\":1,\"pid\":\"master@1.2.3.4:5\",\"new\":[1]}",
		 "master@1.2.3.4:5"},
		{"json.info_1", "{\"ip\":1,\"port\":1}", NULL},
		{"json.info_1", "{\"id\":\"x\",\"ip\":1,\"port\":1,\"pid\":\"master@h:5\"}", NULL},
		{"json.info_1", "{\"id\":\"x\",\"ip\":1,\"port\":1,\"pid\":\"1.2.3.4:5\"}", NULL},
		{"json.info_1", "{\"id\":\"x\",\"ip\":1,\"port\":0}", NULL},
		{"json.info_1", "{", NULL},
		{"json.info_1", "", NULL},
		{"0000000001", "master@1.2.3.4:5050", "master@1.2.3.4:5050"},
		{"0000000001", "master@1.2.3.4:50500000", NULL},
		{"0000000001", "master@100.100.100.100:5050", "master@100.100.100.100:5050"},
		{"0000000001", "master@1000.100.100.100:5050", NULL},
		{"0000000001", "", NULL},
		{"x_1", "master@1.2.3.4:5050", NULL},
		{"json.info2_1", "{\"id\":\"x\",\"ip\":1,\"port\":1}", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct slice data = {cases[i].data, strlen(cases[i].data)};
		Mesos__MasterInfo *info;
		struct arena arena;
		struct err err = {""};

		arena_init(&arena);
		info = member_decode(cases[i].name, data, &arena, &err);
		cr_expect_str_eq(info ? info->pid : "none", cases[i].pid ? cases[i].pid : "none",
				 "case %zu: %s", i, err.text);
		arena_free(&arena);
	}
}

static Mesos__MasterInfo candidate(void)
{
	Mesos__MasterInfo info = MESOS__MASTER_INFO__INIT;

	info.id = (char *)"me";
	info.ip = 83886090;
	info.port = 5050;
	info.pid = (char *)"master@10.0.0.5:5050";
	return info;
}

Test(masters, what_is_encoded_is_read)
{
	Mesos__MasterInfo info = candidate(), *read;
	struct buf text = BUF_INIT, packed = BUF_INIT;
	struct arena arena;
	struct err err;

	arena_init(&arena);
	member_encode(&info, &text);
	cr_expect_str_eq(text.data, "{\"id\":\"me\",\"ip\":83886090,\"port\":5050,"
				    "\"pid\":\"master@10.0.0.5:5050\"}");
	read = member_decode("json.info_1", (struct slice){text.data, text.len}, &arena, &err);
	cr_assert(read, "%s", err.text);
	cr_expect_eq(read->ip, info.ip);
	proto_pack(&info, &packed);
	read = member_decode("info_1", (struct slice){packed.data, packed.len}, &arena, &err);
	cr_assert(read, "%s", err.text);
	cr_expect_str_eq(read->pid, info.pid);
	buf_free(&text);
	buf_free(&packed);
	arena_free(&arena);
}

static uv_loop_t loop;
static char failure[256];

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

/* ---- the detector --------------------------------------------------------------------------- */

static char directory[] = "/tmp/mesita-masters-XXXXXX";
static char source[64];
static char *detected;

static void write_source(const char *text)
{
	FILE *file = fopen(source, "w");

	fputs(text, file);
	fclose(file);
}

static void on_detected(void *context, const char *pid)
{
	free(detected);
	detected = pid ? xstrdup(pid) : NULL;
}

static const struct detector_handlers detector_handlers = {.detected = on_detected,
							   .failed = on_failed};

Test(masters, a_file_may_name_the_master, .timeout = 60)
{
	char url[80];
	struct detector *detector;
	struct err err = {""};

	cr_assert(mkdtemp(directory));
	snprintf(source, sizeof(source), "%s/master", directory);
	snprintf(url, sizeof(url), "file://%s", source);
	uv_loop_init(&loop);
	for (int i = 0; i < 2; i++) {
		detector = detector_create(&loop, i ? url : source, 1000, &detector_handlers, NULL);
		unlink(source);
		cr_expect_eq(detector_check(detector, &err), ERR_IO);
		write_source("zk://a:1\n");
		cr_expect_eq(detector_check(detector, &err), ERR_INVALID);
		write_source("host\n");
		cr_expect_eq(detector_check(detector, &err), ERR_INVALID);
		write_source("zk://a:1/m\n");
		cr_expect_eq(detector_check(detector, &err), 0, "%s", err.text);
		write_source("master@127.0.0.1:5050\n");
		cr_expect_eq(detector_check(detector, &err), 0, "%s", err.text);
		detector_look(detector);
		cr_expect_str_eq(detected, "master@127.0.0.1:5050");
		write_source("localhost:5051");
		on_detected(NULL, NULL);
		detector_look(detector);
		while (!detected)
			uv_run(&loop, UV_RUN_ONCE);
		cr_expect_str_eq(detected, "master@127.0.0.1:5051");
		on_detected(NULL, NULL);
		detector_close(detector);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	cr_expect_eq(uv_loop_close(&loop), 0);
	unlink(source);
	rmdir(directory);
}

Test(masters, zookeeper_may_name_the_master, .timeout = 60)
{
	struct detector *detector;

	fake_zookeeper_reset();
	fake_zookeeper_put("/m", "");
	fake_zookeeper_put("/m/0000000004", "master@2.2.2.2:2");
	uv_loop_init(&loop);
	detector = detector_create(&loop, "zk://h:1/m", 1000, &detector_handlers, NULL);
	detector_look(detector);
	settle();
	fake_zookeeper_connect();
	settle();
	cr_expect_str_eq(detected, "master@2.2.2.2:2");
	on_detected(NULL, NULL);
	detector_look(detector);
	cr_expect_str_eq(detected, "master@2.2.2.2:2");
	fake_zookeeper_remove("/m/0000000004");
	settle();
	cr_expect_null(detected);
	detector_look(detector);
	cr_expect_null(detected);
	fake_zookeeper_put("/m/x_0000000004", "master@2.2.2.2:2");
	settle();
	cr_expect(strstr(failure, "its label is not known"), "%s", failure);
	detector_close(detector);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	fake_zookeeper_reset();
}
