/* What files are by their names. */
#include <criterion/criterion.h>

#include "net/daemon/media.h"

Test(media, by_the_last_extension)
{
	static const char *const names[][2] = {
		{"page.html", "text/html"},
		{"a.HTM", "text/html"},
		{"/x/y.z/style.css", "text/css"},
		{"app.js", "application/x-javascript"},
		{"data.tar.json", "application/json"},
		{"icon.svg", "image/svg+xml"},
		{"last.zip", "application/zip"},
		{".txt", "text/plain"},
		{"stdout", "application/octet-stream"},
		{"", "application/octet-stream"},
		{"html", "application/octet-stream"},
		{"a.", "application/octet-stream"},
		{"a.html.", "application/octet-stream"},
		{"a.htmlx", "application/octet-stream"},
		{"a.tar.gz", "application/octet-stream"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect_str_eq(media_of(names[i][0]), names[i][1], "%s", names[i][0]);
}
