/* See zk_link.h. */
#include "store/zookeeper/zk_link.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

#define OPEN_RETRY (SECOND / 2)	 /* while no server's name is known */
#define LOOK_AGAIN (SECOND / 10) /* whether it was given up */

struct zk_link {
	const struct zk_url *url;
	int timeout_ms;
	const atomic_bool *given_up; /* or NULL */
	zhandle_t *handle;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool connected;
	bool over; /* the session has expired, or the credentials were refused */
};

static void link_state_seen(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	struct zk_link *link = context;

	(void)handle;
	(void)path;
	if (type != ZOO_SESSION_EVENT)
		return;
	pthread_mutex_lock(&link->lock);
	link->connected = state == ZOO_CONNECTED_STATE;
	link->over |= state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
	pthread_cond_broadcast(&link->wake);
	pthread_mutex_unlock(&link->lock);
}

struct zk_link *zk_link_open(const struct zk_url *url, int timeout_ms, const atomic_bool *given_up)
{
	struct zk_link *link = xcalloc(1, sizeof(*link));
	pthread_condattr_t attributes;

	link->url = url;
	link->timeout_ms = timeout_ms;
	link->given_up = given_up;
	pthread_mutex_init(&link->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&link->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return link;
}

static void session_close(struct zk_link *link)
{
	if (link->handle)
		zookeeper_close(link->handle);
	link->handle = NULL;
	link->connected = link->over = false;
}

void zk_link_close(struct zk_link *link)
{
	session_close(link);
	pthread_cond_destroy(&link->wake);
	pthread_mutex_destroy(&link->lock);
	free(link);
}

/* Until something happens, or for so long. */
static void link_wait(struct zk_link *link, int64_t span)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(span / SECOND);
	until.tv_nsec += (long)(span % SECOND);
	if (until.tv_nsec >= SECOND) {
		until.tv_sec++;
		until.tv_nsec -= SECOND;
	}
	pthread_cond_timedwait(&link->wake, &link->lock, &until);
}

static bool is_over(struct zk_link *link)
{
	bool over;

	pthread_mutex_lock(&link->lock);
	over = link->over;
	pthread_mutex_unlock(&link->lock);
	return over;
}

static bool is_given_up(const struct zk_link *link)
{
	return link->given_up && atomic_load(link->given_up);
}

static bool is_reached(struct zk_link *link, int64_t deadline)
{
	bool reached;
	int64_t now;

	pthread_mutex_lock(&link->lock);
	while (!link->connected && !link->over && !is_given_up(link) &&
	       (now = clock_steady()) < deadline)
		link_wait(link, deadline - now < LOOK_AGAIN ? deadline - now : LOOK_AGAIN);
	reached = link->connected;
	pthread_mutex_unlock(&link->lock);
	return reached;
}

zhandle_t *zk_link_reach(struct zk_link *link, int64_t deadline, struct err *err)
{
	do {
		if (is_over(link))
			session_close(link);
		if (!link->handle)
			link->handle =
				zk_handle_open(link->url, link_state_seen, link->timeout_ms, link);
		if (!link->handle) {
			log_warning("cannot reach ZooKeeper at %s: %s", link->url->servers,
				    strerror(errno));
			pthread_mutex_lock(&link->lock);
			link_wait(link, OPEN_RETRY);
			pthread_mutex_unlock(&link->lock);
		} else if (is_reached(link, deadline)) {
			return link->handle;
		}
	} while (clock_steady() < deadline && !is_given_up(link));
	err_set(err, ERR_IO, "ZooKeeper at %s is not reached", link->url->servers);
	return NULL;
}

/* ---- many at once ------------------------------------------------------------------ */

struct round {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	size_t asked; /* and not answered */
	int code;     /* of the first failure */
	zk_link_listed *listed;
	zk_link_got *got;
	void *context;
};

struct question {
	struct round *round;
	size_t index;
};

static void round_begin(struct round *round)
{
	pthread_mutex_init(&round->lock, NULL);
	pthread_cond_init(&round->wake, NULL);
}

/* Waits until there is room for one more question. The code of a failure until now. */
static int round_room(struct round *round, size_t room)
{
	int code;

	pthread_mutex_lock(&round->lock);
	while (round->asked >= room)
		pthread_cond_wait(&round->wake, &round->lock);
	code = round->code;
	pthread_mutex_unlock(&round->lock);
	return code;
}

static int round_end(struct round *round)
{
	int code = round_room(round, 1);

	pthread_cond_destroy(&round->wake);
	pthread_mutex_destroy(&round->lock);
	return code;
}

static struct question *question_ask(struct round *round, size_t index)
{
	struct question *question = xcalloc(1, sizeof(*question));

	*question = (struct question){round, index};
	pthread_mutex_lock(&round->lock);
	round->asked++;
	pthread_mutex_unlock(&round->lock);
	return question;
}

static void question_answered(const void *data, int code)
{
	struct question *question = (struct question *)data;
	struct round *round = question->round;

	free(question);
	pthread_mutex_lock(&round->lock);
	round->asked--;
	if (code != ZOK && round->code == ZOK)
		round->code = code;
	pthread_cond_signal(&round->wake);
	pthread_mutex_unlock(&round->lock);
}

static void link_listed_cb(int code, const struct String_vector *names, const void *data)
{
	const struct question *question = data;

	if (code == ZOK)
		question->round->listed(question->round->context, question->index, names);
	question_answered(data, code);
}

static void link_got_cb(int code, const char *value, int len, const struct Stat *stat,
			const void *data)
{
	const struct question *question = data;

	(void)stat;
	if (code == ZOK)
		question->round->got(
			question->round->context, question->index,
			(struct slice){len > 0 ? value : "", len > 0 ? (size_t)len : 0});
	question_answered(data, code);
}

static void link_synced_cb(int code, const char *value, const void *data)
{
	(void)value;
	question_answered(data, code);
}

int zk_link_list(zhandle_t *handle, char *const *paths, size_t count, zk_link_listed *each,
		 void *context)
{
	struct round round = {.listed = each, .context = context};

	round_begin(&round);
	for (size_t i = 0; i < count && round_room(&round, ZK_LINK_ASKED) == ZOK; i++) {
		struct question *question = question_ask(&round, i);
		int code = zoo_aget_children(handle, paths[i], 0, link_listed_cb, question);

		if (code != ZOK)
			question_answered(question, code);
	}
	return round_end(&round);
}

int zk_link_get(zhandle_t *handle, char *const *paths, size_t count, zk_link_got *each,
		void *context)
{
	struct round round = {.got = each, .context = context};

	round_begin(&round);
	for (size_t i = 0; i < count && round_room(&round, ZK_LINK_ASKED) == ZOK; i++) {
		struct question *question = question_ask(&round, i);
		int code = zoo_aget(handle, paths[i], 0, link_got_cb, question);

		if (code != ZOK)
			question_answered(question, code);
	}
	return round_end(&round);
}

int zk_link_sync(zhandle_t *handle, const char *path)
{
	struct round round = {.code = ZOK};
	struct question *question;
	int code;

	round_begin(&round);
	question = question_ask(&round, 0);
	code = zoo_async(handle, path, link_synced_cb, question);
	if (code != ZOK)
		question_answered(question, code);
	return round_end(&round);
}
