/* Which requests come from pages of other sites. */
#include <criterion/criterion.h>

#include "net/daemon/origin.h"

static const struct {
	const char *host, *origin;
	bool foreign;
} cases[] = {
	{NULL, NULL, false},
	{"127.0.0.1:5050", NULL, false},
	{"127.0.0.1", NULL, false},
	{"[::1]:5050", NULL, false},
	{"[::1]", NULL, false},
	{"localhost:5050", NULL, false},
	{"LocalHost", NULL, false},
	{"master.example:5050", NULL, false},
	{"10.0.0.1:5050", "http://10.0.0.1:5050", false},
	{"localhost:5050", "http://localhost:5050", false},
	{"localhost:5050", "https://LOCALHOST:5050", false},
	/* Names that lead here, but are not ours. */
	{"evil.example:5050", NULL, true},
	{"evil.example:5050", "http://evil.example:5050", true},
	{"127.0.0.1.evil.example:5050", NULL, true},
	{"localhost.evil.example", NULL, true},
	{"master.example.evil", NULL, true},
	{"127.0.0.1:5050:evil", NULL, true},
	{"127.0.0.1:50x", NULL, true},
	{"[::1", NULL, true},
	{"[]", NULL, true},
	{"", NULL, true},
	/* Pages of others. */
	{"127.0.0.1:5050", "http://evil.example", true},
	{"127.0.0.1:5050", "http://127.0.0.1:8080", true},
	{"127.0.0.1:5050", "http://127.0.0.1", true},
	{"127.0.0.1:5050", "http://localhost:5050", true},
	{"127.0.0.1:5050", "null", true},
	{"127.0.0.1:5050", "", true},
	{"127.0.0.1:5050", "ftp://127.0.0.1:5050", true},
	{"127.0.0.1:5050", "http:/127.0.0.1:5050", true},
	{NULL, "http://127.0.0.1:5050", true},
};

Test(net_origin, table)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct http_header headers[2];
		struct http_request request = {.headers = headers};

		if (cases[i].host)
			headers[request.header_count++] =
				(struct http_header){(char *)"Host", (char *)cases[i].host};
		if (cases[i].origin)
			headers[request.header_count++] =
				(struct http_header){(char *)"Origin", (char *)cases[i].origin};
		cr_expect_eq(origin_is_foreign(&request, "master.example"), cases[i].foreign,
			     "%s from %s", cases[i].host, cases[i].origin);
	}
}
