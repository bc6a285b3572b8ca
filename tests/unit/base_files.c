/* Paths of strangers. */
#include <criterion/criterion.h>

#include "base/files.h"

TestSuite(files, .timeout = 60);

Test(files, paths_that_climb)
{
	static const struct {
		const char *path;
		bool climbs;
	} rows[] = {
		{"", false},	  {"..", true},	  {"../a", true},     {"a/..", true},
		{"a/../b", true}, {"/..", true},  {"//../", true},    {"a//..//b", true},
		{"...", false},	  {"a..", false}, {"..a", false},     {"a/..b/c", false},
		{"./a", false},	  {".", false},	  {"a/.../b", false}, {"/a/b/", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(path_climbs(rows[i].path), rows[i].climbs, "'%s'", rows[i].path);
}
