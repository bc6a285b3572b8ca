/* Pids and inbound messages. */
#include <string.h>

#include "net/libprocess.h"
#include "net_server.h"

Test(pid, is_parsed)
{
	static const struct {
		const char *pid, *id, *host;
		int port;
	} good[] = {
		{"master@127.0.0.1:5050", "master", "127.0.0.1", 5050},
		{"slave(1)@10.0.0.7:5051", "slave(1)", "10.0.0.7", 5051},
		{"scheduler-6d1f@host.example:1", "scheduler-6d1f", "host.example", 1},
		{"@0.0.0.0:0", "", "0.0.0.0", 0},
		{"a:b@h:65535", "a:b", "h", 65535},
		{"x@y:007", "x", "y", 7},
	};
	static const char *const bad[] = {NULL,	       "",
					  "@",	       "a",
					  "a@",	       "a@b",
					  "a@b:",      "a@:1",
					  "a@b:x",     "a@b:1x",
					  "a@b:65536", "a@b:-1",
					  "a@b:+1",    "a@b:99999999999999999999",
					  "a b@c:1",   "a\r\nX: y@c:1",
					  "a@c d:1",   "a@b:1 ",
					  "a@b:1\n",   "a\x7f@b:1",
					  "a@b:c:1"};
	char id[PID_MAX], host[PID_MAX], text[PID_MAX + 1];
	int port;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(pid_parse(good[i].pid, id, host, &port), "%s", good[i].pid);
		cr_expect_str_eq(id, good[i].id);
		cr_expect_str_eq(host, good[i].host);
		cr_expect_eq(port, good[i].port);
		cr_expect(pid_parse(good[i].pid, NULL, NULL, NULL));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(pid_parse(bad[i], id, host, &port), "%s", bad[i] ? bad[i] : "NULL");

	memset(text, 'a', sizeof(text));
	memcpy(text + PID_MAX - 5, "@b:1", 5);
	cr_expect(pid_parse(text, id, host, &port), "the longest");
	text[PID_MAX - 5] = 'a';
	memcpy(text + PID_MAX - 4, "@b:1", 5);
	cr_expect_not(pid_parse(text, id, host, &port), "one too long");
}

SERVER_SUITE(libprocess);

Test(libprocess, takes_the_messages_of_all_senders)
{
	/* libmesos, an old libmesos, mesos-go. */
	raw_send(&raw, "POST /master/mesos.scheduler.Call HTTP/1.1\r\n"
		       "User-Agent: libprocess/s@127.0.0.1:7\r\nLibprocess-From: s@127.0.0.1:7\r\n"
		       "Connection: Keep-Alive\r\nHost: \r\nTransfer-Encoding: chunked\r\n\r\n"
		       "3\r\nabc\r\n0\r\n\r\n"
		       "POST /slave%281%29/a.B HTTP/1.0\r\nUser-Agent: libprocess/o@127.0.0.1:8\r\n"
		       "Connection: Keep-Alive\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "1\r\nd\r\n0\r\n\r\n"
		       "POST /master/c.D HTTP/1.1\r\nUser-Agent: Go\r\nLibprocess-From:  g@h:9 \r\n"
		       "Content-Length: 0\r\n\r\n"
		       "POST /only HTTP/1.1\r\nLibprocess-From: nobody\r\n\r\n");
	until(&fixture, raw_count(&raw, "HTTP/1.1 202 Accepted\r\n") == 4);
	cr_assert_str_eq(fixture.messages.data, "s@127.0.0.1:7>master:mesos.scheduler.Call(abc)\n"
						"o@127.0.0.1:8>slave(1):a.B(d)\n"
						"g@h:9>master:c.D()\n"
						"@0.0.0.0:0>only:()\n");
	cr_assert(raw_has(&raw, "GMT\r\nContent-Length: 0\r\n\r\n"));
}

Test(libprocess, tells_messages_from_calls)
{
	raw_send(&raw, "GET /hello HTTP/1.1\r\nLibprocess-From: a@b:1\r\n\r\n"
		       "POST /hello HTTP/1.1\r\nUser-Agent: x libprocess/a@b:1\r\n\r\n");
	until(&fixture, raw_count(&raw, "hello") == 2);
	cr_assert_eq(fixture.messages.len, 0);
}

Test(libprocess, processes_what_came_before_a_shutdown)
{
	raw_send(&raw, "POST /master/a.B HTTP/1.1\r\nLibprocess-From: a@b:1\r\n"
		       "Content-Length: 1\r\n\r\nx"
		       "POST /master/a.B HTTP/1.1\r\nLibprocess-From: a@b:1\r\n"
		       "Content-Length: 1\r\n\r\ny");
	raw_shutdown(&raw);
	until(&fixture, raw.eof);
	cr_assert_str_eq(fixture.messages.data, "a@b:1>master:a.B(x)\na@b:1>master:a.B(y)\n");
}

Test(libprocess, processes_what_came_before_a_reset)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_send(&other, "GET /later HTTP/1.1\r\n\r\n"
			 "POST /master/a.B HTTP/1.1\r\nLibprocess-From: a@b:1\r\n"
			 "Content-Length: 1\r\n\r\nx");
	until(&fixture, fixture.kept_count == 1);
	raw_reset(&other);
	raw_expect(&raw, "GET /hello HTTP/1.1\r\n\r\n", "hello");
	http_reply_text(fixture.kept[0], 200, NULL);
	until(&fixture, fixture.messages.len > 0);
}
