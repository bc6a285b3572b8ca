/* URLs as redirects give them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/url.h"

static const struct url base = {
	.host = (char *)"127.0.0.1", .port = 8080, .path = (char *)"/a/b?q=1/2"};

static void expect(const char *reference, const char *expected)
{
	struct url url;
	struct err err = {{0}};
	char *text;

	cr_assert_eq(url_resolve(&base, reference, &url, &err), 0, "%s: %s", reference, err.text);
	text = url_format(&url);
	cr_assert_str_eq(text, expected);
	free(text);
	url_free(&url);
}

Test(cli_url, references)
{
	expect("/c", "http://127.0.0.1:8080/c");
	expect("c?x#y", "http://127.0.0.1:8080/a/c?x");
	expect("?x=y", "http://127.0.0.1:8080/a/b?x=y");
	expect("#top", "http://127.0.0.1:8080/a/b");
	expect("", "http://127.0.0.1:8080/a/b");
	expect("//other/c", "http://other:80/c");
	expect("https://other", "https://other:443/");
	expect("HTTP://other:81?q", "http://other:81/?q");
	expect("http://[::1]:5/x#y", "http://[::1]:5/x");
	expect("http://127.0.0.1:8080//c", "http://127.0.0.1:8080//c");
}

Test(cli_url, refuses)
{
	static const char *const bad[] = {
		"/a b",	   "/a\r\nHost: x", "ftp://host/",	  "file:///etc/passwd",
		"http://", "http:",	    "http://host:99999/", "http://ho\x7fst/",
	};
	struct err err;
	struct url url;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = 0;
		cr_assert_lt(url_resolve(&base, bad[i], &url, &err), 0, "%s", bad[i]);
		cr_assert_neq(err.text[0], 0);
	}
}
