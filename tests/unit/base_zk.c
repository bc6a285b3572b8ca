/* URLs of groups in ZooKeeper. */
#include <criterion/criterion.h>

#include "base/zk/zk_url.h"

Test(zk_url, has_servers_credentials_and_a_path)
{
	static const struct {
		const char *text, *servers, *credentials, *path;
	} cases[] = {
		{"zk://h:1/m", "h:1", NULL, "/m"},
		{" \tzk://h:1,i:2/a/b/\n", "h:1,i:2", NULL, "/a/b"},
		{"zk://u:p@h/m///", "h", "u:p", "/m"},
		{"zk://u:p@q@h:1,g:2/m@n", "h:1,g:2", "u:p@q", "/m@n"},
		{"zk://@h/m", "h", "", "/m"},
		{"zk://h/.a/..b", "h", NULL, "/.a/..b"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct zk_url url;
		struct err err;

		cr_assert_eq(zk_url_parse(cases[i].text, &url, &err), 0, "%s", err.text);
		cr_expect_str_eq(url.servers, cases[i].servers);
		cr_expect_str_eq(url.path, cases[i].path);
		cr_expect_eq(!url.credentials, !cases[i].credentials);
		if (url.credentials && cases[i].credentials)
			cr_expect_str_eq(url.credentials, cases[i].credentials);
		zk_url_free(&url);
		cr_expect_null(url.path);
	}
}

Test(zk_url, some_texts_are_none)
{
	static const char *const cases[][2] = {
		{"", "Expecting 'zk://' at the beginning of the URL"},
		{"h:1/m", "Expecting 'zk://' at the beginning of the URL"},
		{"ZK://h:1/m", "Expecting 'zk://' at the beginning of the URL"},
		{"zk://h:1", "Expecting a (chroot) path for ZooKeeper ('/' is not supported)"},
		{"zk://h:1/ ", "Expecting a (chroot) path for ZooKeeper ('/' is not supported)"},
		{"zk://h:1//", "Expecting a (chroot) path for ZooKeeper ('/' is not supported)"},
		{"zk:///m", "Expecting ZooKeeper servers as host:port,..."},
		{"zk://u@/m", "Expecting ZooKeeper servers as host:port,..."},
		{"zk://h g/m", "Expecting ZooKeeper servers as host:port,..."},
		{"zk://h/a//b", "'/a//b' is no path of ZooKeeper"},
		{"zk://h/./b", "'/./b' is no path of ZooKeeper"},
		{"zk://h/a/..", "'/a/..' is no path of ZooKeeper"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct zk_url url;
		struct err err;

		cr_expect_eq(zk_url_parse(cases[i][0], &url, &err), ERR_INVALID);
		cr_expect_str_eq(err.text, cases[i][1]);
		cr_expect_null(url.servers);
		cr_expect_null(url.credentials);
		cr_expect_null(url.path);
	}
	cr_expect(zk_url_is("  zk://"));
	cr_expect_not(zk_url_is("zk:/"));
}
