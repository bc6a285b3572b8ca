#include "base/open_files.h"

#include "base/log/log.h"

#define WANTED 65536 /* of the hard limit, if we may raise it */
#define SMALL 8192   /* enough for 2,000 agents, or 2,500 executors */
#define RESERVE 128

void open_files_raise(struct rlimit *before)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, before) < 0) {
		before->rlim_cur = before->rlim_max = RLIM_INFINITY;
		return;
	}
	limit = *before;
	if (limit.rlim_max < WANTED) {
		limit.rlim_cur = limit.rlim_max = WANTED;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
			return;
		limit = *before;
	}
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit = *before;
	if (limit.rlim_cur < SMALL)
		log_warning("only %llu files may be open at once: a large cluster needs more "
			    "(LimitNOFILE= of the systemd unit, or ulimit -Hn)",
			    (unsigned long long)limit.rlim_cur);
}

size_t open_files_connections(void)
{
	struct rlimit limit;
	size_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= WANTED * 16)
		return WANTED * 8;
	most = limit.rlim_cur > RESERVE ? (limit.rlim_cur - RESERVE) / 2 : 0;
	return most > 16 ? most : 16;
}
