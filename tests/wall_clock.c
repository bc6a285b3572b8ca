/* Preloaded into daemons (LD_PRELOAD): their wall clock is off by as many nanoseconds as the file
 * TEST_CLOCK says now, an int64_t. The monotonic clock is what it is. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000

static const volatile int64_t nothing, *off = &nothing;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("TEST_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *page = MAP_FAILED;

	if (fd >= 0) {
		page = mmap(NULL, sizeof(*off), PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (page == MAP_FAILED)
		abort(); /* A test that changes nothing would pass. */
	off = page;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int64_t nanoseconds;

	if (syscall(SYS_clock_gettime, clock, time) != 0)
		return -1;
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return 0;
	nanoseconds = time->tv_sec * (int64_t)SECOND + time->tv_nsec + *off;
	time->tv_sec = nanoseconds / SECOND;
	time->tv_nsec = nanoseconds % SECOND;
	return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *result)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
