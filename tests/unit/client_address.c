/* Splitting host and port. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "client/address.h"

static void expect(const char *text, const char *host, int port)
{
	struct err err;
	char *found;
	int number;

	cr_assert_eq(address_parse(text, 5050, &found, &number, &err), 0, "%s", text);
	cr_expect_str_eq(found, host, "%s", text);
	cr_expect_eq(number, port, "%s", text);
	free(found);
}

Test(address, takes_what_users_and_redirects_give)
{
	expect("127.0.0.1:5051", "127.0.0.1", 5051);
	expect("master.example.com", "master.example.com", 5050);
	expect("//10.0.0.1:80", "10.0.0.1", 80);
	expect("//10.0.0.1:80/api/v1/scheduler", "10.0.0.1", 80);
	expect("http://host:65535/", "host", 65535);
	expect("master@10.0.0.1:1", "10.0.0.1", 1);
}

Test(address, refuses_the_rest)
{
	static const char *const bad[] = {
		"",	":5050",   "host:",    "host:0", "host:65536",
		"h:+1", "h: 1",	   "h:-1",     "h:1x",	 "h:99999999999999999999",
		"//",	"http://", "zk://a/b", "h:1:2"};
	char endless[1000];
	struct err err;
	char *host;
	int port;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_expect_eq(address_parse(bad[i], 5050, &host, &port, &err), ERR_INVALID, "%s",
			     bad[i]);
		cr_expect_str_not_empty(err.text);
	}
	for (size_t i = 0; i < sizeof(endless); i++)
		endless[i] = i + 1 < sizeof(endless) ? 'a' : 0;
	cr_expect_eq(address_parse(endless, 5050, &host, &port, &err), ERR_INVALID);
}
