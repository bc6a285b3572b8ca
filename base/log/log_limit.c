/* A burst of lines for each place in the code and span of time; see log_limit.h. */
#include "base/log/log_limit.h"

/* The site's entry; NULL if the table is full of others, which then are not limited. */
static struct log_site *log_limit_find(struct log_limit *limit, const char *file, int line)
{
	size_t at = ((uintptr_t)file / 8 + (size_t)line * 31) % LOG_LIMIT_SITES;

	for (size_t i = 0; i < LOG_LIMIT_SITES; i++) {
		struct log_site *site = &limit->sites[(at + i) % LOG_LIMIT_SITES];

		if (site->file && (site->file != file || site->line != line))
			continue;
		site->file = file;
		site->line = line;
		return site;
	}
	return NULL;
}

bool log_limit_admit(struct log_limit *limit, const char *file, int line, int64_t now,
		     uint64_t *left_out)
{
	struct log_site *site = log_limit_find(limit, file, line);

	*left_out = 0;
	if (!site)
		return true;
	if (!site->written || now - site->since >= LOG_LIMIT_SPAN) {
		site->since = now;
		site->written = 0;
	}
	if (site->written == LOG_LIMIT_BURST) {
		site->left_out++;
		return false;
	}
	site->written++;
	*left_out = site->left_out;
	site->left_out = 0;
	return true;
}
