/* What the bare machine does: the limits that the figures of bench/run are held against.
 *
 *   bench_limits fdatasync DIRECTORY     records of 512 bytes appended and made durable, one
 *                                        after the other, a second
 *   bench_limits memcpy BYTES            milliseconds to copy so many bytes
 *   bench_limits hop [CPU CPU]           microseconds of a message of 400 bytes from one
 *                                        process to another over loopback: half of a round
 *                                        trip, the median and the 99th percentile; each
 *                                        process on the processor that is named
 *
 * Each takes about half a second. The exit status is 1, with a reason, when the machine does
 * not do what is asked; nothing is printed then. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPAN 0.5 /* seconds of measuring */
#define RECORD_SIZE 512
#define MESSAGE_SIZE 400
#define TRIPS_MAX 20000
#define WARM_UP 100
#define COPY_MAX (1UL << 30)
#define COPIES_MAX 1000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_limits: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- fdatasync ------------------------------------------------------------ */

static int open_file(const char *directory)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/bench-limits-XXXXXX", directory) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		fail(directory);
	}
	fd = mkstemp(path);
	if (fd < 0)
		fail(path);
	unlink(path);
	return fd;
}

static void measure_fdatasync(const char *directory)
{
	char record[RECORD_SIZE];
	int fd = open_file(directory), count = 0;
	double begin = now();

	memset(record, 'x', sizeof(record));
	while (now() - begin < SPAN) {
		if (write(fd, record, sizeof(record)) != (ssize_t)sizeof(record) ||
		    fdatasync(fd) != 0)
			fail(directory);
		count++;
	}
	printf("%.1f\n", count / (now() - begin));
	close(fd);
}

/* ---- memcpy --------------------------------------------------------------- */

/* The median: the first copies also make the kernel hand out the pages. */
static void measure_memcpy(size_t size)
{
	char *from = malloc(size), *to = malloc(size);
	double spans[COPIES_MAX], begin = now();
	volatile char seen;
	size_t count = 0;

	if (!from || !to)
		fail("memory");
	memset(from, 'x', size);
	memset(to, 'y', size);
	while (count < 3 || (count < COPIES_MAX && now() - begin < SPAN)) {
		double start = now();

		memcpy(to, from, size);
		seen = to[size - 1];
		spans[count++] = now() - start;
	}
	(void)seen;
	qsort(spans, count, sizeof(*spans), compare);
	printf("%.6f\n", spans[count / 2] * 1e3);
	free(from);
	free(to);
}

/* ---- a hop over loopback --------------------------------------------------- */

static void run_on(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		fail("processor");
}

/* False when the other end is gone. */
static int pass(int fd, char *message, ssize_t (*move)(int, char *, size_t))
{
	size_t done = 0;

	while (done < MESSAGE_SIZE) {
		ssize_t n = move(fd, message + done, MESSAGE_SIZE - done);

		if (n <= 0)
			return 0;
		done += (size_t)n;
	}
	return 1;
}

static ssize_t move_in(int fd, char *bytes, size_t size)
{
	return read(fd, bytes, size);
}

static ssize_t move_out(int fd, char *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL);
}

static void make_pair(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || ends[0] < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) != 0 ||
	    connect(ends[0], (struct sockaddr *)&address, len) != 0)
		fail("loopback");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		fail("accept");
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void send_back(int fd, int cpu)
{
	char message[MESSAGE_SIZE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_on(cpu);
	while (pass(fd, message, move_in) && pass(fd, message, move_out))
		;
	_exit(0);
}

static void measure_hop(int cpu, int other_cpu)
{
	static double spans[TRIPS_MAX];
	char message[MESSAGE_SIZE] = {0};
	size_t count = 0, warm = 0;
	double begin = now();
	int ends[2];
	pid_t child;

	make_pair(ends);
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		close(ends[0]);
		send_back(ends[1], other_cpu);
	}
	close(ends[1]);
	run_on(cpu);
	while (count < TRIPS_MAX && (count == 0 || now() - begin < SPAN)) {
		double start = now();

		if (!pass(ends[0], message, move_out) || !pass(ends[0], message, move_in))
			fail("loopback");
		if (warm < WARM_UP)
			warm++;
		else
			spans[count++] = (now() - start) / 2;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	qsort(spans, count, sizeof(*spans), compare);
	printf("%.3f %.3f\n", spans[count / 2] * 1e6, spans[count * 99 / 100] * 1e6);
}

/* ---- life ------------------------------------------------------------------ */

static int usage(void)
{
	fprintf(stderr, "usage: bench_limits fdatasync DIRECTORY | memcpy BYTES | hop [CPU CPU]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 3 && !strcmp(what, "fdatasync")) {
		measure_fdatasync(argv[2]);
	} else if (argc == 3 && !strcmp(what, "memcpy")) {
		unsigned long size = strtoul(argv[2], NULL, 10);

		if (size < 1 || size > COPY_MAX) {
			fprintf(stderr, "bench_limits: BYTES must be from 1 to %lu\n", COPY_MAX);
			return 2;
		}
		measure_memcpy(size);
	} else if ((argc == 2 || argc == 4) && !strcmp(what, "hop")) {
		measure_hop(argc == 4 ? atoi(argv[2]) : -1, argc == 4 ? atoi(argv[3]) : -1);
	} else {
		return usage();
	}
	return 0;
}
