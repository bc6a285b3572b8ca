/* The limit of task rates: how fast this machine forks and executes the processes of
 * a command task (`mesita executor` and `sh -c true`) with nothing around them.
 *
 *   bench_spawn PROGRAM COUNT [PARALLEL]
 *   bench_spawn - COUNT [PARALLEL]           `sh -c true` alone, as a kept executor starts it
 *   bench_spawn PROGRAM COUNT PARALLEL DIRECTORY[:DIRECTORY...]
 *
 * Each pair runs in fresh control groups then, one below each directory.
 *
 * Prints "<pairs per second> <median microseconds of one pair, run one by one>". The exit
 * status is 1, and nothing is printed, if a process cannot be started. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Groups of a pair: names of directories, NULL-ended. */
#define GROUPS_MAX 8

static char *group_roots[GROUPS_MAX + 1];
static char groups[GROUPS_MAX][256];

static void each_group(int (*call)(const char *path))
{
	for (int i = 0; group_roots[i]; i++) {
		snprintf(groups[i], sizeof(groups[i]), "%s/bench-spawn-%d", group_roots[i],
			 (int)getpid());
		if (call(groups[i])) {
			perror(groups[i]);
			exit(1);
		}
	}
}

static int make_group(const char *path)
{
	return mkdir(path, 0755);
}

static void enter_groups(void)
{
	char path[2100];

	for (int i = 0; group_roots[i]; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/cgroup.procs", groups[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(127);
		close(fd);
	}
}

static pid_t start_grouped(char *const *argv)
{
	pid_t pid = vfork();
	int null;

	if (pid)
		return pid;
	enter_groups();
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(null, 2);
	execve(argv[0], argv, environ);
	_exit(127);
}

/* Without an agent's environment the executor says so and ends: its start is all that
 * is measured. */
static pid_t start(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int rv;

	if (group_roots[0])
		return start_grouped(argv);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	rv = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	if (rv) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(rv));
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void run_pair(char *const *executor)
{
	char *command[] = {"/bin/sh", "-c", "true", NULL};

	each_group(make_group);
	if (executor[0])
		waitpid(start(executor), NULL, 0);
	waitpid(start(command), NULL, 0);
	each_group(rmdir);
}

static double rate(char *const *executor, int count, int parallel)
{
	double begin = now();
	int status, bad = 0;

	for (int i = 0; i < parallel; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			exit(1);
		}
		if (pid == 0) {
			for (int n = 0; n < count / parallel; n++)
				run_pair(executor);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		bad |= status;
	if (bad)
		exit(1);
	return (count / parallel * parallel) / (now() - begin);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_pair(char *const *executor, int count)
{
	double *spans = calloc((size_t)count, sizeof(*spans)), median;

	if (!spans)
		exit(1);
	for (int i = 0; i < count; i++) {
		double begin = now();

		run_pair(executor);
		spans[i] = now() - begin;
	}
	qsort(spans, (size_t)count, sizeof(*spans), compare);
	median = spans[count / 2];
	free(spans);
	return median * 1e6;
}

int main(int argc, char **argv)
{
	char *executor[] = {NULL, "executor", NULL};
	int count, parallel, roots = 0;
	double pairs;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_spawn PROGRAM|- COUNT [PARALLEL [DIRECTORY:...]]\n");
		return 2;
	}
	executor[0] = strcmp(argv[1], "-") ? argv[1] : NULL;
	count = atoi(argv[2]);
	parallel = argc > 3 ? atoi(argv[3]) : 2;
	for (char *at = argc > 4 ? argv[4] : NULL, *root; at && (root = strsep(&at, ":"));)
		if (roots < GROUPS_MAX)
			group_roots[roots++] = root;
	if (count < parallel || parallel < 1) {
		fprintf(stderr, "bench_spawn: expected COUNT >= PARALLEL >= 1\n");
		return 2;
	}
	pairs = rate(executor, count, parallel);
	printf("%.1f %.1f\n", pairs, median_pair(executor, count < 100 ? count : 100));
	return 0;
}
