/* How many nodes a second ZooKeeper takes: the limit of the registry that is kept there.
 *
 *   bench_zookeeper HOST:PORT NODES BYTES
 *
 * Creates so many nodes of that size by zoo_amulti, and prints two numbers of nodes a second: of
 * one node a multi, a thousand under way at a time; and of long multis, the best of several
 * lengths, one after the other and some under way. Each multi also sets one node that is always the
 * same, as whoever keeps a registry does. The nodes stay. The exit status is 1, with a reason, when
 * ZooKeeper does not do what is asked. */
#ifndef THREADED
#define THREADED /* zookeeper.h: functions that wait */
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "base/zk/zk_handle.h"

#define ROOT "/mesita-bench"
#define SESSION_MS 10000
#define PATIENCE (60 * SECOND)
#define NODES_MAX 1000000
#define BYTES_MAX 65536
#define MULTI_BYTES_MAX (512 * 1024) /* ZooKeeper takes 1 MiB */

/* A way to write them. */
static const struct way {
	int length; /* nodes a multi */
	int under_way;
} ways[] = {{1, 1000}, {100, 1}, {500, 1}, {1000, 1}, {100, 4}, {500, 4}, {1000, 4}};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool connected;
	int under_way;
	int code; /* the first failure */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

struct multi {
	zoo_op_t *ops;
	zoo_op_result_t *results;
	char **paths;
	int count;
};

static void fail(const char *what, int code)
{
	fprintf(stderr, "bench_zookeeper: %s: %s\n", what, zerror(code));
	exit(1);
}

static void state_seen(zhandle_t *handle, int type, int now, const char *path, void *context)
{
	(void)handle;
	(void)path;
	(void)context;
	if (type != ZOO_SESSION_EVENT)
		return;
	pthread_mutex_lock(&state.lock);
	state.connected = now == ZOO_CONNECTED_STATE;
	if (now == ZOO_EXPIRED_SESSION_STATE && state.code == ZOK)
		state.code = ZSESSIONEXPIRED;
	pthread_cond_broadcast(&state.wake);
	pthread_mutex_unlock(&state.lock);
}

/* Holds the lock. False: not in time. */
static bool wait_a_while(int64_t deadline)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&state.wake, &state.lock, &until);
	return clock_now() < deadline;
}

static zhandle_t *reach(const char *servers)
{
	int64_t deadline = clock_now() + PATIENCE;
	struct zk_url url = {.servers = (char *)servers};
	zhandle_t *handle;

	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	handle = zk_handle_open(&url, state_seen, SESSION_MS, NULL);
	if (!handle)
		fail(servers, ZCONNECTIONLOSS);
	pthread_mutex_lock(&state.lock);
	while (!state.connected)
		if (!wait_a_while(deadline))
			fail(servers, ZOPERATIONTIMEOUT);
	pthread_mutex_unlock(&state.lock);
	return handle;
}

static void multi_answered(int code, const void *context)
{
	struct multi *multi = (struct multi *)context;

	pthread_mutex_lock(&state.lock);
	state.under_way--;
	if (code != ZOK && state.code == ZOK)
		state.code = code;
	pthread_cond_broadcast(&state.wake);
	pthread_mutex_unlock(&state.lock);
	for (int i = 1; i < multi->count; i++)
		free(multi->paths[i]);
	free(multi->paths);
	free(multi->results);
	free(multi->ops);
	free(multi);
}

static void multi_send(zhandle_t *handle, int way, int first, int count, const char *value,
		       int bytes)
{
	struct multi *multi = xcalloc(1, sizeof(*multi));
	int code;

	multi->count = count + 1;
	multi->ops = xcalloc((size_t)count + 1, sizeof(*multi->ops));
	multi->results = xcalloc((size_t)count + 1, sizeof(*multi->results));
	multi->paths = xcalloc((size_t)count + 1, sizeof(*multi->paths));
	zoo_set_op_init(&multi->ops[0], ROOT, "head", 4, -1, NULL);
	for (int i = 1; i <= count; i++) {
		multi->paths[i] = xprintf(ROOT "/%d-%d-%d", (int)getpid(), way, first + i);
		zoo_create_op_init(&multi->ops[i], multi->paths[i], value, bytes,
				   &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
	}
	code = zoo_amulti(handle, multi->count, multi->ops, multi->results, multi_answered, multi);
	if (code != ZOK)
		fail("amulti", code);
}

/* Until fewer are under way. */
static void wait_for_room(int under_way, int64_t deadline)
{
	pthread_mutex_lock(&state.lock);
	while (state.under_way >= under_way && state.code == ZOK)
		if (!wait_a_while(deadline))
			fail("amulti", ZOPERATIONTIMEOUT);
	if (state.code != ZOK)
		fail("amulti", state.code);
	pthread_mutex_unlock(&state.lock);
}

/* Nodes a second. */
static double measure(zhandle_t *handle, int number, int nodes, const char *value, int bytes)
{
	int64_t begin = clock_now(), deadline = begin + PATIENCE;
	const struct way *way = &ways[number];

	for (int first = 0; first < nodes; first += way->length) {
		int left = nodes - first;

		wait_for_room(way->under_way, deadline);
		pthread_mutex_lock(&state.lock);
		state.under_way++;
		pthread_mutex_unlock(&state.lock);
		multi_send(handle, number, first, left < way->length ? left : way->length, value,
			   bytes);
	}
	wait_for_room(1, deadline);
	return nodes / ((double)(clock_now() - begin) / SECOND);
}

static int number(const char *text, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 1 || value > max) {
		fprintf(stderr, "bench_zookeeper: '%s' is no number from 1 to %d\n", text, max);
		exit(2);
	}
	return (int)value;
}

int main(int argc, char **argv)
{
	double rate, single, best = 0;
	int nodes, bytes, code;
	zhandle_t *handle;
	char *value;

	if (argc != 4) {
		fputs("Usage: bench_zookeeper HOST:PORT NODES BYTES\n", stderr);
		return 2;
	}
	nodes = number(argv[2], NODES_MAX);
	bytes = number(argv[3], BYTES_MAX);
	value = xcalloc(1, (size_t)bytes);
	memset(value, 'x', (size_t)bytes);
	handle = reach(argv[1]);
	code = zoo_create(handle, ROOT, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
	if (code != ZOK && code != ZNODEEXISTS)
		fail("create", code);
	single = measure(handle, 0, nodes, value, bytes);
	for (int i = 1; i < (int)(sizeof(ways) / sizeof(ways[0])); i++) {
		if (ways[i].length * bytes > MULTI_BYTES_MAX)
			continue;
		rate = measure(handle, i, nodes, value, bytes);
		best = rate > best ? rate : best;
	}
	printf("%.1f %.1f\n", single, best);
	zookeeper_close(handle);
	free(value);
	return 0;
}
